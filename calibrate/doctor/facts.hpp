// What of a host should be alike on like hosts, in words that can be compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host.hpp"

namespace fabricast {

/// Name and value; what is not told is left out. Of devices they are counted: "7 x 400 Gb/s, 1 x 200 Gb/s".
std::vector<std::pair<std::string, std::string>> host_facts(const HostFiles& host);

}  // namespace fabricast
