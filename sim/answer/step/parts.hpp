// Shared by forecasts of training and inference steps, and by their writers. Times in seconds.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "fabricast/report/step.hpp"

namespace fabricast {

/// Number and kind of GPUs, and the network: "64 GPUs = 8 nodes x 8 h100, 8 x 400Gbps ...".
std::string gpus_text(const World& world, std::int64_t gpus);
/// The mean over all ranks that the actors stand for.
ActorTimes mean_of(const Program& program, const std::vector<ActorTimes>& actors);
/// The kinds of collectives that were called in a timeline.
std::vector<CollectiveUse> uses_of(const Program& program, const Timeline& timeline, Traffic& traffic);

/// A component of the step.
struct StepLine {
  std::string what;
  Seconds time;
};
/// The components of the time of an actor, or of the mean over all, without the bubble. Zeros are left out.
std::vector<StepLine> breakdown_lines(const ActorTimes& times);
/// The components of the bubble: the waiting time of the busiest stage is due to the schedule, additional waiting time
/// of other stages is due to the busiest one.
std::vector<StepLine> bubble_lines(const StepForecast& forecast);

/// A line of the table of collectives. Collectives that differ in their stage only share a line.
struct CollectiveLine {
  double calls = 0;
  Seconds time;
  double slowest = 0;                  ///< largest slowdown by concurrent collectives
  BytesPerSecond bus_bandwidth;        ///< alone
  const CollectiveUse* use = nullptr;  ///< the slowest one; points into the argument of collective_lines
};
std::vector<CollectiveLine> collective_lines(const Program& program, const std::vector<CollectiveUse>& collectives);

/// The table of collective_lines; empty if there are none.
std::string collective_table(const Program& program, const std::vector<CollectiveUse>& collectives);
nlohmann::ordered_json collectives_json(const Program& program, const std::vector<CollectiveUse>& collectives);

}  // namespace fabricast
