// Are measured times those of a healthy cluster, and if not, why?
#include <utility>

#include "fabricast/ask/ask.hpp"
#include "fabricast/calibrate/least_time.hpp"
#include "fabricast/collective/collective.hpp"

namespace fabricast {

Seconds time_at_bus_bandwidth(const World& world, Bytes size, BytesPerSecond rate) {
  return size / rate * bus_factor(world.scenario().workload.collective, world.planner().comm.ranks());
}

namespace {

MeasuredSeries series_of_bare(const BareMeasurement& bare, const World& world) {
  MeasuredSeries series{world.scenario(), {bare.time}, "the command line", {}, {}};
  series.scenario.workload.sizes = {bare.size};
  return series;
}

std::vector<MeasuredSeries> measured_by(const CheckQuestion& question, const World& world) {
  std::vector<MeasuredSeries> measured = series_of_logs(question.logs, world);
  if (!question.logs.empty()) return measured;
  if (!question.bare) throw UserError("nothing is measured", "give a log, or a size with its time");
  return {series_of_bare(*question.bare, world)};
}

}  // namespace

Answer answer_check(const World& world, const CheckQuestion& question, const RunOptions& how) {
  const Scenario& scenario = world.scenario();
  if (scenario.workload.kind != WorkloadKind::collective)
    throw UserError("fabricast check: the workload of the scenario is not a collective",
                    "e.g. --set 'workload={collective: all_reduce}'");
  Answer answer;
  // A log of another cluster, NCCL or number of ranks would look like a fault. It is refused with what differs.
  if (auto found = contradictions_of(question.logs, world); !found.empty()) {
    const auto kept = std::make_shared<const std::vector<Contradiction>>(std::move(found));
    answer.forms = {{"json", [world, kept] { return contradictions_json(world.scenario(), *kept); }},
                    {"text", [world, kept] { return contradictions_text(world.scenario(), *kept); }}};
    answer.good = false;
    return answer;
  }
  const std::vector<MeasuredSeries> measured = placed(scenario, [&] { return measured_by(question, world); });
  // A time that the hardware cannot reach was measured elsewhere, or in another unit. The cluster is not judged by it.
  if (auto found = impossible_rows(measured); !found.empty()) {
    const auto kept = std::make_shared<const std::vector<ImpossibleRow>>(std::move(found));
    answer.forms = {{"json", [world, kept] { return impossible_json(world.scenario(), *kept); }},
                    {"text", [world, kept] { return impossible_text(world.scenario(), *kept); }}};
    answer.good = false;
    return answer;
  }
  CheckReport report = placed(scenario, [&] {
    // Telemetry without times says who is behind, and there is nothing to compare.
    if (measured.empty()) return CheckReport();
    const MeasuredSite site = site_of(question.measured, world, {});
    return check(measured, site, evidence_of(question.logs, world), how);
  });
  report.wrong = wrong_rows_of(question.logs);
  report.behind = behind_in(question.logs);
  const auto kept = std::make_shared<const CheckReport>(std::move(report));
  answer.forms = {{"json", [world, kept] { return check_json(world.scenario(), *kept); }},
                  {"text", [world, kept] { return check_text(world.scenario(), *kept); }}};
  answer.good = kept->healthy();
  return answer;
}

}  // namespace fabricast
