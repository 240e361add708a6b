// The plan: its order, the shares of the budget, and its text.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "fabricast/calibrate/probe.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {

std::string Measurement::key() const {
  std::string text =
      fmt::format("{} {} {} {}{}{} -> {}{}{} {} x{}", backend, what, memory, from, from_port.empty() ? "" : ":",
                  from_port, to, to_port.empty() ? "" : ":", to_port, to_text(bytes), connections);
  if (gpus > 0) text += fmt::format(" {} GPUs", gpus);
  for (const std::string& word : {algorithm, protocol})
    if (!word.empty()) text += " " + word;
  if (channels > 0) text += fmt::format(" {} channels", channels);
  if (in_place) text += " in place";
  return text;
}

void shuffle_plan(std::vector<Measurement>& plan, std::uint64_t seed) {
  std::sort(plan.begin(), plan.end(), [](const Measurement& a, const Measurement& b) { return a.key() < b.key(); });
  Rng rng(seed);
  shuffle(plan, rng);
}

Seconds share_of(const std::vector<Measurement>& plan, std::size_t next, Seconds left) {
  Seconds all{};
  for (std::size_t i = next; i < plan.size(); ++i) all += plan[i].estimate;
  return left * (plan[next].estimate / all);
}

std::string plan_text(const std::vector<Measurement>& plan, Seconds budget) {
  struct Row {
    int count = 0;
    Seconds time{};
    double traffic = 0;
  };
  std::map<std::tuple<std::string, std::string, std::int64_t, int>, Row> rows;
  Row all;
  for (const Measurement& m : plan) {
    for (Row* row : {&rows[{m.backend, m.what, m.bytes.value, m.connections}], &all}) {
      row->count += 1;
      row->time += m.estimate;
      row->traffic += static_cast<double>(m.traffic.value);
    }
  }
  std::string text = fmt::format("{:<8} {:<16} {:>9} {:>11} {:>6} {:>8} {:>11}\n", "backend", "what", "bytes",
                                 "connections", "pairs", "seconds", "traffic");
  const auto size = [](double bytes) { return fmt::format("{:.3g} GB", bytes * 1e-9); };
  for (const auto& [of, row] : rows)
    text += fmt::format("{:<8} {:<16} {:>9} {:>11} {:>6} {:>8.1f} {:>11}\n", std::get<0>(of), std::get<1>(of),
                        to_text(Bytes{std::get<2>(of)}), std::get<3>(of), row.count, row.time.value, size(row.traffic));
  text += fmt::format("{} measurements, about {:.0f} s and {} at the assumed rates; budget {:.0f} s\n", all.count,
                      all.time.value, size(all.traffic), budget.value);
  const auto unknown = std::count_if(plan.begin(), plan.end(), [](const Measurement& m) { return !m.rate_known; });
  if (unknown > 0) text += fmt::format("The port rate is unknown for {} of them; 100 Gb/s is assumed.\n", unknown);
  if (all.time.value > budget.value) text += "The budget is too short: intervals will be wider.\n";
  return text;
}

}  // namespace fabricast
