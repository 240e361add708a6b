/* Fabricast for programs in C, and for every language that can call C.
 *
 *     fabricast_scenario *scenario;
 *     fabricast_result *result;
 *     if (fabricast_open_file("cluster.yaml", NULL, 0, &scenario, &result) == FABRICAST_OK) {
 *       fabricast_result_free(result);
 *       fabricast_run(scenario, NULL, NULL, &result);
 *       puts(fabricast_result_text(result, NULL));
 *       fabricast_scenario_free(scenario);
 *     } else {
 *       puts(fabricast_result_diagnostics(result, NULL));
 *     }
 *     fabricast_result_free(result);
 *
 * Open a scenario once and ask it many questions. It keeps what answers have in common: a question, or a change of
 * some keys (fabricast_change), costs less than opening another. Questions are those of the command line, and answers
 * have the same bytes as its `--json`; docs/formats.md describes them.
 *
 * Text is UTF-8. Texts that go in end with a null byte unless a length is given with them. Texts that come out belong to
 * the result, end with a null byte, and live until it is freed.
 *
 * Errors. Every function that can fail returns a status, with the numbers of the command line's exit codes. A result is
 * made in every case, even for a failure, and has diagnostics: a JSON array, empty if there is nothing to say, of
 *
 *     {"severity": "error" | "warning", "what": "...", "hint": "...",
 *      "file": "...", "line": 3, "column": 7, "key": "fabric.kind"}
 *
 * Members after `what` are left out where they are not known. Lines and columns count from 1, columns in bytes. Only if
 * memory runs out is the result NULL; functions of a result accept that. A null pointer where one is needed is bad
 * input and not a crash. A pointer to a freed object, or an object in place of another, is a fault of the caller that
 * nothing can detect.
 *
 * The library does not print, exit, abort, install signal handlers, change the locale or the working directory, and no
 * C++ exception leaves it. It reads files that scenarios name, and writes none. It starts threads only within a call.
 *
 * Threads. All functions may be called from any thread at any time, with two rules: an object is not freed while
 * another call uses it, and it is freed once. One scenario may answer questions on several threads at once; a scenario
 * and a result do not change after they are made. After fork() in a program with several threads, only exec is safe.
 *
 * Binary interface. The shared library is libfabricast.so.0. Its symbols carry the version FABRICAST_0.2 that they came
 * with; a symbol that has one keeps its meaning. Structures of the caller begin with their size, so that they can grow.
 * Enumerations may gain values. Keys of JSON are added and not renamed (docs/formats.md has details).
 *
 * Not here: the chunk engine, which is for cross-checks and belongs to the program; sweeps over MPI ranks; and
 * measuring (`calibrate`, `doctor`).
 */
#ifndef FABRICAST_H
#define FABRICAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FABRICAST_API __attribute__((visibility("default")))
#else
#define FABRICAST_API
#endif

/** How a call has ended. */
typedef enum fabricast_status {
  FABRICAST_OK = 0,
  FABRICAST_CHECK_FAILED = 1, /**< there is an answer: a check has failed (`check`, or `gate` with logs) */
  FABRICAST_BAD_INPUT = 2,    /**< the caller can correct it; diagnostics state how */
  FABRICAST_UNAVAILABLE = 3,  /**< a file system, device or library is missing */
  FABRICAST_INTERNAL = 4,     /**< a bug of Fabricast, or too little memory */
  FABRICAST_STOPPED = 130     /**< the caller has asked to stop; there is no answer */
} fabricast_status;

typedef struct fabricast_scenario fabricast_scenario; /**< an open scenario */
typedef struct fabricast_result fabricast_result;     /**< a text, a status and diagnostics */
typedef struct fabricast_stop fabricast_stop;         /**< a request to stop */

/** Receives the progress of a question, from 0 to 1, on a thread of the library, one thread at a time. Returns 0 to go
 * on; any other value asks to stop. It must not throw or jump out of the call. */
typedef int fabricast_progress(double fraction, void *user);

/** How to run a question. None of this changes its answer. */
typedef struct fabricast_control {
  size_t size;                  /**< sizeof(fabricast_control) */
  int threads;                  /**< 0: as many as the machine has; up to 4096 */
  fabricast_progress *progress; /**< may be NULL */
  void *user;                   /**< passed to `progress` */
  fabricast_stop *stop;         /**< may be NULL; one may stop several questions */
} fabricast_control;

#define FABRICAST_CONTROL_INIT {sizeof(fabricast_control), 0, NULL, NULL, NULL}

/** The version of the library, `MAJOR.MINOR.PATCH`. Static. */
FABRICAST_API const char *fabricast_version(void);

