// What can happen to a job: its rows in the report, and the sources of the months that are drawn.
#pragma once

#include <optional>
#include <vector>

#include "effects.hpp"
#include "month.hpp"

namespace fabricast {

/// What the events of a scenario follow from, whatever the section `reliability` says.
struct Ground {
  const World& world;
  const Elements* elements = nullptr;  ///< null: the job has no fabric
  std::vector<double> healthy;         ///< s by draw
  double median = 0;                   ///< of them
  double computing = 0;                ///< s of the median step that its busiest stage computes
};

/// A retransmission comes after `timeout`, and the job stops after `window`, s [NCCL-env].
struct Transport {
  double timeout = 0, window = 0;
};
Transport transport_of(const World& world, const ReliabilitySpec& spec);

/// The effects that the rows need, each once. \param all  also of what has no rate
std::vector<EffectKey> effects_wanted(const Ground& ground, const ReliabilitySpec& spec, bool all);

struct Outlook {
  std::vector<RiskClass> rows;
  MonthModel model;
  std::vector<std::size_t> row_of_source;
  CheckpointPlan checkpoint;
  Transport transport;
  int spares = 0;
};
/// \pre all wanted effects are known
Outlook outlook_of(const Ground& ground, const ReliabilitySpec& spec, const Effects& effects, double month);

}  // namespace fabricast
