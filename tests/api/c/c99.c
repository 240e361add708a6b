/* The C interface from C99: every function once, and the answers of the command line byte for byte.
 *   c99 FABRICAST SCENARIO WORK
 * FABRICAST is the program, SCENARIO a file, WORK a directory for files. */
#include <fabricast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int faults = 0;

#define REQUIRE(condition)                                            \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++faults;                                                       \
    }                                                                 \
  } while (0)

/* The whole of a file, with a null byte at its end; to be freed. */
static char *content(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  char *text;
  long size;
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  size = ftell(file);
  rewind(file);
  text = malloc((size_t)size + 1);
  *length = fread(text, 1, (size_t)size, file);
  text[*length] = '\0';
  fclose(file);
  return text;
}

/* Whether a result is what a command line prints. */
static int prints(const char *program, const char *words, const char *work, const fabricast_result *result) {
  char path[4096];
  char command[8192];
  size_t wanted_length = 0;
  size_t length = 0;
  char *wanted;
  const char *text = fabricast_result_text(result, &length);
  int same;
  snprintf(path, sizeof path, "%s/c99.out", work);
  snprintf(command, sizeof command, "'%s' %s > '%s'", program, words, path);
  if (system(command) < 0) return 0;
  wanted = content(path, &wanted_length);
  same = wanted && wanted_length == length && memcmp(wanted, text, length) == 0 && length > 10;
  if (!same) fprintf(stderr, "not what `%s` prints\n", words);
  free(wanted);
  return same;
}

typedef fabricast_status question(const fabricast_scenario *, const char *, const fabricast_control *,
                                  fabricast_result **);

static void same_as_command(question *ask, const fabricast_scenario *scenario, const char *options,
                            const char *program, const char *words, const char *work, fabricast_status wanted) {
  fabricast_result *result = NULL;
  REQUIRE(ask(scenario, options, NULL, &result) == wanted);
  REQUIRE(fabricast_result_status(result) == wanted);
  REQUIRE(prints(program, words, work, result));
  fabricast_result_free(result);
}

static int reports(const fabricast_result *result, const char *part) {
  const int found = strstr(fabricast_result_diagnostics(result, NULL), part) != NULL;
  if (!found) fprintf(stderr, "no %s in %s\n", part, fabricast_result_diagnostics(result, NULL));
  return found;
}

static int count_calls(double fraction, void *user) {
  int *calls = user;
  REQUIRE(fraction >= 0 && fraction <= 1);
  ++*calls;
  return 0;
}

static int stop_at_once(double fraction, void *user) {
  (void)fraction;
  (void)user;
  return 1;
}