/** Opens a scenario file (YAML or JSON) of at most 4 MiB.
 * \param changes   words `key=value`, as of `--set`, that override the file; may be NULL if `count` is 0
 * \param scenario  set to the open scenario, to be freed; NULL unless the status is FABRICAST_OK
 * \param result    set to a result without text whose diagnostics are the errors or warnings; may be NULL
 * A file with a section `sweep` opens if it is a valid study, even if it is no valid scenario without the sweep. */
FABRICAST_API fabricast_status fabricast_open_file(const char *path, const char *const *changes, size_t count,
                                                   fabricast_scenario **scenario, fabricast_result **result);

/** The same of a text of `length` bytes.
 * \param name  what the text is called in messages. Paths in it are relative to the directory of this name. NULL:
 *              "scenario" in the working directory */
FABRICAST_API fabricast_status fabricast_open_text(const char *text, size_t length, const char *name,
                                                   const char *const *changes, size_t count,
                                                   fabricast_scenario **scenario, fabricast_result **result);

/** Another scenario, with further changes after those that it was opened with. The first is not changed and may be
 * freed before or after. They share the results of NCCL's topology search. */
FABRICAST_API fabricast_status fabricast_change(const fabricast_scenario *scenario, const char *const *changes,
                                                size_t count, fabricast_scenario **changed,
                                                fabricast_result **result);

/** NULL is allowed. */
FABRICAST_API void fabricast_scenario_free(fabricast_scenario *scenario);

/** The questions. Each writes the same JSON as the verb of that name with `--json`.
 * \param options  a JSON object with the options of the question (fabricast_questions lists them with their types); NULL:
 *                 all have their defaults. The option `form` asks for a form other than JSON, such as `text` or `html`
 * \param control  may be NULL
 * \param result   set to the answer, to be freed; may be NULL */
FABRICAST_API fabricast_status fabricast_run(const fabricast_scenario *scenario, const char *options,
                                             const fabricast_control *control, fabricast_result **result);
FABRICAST_API fabricast_status fabricast_explain(const fabricast_scenario *scenario, const char *options,
                                                 const fabricast_control *control, fabricast_result **result);
FABRICAST_API fabricast_status fabricast_plan(const fabricast_scenario *scenario, const char *options,
                                              const fabricast_control *control, fabricast_result **result);
FABRICAST_API fabricast_status fabricast_check(const fabricast_scenario *scenario, const char *options,
                                               const fabricast_control *control, fabricast_result **result);
FABRICAST_API fabricast_status fabricast_gate(const fabricast_scenario *scenario, const char *options,
                                              const fabricast_control *control, fabricast_result **result);

/** The scenario with every default filled in, as YAML. */
FABRICAST_API fabricast_status fabricast_effective(const fabricast_scenario *scenario, fabricast_result **result);

/** The questions with their options: a JSON array of {"name", "summary", "options"}, where `options` is the JSON Schema
 * of the option object. */
FABRICAST_API fabricast_status fabricast_questions(fabricast_result **result);

/** What is built in under a name, with sources: {"fabricast", "name", "text"}. */
FABRICAST_API fabricast_status fabricast_describe(const char *name, fabricast_result **result);

/** The entries of a catalogue in the same form; NULL: of all catalogues. */
FABRICAST_API fabricast_status fabricast_list(const char *catalogue, fabricast_result **result);

/** The JSON Schema (draft 7) of scenarios. Takes about a second. */
FABRICAST_API fabricast_status fabricast_schema(fabricast_result **result);

/** The text of a result; empty if it has none, never NULL. \param length  set to its bytes; may be NULL */
FABRICAST_API const char *fabricast_result_text(const fabricast_result *result, size_t *length);
/** The diagnostics of a result, a JSON array; never NULL. */
FABRICAST_API const char *fabricast_result_diagnostics(const fabricast_result *result, size_t *length);
/** FABRICAST_INTERNAL for NULL. */
FABRICAST_API fabricast_status fabricast_result_status(const fabricast_result *result);
/** NULL is allowed. */
FABRICAST_API void fabricast_result_free(fabricast_result *result);

