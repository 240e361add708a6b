// What forecasts of training and of inference steps share.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "fabricast/report/step.hpp"

namespace fabricast {

/// How many GPUs of what kind, on what network.
std::string gpus_text(const World& world, std::int64_t gpus);
/// Over all ranks that the actors stand for.
ActorTimes mean_of(const Program& program, const std::vector<ActorTimes>& actors);
/// The exchanges that ran.
std::vector<CollectiveUse> uses_of(const Program& program, const Timeline& timeline, Traffic& traffic);

/// A share of the step.
struct StepLine {
  std::string what;
  double seconds = 0;
};
/// What the time of an actor, or of all in the mean, went to; without the bubble.
std::vector<StepLine> breakdown_lines(const ActorTimes& times);
/// What the busiest stage waits is the schedule's; what others wait beyond it, they wait for the busiest.
std::vector<StepLine> bubble_lines(const StepForecast& forecast);

/// Exchanges of stages that differ in nothing else are one line.
struct CollectiveLine {
  double calls = 0, seconds = 0;
  double slowest = 0;                ///< most that one takes longer beside others
  double bus_bandwidth = 0;          ///< B/s, alone
  const CollectiveUse* use = nullptr;  ///< the slowest one; points into what the lines are made of
};
std::vector<CollectiveLine> collective_lines(const Program& program, const std::vector<CollectiveUse>& collectives);

/// A row for each; those of stages that differ in nothing else are one.
std::string collective_table(const Program& program, const std::vector<CollectiveUse>& collectives);
nlohmann::ordered_json collectives_json(const Program& program, const std::vector<CollectiveUse>& collectives);

}  // namespace fabricast
