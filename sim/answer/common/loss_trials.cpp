#include "loss_trials.hpp"

#include <fmt/format.h>

#include "fabricast/scenario/lossy.hpp"
#include "fabricast/scenario/reordering.hpp"

namespace fabricast {

Alternatives no_drops(const World& world) {
  const CongestionSpec& congestion = world.scenario().fabric.congestion;
  return one_if<Trial>(is_lossy(congestion) && !congestion.lossless, "no drops: PFC on NCCL's class, with ECN",
                       {"fabric.congestion.lossless=true"});
}

Alternatives sound_cables(const World& world) {
  return one_if<Trial>(world.scenario().fabric.congestion.loss.value > 0, "cables that lose no packets",
                       {"fabric.congestion.loss=0"});
}

Alternatives selective_repeat(const World& world) {
  const std::optional<LossModel> loss = loss_model(world);
  const std::optional<Reordered> order = reordered(world.scenario(), world.setup());
  return one_if<Trial>((loss && !loss->selective) || (order && !order->selective), "NICs with selective repeat",
                       {"fabric.congestion.retransmission=selective_repeat"});
}

Alternatives any_order(const World& world) {
  return one_if<Trial>(reordered(world.scenario(), world.setup()).has_value(), "NICs that accept packets in any order",
                       {"fabric.congestion.reordering=accepted"});
}

Alternatives one_path(const World& world) {
  return one_if<Trial>(reordered(world.scenario(), world.setup()).has_value(), "one path for each flow",
                       {"routing={kind: ecmp}"});
}

// The timer of [Zhu2015], and 1,000 Mb/s at 400 Gb/s, which runs of packets were made with (docs/models/congestion.md).
Alternatives faster_rises(const World& world) {
  const CongestionSpec& congestion = world.scenario().fabric.congestion;
  const BytesPerSecond rise = world.planner().comm.node.nic_line_rate / 400;
  const bool slow = congestion.dcqcn.rpg_time_reset > Seconds{55e-6} || congestion.dcqcn.rpg_ai_rate < rise;
  const std::string rate = fmt::format("{:.0f}Mbps", rise.value * 8e-6);
  return one_if<Trial>(congestion.control == CongestionControl::dcqcn && slow,
                       "DCQCN rates that rise sooner and faster",
                       {"fabric.congestion.dcqcn.rpg_time_reset=55us", "fabric.congestion.dcqcn.rpg_ai_rate=" + rate,
                        "fabric.congestion.dcqcn.rpg_hai_rate=" + rate});
}

Alternatives shorter_timeout(const World& world) {
  const std::optional<LossModel> loss = loss_model(world);
  return one_if<Trial>(loss && loss->timeout.value > 0.1, "timeouts of 67 ms", {env_word("NCCL_IB_TIMEOUT", 14)});
}

}  // namespace fabricast
