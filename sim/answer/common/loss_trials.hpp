// What would help on a network that loses, reorders or marks packets, for `explain` of collectives and of steps. Each is
// empty where it does not apply. Pure functions; safe to call concurrently.
#pragma once

#include "fabricast/report/what_if.hpp"

namespace fabricast {

Alternatives no_drops(const World& world);
Alternatives sound_cables(const World& world);
Alternatives selective_repeat(const World& world);
/// Only where packets overtake others.
Alternatives any_order(const World& world);
Alternatives one_path(const World& world);
/// Only where DCQCN's rates are simulated, and rise later or more slowly.
Alternatives faster_rises(const World& world);
/// Only where a timeout is longer than 0.1 s.
Alternatives shorter_timeout(const World& world);

}  // namespace fabricast
