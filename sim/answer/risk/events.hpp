// The events that can happen to a job, as rows of the report and as failure sources of the sampled months.
#pragma once

#include <optional>
#include <vector>

#include "effects.hpp"
#include "fabricast/scenario/transport.hpp"
#include "month.hpp"

namespace fabricast {

/// What the events of a scenario follow from, apart from the section `reliability`.
struct Ground {
  const World& world;
  const Elements* elements = nullptr;  ///< null: the job has no fabric
  std::vector<double> healthy;         ///< s without failures, for each sample of the network
  double median = 0;                   ///< of `healthy`
  double computing = 0;                ///< s of the median step that its busiest stage computes
};

/// The transport of a world with another section.
Transport transport_of(const World& world, const ReliabilitySpec& spec);

/// The effects that the rows need, each once. \param all  also effects of events without a rate
std::vector<EffectKey> effects_wanted(const Ground& ground, const ReliabilitySpec& spec, bool all);

/// The rows of the report and the model of a month. `row_of_source` gives the row of each failure source.
struct Outlook {
  std::vector<RiskClass> rows;
  MonthModel model;
  std::vector<std::size_t> row_of_source;
  CheckpointPlan checkpoint;
  Transport transport;
  int spares = 0;
};
/// Combines the section with the simulated effects. \param month  length of a month to sample
/// \pre `effects` has all wanted effects of events with a rate
Outlook outlook_of(const Ground& ground, const ReliabilitySpec& spec, const Effects& effects, Seconds month);

}  // namespace fabricast
