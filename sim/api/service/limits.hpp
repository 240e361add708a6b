// What a request to a server may use, and what it may see.
#pragma once

#include <string>

#include "fabricast/core/units.hpp"

namespace fabricast {

struct ServiceLimits {
  Seconds time{60};                      ///< from the start of a question to its answer
  Bytes memory{std::int64_t{4} << 30};   ///< of the process that answers, beyond what the server has
  Bytes request{std::int64_t{8} << 20};  ///< longest request
  Bytes reply{std::int64_t{64} << 20};   ///< longest answer
  int at_once = 2;                       ///< questions that run at a time
  int waiting = 64;                      ///< questions that wait for their turn; more are refused
  int threads = 1;                       ///< of a question
};

/// The one directory whose files questions may read; empty: none. Nothing may be written anywhere.
struct ServiceFiles {
  std::string directory;
};

}  // namespace fabricast
