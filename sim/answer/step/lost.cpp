// Draws the timeouts of a step, call by call (lost.hpp).
#include "lost.hpp"

#include "fabricast/core/rng.hpp"
#include "fabricast/scenario/lossy.hpp"

namespace fabricast {

LostPackets::LostPackets(const World& world, const Program& program, std::uint64_t seed)
    : program_(program), model_(loss_model(world)) {
  if (model_) calls_ = exposed_calls(world, *model_, program, seed, model_->drops);
}

LostPackets::Waits LostPackets::waits(std::uint64_t sample) const {
  Waits waits{};
  if (!model_) return waits;
  std::uint64_t number = 0;
  for (const Activity& a : program_.activities) {
    if (!a.is_collective()) continue;
    const ExposedCall& call = calls_[a.collective];
    for (int i = 0; i < a.calls; ++i) {
      const std::uint64_t draw = mix64(mix64(sample) ^ ++number);
      const int timeouts = timeouts_in_series(*model_, call.packets, call.overload, draw);
      waits[static_cast<std::size_t>(program_.collectives[a.collective].part)] += timeouts * model_->timeout;
    }
  }
  return waits;
}

void LostPackets::add_to(Timeline& timeline, std::uint64_t sample) const {
  const Waits waited = waits(sample);
  for (std::size_t part = 0; part < part_count; ++part) {
    timeline.time += waited[part];
    for (ActorTimes& actor : timeline.actors) actor.exposed[part] += waited[part];
  }
}

}  // namespace fabricast