static void answers(const char *program, const char *file, const char *work) {
  fabricast_scenario *scenario = NULL;
  fabricast_scenario *changed = NULL;
  fabricast_result *result = NULL;
  const char *changes[] = {"cluster.nodes=4", "workload.to=1MiB"};
  char words[4096];
  const struct {
    question *ask;
    const char *options, *words;
    fabricast_status wanted;
  } asked[] = {
      {fabricast_run, NULL, "run '%s' --json -", FABRICAST_OK},
      {fabricast_run, "{\"intervals\": false, \"form\": \"csv\"}", "run '%s' --no-intervals --csv -", FABRICAST_OK},
      {fabricast_explain, "{\"size\": \"1GiB\"}", "explain '%s' --size 1GiB --json -", FABRICAST_OK},
      {fabricast_plan, "{\"sweep\": [\"cluster.nodes=[2, 4]\"], \"intervals\": false}",
       "plan '%s' --sweep 'cluster.nodes=[2, 4]' --no-intervals --json -", FABRICAST_OK},
      {fabricast_gate, "{\"probability\": \"1/100\"}", "gate '%s' --probability 1/100 --json -", FABRICAST_OK},
      {fabricast_check, "{\"size\": \"1GiB\", \"busbw_gbps\": 3}",
       "check --scenario '%s' --size 1GiB --busbw 3 --json -", FABRICAST_CHECK_FAILED},
  };
  size_t i;
  REQUIRE(fabricast_open_file(file, NULL, 0, &scenario, &result) == FABRICAST_OK);
  REQUIRE(scenario != NULL);
  fabricast_result_free(result);
  for (i = 0; i < sizeof asked / sizeof asked[0]; ++i) {
    snprintf(words, sizeof words, asked[i].words, file);
    same_as_command(asked[i].ask, scenario, asked[i].options, program, words, work, asked[i].wanted);
  }
  REQUIRE(fabricast_change(scenario, changes, 2, &changed, NULL) == FABRICAST_OK);
  snprintf(words, sizeof words, "run '%s' --set cluster.nodes=4 --set workload.to=1MiB --json -", file);
  same_as_command(fabricast_run, changed, NULL, program, words, work, FABRICAST_OK);
  fabricast_scenario_free(changed);
  REQUIRE(fabricast_effective(scenario, &result) == FABRICAST_OK);
  snprintf(words, sizeof words, "run '%s' --dump-effective", file);
  REQUIRE(prints(program, words, work, result));
  fabricast_result_free(result);
  REQUIRE(fabricast_schema(&result) == FABRICAST_OK);
  REQUIRE(prints(program, "schema", work, result));
  fabricast_result_free(result);
  REQUIRE(fabricast_describe("hgx-h100", &result) == FABRICAST_OK);
  REQUIRE(strstr(fabricast_result_text(result, NULL), "hgx-h100") != NULL);
  fabricast_result_free(result);
  REQUIRE(fabricast_list(NULL, &result) == FABRICAST_OK);
  REQUIRE(strstr(fabricast_result_text(result, NULL), "topologies") != NULL);
  fabricast_result_free(result);
  REQUIRE(fabricast_questions(&result) == FABRICAST_OK);
  REQUIRE(strstr(fabricast_result_text(result, NULL), "\"explain\"") != NULL);
  fabricast_result_free(result);
  fabricast_scenario_free(scenario);
}

static void errors(const char *file) {
  const char text[] = "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nfabric: {knd: fat_tree}\nworkload: {}\n";
  const char *misspelt[] = {"cluster.nods=4"};
  fabricast_scenario *scenario = (fabricast_scenario *)&faults;
  fabricast_result *result = NULL;
  REQUIRE(fabricast_open_text(text, sizeof text - 1, "dir/a.yaml", NULL, 0, &scenario, &result) == FABRICAST_BAD_INPUT);
  REQUIRE(scenario == NULL);
  REQUIRE(reports(result, "\"severity\":\"error\""));
  REQUIRE(reports(result, "\"file\":\"dir/a.yaml\",\"line\":4,\"column\":10"));
  REQUIRE(reports(result, "did you mean 'kind'?"));
  fabricast_result_free(result);
  REQUIRE(fabricast_open_file("no/such/file", NULL, 0, &scenario, &result) == FABRICAST_BAD_INPUT);
  REQUIRE(reports(result, "no such file"));
  fabricast_result_free(result);
  REQUIRE(fabricast_open_file(NULL, NULL, 0, &scenario, &result) == FABRICAST_BAD_INPUT);
  REQUIRE(reports(result, "null pointer"));
  fabricast_result_free(result);
  REQUIRE(fabricast_open_file(file, NULL, 3, &scenario, NULL) == FABRICAST_BAD_INPUT);
  REQUIRE(fabricast_open_file(file, NULL, 0, NULL, NULL) == FABRICAST_BAD_INPUT);
  REQUIRE(fabricast_open_file(file, misspelt, 1, &scenario, &result) == FABRICAST_BAD_INPUT);
  REQUIRE(reports(result, "nodes"));
  fabricast_result_free(result);
  REQUIRE(fabricast_run(NULL, NULL, NULL, &result) == FABRICAST_BAD_INPUT);
  fabricast_result_free(result);
  REQUIRE(fabricast_describe("no-such-thing", &result) == FABRICAST_BAD_INPUT);
  REQUIRE(strcmp(fabricast_result_text(result, NULL), "") == 0);
  fabricast_result_free(result);

  REQUIRE(fabricast_open_file(file, NULL, 0, &scenario, NULL) == FABRICAST_OK);
  REQUIRE(fabricast_run(scenario, "{\"intervalls\": 1, \"form\": \"pdf\"}", NULL, &result) == FABRICAST_BAD_INPUT);
  REQUIRE(reports(result, "did you mean 'intervals'?"));
  REQUIRE(reports(result, "there is no 'pdf'"));
  fabricast_result_free(result);
  REQUIRE(fabricast_run(scenario, "{", NULL, &result) == FABRICAST_BAD_INPUT);
  REQUIRE(reports(result, "not JSON"));
  fabricast_result_free(result);
  REQUIRE(fabricast_check(scenario, NULL, NULL, NULL) == FABRICAST_BAD_INPUT);
  fabricast_scenario_free(scenario);
}

