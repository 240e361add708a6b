// The cost of a bill at the user's prices: to buy, per hour, and for the work of the job.
//
//   an hour = bought / (years x 8766) + opex x bought / 8766 + kWh x electricity      8766: hours of a year
//   a step  = an hour / 3600 x its time in s x the job's share of the hosts
//
// The purchase is spread evenly over the years, without interest and residual value. Energy is that of the building at
// mean load (Bill::mean_watts). Hosts that the job does not use are paid for as well; the job bears its share.
//
// Amounts are in the currency of the prices. Pure functions except `work_of`, which runs a forecast; all are safe to
// call concurrently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/bill/prices.hpp"
#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// What a bill costs. Sums leave out lines without a price.
struct Cost {
  /// The price of one item of a line of the bill.
  struct Line {
    std::optional<double> unit;  ///< empty: no price is known (with `missing: list`)
    std::string source;          ///< as the file states it; empty: none
  };
  std::vector<Line> lines;         ///< one for each line of the bill
  double bought = 0, network = 0;  ///< purchase cost; of the network alone, which is defined as in Bill::network_watts
  int not_priced = 0;              ///< number of lines without a price; if not 0, all sums are too low
  std::int64_t gpus = 0;
  double job_share = 1;        ///< hosts of the job divided by the hosts on the fabric
  double per_hour = 0;         ///< cost of an hour of all hosts
  double energy_per_hour = 0;  ///< the energy in `per_hour`
  // Purchase per GPU of the cluster, and the part of the purchase that the network is, from 0 to 1.
  double per_gpu() const { return bought / static_cast<double>(gpus); }
  double network_per_gpu() const { return network / static_cast<double>(gpus); }
  double network_share() const { return bought > 0 ? network / bought : 0; }
  /// Cost of the job's hosts for this time: their share of an hour of all hosts.
  double of_time(Seconds time) const { return per_hour / 3600 * time.value * job_share; }
};

/// Prices a bill. The price per metre of a cable applies to the mean length of its class. \throws UserError that lists
/// every line without a price, unless the prices say `missing: list`
Cost cost_of(const Bill& bill, const Prices& prices);

/// A unit of the job's work, with its forecast time.
struct Work {
  std::string what;  ///< `step`, `all_reduce of 8GiB`
  Seconds time;
  double tokens = 0;  ///< 0: the work has no tokens
};
/// Forecasts the scenario's workload: a step, or a call of each size. Tokens of inference are those that the simulated
/// load generates in the time of a step, so that the cost of a token includes the time of prompts.
/// \throws UserError if the workload cannot run or does not fit in memory; Interrupted on Ctrl-C
std::vector<Work> work_of(const World& world, const RunOptions& options);

/// The bill as a table, with cost if `prices` and `cost` are given. \param work  may be empty
std::string bill_text(const Bill& bill, const Prices* prices, const Cost* cost, const std::vector<Work>& work);
/// The same in JSON (docs/formats.md, bill).
std::string bill_json(const Bill& bill, const Prices* prices, const Cost* cost, const std::vector<Work>& work);
/// One line for each line of the bill. \param cost  may be null
std::string bill_csv(const Bill& bill, const Cost* cost);

}  // namespace fabricast
