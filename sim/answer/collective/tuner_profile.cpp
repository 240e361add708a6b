// Where NCCL should choose otherwise: ranges of sizes in which another choice is faster in the whole 90 % interval of
// the gain (report/tuner.hpp, docs/tuner-plugin.md).
//
// With forecasts t of NCCL's choice and t' of the other, and errors y = ln(measured / forecast) of both, the saved
// share is
//
//     1 - t' / t e^(y' - y)
//
// y' - y is a Student t whose scale follows from the covariance of the two rows: errors that both have in common, such
// as those of a NIC's rate, cancel.
#include <fmt/format.h>

#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/planner/tuner_profile.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/residual_rows.hpp"
#include "fabricast/report/tuner.hpp"
#include "fabricast/report/unstated.hpp"
#include "tuner_parts.hpp"

namespace fabricast {

namespace {

Plan forced(const World& world, CollectiveOp op, std::int64_t bytes, const TunerChoice& c) {
  return plan_collective(world.planner(), op, bytes, c.algorithm, c.protocol, c.channels);
}

/// A size at which a table overrides NCCL: rows 2 i and 2 i + 1 of the forecast are its choice and NCCL's.
struct Overridden {
  std::size_t point;
  std::array<double, 3> gain{};
};

/// The plans of both choices at all overridden sizes.
std::vector<Plan> plans_of(const World& world, const TunerTable& table, const std::vector<Overridden>& list) {
  std::vector<Plan> plans;
  for (const Overridden& o : list) {
    const TunerPoint& p = table.points[o.point];
    plans.push_back(forced(world, table.op, p.bytes, p.choice));
    plans.push_back(forced(world, table.op, p.bytes, p.nccl));
  }
  return plans;
}

/// The sizes whose gain is above zero in its whole interval.
std::vector<Overridden> certain(const World& world, const TunerTable& table, const SiteResiduals& site,
                                const RunOptions& options) {
  std::vector<Overridden> list;
  for (std::size_t i = 0; i < table.points.size(); ++i) {
    const TunerPoint& p = table.points[i];
    if (p.nccl.time > Seconds{} && p.choice.time < p.nccl.time) list.push_back({i});
  }
  if (list.empty()) return list;
  constexpr double own_part = 0.1;  // of the progress; each group of parameters takes as long again
  Forecast forecast = run_plans(world, plans_of(world, table, list), part_of(options, 0, own_part));
  // Both choices stay: NCCL's own one is that of the assumed inputs.
  add_unstated(forecast, options,
               [&](const World& other) { return run_plans(other, plans_of(other, table, list), one_thread); });
  const std::vector<ResidualRow> rows = residual_rows(forecast, part_of(options, own_part, 1));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Residual apart = site.of_difference(rows[2 * i], rows[2 * i + 1]);
    const double ratio = forecast.rows[2 * i].time / forecast.rows[2 * i + 1].time * std::exp(apart.median),
                 factor = std::exp(apart.half_width());
    list[i].gain = {1 - ratio * factor, 1 - ratio, 1 - ratio / factor};
  }
  std::erase_if(list, [](const Overridden& o) { return o.gain[0] <= 0; });
  return list;
}

TunerRules rules_of(const TunerTable& table, const std::vector<Overridden>& list) {
  TunerRules all{table.op, {static_cast<std::uint64_t>(table.nodes), static_cast<std::uint64_t>(table.ranks)}, {}};
  const std::vector<TunerPoint>& points = table.points;
  std::size_t before = 0;
  for (const Overridden& o : list) {
    const auto last = static_cast<std::uint64_t>(last_size(points, o.point));
    const bool follows =
        !all.rules.empty() && before + 1 == o.point && same(points[before].choice, points[o.point].choice);
    before = o.point;
    if (follows) {
      TunerRule& rule = all.rules.back();
      rule.to = last;
      if (o.gain[0] < rule.gain[0]) rule.gain = o.gain;
      continue;
    }
    const TunerChoice& c = points[o.point].choice;
    all.rules.push_back(
        {static_cast<std::uint64_t>(first_size(points, o.point)), last, c.algorithm, c.protocol, c.channels, o.gain});
  }
  return all;
}

}  // namespace

void require_stated_version(const World& world) {
  const Scenario& s = world.scenario();
  if (!s.nccl.version_given || !nccl_versions(s).known())
    throw UserError::at("nccl.version", "is not stated, and a profile overrides the choices of one version",
                        "write e.g. nccl: {version: \"2.28.3\"}");
}

std::vector<TunerRules> tuner_rules(const TunerTables& tables, const SiteResiduals& site, const RunOptions& options) {
  require_stated_version(tables.world);
  std::vector<TunerRules> all;
  const auto add = [&](const World& world, const std::vector<TunerTable>& list) {
    for (const TunerTable& table : list) {
      const auto count = static_cast<double>(tables.job.size() + tables.one_node.size());
      const double done = static_cast<double>(all.size()) / count;
      const RunOptions part = part_of(options, done, done + 1 / count);
      all.push_back(rules_of(table, certain(world, table, site, part)));
    }
  };
  add(tables.world, tables.job);
  if (!tables.one_node.empty()) add(tables.node, tables.one_node);
  return all;
}

std::string tuner_profile(const World& world, const std::vector<TunerRules>& rules) {
  TunerProfile profile{std::string(version_text()), world.scenario().name, to_text(world.planner().comm.version), {}};
  for (const TunerRules& table : rules)
    if (!table.rules.empty()) profile.tables.push_back(table);
  return tuner_profile_json(profile);
}

}  // namespace fabricast
