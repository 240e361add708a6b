// The fields of a scenario: names, meaning, limits. Everything else about keys follows from here.
#include "fabricast/scenario/scenario.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "fabricast/core/names.hpp"
#include "fabricast/routing/routing.hpp"

namespace fabricast {

namespace {

std::span<const std::string_view> topology_names() {
  static const std::vector<std::string_view> names = names_of(topologies());
  return names;
}
std::span<const std::string_view> routing_names() {
  static const std::vector<std::string_view> names = names_of(routing_policies());
  return names;
}
WordRef word(std::span<const std::string_view> words, std::size_t& index) {
  return {words, &index, [](const void* p) { return *static_cast<const std::size_t*>(p); },
          [](void* p, std::size_t i) { *static_cast<std::size_t*>(p) = i; }};
}

std::string only_fitting_gpu(const Hardware& hardware, const NodeLayout& layout) {
  const std::vector<std::string_view> kinds = fitting_gpus(hardware, layout);
  const int sm = layout.gpus.front().capability;
  if (kinds.empty()) throw UserError::at("node.topology", fmt::format("no kind of GPU has sm {} and such links", sm));
  if (kinds.size() > 1)
    throw UserError::at("node", fmt::format("GPUs of sm {} as in the topology file are of several kinds", sm),
                        fmt::format("give node.gpu: {}", join(kinds, ", ")));
  return std::string(kinds.front());
}

}  // namespace

void visit_fields(FieldVisitor& visit, NodeSection& section) {
  if (section.hardware) {
    // A preset names a GPU; a given GPU wins, even the default one. A fitted profile (a file) names none.
    section.spec.gpu.clear(), section.spec.profile.clear(), section.spec.topology.clear();
    visit_kind(visit, section.spec);
    const std::string profile = section.spec.profile, topology = section.spec.topology;
    const std::string preset = profile.ends_with(".json") ? std::string() : profile;
    std::string gpu = section.spec.gpu;
    if (section.layout && gpu.empty() && preset.empty()) gpu = only_fitting_gpu(*section.hardware, *section.layout);
    section.spec = default_node(*section.hardware, gpu, preset);
    if (preset.empty()) section.spec.profile = profile;
    section.spec.topology = topology;
    if (section.layout) lay_topology_over(section.spec, *section.layout);
    visit_gpu(visit, section.spec);
    visit_devices(visit, section.spec);
    if (!section.layout) section.spec.pcie_switches = usual_switches(section.spec, *section.hardware);
    visit_host(visit, section.spec);
  } else {
    visit_fields(visit, section.spec);
  }
}

void visit_fields(FieldVisitor& visit, NvlinkDomainSpec& spec) {
  visit("nodes", spec.nodes,
        "hosts that share one NVLink domain (NVL72: 18 hosts of 4 GPUs); NCCL takes it for one node", between(1, 144));
}

void visit_fields(FieldVisitor& visit, ClusterSpec& spec) {
  visit("nodes", spec.nodes, "hosts of the job", between(1, 4e6));
  visit("size", spec.size, "hosts on the fabric; 0: as many as the job takes", between(0, 4e6));
  visit("placement", spec.placement,
        "which hosts, in which rank order: in_order, random (by seed), packed, spread, rail_aligned, topology_aware, "
        "or a "
        "list of host numbers");
  visit("seed", spec.seed, "seed of a random placement", at_least(0));
  visit("order", spec.order, "host numbers in rank order, for placement list", between(0, 4e6));
  visit("hosts", spec.hosts, "instead of placement: hosts in rank order by the fabric file's names, dgx[001-016]");
  visit("taken", spec.taken, "hosts that others have: numbers and ranges, e.g. [0-31, 40]");
  visit("filled", spec.filled, "part of all hosts that others have: those of `taken`, and random ones", between(0, 1));
  visit("filled_seed", spec.filled_seed, "seed of the random ones", at_least(0));
}

void visit_fields(FieldVisitor& visit, FabricSection& section) {
  const std::size_t before = section.kind;
  visit.scalar({"kind", "how the switches are arranged (`fabricast list topologies`)", {}},
               word(topology_names(), section.kind));
  const Topology& topology = topologies()[section.kind];
  if (section.kind != before || !section.spec.has_value()) section.spec = topology.defaults(section.basics);
  topology.visit(visit, section.spec);
}

void visit_fields(FieldVisitor& visit, RoutingSection& section) {
  const std::size_t before = section.kind;
  visit.scalar({"kind", "how switches choose among equal ways (`fabricast list routing`)", {}},
               word(routing_names(), section.kind));
  const RoutingPolicy& policy = routing_policies()[section.kind];
  if (section.kind != before || !section.spec.has_value()) section.spec = policy.defaults();
  policy.visit(visit, section.spec);
}

void visit_fields(FieldVisitor& visit, NcclSection& section) {
  visit("version", section.version,
        "NCCL's version, a range 2.18-2.21, or unknown; its tuning changed in 2.17, 2.20 and 2.28");
  visit("selection", section.selection,
        "what runs: nccl, what NCCL picks; best, the fastest usable algorithm and protocol of each size");
  visit("env", section.env, "NCCL's own variables, verbatim");
  visit("provider_env", section.provider_env, "whether variables that the network's provider sets count too");
}

void visit_fields(FieldVisitor& visit, HarnessSpec& spec) {
  visit("tool", spec.tool,
        "what times the call: nccl_tests back to back, pytorch, host_timed call by call, or isolated (one call, no "
        "host)");
  visit("ranks_per_process", spec.ranks_per_process, "GPUs that one process drives", between(1, 1024));
  visit("threads", spec.threads, "threads that drive them", between(1, 1024));
  visit("iterations", spec.iterations, "calls issued back to back", between(1, 1e6));
}

void visit_fields(FieldVisitor& visit, WorkloadSection& section) {
  visit("kind", section.kind, "what runs");
  if (section.kind == WorkloadKind::training_step) return visit_fields(visit, section.training);
  if (section.kind == WorkloadKind::inference) return visit_fields(visit, section.inference);
  if (section.kind == WorkloadKind::trace) return visit_fields(visit, section.trace);
  visit("collective", section.collective, "operation, as nccl-tests counts its bytes");
  visit("buffers", section.buffers,
        "the caller's buffers: plain; registered with NCCL, which then needs no copies where NVLS or send and receive "
        "run; or symmetric, in windows that kernels of their own work on");
  visit("from", section.from, "smallest size", between(1, static_cast<double>(largest_size.value)));
  visit("to", section.to, "largest size", between(1, static_cast<double>(largest_size.value)));
  visit("factor", section.factor, "from one size to the next", between(1.0001, 1e6));
  visit("sizes", section.sizes, "sizes one by one, instead of from, to and factor",
        between(1, static_cast<double>(largest_size.value)));
  visit("harness", section.harness, "how it is timed");
}

void visit_fields(FieldVisitor& visit, FaultSpec& spec) {
  visit("link", spec.link,
        "a cable (leaf0-spine1, or leaf0-spine1#0 of parallel ones), a NIC (node3.nic2), a switch, uplinks (all cables "
        "between switches), or a link inside a node");
  visit("host", spec.host, "instead of a link a host by its number: all its NICs and all links inside it; -1: none",
        between(-1, 1e9));
  visit("gpu", spec.gpu, "instead of a link a GPU, e.g. node3.gpu2: all its links");
  visit("nic", spec.nic, "instead of a link a NIC, e.g. node3.nic1: its cable");
  visit("rate", spec.rate, "what is left of its rate: 10%, or 0 for down", between(0, 1));
  visit("clock", spec.clock, "of a host or a GPU: its clock relative to others; steps compute slower there",
        between(0.01, 1));
  visit("at", spec.at, "from when on, after the start of the collective", between(0, 1e9));
  visit("until", spec.until, "till when; 0s: for ever", between(0, 1e9));
}

void visit_fields(FieldVisitor& visit, NetworkSection& section) {
  visit("engine", section.engine, "flow (default), chunk (every slice, small systems), or bound (no sharing)");
}

void visit_fields(FieldVisitor& visit, Scenario& s) {
  visit("fabricast", s.version, "version of the format", between(1, 1));
  visit("name", s.name, "name of the scenario");
  visit("node", s.node, "one host: GPUs, what joins them, NICs");
  visit("profile", s.profile, "fitted profile (JSON) laid over the hardware of the node");
  visit("nvlink_domain", s.nvlink_domain, "hosts that share NVLink");
  visit("cluster", s.cluster, "the job's hosts and where they are");
  visit("fabric", s.fabric, "the switches");
  visit("routing", s.routing, "ways through them");
  visit("sharp", s.sharp, "switches that reduce");
  visit("nccl", s.nccl, "NCCL's version and variables");
  visit("workload", s.workload, "what runs");
  visit("measured", s.measured, "what was measured of this site: forecasts go on from there");
  visit("faults", s.faults, "links degraded or down for a while");
  visit("reliability", s.reliability, "how often what fails, and what the job does then: for `fabricast risk`");
  visit("network", s.network, "how it is simulated");
  visit("jobs", s.jobs, "other jobs on the same fabric");
  visit("background", s.background, "flows between hosts and storage, beside the jobs");
  visit("site", s.site, "racks and cables, for the bill of materials");
  visit("prices", s.prices, "file of prices, for what it costs");
  visit("assumed", s.unstated,
        "keys of this file that are only assumed: what else they may be is part of the interval");
}

const GpuKind& gpu_of(const Scenario& scenario) { return scenario.hardware.gpus.find(scenario.node.spec.gpu)->second; }

std::vector<std::int64_t> Scenario::sizes() const {
  std::vector<std::int64_t> list;
  for (const Bytes b : workload.sizes) list.push_back(b.value);
  if (!list.empty()) return list;
  for (double size = static_cast<double>(workload.from.value);
       size <= static_cast<double>(workload.to.value) * (1 + 1e-12); size *= workload.factor) {
    const auto whole = static_cast<std::int64_t>(std::llround(size));
    if (list.empty() || whole > list.back()) list.push_back(whole);
    if (list.size() > 100000) break;
  }
  return list;
}

}  // namespace fabricast
