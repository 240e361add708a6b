// The script of a health check, shared by the formats that differ in what happens to a node that fails.
#pragma once

#include <string>

#include "fabricast/gate/gate.hpp"

namespace fabricast {

/// A POSIX shell script. To be safe against any scenario, it uses no `eval`, and text from the user occurs only in
/// comments of printable ASCII and in quoted values.
/// \param usage   comment lines on its arguments and variables
/// \param report  definition of a shell function `report REASON`, called for a test that failed
/// \param launch  default launcher of the test's processes; empty: none is needed
/// \throws UserError as test_command
std::string gate_script(const World& world, const Gate& gate, const std::string& usage, const std::string& report,
                        const std::string& launch);

}  // namespace fabricast
