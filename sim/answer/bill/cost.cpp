// Prices a bill, and the work of the job (bill/cost.hpp has the equations).
//
// No price is built in. A missing one is an error, because a sum without it looks like a low price.
#include "fabricast/bill/cost.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast {

namespace {

constexpr double hours_per_year = 8766;  // of 365.25 days

/// An item that would give a line its price, for the user to copy into the file.
/// The keys that usually decide a price, without tier and length class.
std::string item_for(const BillLine& line) {
  std::string keys = fmt::format("item: {}", name_of(line.item));
  switch (line.item) {
    case Item::node:
    case Item::rack: keys += fmt::format(", name: {}", line.name); break;
    case Item::nic: keys += fmt::format(", ports: {}, rate: {}", line.ports, to_text(line.rate)); break;
    case Item::switch_box:
      keys += fmt::format(", link: {}, ports: {}, rate: {}", name_of(line.link), line.ports, to_text(line.rate));
      break;
    case Item::cable: keys += fmt::format(", medium: {}, rate: {}", name_of(line.medium), to_text(line.rate)); break;
    case Item::transceiver:
      keys += fmt::format(", medium: {}, ports: {}, rate: {}", name_of(line.medium), line.ports, to_text(line.rate));
  }
  return fmt::format("{{{}, price: ...}}", keys);
}

/// Reports all lines without a price. Lines that the same item would price are reported once.
[[noreturn]] void refuse(const std::vector<const BillLine*>& missing, const Prices& prices) {
  std::vector<Diagnostic> faults;
  std::vector<std::string> hints;
  for (const BillLine* line : missing) {
    std::string hint = item_for(*line);
    if (std::find(hints.begin(), hints.end(), hint) != hints.end()) continue;
    hints.push_back(hint);
    Diagnostic d;
    const auto items = prices.places.find("items");
    d.where = items != prices.places.end() ? items->second : SourceSpan{prices.file, 0, 0, 1};
    d.path = "items";
    d.message = fmt::format("no price for {} x {}", line->count, line->what());
    d.hint = fmt::format("- {}{}", hint,
                         hints.size() == 1 ? ", or `missing: list` to leave out things without a price" : "");
    faults.push_back(std::move(d));
  }
  throw UserError(std::move(faults));
}

}  // namespace

Cost cost_of(const Bill& bill, const Prices& prices) {
  Cost cost;
  std::vector<const BillLine*> missing;
  for (const BillLine& line : bill.lines) {
    Cost::Line& priced = cost.lines.emplace_back();
    const PriceItem* item = prices.price_of(line);
    if (!item) {
      missing.push_back(&line);
      continue;
    }
    const auto count = static_cast<double>(line.count);
    // Cables of a class have different lengths; their price per metre applies to the mean.
    priced.unit = item->price + item->per_metre * line.metres.value / count;
    priced.source = item->source;
    cost.bought += *priced.unit * count;
    if (is_network(line.item)) cost.network += *priced.unit * count;
  }
  if (!missing.empty() && prices.missing == Missing::error) refuse(missing, prices);
  cost.not_priced = static_cast<int>(missing.size());
  cost.gpus = bill.gpus;
  cost.job_share = bill.job_share;
  // W x 1e-3 x 1 h = kWh.
  cost.energy_per_hour = bill.mean_watts() * 1e-3 * prices.electricity;
  // Straight-line depreciation without interest or residual value.
  cost.per_hour = cost.bought / (prices.years * hours_per_year) + prices.opex.value * cost.bought / hours_per_year +
                  cost.energy_per_hour;
  return cost;
}

std::vector<Work> work_of(const World& world, const RunOptions& options) {
  switch (world.scenario().workload.kind) {
    case WorkloadKind::training_step: {
      require_memory(world);
      const StepForecast step = run_step(world, options);
      return {{"step", step.time, step.tokens}};
    }
    case WorkloadKind::trace: return {{"step", run_trace(world, options).time, 0}};
    case WorkloadKind::inference: {
      require_memory(world);
      const InferenceForecast serving = run_inference(world, options, false);
      // Tokens of a step at the rate of the load, so that the cost of a million tokens includes the time of prompts.
      return {{"step", serving.step.time, serving.tokens_per_second * serving.step.time.value}};
    }
    case WorkloadKind::collective: break;
  }
  std::vector<Work> work;
  for (const ForecastRow& row : run_forecast(world, options).rows)
    work.push_back({fmt::format("{} of {}", name_of(world.scenario().workload.collective), to_text(Bytes{row.bytes})),
                    row.time, 0});
  return work;
}

}  // namespace fabricast
