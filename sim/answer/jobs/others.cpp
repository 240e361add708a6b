// The traffic of other jobs and of background flows, as links of the main job see it (jobs/others.hpp; the rule for
// sharing is sim/engine/traffic/beside.cpp).
#include "fabricast/jobs/others.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/scenario/traffic_classes.hpp"
#include "fabricast/traffic/beside.hpp"

namespace fabricast {

namespace {

/// One job of section `jobs` as a scenario of its own.
/// Node, network, NCCL and software are those of the main scenario. The hosts are those of the allocation, as a list,
/// so that building this world does not place anything anew.
Scenario scenario_of(const World& main, std::size_t index) {
  const JobSpec& job = main.scenario().jobs[index];
  Scenario s = main.scenario();
  s.name = job.name;
  s.jobs.clear();
  s.background.clear();
  s.cluster = ClusterSpec{};
  s.cluster.nodes = job.nodes;
  s.cluster.size = main.scenario().cluster.size;
  s.cluster.placement = Placement::list;
  s.cluster.order.assign(main.allocation().jobs[index].begin(), main.allocation().jobs[index].end());
  s.workload = WorkloadSection{};
  s.workload.collective = job.workload.collective;
  s.workload.sizes = {job.workload.size};
  if (job.workload.kind == JobKind::training_step) {
    s.workload.kind = WorkloadKind::training_step;
    s.workload.training = job.workload.training;
  }
  put_into_class(main, class_of_job(main, job), s);
  return s;
}

/// Runs f. Errors at the key `workload` are reported at the key of the job, `jobs[i].workload`.
template <class F>
auto named(std::size_t index, F f) {
  try {
    return f();
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults)
      if (d.path.starts_with("workload")) d.path = fmt::format("jobs[{}].{}", index, d.path);
    throw UserError(std::move(faults));
  }
}

// Flows belong to listed hosts, to a job by name, or to the main job.
std::vector<std::uint32_t> hosts_of_flows(const World& main, std::size_t index) {
  const BackgroundSpec& flows = main.scenario().background[index];
  if (!flows.hosts.empty()) return parse_hosts(flows.hosts, fmt::format("background[{}].hosts", index));
  for (std::size_t j = 0; j < main.scenario().jobs.size(); ++j)
    if (main.scenario().jobs[j].name == flows.job) return main.allocation().jobs[j];
  return main.allocation().main;
}

/// A connection of a host and a target. Both ends are ports of one rail, so that fabrics with separate rails connect
/// them.
struct Connection {
  Flow flow;
  BytesPerSecond rate;
};

std::vector<Connection> connections_of(const World& main, std::size_t index) {
  const BackgroundSpec& flows = main.scenario().background[index];
  const std::string path = fmt::format("background[{}]", index);
  const std::vector<std::uint32_t> hosts = hosts_of_flows(main, index),
                                   targets = parse_hosts(flows.targets, path + ".targets");
  const auto each = static_cast<std::uint32_t>(flows.connections);
  // Each connection is routed in each sample.
  constexpr std::size_t most = 1'000'000;
  if (hosts.size() * targets.size() * each > most)
    throw UserError::at(path,
                        fmt::format("too many connections: {} hosts, {} targets, {} connections each", hosts.size(),
                                    targets.size(), each),
                        "use fewer targets; they can represent all if the total rate is the same");
  constexpr std::uint32_t first_qp = 0x800000;  // above the queue pair numbers of communicators
  // Rates are given per host or in total; both are divided evenly over the connections of a host.
  const BytesPerSecond rate = flows.rate.value > 0 ? flows.rate : flows.total / static_cast<double>(hosts.size());
  const std::uint32_t ports = main.fabric()->ports_per_node();
  std::vector<Connection> list;
  for (std::uint32_t h = 0; h < hosts.size(); ++h)
    for (std::uint32_t t = 0; t < targets.size(); ++t)
      for (std::uint32_t c = 0; c < each; ++c) {
        if (hosts[h] == targets[t]) continue;
        // Connections take turns over the host's NICs. The target uses the port of the same number, hence the same
        // rail.
        const std::uint32_t port = (h + t * each + c) % ports, qp = first_qp + static_cast<std::uint32_t>(list.size());
        Flow flow{main.fabric()->endpoint(hosts[h], port).value, main.fabric()->endpoint(targets[t], port).value, qp,
                  qp};
        if (flows.kind == FlowKind::dataset_read) std::swap(flow.from, flow.to);
        list.push_back({flow, rate / static_cast<double>(targets.size() * each)});
      }
  return list;
}

}  // namespace

bool has_others(const Scenario& scenario) { return !scenario.jobs.empty() || !scenario.background.empty(); }

// Each restriction keeps the traffic of a job a single constant: one plan per size, one state of the network, one
// version.
void check_others(const World& main) {
  const Scenario& s = main.scenario();
  if (!main.fabric())
    throw UserError::at("cluster.nodes", "the job has one GPU, so it has no traffic that other jobs could slow down",
                        "use more nodes or GPUs");
  if (s.network.engine != EngineKind::flow)
    throw UserError::at("network.engine", "several jobs need the flow engine", "use engine: flow");
  if (s.nccl.selection == Selection::best)
    throw UserError::at("nccl.selection", "several jobs need NCCL's own selection",
                        "use selection: nccl, and NCCL_ALGO in nccl.env");
  if (!nccl_versions(s).known())
    throw UserError::at("nccl.version", "several jobs need a single version of NCCL", "e.g. version: 2.28");
  if (main.setup().segments.size() > 1)
    throw UserError::at("faults", "several jobs need a constant state of the network, but a fault starts or ends",
                        "omit `at` and `until`");
}

