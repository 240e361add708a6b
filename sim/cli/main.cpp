// The main function. Only sim/cli prints and sets exit codes.
#include <cstdio>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.hpp"

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Large arrays are allocated and freed often. Keep their memory: requesting it again from the kernel would take a
  // fifth of a long run.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
#endif
  return fabricast::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
