// Options of the verbs that are programs of their own. The command knows them, too, for its manual and completion.
#pragma once

#include "options.hpp"

namespace fabricast {

Options mcp_options();
Options serve_options();
Options watch_options();

}  // namespace fabricast
