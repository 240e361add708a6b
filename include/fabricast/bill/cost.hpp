// What a bill costs by the user's prices: to buy, by the hour, and for what the job does in its forecast time.
//
//   an hour = bought / (years x 8766) + opex x bought / 8766 + kWh x electricity
//   a step  = that x the job's share of the hosts x the step's time
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/bill/prices.hpp"
#include "fabricast/report/forecast.hpp"

namespace fabricast {

struct Cost {
  /// Of one, by line of the bill; nothing: it has no price (`missing: list`).
  struct Line {
    std::optional<double> unit;
    std::string source;
  };
  std::vector<Line> lines;
  double bought = 0, network = 0;  ///< network: as Bill::network_watts
  int not_priced = 0;              ///< lines; then all sums are too low
  std::int64_t gpus = 0;
  double job_share = 1;
  double per_hour = 0;  ///< of all hosts
  double energy_per_hour = 0;
  double per_gpu() const { return bought / static_cast<double>(gpus); }
  double network_per_gpu() const { return network / static_cast<double>(gpus); }
  double network_share() const { return bought > 0 ? network / bought : 0; }
  /// Of what the job does in that time, s.
  double of_time(double seconds) const { return per_hour / 3600 * seconds * job_share; }
};

/// \throws UserError naming each line without a price, unless the prices say `missing: list`
Cost cost_of(const Bill& bill, const Prices& prices);

/// What a job does, and how long it takes by forecast.
struct Work {
  std::string what;  ///< `step`, `call of 8GiB`
  double seconds = 0;
  double tokens = 0;  ///< 0: none
};
/// The forecast of the scenario's workload: a step, or a call of each size.
std::vector<Work> work_of(const World& world, const RunOptions& options);

std::string bill_text(const World& world, const Bill& bill, const Prices* prices, const Cost* cost,
                      const std::vector<Work>& work);
std::string bill_json(const World& world, const Bill& bill, const Prices* prices, const Cost* cost,
                      const std::vector<Work>& work);
std::string bill_csv(const Bill& bill, const Cost* cost);

}  // namespace fabricast
