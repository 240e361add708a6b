// Runs the built binary as a user does.
#pragma once

#include <string>

namespace fabricast {

struct Ran {
  int code = -1;
  std::string out, err;
};

/// Runs `fabricast WORDS` by the shell, in the folder of the sources. FABRICAST_BINARY names the binary.
Ran run_fabricast(const std::string& words);

}  // namespace fabricast
