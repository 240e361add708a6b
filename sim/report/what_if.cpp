#include "fabricast/report/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

/// A change to try: why, and the `--set` words that make it.
struct Trial {
  std::string what;
  std::vector<std::string> set;
};

bool is(const World& world, std::string_view policy) {
  return world.setup.policy && world.setup.policy->name == policy;
}

/// NCCL's own choice where one is forced; and the fastest of what it weighed.
void try_algorithms(const World& world, const ForecastRow& row, const Forecast& weighed, std::vector<Trial>& trials) {
  const auto& env = world.scenario.nccl.env;
  const bool forced = env.contains("NCCL_ALGO") || env.contains("NCCL_PROTO");
  if (forced) {
    std::vector<std::string> rest;
    for (const auto& [name, value] : env)
      if (name != "NCCL_ALGO" && name != "NCCL_PROTO") rest.push_back(fmt::format("{}: \"{}\"", name, value));
    trials.push_back({"NCCL's own choice of algorithm", {fmt::format("nccl.env={{{}}}", fmt::join(rest, ", "))}});
  }
  const ForecastRow* best = nullptr;
  for (const ForecastRow& r : weighed.rows)
    if (!best || r.time < best->time) best = &r;
  if (!best || (best->algorithm == row.algorithm && best->protocol == row.protocol)) return;
  trials.push_back({forced ? "the fastest that may run" : "another algorithm or protocol than NCCL's",
                    {fmt::format("nccl.env.NCCL_ALGO={}", name_of(best->algorithm)),
                     fmt::format("nccl.env.NCCL_PROTO={}", name_of(best->protocol))}});
}

void try_routing(const World& world, std::vector<Trial>& trials) {
  if (!is(world, "ecmp")) return;
  trials.push_back({"adaptive routing", {"routing={kind: adaptive}"}});
  const LinkKind nic = world.scenario.node.spec.nics.link;
  if ((nic == LinkKind::infiniband || nic == LinkKind::roce) && world.planner.comm.qps_per_connection < 4)
    trials.push_back({"four queue pairs per connection", {"nccl.env.NCCL_IB_QPS_PER_CONNECTION=4"}});
}

void try_nodes(const World& world, std::vector<Trial>& trials) {
  const NodeSpec& node = world.scenario.node.spec;
  if (world.planner.comm.nodes() > 1 && !world.planner.comm.gdr) {
    trials.push_back({"GPUDirect RDMA", {"node.gdr=true"}});
    if (node.nics.numa != NicNuma::local)
      trials.push_back({"GPUDirect RDMA, and NICs at their GPUs' socket", {"node.gdr=true", "node.nics.numa=local"}});
  }
  if (node.nics.numa != NicNuma::local) trials.push_back({"NICs at their GPUs' socket", {"node.nics.numa=local"}});
}

void try_fabric(const World& world, std::vector<Trial>& trials) {
  if (!world.fabric) return;
  trials.push_back({"no oversubscription", {"fabric.oversubscription=1", "fabric.spine_oversubscription=1"}});
  if (world.scenario.cluster.placement != Placement::in_order)
    trials.push_back({"nodes placed in order", {"cluster.placement=in_order"}});
  if (world.planner.comm.nodes() > 1) {
    const std::string twice = to_text(BytesPerSecond{2 * world.planner.comm.node.nic_line_rate.value});
    trials.push_back(
        {"NICs and switches of twice the rate", {"node.nics.rate=" + twice, "fabric.switch.rate=" + twice}});
  }
}

}  // namespace

std::vector<WhatIf> what_would_help(const World& world, const Forecast& forecast, const Forecast& weighed,
                                    const RunOptions& options) {
  const ForecastRow& row = forecast.rows.front();
  std::vector<Trial> trials;
  if (!row.result.felt.empty()) trials.push_back({"no faults", {"faults=[]"}});
  try_nodes(world, trials);
  try_routing(world, trials);
  try_fabric(world, trials);
  try_algorithms(world, row, weighed, trials);
  if (2 * row.channels <= most_channels)
    trials.push_back({"twice the channels", {fmt::format("nccl.env.NCCL_MIN_NCHANNELS={}", 2 * row.channels)}});

  const std::string effective = to_yaml(world.scenario);
  std::vector<WhatIf> found;
  for (Trial& trial : trials) {
    try {
      Scenario scenario = parse_scenario(effective, world.scenario.file, trial.set).scenario;
      if (to_yaml(scenario) == effective) continue;
      scenario.workload.sizes = {Bytes{row.bytes}};
      scenario.nccl.version_given = world.scenario.nccl.version_given;
      const auto other = build_world(std::move(scenario));
      const double time = run_forecast(*other, options).rows.front().time;
      if (time < row.time * (1 - least_gain))
        found.push_back({std::move(trial.what), std::move(trial.set), time, 1 - time / row.time});
    } catch (const UserError&) {
      // This scenario has no such key, or can not be changed in that way.
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const WhatIf& a, const WhatIf& b) { return a.time < b.time; });
  return found;
}

}  // namespace fabricast
