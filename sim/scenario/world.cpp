// From a Scenario to a World: what an engine needs (scenario/world.hpp). The steps depend on each other:
//
//    variables (user, provider) -> hosts of an NCCL node -> node -> NCCL's search: channels, costs
//    -> fabric, sized by the node's ports -> hosts of each job -> faults, SHARP -> segments, samples
//
// The fabric comes after the planner, because NCCL's merging of ports decides how many endpoints a host has.
#include "fabricast/scenario/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "effective.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "fabricast/planner/node_use.hpp"
#include "fabricast/planner/sharp.hpp"
#include "fabricast/planner/symmetric.hpp"
#include "fabricast/scenario/dcqcn.hpp"
#include "fabricast/scenario/lossy.hpp"
#include "fabricast/scenario/reordering.hpp"

namespace fabricast {

namespace {

/// What is derived from a scenario, and shared by all variants of its world.
struct Parts {
  Scenario scenario;
  ProviderEnvironment provider;
  Planner planner;
  std::unique_ptr<Fabric> fabric;
  std::any static_paths;  ///< spec of the policy that replaces adaptive routing if NCCL requires order
  Allocation allocation;
  std::vector<Diagnostic> warnings;
};

}  // namespace

/// A variant. `setup` points into `parts`.
struct World::State {
  std::shared_ptr<const Parts> parts;
  std::shared_ptr<const Scenario> scenario;  ///< that of `parts`, or the same with other sizes
  std::shared_ptr<EffectiveText> effective;  ///< shared by worlds that differ in their sizes
  NetworkSetup setup;
  Samples samples;
  TrafficBySample beside;
  std::shared_ptr<EnginePool> engines;  ///< of this setup; null: engines are not kept
};

const Scenario& World::scenario() const { return *state_->scenario; }
const ProviderEnvironment& World::provider() const { return state_->parts->provider; }
const Planner& World::planner() const { return state_->parts->planner; }
const Fabric* World::fabric() const { return state_->parts->fabric.get(); }
const Allocation& World::allocation() const { return state_->parts->allocation; }
const NetworkSetup& World::setup() const { return state_->setup; }
const Samples& World::samples() const { return state_->samples; }
const TrafficBySample& World::beside() const { return state_->beside; }
const std::vector<Diagnostic>& World::warnings() const { return state_->parts->warnings; }

const Background* World::beside_in(std::uint64_t seed) const {
  return beside().empty() ? nullptr : beside().at(static_cast<std::size_t>(seed - samples().first_seed)).get();
}

EngineLease World::engine(std::uint64_t seed, std::size_t threads) const {
  const EngineKind kind = scenario().network.engine;
  // Kept engines are those of callers that ask one thing after another, on one thread.
  if (state_->engines && threads == 1) return EnginePool::take(state_->engines, kind, setup(), seed);
  NetworkSetup with_threads = setup();
  with_threads.threads = threads;
  return lone_engine(kind, std::move(with_threads), seed);
}

const std::shared_ptr<EffectiveText>& World::effective() const { return state_->effective; }

template <class Change>
World World::changed(Change change) const {
  auto state = std::make_shared<State>(*state_);
  change(*state);
  return World(std::move(state));
}

World World::with_samples(const Samples& samples) const {
  return changed([&](State& state) { state.samples = samples; });
}

World World::with_samples_up_to(int most) const {
  return with_samples({samples().first_seed, std::min(samples().count, most)});
}

World World::with_segments(std::vector<NetworkSegment> segments) const {
  return changed([&](State& state) {
    state.setup.segments = std::move(segments);
    state.engines = nullptr;
  });
}

World World::with_beside(TrafficBySample beside) const {
  return changed([&](State& state) { state.beside = std::move(beside); });
}

World World::with_times_only() const {
  return changed([](State& state) {
    state.setup.times_only = true;
    state.engines = nullptr;
  });
}

World World::with_counts_of(const World& other) const {
  if (!connects_alike(setup(), other.setup())) return *this;
  return changed([&](State& state) { state.setup.counts = other.setup().counts; });
}

World World::with_engines_kept() const {
  return changed([](State& state) { state.engines = std::make_shared<EnginePool>(); });
}

World World::with_sizes(std::vector<Bytes> sizes, SourceSpan place) const {
  FABRICAST_CHECK(scenario().workload.kind == WorkloadKind::collective && !scenario().workload.sizes.empty(),
                  "only listed sizes of a collective can be replaced");
  return changed([&](State& state) {
    auto other = std::make_shared<Scenario>(scenario());
    other->workload.sizes = std::move(sizes);
    // Elements of the list have the place of the list.
    std::erase_if(other->places, [](const auto& known) { return known.first.starts_with("workload.sizes"); });
    other->places["workload.sizes"] = std::move(place);
    state.scenario = std::move(other);
  });
}

namespace {

/// The number of hosts that are one node of NCCL: those of an NVLink domain, unless variables forbid it.
int hosts_of_node(const Scenario& s, const NcclSettings& settings) {
  const int hosts = std::min(s.nvlink_domain.nodes, s.cluster.nodes);
  const int enable = settings.mnnvl_enable.value_or(2);
  if (enable == 1 && s.nvlink_domain.nodes == 1)
    throw UserError::at("nccl.env.NCCL_MNNVL_ENABLE",
                        "enables NVLink across hosts, but each host has its own NVLink domain",
                        "nvlink_domain: {nodes: 18} is an NVL72");
  // NCCL_MNNVL_ENABLE: 0 off, 1 required, 2 where it is possible. A P2P level below NVL also forbids NVLink between
  // hosts.
  return enable == 0 || peer_level(settings, PathType::SYS) < PathType::NVL ? 1 : hosts;
}

/// Shrinks NVLink domains that the job does not fill to the hosts that it uses, with the same number in each domain.
/// All NCCL nodes have the same size in this model, so a job that does not divide is rounded up.
void fill_domains(Scenario& s, std::vector<Diagnostic>& warnings) {
  const int nodes = s.cluster.nodes, domain = std::min(s.nvlink_domain.nodes, nodes);
  if (nodes % domain == 0) return;
  const EvenDomains even = even_domains(nodes, domain);
  if (even.hosts() != nodes)
    warnings.push_back({Diagnostic::Severity::warning,
                        {},
                        "cluster.nodes",
                        fmt::format("{} hosts in NVLink domains of {} are forecast as {} domains of {}: {} hosts",
                                    nodes, s.nvlink_domain.nodes, even.domains, even.each, even.hosts()),
                        "all NCCL nodes have the same size in this model"});
  s.nvlink_domain.nodes = even.each;
  s.cluster.size = std::max(s.cluster.size, even.hosts());
  s.cluster.nodes = even.hosts();
}

/// Whether messages need in-order delivery and therefore a single path: NCCL then sends the notification with the data
/// instead of in a message of its own [NCCL-env].
/// A threshold keeps messages up to that size on one path; slices of Simple are the largest messages.
bool keeps_order(const Scenario& s, const NcclSettings& settings) {
  if (s.node.spec.nics.link != LinkKind::infiniband) return false;
  constexpr Bytes slice{1 << 20};  // of a ring with protocol Simple and NCCL's default buffer
  const Bytes largest = settings.buffer_size ? Bytes{settings.buffer_size->value / 4} : slice;
  return !settings.adaptive_routing.value_or(true) || (settings.ar_threshold && *settings.ar_threshold >= largest);
}

/// Sets the routing policy: that of the scenario, or static paths if NCCL does not allow adaptive routing.
/// Static paths are those of the subnet manager's forwarding tables (d-mod-k), which InfiniBand uses without adaptive
/// routing.
void choose_policy(NetworkSetup& setup, Parts& parts, const NcclSettings& settings) {
  const Scenario& s = parts.scenario;
  const RoutingPolicy& given = routing_policies()[s.routing.kind];
  setup.policy = &given;
  setup.policy_spec = &s.routing.spec;
  if (given.name != "adaptive" || !keeps_order(s, settings)) return;
  setup.policy = find_by_name(routing_policies(), "static");
  parts.static_paths = setup.policy->defaults();
  setup.policy_spec = &parts.static_paths;
}

/// A cable runs at the rate of its slower end, and NCCL sees that rate. NICs that are faster than the switches are
/// therefore simulated at the switches' rate. The bill of materials still lists the NICs of the scenario.
void limit_to_switches(const Scenario& s, NodeSpec& host, std::vector<Diagnostic>& warnings) {
  const BytesPerSecond offered = topologies()[s.fabric.kind].offered(s.fabric.spec);
  if (s.cluster.nodes < 2 || host.nics.count == 0 || host.nics.rate.value <= offered.value * (1 + 1e-9)) return;
  warnings.push_back({Diagnostic::Severity::warning,
                      {},
                      "fabric.switch.rate",
                      fmt::format("NICs run at {}, but their switch ports at {}: the links run at {}",
                                  to_text(host.nics.rate), to_text(offered), to_text(offered)),
                      "use switches and NICs of the same rate"});
  host.nics.rate = offered;
  if (!host.layout) return;
  for (NodeLayout::Nic& nic : host.layout->nics) nic.rate = std::min(nic.rate, offered.value / 1e9);
}

/// Trays of a rack-scale system are nodes of their own unless the scenario says otherwise, which is rarely meant.
void warn_of_domain(const Scenario& s, std::vector<Diagnostic>& warnings) {
  const int usual = s.hardware->gpus.find(s.node.spec.gpu)->second.nvlink_domain;
  if (usual <= 1 || s.nvlink_domain.nodes > 1 || s.cluster.nodes < 2) return;
  if (s.node.spec.intranode != Intranode::nvswitch || s.places.contains("nvlink_domain.nodes")) return;
  warnings.push_back(
      {Diagnostic::Severity::warning,
       {},
       "node",
       fmt::format("hosts of {} usually share an NVLink domain of {}, and none is given: NVLink ends at each host",
                   s.node.spec.gpu, usual),
       fmt::format("nvlink_domain: {{nodes: {}}}, or {{nodes: 1}} if it does", usual)});
}

/// What is not known of lossless flow control alone, or has no effect.
void check_congestion(Parts& parts, const NetworkSetup& setup) {
  const Scenario& s = parts.scenario;
  if (auto warning = drops_nothing(s.fabric.congestion)) parts.warnings.push_back(*warning);
  if (auto warning = reordering_warning(s, setup)) parts.warnings.push_back(*warning);
  if (auto warning = dcqcn_warning(s, setup)) parts.warnings.push_back(*warning);
  if (s.fabric.congestion.control != CongestionControl::none || !setup.fabric) return;
  const auto warn = [&](std::string message, std::string hint) {
    parts.warnings.push_back(
        {Diagnostic::Severity::warning, {}, "fabric.congestion.control", std::move(message), std::move(hint)});
  };
  if (simulates_pauses(s, setup)) return;
  if (s.jobs.empty() && s.background.empty() && !is_spread(setup.paths()))
    return warn("control: none is simulated only for single collectives; those of a step share links fairly",
                "in packet simulations, a single collective takes 9 % longer in the median, and up to 43 %");
  if (is_spread(setup.paths()))
    return warn(
        "the effect of control: none on packets spread over several paths is not known: links are shared fairly",
        "use routing: {kind: ecmp}, static, or adaptive by flowlet");
  warn(
      "the effect of control: none is known for bystanders of incasts, but not where flows wait for each other in a "
      "circle, as in trees and crossing rings; there, links are shared fairly",
      "with control: ideal or reactive, such circles do not form");
  const Clos* clos = setup.fabric->clos();
  if (!clos || clos->leaf_up == 0) return;
  // The NICs of a link class reach less than its rate, so the cables are compared.
  const double ratio = parts.planner.comm.node.nic_line_rate.value * clos->endpoints / clos->leaves / clos->leaf_up /
                       topologies()[s.fabric.kind].basics(s.fabric.spec).switch_box.rate.value;
  if (ratio > 4.5)
    warn(fmt::format(
             "leaves are oversubscribed {:.0f}:1; above 4:1 it is not known how much flow control slows down flows",
             ratio),
         "where shares by port do not converge, links are shared fairly; at 8:1, packet simulations took 11 % longer");
}

std::string path_of_choice(const Scenario& s) {
  return s.nccl.env.contains("NCCL_ALGO") ? "nccl.env.NCCL_ALGO" : "nccl.env.NCCL_PROTO";
}

// A list of algorithms that leaves nothing is a mistake that old versions of NCCL hide.
void check_choice(Parts& parts) {
  const Scenario& s = parts.scenario;
  // The collectives of a step are checked one by one, because each communicator has its own choice.
  if (s.workload.kind != WorkloadKind::collective || !falls_back(s, parts.planner, s.workload.collective)) return;
  parts.warnings.push_back({Diagnostic::Severity::warning,
                            {},
                            path_of_choice(s),
                            "NCCL_ALGO and NCCL_PROTO leave no algorithm that works here",
                            "the forecast assumes the fallback of NCCL before 2.24: rings, or rings and trees"});
}

void check_buffers(Parts& parts) {
  if (parts.planner.buffers != Buffers::symmetric) return;
  const std::string why = without_symmetric(parts.planner, parts.scenario.workload.collective, 0);
  if (!why.empty())
    parts.warnings.push_back({Diagnostic::Severity::warning,
                              {},
                              "workload.buffers",
                              fmt::format("no kernel on symmetric memory: {}", why),
                              "the forecast assumes NCCL's ordinary algorithms"});
}

/// The variables that the provider of a named machine sets, if the scenario has that machine's GPU and network.
ProviderEnvironment machine_environment(const Scenario& s) {
  const NodePreset* preset = find_node(s.hardware, s.node.spec.profile);
  if (!s.nccl.provider_env || !preset || preset->env.empty()) return {};
  // A scenario may take a machine's profile and change its GPU; the provider's settings are then not meant for it.
  const bool same = gpu_called(s.hardware, preset->gpu).kind->name == s.node.spec.gpu;
  if (!same || s.node.spec.nics.link != preset->nic_link) return {};
  return {preset->env_by, preset->env};
}

/// The user's variables, and the provider's variables that the user does not set.
std::map<std::string, std::string> environment_with(const Scenario& s, const ProviderEnvironment& provider) {
  std::map<std::string, std::string> environment = s.nccl.env;
  environment.insert(provider.variables.begin(), provider.variables.end());
  return environment;
}

/// The variables of machine and network that the user does not set.
/// \param host  the host as NCCL sees it
ProviderEnvironment provider_of(const Scenario& s, const NodeSpec& host, const NcclVersion& version) {
  if (!s.nccl.provider_env) return {};
  // Two sources: the network (plugins of EFA, TCPX and others set variables) and the named machine (images of a cloud).
  // The network's win, as insert keeps what is there.
  ProviderEnvironment provider = provider_environment(host, gpu_of(s), version);
  const ProviderEnvironment machine = machine_environment(s);
  provider.variables.insert(machine.variables.begin(), machine.variables.end());
  if (provider.from.empty())
    provider.from = machine.from;
  else if (!machine.from.empty() && machine.from != provider.from)
    provider.from += " and " + machine.from;
  std::erase_if(provider.variables, [&](const auto& v) { return s.nccl.env.contains(v.first); });
  return provider;
}

/// A placement in order, used until the fabric exists. Nothing before that depends on which hosts the job has.
std::vector<std::uint32_t> provisional(const ClusterSpec& cluster) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(cluster.nodes));
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// \param shared  whether an NVLink domain is one node of NCCL
Allocation allocate_on(const Scenario& s, const Fabric* fabric, bool shared) {
  if (!needs_locality(s)) return allocate(s, nullptr, shared);
  FABRICAST_CHECK(fabric, "a placement policy that depends on the fabric needs a fabric");
  const Locality at = locality_of(*fabric);
  return allocate(s, &at, shared);
}

std::vector<Fault> find_faults(const Parts& parts) {
  const Scenario& s = parts.scenario;
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < s.faults.size(); ++i) {
    const FaultSpec& f = s.faults[i];
    Fault fault;
    fault.target = f.target();
    fault.rate = f.rate.value;
    fault.begin = f.at;
    if (f.until.value > 0) fault.end = f.until;
    resolve_fault(fault, i, *parts.fabric, parts.planner.comm.node.graph);
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

// From 2.24 on, NCCL fails if NCCL_ALGO and NCCL_PROTO leave nothing. Earlier versions fall back to their own choice.
// The fallback is also assumed if the version is only implied, because too little is known to reject the run.
bool falls_back(const Scenario& s, const Planner& planner, CollectiveOp collective) {
  const auto op = static_cast<std::size_t>(collective);
  if (op >= planner.costs.fell_back.size() || !planner.costs.fell_back[op]) return false;
  const NcclVersion& version = planner.settings.version;
  if (s.nccl.version_given && version >= strict_lists)
    throw UserError::at(path_of_choice(s),
                        fmt::format("NCCL {} fails with this setting: no algorithm and protocol available for {}",
                                    to_text(version), name_of(collective)),
                        "`fabricast inspect plan` without the variable lists the usable ones");
  return true;
}

bool tells_peer_levels(const Scenario& s, const NcclSettings& settings) {
  return s.nccl.version_given || settings.p2p_disable || settings.p2p_level;
}

EvenDomains even_domains(int nodes, int domain) {
  const int domains = (nodes + domain - 1) / domain;
  return {domains, (nodes + domains - 1) / domains};
}

NcclVersions nccl_versions(const Scenario& s) {
  const auto versions = parse_nccl_versions(s.nccl.version, gpu_of(s).compute_capability);
  return versions.value_or(NcclVersions{NcclVersion{}, NcclVersion{}});
}

NcclVersion main_version(const Scenario& s) {
  const NcclVersions versions = nccl_versions(s);
  const NcclVersion usual = usual_version(gpu_of(s).compute_capability);
  return !versions.known() && versions.contain(usual) ? usual : versions.last;
}

FabricDemand demand_of_hosts(const Scenario& s, const Communicator& comm) {
  const Node& node = comm.node;
  FabricDemand demand;
  demand.nodes = static_cast<std::uint32_t>(s.cluster.size);
  demand.ports_per_node = static_cast<std::uint32_t>(std::max(1, node.fabric_ports / node.hosts));
  demand.kind = s.node.spec.nics.link;
  demand.port_rate = node.nic_line_rate;
  // Merged ports: one endpoint stands for several cables.
  demand.cables_per_port =
      std::max(1, static_cast<int>(std::lround(node.nic_line_rate.value / node.spec.nics.rate.value)));
  demand.header_efficiency = node.header_efficiency;
  demand.nic_efficiency =
      node.nic_rate(comm.gdr && comm.gdr_read).value / (demand.port_rate.value * demand.header_efficiency);
  // Many connections with messages of 128 KiB use a NIC less efficiently than few connections with long messages.
  if (is_point_to_point(s.workload.collective)) demand.nic_efficiency *= node.network.peer_efficiency.value;
  return demand;
}

Fabric fabric_of_hosts(const Scenario& s, const Communicator& comm) {
  return topologies()[s.fabric.kind].build(s.fabric.spec, demand_of_hosts(s, comm));
}

World build_world(Scenario scenario) {
  const auto parts = std::make_shared<Parts>();
  const auto state = std::make_shared<World::State>();
  state->parts = parts;
  state->scenario = std::shared_ptr<const Scenario>(parts, &parts->scenario);
  state->effective = std::make_shared<EffectiveText>();
  NetworkSetup& setup = state->setup;
  parts->scenario = std::move(scenario);
  const Scenario& s = parts->scenario;
  std::vector<Diagnostic> stated;  // warnings on single variables, which the reader has already reported
  NcclSettings settings = parse_nccl_environment(main_version(s), environment_with(s, machine_environment(s)), stated);
  // The scenario inside the world is changed: reports show the hosts that are forecast.
  parts->scenario.cluster.size = hosts_on_fabric(s);
  if (hosts_of_node(s, settings) > 1) fill_domains(parts->scenario, parts->warnings);
  const int hosts = hosts_of_node(s, settings);
  NodeSpec spec = s.node.spec;
  limit_to_switches(s, spec, parts->warnings);
  warn_of_domain(parts->scenario, parts->warnings);
  NodeUse use = use_of_node(spec, settings, parts->warnings);
  if (!tells_peer_levels(s, settings)) use.peer_levels.reset();
  parts->provider = provider_of(s, spec, settings.version);
  if (!parts->provider.variables.empty())
    // Again with all variables: those of the network are known only once the node's NICs are.
    settings = parse_nccl_environment(settings.version, environment_with(s, parts->provider), stated);
  choose_policy(setup, *parts, settings);
  Node node = build_node(spec, s.hardware, hosts, use);
  // Not for steps and other jobs: their groups of ranks may lie within one part of a split node or across several.
  if (s.workload.kind == WorkloadKind::collective && s.jobs.empty() && s.background.empty())
    node = split_by_network(node, settings, use);
  settings.given_graphs = s.nccl.graphs;
  settings.tuner = s.nccl.tuner;
  if (s.nccl.graphs) check_graphs(*s.nccl.graphs, node, s.cluster.nodes > hosts);
  const bool shared = hosts > 1;
  if (s.workload.kind != WorkloadKind::collective && s.cluster.nodes * s.node.spec.gpus == 1) {
    // A step on one GPU has no collectives, and is equally fast on any host.
    parts->planner.comm.node = std::move(node);
    parts->planner.comm.placement = provisional(s.cluster);
    setup.comm = &parts->planner.comm;
    return World(state);
  }
  // NCCL's search needs the number of hosts, not which ones, so a provisional placement serves it.
  parts->planner =
      make_planner(std::move(node), provisional(s.cluster), static_cast<std::uint32_t>(hosts), std::move(settings));
  Communicator& comm = parts->planner.comm;
  parts->planner.buffers = s.workload.buffers;
  check_choice(*parts);
  check_buffers(*parts);

  setup.comm = &comm;
  const bool others = !s.jobs.empty() || !s.background.empty();
  // Building the fabric of a large cluster is expensive, and a job in one node does not use it, unless something refers
  // to it.
  if (comm.nodes() > 1 || !s.faults.empty() || others || needs_locality(s))
    parts->fabric = std::make_unique<Fabric>(fabric_of_hosts(s, comm));
  parts->allocation = allocate_on(s, parts->fabric.get(), shared);
  comm.placement = parts->allocation.main;
  const std::vector<Fault> faults = find_faults(*parts);
  setup.fabric = parts->fabric.get();
  const bool asks_for_collnet = parts->planner.settings.collnet_enable;
  // Only on request: finding SHARP trees through the switches of a large fabric takes long.
  if (asks_for_collnet || s.sharp.generation > SharpGeneration::none)
    use_sharp(parts->planner, sharp_service(s.sharp, comm, parts->fabric.get()));
  if (asks_for_collnet && !comm.sharp.available())
    parts->warnings.push_back({Diagnostic::Severity::warning,
                               {},
                               "nccl.env.NCCL_COLLNET_ENABLE",
                               fmt::format("no in-network aggregation: {}", comm.sharp.without),
                               "the forecast uses algorithms without it"});
  setup.segments = segments(faults);
  for (NetworkSegment& segment : setup.segments)
    segment.contended = contended_efficiency(s.fabric.congestion, comm.node.network, setup.paths());
  check_congestion(*parts, setup);
  const std::optional<LossModel> loss = loss_model(s, parts->provider, parts->planner.settings, setup);
  // What is sent again takes as much of a NIC's rate, and of links that several NICs fill.
  if (loss)
    for (NetworkSegment& segment : setup.segments) {
      segment.ports = goodput_of(*loss);
      segment.contended *= goodput_of(*loss);
    }
  if (const std::optional<Reordered> order = reordered(s, setup))
    for (NetworkSegment& segment : setup.segments) segment.contended *= goodput_of(*order);
  setup.dcqcn = dcqcn_settings(s, setup);
  // The policy says how many samples it needs: one, if it makes no random choices.
  state->samples = comm.nodes() > 1 ? setup.policy->samples(*setup.policy_spec) : Samples{};
  if (loss || s.fabric.congestion.control == CongestionControl::dcqcn)
    state->samples.count = std::max(state->samples.count, lossy_samples);
  if (loss) parts->warnings.push_back(loss_warning(s.fabric.congestion, *loss));
  setup.counts = make_count_store(state->samples.first_seed);
  return World(state);
}

}  // namespace fabricast
