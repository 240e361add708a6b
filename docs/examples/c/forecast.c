/* Forecasts a scenario file and prints the answer as JSON: forecast SCENARIO. */
#include <fabricast.h>
#include <stdio.h>

int main(int argc, char **argv) {
  fabricast_scenario *scenario;
  fabricast_result *result;
  fabricast_status status;
  if (argc != 2) return FABRICAST_BAD_INPUT;
  status = fabricast_open_file(argv[1], NULL, 0, &scenario, &result);
  if (status == FABRICAST_OK) {
    fabricast_result_free(result);
    status = fabricast_run(scenario, NULL, NULL, &result);
  }
  if (status == FABRICAST_OK)
    fputs(fabricast_result_text(result, NULL), stdout);
  else
    fprintf(stderr, "%s\n", fabricast_result_diagnostics(result, NULL));
  fabricast_result_free(result);
  fabricast_scenario_free(scenario);
  return (int)status;
}
