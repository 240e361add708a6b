#include "fabricast/report/residual_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/scenario/used_parameters.hpp"

namespace fabricast {

namespace {

/// The decrease of ln(parameter) for a difference quotient: large compared with rounding, small enough that the
/// bottleneck rarely changes.
constexpr double step = 0.1;

/// Times of the rows' plans with other hardware parameters, on the first sample of the network.
std::vector<double> times_with(const World& world, const Forecast& forecast, Hardware hardware) {
  Scenario scenario = world.scenario;
  scenario.hardware = std::move(hardware);
  const auto other = build_world(std::move(scenario), world.searches);
  other->setup.times_only = true;
  other->samples.count = 1;
  if (connects_alike(other->setup, world.setup)) other->setup.counts = world.setup.counts;
  other->beside = world.beside;
  std::vector<Plan> plans;
  for (const ForecastRow& row : forecast.rows) plans.push_back(row.plan);
  std::vector<double> times;
  for (const ForecastRow& row : run_plans(*other, std::move(plans), one_thread).rows) times.push_back(row.time);
  return times;
}

bool has_nvlink(const NodeSpec& node, const GpuKind& gpu) {
  return node.intranode != Intranode::pcie && !gpu.nvlink.empty();
}

/// Whether a row uses the protocol, algorithm or operation that a group of parameters belongs to. Other groups are
/// skipped, because a forecast of a large cluster takes long.
bool can_matter(const ParameterGroup& group, const Forecast& forecast) {
  const auto any = [&](auto is) { return std::any_of(forecast.rows.begin(), forecast.rows.end(), is); };
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    if (group.name == fmt::format("rate_{}", name_of(protocol)) ||
        group.name == fmt::format("hop_{}", name_of(protocol)))
      return any([&](const ForecastRow& row) { return row.protocol == protocol; });
  if (group.name == "nvls_rate")
    return any([](const ForecastRow& row) { return name_of(row.algorithm).starts_with("nvls"); });
  if (group.name == "peers") return is_point_to_point(forecast.op);
  return true;
}

}  // namespace

ResidualKind residual_kind(const World& world) {
  const Scenario& s = world.scenario;
  const NodeSpec& node = s.node.spec;
  const GpuKind& gpu = gpu_of(s);
  constexpr int hopper = 90;  // compute capability 9.0
  if (!has_nvlink(node, gpu)) return ResidualKind::pcie;
  if (node.intranode == Intranode::nvlink_mesh) return ResidualKind::mesh;
  if (s.cluster.nodes == 1) return ResidualKind::one_node;
  if (world.planner.comm.node.hosts > 1) return ResidualKind::rack;
  const LinkKind link = node.nics.link;
  if (link != LinkKind::infiniband && link != LinkKind::roce) return ResidualKind::other_network;
  return gpu.compute_capability >= hopper ? ResidualKind::network : ResidualKind::older_network;
}

std::size_t series_of(const World& world) {
  const Scenario& s = world.scenario;
  std::string text = fmt::format("{} {} {} {}", name_of(s.workload.collective), s.cluster.nodes, s.node.spec.gpus,
                                 to_text(world.planner.comm.version));
  for (const auto& [name, value] : s.nccl.env) text += fmt::format(" {}={}", name, value);
  return hash_of(text);
}

std::vector<ResidualRow> residual_rows(const World& world, const Forecast& forecast, const RunOptions& options) {
  // The last task has unchanged parameters. It is needed if the forecast is a median over several samples, because
  // derivatives are those of the first sample.
  constexpr std::size_t groups = parameter_groups.size();
  const bool several = forecast.samples > 1;
  std::vector<std::vector<double>> times(groups + 1);
  TaskProgress progress(options.progress, groups + 1);
  in_parallel(groups + 1, thread_count(options.threads), [&](std::size_t g) {
    Hardware hardware = world.scenario.hardware;
    if (g < groups ? can_matter(parameter_groups[g], forecast) && lower(hardware, parameter_groups[g], step) : several)
      times[g] = times_with(world, forecast, std::move(hardware));
    progress.one_done();
  });
  if (!several)
    for (const ForecastRow& row : forecast.rows) times[groups].push_back(row.time);
  const PerGroup<double> own = deviations(world.scenario.hardware, used_parameters(world.scenario));
  const ResidualKind kind = residual_kind(world);
  const std::size_t series = series_of(world);
  std::vector<ResidualRow> rows;
  for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
    const ForecastRow& from = forecast.rows[i];
    ResidualRow row{kind,
                    forecast.op,
                    from.algorithm,
                    from.protocol,
                    std::max<std::int64_t>(1, from.bytes),
                    world.scenario.cluster.nodes,
                    series,
                    Seconds{from.time},
                    {},
                    own,
                    {}};
    for (std::size_t g = 0; g < groups; ++g)
      if (!times[g].empty()) row.effects[g] = std::log(times[groups][i] / times[g][i]) / step;
    for (const UnstatedEffect& effect : forecast.unstated)
      for (std::size_t k = 0; k < effect.ratios.size(); ++k) {
        const auto& other = effect.input.others[k];
        const double size = std::sqrt(other.weight) * std::log(effect.ratios[k][i]);
        if (size != 0) row.unstated[effect.input.key + "=" + other.value] = size;
      }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fabricast