static void control(const char *file) {
  fabricast_control control = FABRICAST_CONTROL_INIT;
  fabricast_scenario *scenario = NULL;
  fabricast_result *one = NULL;
  fabricast_result *result = NULL;
  int calls = 0;
  REQUIRE(fabricast_open_file(file, NULL, 0, &scenario, NULL) == FABRICAST_OK);
  control.progress = count_calls;
  control.user = &calls;
  control.threads = 1;
  REQUIRE(fabricast_run(scenario, NULL, &control, &one) == FABRICAST_OK);
  REQUIRE(calls > 0);
  control.threads = 3;
  REQUIRE(fabricast_run(scenario, NULL, &control, &result) == FABRICAST_OK);
  REQUIRE(strcmp(fabricast_result_text(one, NULL), fabricast_result_text(result, NULL)) == 0);
  fabricast_result_free(one);
  fabricast_result_free(result);
  control.progress = stop_at_once;
  REQUIRE(fabricast_explain(scenario, NULL, &control, &result) == FABRICAST_STOPPED);
  REQUIRE(strcmp(fabricast_result_text(result, NULL), "") == 0);
  fabricast_result_free(result);
  control.progress = NULL;
  control.stop = fabricast_stop_new();
  fabricast_stop_request(control.stop);
  REQUIRE(fabricast_run(scenario, NULL, &control, NULL) == FABRICAST_STOPPED);
  fabricast_stop_free(control.stop);
  control.stop = NULL;
  /* A request of one question leaves the next alone. */
  REQUIRE(fabricast_run(scenario, NULL, &control, NULL) == FABRICAST_OK);
  control.threads = -1;
  REQUIRE(fabricast_run(scenario, NULL, &control, NULL) == FABRICAST_BAD_INPUT);
  control.size = 1;
  REQUIRE(fabricast_run(scenario, NULL, &control, NULL) == FABRICAST_BAD_INPUT);
  fabricast_scenario_free(scenario);
}

static void nothing(void) {
  size_t length = 1;
  fabricast_scenario_free(NULL);
  fabricast_result_free(NULL);
  fabricast_stop_free(NULL);
  fabricast_stop_request(NULL);
  REQUIRE(strcmp(fabricast_result_text(NULL, &length), "") == 0);
  REQUIRE(length == 0);
  REQUIRE(strcmp(fabricast_result_diagnostics(NULL, &length), "[]") == 0);
  REQUIRE(length == 2);
  REQUIRE(fabricast_result_status(NULL) == FABRICAST_INTERNAL);
  REQUIRE(strchr(fabricast_version(), '.') != NULL);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  nothing();
  answers(argv[1], argv[2], argv[3]);
  errors(argv[2]);
  control(argv[2]);
  return faults == 0 ? 0 : 1;
}
