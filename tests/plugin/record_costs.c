/* A tuner plugin that records what NCCL tells a tuner, and changes nothing (interfaces 4 and 5).
 *
 * Appends JSON lines to the file that FABRICAST_RECORD names, one file per rank. Times are NCCL's estimates in us. -1
 * is an algorithm and protocol that NCCL does not allow. Rows are algorithms in NCCL's order (tree, ring,
 * collnetdirect, collnetchain, nvls, nvlstree, pat), columns protocols (ll, ll128, simple).
 *
 *   {"init": ID, "interface": 5, "nodes": N, "ranks": N, "domains": [count, least, most],
 *    "base_latencies": [7][3], "hw_latencies": [3][7][3], "ll_max_bws": [4][3], "ring_ll128_bws": [4][3],
 *    "tree_ll128_bws": [4][3], "tree_bws": [4][3], "nvlstree_bws": [4][3]}
 *   {"call": ID, "collective": WORD, "bytes": N, "pipelined": N, "registered": 0 or 1, "channels": N, "costs": [7][3]}
 *
 * ID tells communicators that are open at the same time apart: 1, 2, ... in the order of init. It begins anew where NCCL
 * has unloaded the library, as it does after the last communicator. Interface 4 has no constants.
 * Without the variable nothing is recorded. Calls of one communicator must not be concurrent.
 *
 *   cc -shared -fPIC -O2 -o libnccl-tuner-record.so record_costs.c
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { algorithms = 7, protocols = 3, links = 3, generations = 4, scales = 3 };

typedef void (*log_function)(int, unsigned long, const char*, int, const char*, ...);

/* NCCL's tables of constants since interface 5, in its order. */
struct constants {
  double base_latencies[algorithms * protocols];
  double hw_latencies[links * algorithms * protocols];
  double bandwidths[5][generations * scales];
};

struct communicator {
  FILE* file;
  int id;
};

static int last_id = 0;

/* Writes the numbers as nested lists: `inner` numbers in each list of the last level, `middle` of these in the next. */
static void write_numbers(FILE* file, const double* numbers, int outer, int middle, int inner) {
  if (outer > 1) fputs("[", file);
  for (int o = 0; o < outer; ++o) {
    fputs(o ? ", [" : "[", file);
    for (int m = 0; m < middle; ++m) {
      fputs(m ? ", [" : "[", file);
      for (int i = 0; i < inner; ++i) fprintf(file, "%s%.9g", i ? ", " : "", numbers[(o * middle + m) * inner + i]);
      fputs("]", file);
    }
    fputs("]", file);
  }
  if (outer > 1) fputs("]", file);
}

static void write_constants(FILE* file, const struct constants* c) {
  static const char* const names[5] = {"ll_max_bws", "ring_ll128_bws", "tree_ll128_bws", "tree_bws", "nvlstree_bws"};
  fputs(", \"base_latencies\": ", file);
  write_numbers(file, c->base_latencies, 1, algorithms, protocols);
  fputs(", \"hw_latencies\": ", file);
  write_numbers(file, c->hw_latencies, links, algorithms, protocols);
  for (int i = 0; i < 5; ++i) {
    fprintf(file, ", \"%s\": ", names[i]);
    write_numbers(file, c->bandwidths[i], 1, generations, scales);
  }
}

static struct communicator* open_communicator(size_t ranks, size_t nodes, int interface) {
  const char* name = getenv("FABRICAST_RECORD");
  struct communicator* c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
  c->file = name ? fopen(name, "a") : NULL;
  if (c->file)
    fprintf(c->file, "{\"init\": %d, \"interface\": %d, \"nodes\": %zu, \"ranks\": %zu", c->id, interface, nodes,
            ranks);
  return c;
}

static void end_line(struct communicator* c) {
  fputs("}\n", c->file);
  fflush(c->file);
}

static int init4(size_t ranks, size_t nodes, log_function log, void** context) {
  (void)log;
  struct communicator* c = open_communicator(ranks, nodes, 4);
  *context = c;
  if (c && c->file) end_line(c);
  return 0;
}

static int init5(void** context, uint64_t id, size_t ranks, size_t nodes, log_function log, const int* domains,
                 const struct constants* constants) {
  (void)id, (void)log;
  struct communicator* c = open_communicator(ranks, nodes, 5);
  *context = c;
  if (!c || !c->file) return 0;
  if (domains) fprintf(c->file, ", \"domains\": [%d, %d, %d]", domains[0], domains[1], domains[2]);
  if (constants) write_constants(c->file, constants);
  end_line(c);
  return 0;
}

static int choose(void* context, int function, size_t bytes, int pipelined, float** costs, int rows, int columns,
                  int registered, int* channels) {
  static const char* const words[5] = {"broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"};
  struct communicator* c = context;
  if (!c || !c->file || function < 0 || function > 4) return 0;
  fprintf(c->file,
          "{\"call\": %d, \"collective\": \"%s\", \"bytes\": %zu, \"pipelined\": %d, \"registered\": %d, "
          "\"channels\": %d, \"costs\": [",
          c->id, words[function], bytes, pipelined, registered, *channels);
  const float* table = (const float*)costs;
  for (int a = 0; a < rows; ++a) {
    fputs(a ? ", [" : "[", c->file);
    for (int p = 0; p < columns; ++p) fprintf(c->file, "%s%.9g", p ? ", " : "", (double)table[a * columns + p]);
    fputs("]", c->file);
  }
  fputs("]", c->file);
  end_line(c);
  return 0;
}

static int end(void* context) {
  struct communicator* c = context;
  if (c && c->file) fclose(c->file);
  free(c);
  return 0;
}

const struct {
  const char* name;
  int (*init)(size_t, size_t, log_function, void**);
  int (*choose)(void*, int, size_t, int, float**, int, int, int, int*);
  int (*end)(void*);
} ncclTunerPlugin_v4 = {"record", init4, choose, end};

const struct {
  const char* name;
  int (*init)(void**, uint64_t, size_t, size_t, log_function, const int*, const struct constants*);
  int (*choose)(void*, int, size_t, int, float**, int, int, int, int*);
  int (*end)(void*);
} ncclTunerPlugin_v5 = {"record", init5, choose, end};
