// Properties that should be equal on similar hosts, as text that can be compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host.hpp"

namespace fabricast {

/// Names and values; unknown ones are left out. Values of several devices are counted: "7 x 400 Gb/s, 1 x 200 Gb/s".
std::vector<std::pair<std::string, std::string>> host_facts(const HostFiles& host);

}  // namespace fabricast
