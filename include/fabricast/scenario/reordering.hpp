// Packets that overtake others, and NICs that do not accept it: `fabric.congestion.reordering: sent_again`.
//
// Where routing spreads the packets of a flow, those on a shorter queue arrive first. A NIC that keeps order answers
// each gap by asking for the missing packet, which is on its way. The sender sends it again, and a NIC that goes back all
// W that follow it as well. With q the probability that two packets of a flow, one after the other, change places,
//
//   go-back-N          goodput >= 1 / (1 + q W)
//   selective repeat   goodput >= 1 / (1 + q)                                                                        (1)
//
// On full links waits have no limit, any order is as likely, and q = 1/2; at a quarter of their load packets hardly ever
// change places (docs/models/congestion.md, runs of packets). So (1) is what contended links carry, and flows that leave
// room on them lose nothing.
//
// Pure functions; safe to call concurrently.
//
// Not modelled: that overtakings come in bunches, of which one question repairs all: (1) is a lower bound, and NICs that go
// back reach up to 2.5 times as much. Reordering by switches that move flowlets, and between planes.
#pragma once

#include <optional>

#include "fabricast/core/error.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// What packets out of order cost.
struct Reordered {
  double overtaken = 0.5;  ///< q on full links
  bool selective = false;  ///< what a NIC sends again: one packet, or all after it
  double window = 1;       ///< packets under way
};
/// (1)
double goodput_of(const Reordered& reordered);

/// None if NICs accept packets in any order, or each flow has one path.
/// \throws UserError (path fabric.congestion.reordering) on networks other than RoCE and InfiniBand
std::optional<Reordered> reordered(const Scenario& scenario, const NetworkSetup& setup);
/// What it costs, or that nothing is reordered although NICs would not accept it; none if they do.
std::optional<Diagnostic> reordering_warning(const Scenario& scenario, const NetworkSetup& setup);

}  // namespace fabricast
