// The script of a health check, for those that differ in what becomes of a node that fails.
#pragma once

#include <string>

#include "fabricast/gate/gate.hpp"

namespace fabricast {

/// A POSIX shell script. It uses no `eval`, and nothing of the user's stands in it but comments of printable ASCII and
/// values in quotes.
/// \param usage   comment lines on its settings
/// \param report  a shell function `report REASON` for a test that failed
/// \param launch  words that start the test's processes; empty: it starts by itself
std::string gate_script(const World& world, const Gate& gate, const std::string& usage, const std::string& report,
                        const std::string& launch);

}  // namespace fabricast
