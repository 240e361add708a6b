// Writes the made-up plan as a page: made_up_page FILE ROWS [plain].
#include <cstdlib>

#include "fabricast/core/file.hpp"
#include "support/made_up_plan.hpp"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  fabricast::write_file(argv[1],
                        fabricast::page_html(fabricast::made_up_plan(std::strtoul(argv[2], nullptr, 10), argc == 3)));
  return 0;
}
