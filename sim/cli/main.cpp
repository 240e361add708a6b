// The only main, the only exit codes, the only printing.
#include <cstdio>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.hpp"

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Large arrays come and go: their memory is kept, or a fifth of a long run is spent on getting it anew.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
#endif
  return fabricast::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
