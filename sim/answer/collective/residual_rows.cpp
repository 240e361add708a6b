// What the distribution of errors needs to know of each row (report/residual_rows.hpp): d_ik, u_i and the keys of the
// correlations in the equations of docs/models/intervals.md.
//
//    d_ik  = ln( t_i / t_i(group k lowered) ) / 0.1                   the row, forecast again with the same plan
//    u_i   = sqrt(probability) ln( t_i(other value) / t_i )          one per other value of an unstated input
//
// The plan stays the same because a derivative of a choice does not exist: near a switch of algorithms it would be a
// jump. What another choice would cost is part of the unstated inputs, e.g. of NCCL's version.
#include "fabricast/report/residual_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/scenario/used_parameters.hpp"

namespace fabricast {

namespace {

/// Times of the rows' plans with other hardware parameters, on the first sample of the network.
/// Counts of connections on links do not depend on parameters, so they
/// are shared with the forecast where the network connects alike.
std::vector<Seconds> times_with(const World& world, const Forecast& forecast, Hardware hardware) {
  Scenario scenario = world.scenario();
  scenario.hardware = std::move(hardware);
  const World other = build_world(std::move(scenario))
                          .with_counts_of(world)
                          .with_samples_up_to(1)
                          .with_beside(world.beside())
                          .with_times_only();
  std::vector<Plan> plans;
  for (const ForecastRow& row : forecast.rows) plans.push_back(row.plan);
  std::vector<Seconds> times;
  for (const ForecastRow& row : run_plans(other, std::move(plans), one_thread).rows) times.push_back(row.time);
  return times;
}

// Nodes whose GPUs share PCIe only have errors of their own kind, whatever the network between them.
bool has_nvlink(const NodeSpec& node, const GpuKind& gpu) {
  return node.intranode != Intranode::pcie && !gpu.nvlink.empty();
}

}  // namespace

bool can_matter(const ParameterGroup& group, CollectiveOp op, std::span<const AlgorithmRun> runs) {
  const auto any = [&](auto is) { return std::any_of(runs.begin(), runs.end(), is); };
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    if (group.name == fmt::format("rate_{}", name_of(protocol)) ||
        group.name == fmt::format("hop_{}", name_of(protocol)))
      return any([&](const AlgorithmRun& run) { return run.protocol == protocol; });
  if (group.name == "nvls_rate")
    return any([](const AlgorithmRun& run) { return name_of(run.algorithm).starts_with("nvls"); });
  if (group.name == "peers") return is_point_to_point(op);
  return true;
}

// Kinds differ in how well they were measured and how far off forecasts are, g_i in docs/models/intervals.md. The order
// of the tests matters: a PCIe node is one of kind pcie even on several hosts, and a mesh of NVLink (DGX-1) is a kind
// of its own.
ResidualKind residual_kind(const World& world, std::int64_t hosts) {
  const Scenario& s = world.scenario();
  const NodeSpec& node = s.node.spec;
  const GpuKind& gpu = gpu_of(s);
  constexpr int hopper = 90;  // compute capability 9.0
  if (!has_nvlink(node, gpu)) return ResidualKind::pcie;
  if (node.intranode == Intranode::nvlink_mesh) return ResidualKind::mesh;
  if (hosts == 1) return ResidualKind::one_node;
  if (world.planner().comm.node.hosts > 1) return ResidualKind::rack;
  const LinkKind link = node.nics.link;
  if (link != LinkKind::infiniband && link != LinkKind::roce) return ResidualKind::other_network;
  return gpu.compute_capability >= hopper ? ResidualKind::network : ResidualKind::older_network;
}

ResidualKind residual_kind(const World& world) { return residual_kind(world, world.scenario().cluster.nodes); }

// Rows of one size sweep share the environment of one run, and their errors have more in common than those of two runs.
// Sizes are not part of the number.
std::size_t series_of(const World& world, CollectiveOp op, std::int64_t hosts, std::int64_t gpus) {
  const Scenario& s = world.scenario();
  std::string text = fmt::format("{} {} {} {}", name_of(op), hosts, gpus, to_text(world.planner().comm.version));
  for (const auto& [name, value] : s.nccl.env) text += fmt::format(" {}={}", name, value);
  return hash_of(text);
}

std::size_t series_of(const World& world) {
  const Scenario& s = world.scenario();
  return series_of(world, s.workload.collective, s.cluster.nodes, s.node.spec.gpus);
}

std::vector<ResidualRow> residual_rows(const Forecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  // The last task has unchanged parameters. It is needed if the forecast is a median over several samples, because
  // derivatives are those of the first sample.
  constexpr std::size_t groups = parameter_groups.size();
  const bool several = forecast.samples > 1;
  std::vector<std::vector<Seconds>> times(groups + 1);
  std::vector<AlgorithmRun> runs;
  for (const ForecastRow& row : forecast.rows) runs.push_back({row.algorithm, row.protocol});
  TaskProgress progress(options.progress, groups + 1);
  in_parallel(groups + 1, thread_count(options.threads), [&](std::size_t g) {
    Hardware hardware = world.scenario().hardware;
    if (g < groups
            ? can_matter(parameter_groups[g], forecast.op, runs) && lower(hardware, parameter_groups[g], residual_step)
            : several)
      times[g] = times_with(world, forecast, std::move(hardware));
    progress.one_done();
  });
  if (!several)
    for (const ForecastRow& row : forecast.rows) times[groups].push_back(row.time);
  // How well the parameters of each group are known: the intervals of those that this scenario uses.
  const PerGroup<double> own = deviations(world.scenario().hardware, used_parameters(world.scenario()));
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
                    world.scenario().cluster.nodes,
                    series,
                    from.time,
                    {},
                    own,
                    {}};
    // Groups that were skipped cannot affect the row: their derivative is 0.
    for (std::size_t g = 0; g < groups; ++g)
      if (!times[g].empty()) row.effects[g] = std::log(times[groups][i] / times[g][i]) / residual_step;
    for (const UnstatedEffect& effect : forecast.unstated)
      for (std::size_t k = 0; k < effect.ratios.size(); ++k) {
        const auto& other = effect.input.others[k];
        // Keyed by input and value: rows that both depend on the same unknown value are correlated through it.
        const double size = std::sqrt(other.weight) * std::log(effect.ratios[k][i]);
        if (size != 0) row.unstated[effect.input.key + "=" + other.value] = size;
      }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fabricast