// Also checks that each job fits in memory, so that errors name the job before any forecast runs.
std::vector<OtherJob> other_jobs(const World& main) {
  std::vector<OtherJob> list;
  for (std::size_t j = 0; j < main.scenario().jobs.size(); ++j) {
    const JobSpec& job = main.scenario().jobs[j];
    OtherJob other;
    other.name = job.name;
    other.hosts = main.allocation().jobs[j];
    other.world = named(j, [&] { return build_world(scenario_of(main, j)); });
    named(j, [&] { require_memory(other.world); });
    other.size = job.workload.size.value;
    if (job.workload.kind == JobKind::collective) other.duty = job.workload.duty.value;
    list.push_back(std::move(other));
  }
  return list;
}

std::vector<Background> traffic_of_job(const World& world, const JobTime& time, double duty, const Samples& samples,
                                       std::uint32_t owner) {
  std::vector<double> duties = time.duty;
  // The job does what was timed for the fraction `duty` of its time, and each collective runs for a fraction of that.
  for (double& d : duties) d *= duty;
  std::vector<Background> by_sample;
  for (int d = 0; d < samples.count; ++d)
    by_sample.push_back(
        traffic_of(world, time.collectives, duties, samples.first_seed + static_cast<std::uint64_t>(d), owner));
  return by_sample;
}

// The path of each connection is that of a queue pair under the same router as collectives. A flow with a network of
// its own leaves the fabric alone.
std::vector<Background> traffic_of_flows(const World& main, std::size_t index, std::uint32_t owner) {
  const BackgroundSpec& flows = main.scenario().background[index];
  std::vector<Background> by_sample(static_cast<std::size_t>(main.samples().count));
  if (flows.network == FlowNetwork::own) return by_sample;
  const std::uint32_t in = class_of_flows(main, flows);
  const std::vector<Connection> connections = connections_of(main, index);
  const LinkState& state = main.setup().segments.front().links;
  for (std::size_t d = 0; d < by_sample.size(); ++d) {
    const std::unique_ptr<Router> router =
        main.setup().policy->make(*main.setup().policy_spec, *main.fabric(), state, main.samples().first_seed + d);
    Background& all = by_sample[d];
    const MeetingRule rule = meeting_rule(main, *router);
    Path path;
    for (const Connection& c : connections) {
      if (!router->route(c.flow, path))
        throw UserError::at(fmt::format("background[{}].targets", index),
                            fmt::format("no path from {} to {}", main.fabric()->name(VertexId(c.flow.from)),
                                        main.fabric()->name(VertexId(c.flow.to))));
      const auto item = static_cast<std::uint32_t>(all.rate.size());
      // A flow that sends for a fraction d of the time has that fraction of its rate on average, and counts as d
      // connections.
      all.rate.push_back(c.rate * flows.duty.value);
      all.weight.push_back(flows.duty.value);
      all.owner.push_back(owner);
      all.duty.push_back(flows.duty.value);
      all.traffic_class.push_back(in);
      if (!rule.by_port.empty()) all.paths.push_back({item, 1, path.resources});
      for (std::size_t i = 0; i < path.resources.size(); ++i)
        all.uses.push_back({path.resources[i], item,
                            // The fraction of the link that one B/s of the item takes; with spreading, each link
                            // carries its weight of it.
                            path.weight(i) / capacity(*main.fabric(), *router, state, path.resources[i]).value});
    }
    std::sort(all.uses.begin(), all.uses.end(), [](const Background::Use& a, const Background::Use& b) {
      return a.resource != b.resource ? a.resource < b.resource : a.item < b.item;
    });
    std::vector<std::uint32_t> ports;
    for (const Connection& c : connections) ports.push_back(c.flow.from);
    mark_contended(all, rule, ports);
  }
  return by_sample;
}

// Owners may have different numbers of samples: only those that all have can be combined.
TrafficBySample beside_of(const World& main, const std::vector<const std::vector<Background>*>& owners) {
  TrafficBySample by_sample;
  if (owners.empty()) return by_sample;
  // Rates of links do not depend on the sample.
  MeetingRule rule;
  if (main.fabric()) {
    const auto router = main.setup().policy->make(*main.setup().policy_spec, *main.fabric(),
                                                  main.setup().segments.front().links, main.samples().first_seed);
    rule = meeting_rule(main, *router);
  }
  std::size_t samples = owners.front()->size();
  for (const std::vector<Background>* w : owners) samples = std::min(samples, w->size());
  for (std::size_t d = 0; d < samples; ++d) {
    std::vector<const Background*> single;
    for (const std::vector<Background>* w : owners) single.push_back(&(*w)[d]);
    by_sample.push_back(std::make_shared<const Background>(combined(single, rule)));
  }
  return by_sample;
}

World with_others(const World& world, const RunOptions& options) {
  if (!has_others(world.scenario())) return world;
  check_others(world);
  std::vector<OtherJob> jobs = other_jobs(world);
  const std::size_t flows = world.scenario().background.size();
  std::vector<std::vector<Background>> traffic(jobs.size() + flows);
  in_parallel(traffic.size(), thread_count(options.threads), [&](std::size_t i) {
    const auto owner = static_cast<std::uint32_t>(i);
    if (i >= jobs.size()) {
      traffic[i] = traffic_of_flows(world, i - jobs.size(), owner);
      return;
    }
    RunOptions one;
    one.threads = 1;
    // One sample suffices for the duty of each collective.
    const JobTime time = time_job(jobs[i].world.with_samples({world.samples().first_seed, 1}), jobs[i].size, one);
    traffic[i] = traffic_of_job(jobs[i].world, time, jobs[i].duty, world.samples(), owner);
  });
  std::vector<const std::vector<Background>*> all;
  for (const std::vector<Background>& t : traffic) all.push_back(&t);
  return world.with_beside(beside_of(world, all));
}

}  // namespace fabricast
