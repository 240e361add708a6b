// The only main, the only exit codes, the only printing.
#include <cstdio>
#include <string>
#include <vector>

#include "commands.hpp"

int main(int argc, char** argv) { return fabricast::run_command_line(std::vector<std::string>(argv + 1, argv + argc)); }
