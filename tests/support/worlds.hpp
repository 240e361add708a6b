// A world from the text of a scenario.
#pragma once

#include <memory>
#include <string>

#include "fabricast/scenario/world.hpp"

namespace fabricast::test {

inline World world_of(const std::string& rest, const std::vector<std::string>& set = {}) {
  return build_world(parse_scenario("fabricast: 1\n" + rest, "test.yaml", set).scenario);
}

}  // namespace fabricast::test