/* The network of a scenario, for simulators and replayers that need the times of many calls.
 *
 *     uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
 *     int64_t bytes[] = {1 << 20, 1 << 30};
 *     fabricast_call_time times[2] = {FABRICAST_CALL_TIME_INIT, FABRICAST_CALL_TIME_INIT};
 *     fabricast_network_open(scenario, NULL, NULL, &network, &result);
 *     fabricast_network_time(network, "all_reduce", bytes, 2, ranks, 8, 0, NULL, times, NULL);
 *
 * A group is a list of ranks of the scenario's cluster: rank r is GPU r % g of host r / g. It has the network to itself,
 * but for the scenario's other jobs. For all ranks, times and intervals are those of fabricast_run with
 * `harness: {tool: isolated}`.
 *
 * Answers are kept: a known one takes a tenth of a microsecond and a few nanoseconds for every rank of the group, an
 * unknown one milliseconds. The memory for them is bounded (option `kept`); when it is full, it is emptied. One
 * network answers on several threads at once; known answers do not wait for others. */
typedef struct fabricast_network fabricast_network; /**< what answers times of calls */

/** The time of a call on the stream of a GPU. */
typedef struct fabricast_call_time {
  size_t size;           /**< sizeof(fabricast_call_time); elements of an array have the same */
  double seconds;        /**< of an isolated call, launch included; the median over the samples of the network */
  double low, high;      /**< the 90 % interval, in seconds; without intervals both equal `seconds` */
  double launch;         /**< the part of `seconds` that is fixed per call; Fabricast's training steps treat it as hidden */
  const char *algorithm; /**< NCCL's choice: `ring`, `tree`, `nvls`, ... Static */
  const char *protocol;  /**< `ll`, `ll128` or `simple`. Static */
  int channels;          /**< that carry data */
} fabricast_call_time;

#define FABRICAST_CALL_TIME_INIT {sizeof(fabricast_call_time), 0, 0, 0, 0, NULL, NULL, 0}

/** Opens the network of a scenario, which may be freed afterwards.
 * \param options  a JSON object: `intervals` (true), `measured` (logs of this site, as of fabricast_run), `kept` (the most
 *                 answers that are kept: 262144, of about 150 B each). NULL: the defaults
 * \param network  set to the open network, to be freed; NULL unless the status is FABRICAST_OK */
FABRICAST_API fabricast_status fabricast_network_open(const fabricast_scenario *scenario, const char *options,
                                                      const fabricast_control *control, fabricast_network **network,
                                                      fabricast_result **result);

/** The number of ranks of the scenario's cluster; 0 for NULL. \param per_host  set to the GPUs of a host; may be NULL */
FABRICAST_API size_t fabricast_network_ranks(const fabricast_network *network, size_t *per_host);

/** The times of one call for `sizes` sizes. Several sizes cost less together than one after the other.
 * \param collective  all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, scatter, gather; sendrecv (each
 *                    rank sends to the next of the group); send (the first of two ranks sends to the second)
 * \param bytes   counted as in nccl-tests: the whole buffer for all_gather and reduce_scatter, what a rank sends in total
 *                for alltoall, one message for send
 * \param ranks   the group, `count` ranks in the order of the communicator; as many on every node that it touches
 * \param at      seconds on the clock of the scenario's faults: the state of the network that the call meets
 * \param control may be NULL; `progress` is not called
 * \param times   set; `size` of the first element must be set before
 * \param result  set to a result without text; NULL saves its cost */
FABRICAST_API fabricast_status fabricast_network_time(const fabricast_network *network, const char *collective,
                                                      const int64_t *bytes, size_t sizes, const uint32_t *ranks,
                                                      size_t count, double at, const fabricast_control *control,
                                                      fabricast_call_time *times, fabricast_result **result);

/** The same in JSON: a list of {"collective", "bytes", "ranks", "at"}, of which `at` may be left out, and `bytes` may be a
 * text such as "1MiB". The text of the result is {"fabricast", "rows"} with a row per call: collective, bytes, seconds,
 * low, high, launch, algorithm, protocol, channels. An error names the first call that has one; then there are no rows. */
FABRICAST_API fabricast_status fabricast_network_calls(const fabricast_network *network, const char *calls,
                                                       const fabricast_control *control, fabricast_result **result);

/** NULL is allowed. */
FABRICAST_API void fabricast_network_free(fabricast_network *network);

/** A request to stop, not yet made; NULL if memory runs out. */
FABRICAST_API fabricast_stop *fabricast_stop_new(void);
/** Asks the questions that have this request to stop. They return FABRICAST_STOPPED at their next check, usually within
 * milliseconds; a forecast of a very large cluster may take seconds. Cannot be taken back. May be called from a signal
 * handler. NULL is allowed. */
FABRICAST_API void fabricast_stop_request(fabricast_stop *stop);
/** NULL is allowed. No question may be using it. */
FABRICAST_API void fabricast_stop_free(fabricast_stop *stop);

#ifdef __cplusplus
}
#endif

#endif
