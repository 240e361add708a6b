// Logs of measurements, as verbs read them.
#pragma once

#include <string>

#include "fabricast/calibrate/import.hpp"

namespace fabricast {

/// Reads a log, and prints what in it can not be read.  \throws UserError if the file can not be
Imported read_log(const std::string& path);

}  // namespace fabricast
