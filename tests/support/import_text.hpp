// Logs given as text.
#pragma once

#include <sstream>
#include <string>

#include "fabricast/calibrate/import.hpp"

namespace fabricast {

inline Imported import_text_of(const std::string& text) {
  std::istringstream in(text);
  return import_log(in);
}

}  // namespace fabricast
