// The fields of a scenario: names, descriptions and limits. The reader, `describe`, the schema and completion follow
// from them.
//
// Fields are visited in the order in which they are written. A field that decides about others (a kind, a preset) is
// visited before them, since the same function reads files, writes them and lists keys.
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
// A word whose alternatives are a table of plugins, known at run time only, is stored as its index.
WordRef word(std::span<const std::string_view> words, std::size_t& index) {
  return {words, &index, [](const void* p) { return *static_cast<const std::size_t*>(p); },
          [](void* p, std::size_t i) { *static_cast<std::size_t*>(p) = i; }};
}

// A topology file gives the compute capability and the links, which several kinds of GPUs may share.
std::string only_fitting_gpu(const Hardware& hardware, const NodeLayout& layout) {
  const std::vector<std::string_view> kinds = fitting_gpus(hardware, layout);
  const int sm = layout.gpus.front().capability;
  if (kinds.empty()) throw UserError::at("node.topology", fmt::format("no known GPU has sm {} and these links", sm));
  if (kinds.size() > 1)
    throw UserError::at("node", fmt::format("several kinds of GPUs with sm {} fit the topology file", sm),
                        fmt::format("set node.gpu to one of {}", join(kinds, ", ")));
  return std::string(kinds.front());
}

}  // namespace

void visit_fields(FieldVisitor& visit, NodeSection& section) {
  // Reading only: with hardware at hand, the GPU or the profile decides about all other defaults, so these are set
  // between fields. Writing and listing visit the fields as they are.
  if (section.hardware) {
    // A preset implies a GPU, but a given GPU overrides it, even the default one. A fitted profile (a file) implies
    // none.
    section.spec.gpu.clear();
    section.spec.profile.clear();
    section.spec.topology.clear();
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
        "hosts that share one NVLink domain (NVL72: 18 hosts of 4 GPUs); NCCL treats it as one node", between(1, 144));
}

void visit_fields(FieldVisitor& visit, ClusterSpec& spec) {
  visit("nodes", spec.nodes, "hosts of the job", between(1, 4e6));
  visit("size", spec.size, "hosts on the fabric; 0: as many as are needed", between(0, 4e6));
  visit("placement", spec.placement,
        "policy that selects and orders the job's hosts: in_order, random (by seed), packed, spread, rail_aligned, "
        "topology_aware, or a list of host numbers");
  visit("seed", spec.seed, "seed of a random placement", at_least(0));
  visit("order", spec.order, "host numbers in rank order, for placement list", between(0, 4e6));
  visit("hosts", spec.hosts,
        "hosts in rank order by their names in the fabric file, instead of placement: dgx[001-016]");
  visit("taken", spec.taken, "hosts that are not available: numbers and ranges, e.g. [0-31, 40]");
  visit("filled", spec.filled, "fraction of all hosts that are not available: those of `taken` and random ones",
        between(0, 1));
  visit("filled_seed", spec.filled_seed, "seed of the random choice for `filled`", at_least(0));
}

void visit_fields(FieldVisitor& visit, FabricSection& section) {
  const std::size_t before = section.kind;
  visit.scalar({"kind", "topology of the switches (`fabricast list topologies`)", {}},
               word(topology_names(), section.kind));
  const Topology& topology = topologies()[section.kind];
  if (section.kind != before || !section.spec.has_value()) section.spec = topology.defaults(section.basics);
  topology.visit(visit, section.spec);
  visit("congestion", section.congestion,
        "congestion control: what keeps the queues of switches short, and at what cost");
}

void visit_fields(FieldVisitor& visit, RoutingSection& section) {
  const std::size_t before = section.kind;
  visit.scalar({"kind", "how switches choose among equal-cost paths (`fabricast list routing`)", {}},
               word(routing_names(), section.kind));
  const RoutingPolicy& policy = routing_policies()[section.kind];
  if (section.kind != before || !section.spec.has_value()) section.spec = policy.defaults();
  policy.visit(visit, section.spec);
}

void visit_fields(FieldVisitor& visit, NcclSection& section) {
  visit("version", section.version,
        "NCCL's version, a range 2.18-2.21, or unknown; its tuning changed in 2.17, 2.20 and 2.28");
  visit("selection", section.selection,
        "nccl: the algorithm and protocol that NCCL selects; best: the fastest usable ones for each size");
  visit("env", section.env, "NCCL's environment variables, verbatim");
  visit("provider_env", section.provider_env, "whether variables that the network's provider sets also apply");
}

void visit_fields(FieldVisitor& visit, HarnessSpec& spec) {
  visit("tool", spec.tool,
        "what times the call: nccl_tests (calls back to back), pytorch, host_timed (each call), or isolated (one call, "
        "no host)");
  visit("ranks_per_process", spec.ranks_per_process, "GPUs that one process drives", between(1, 1024));
  visit("threads", spec.threads, "threads of a process that drive its GPUs", between(1, 1024));
  visit("iterations", spec.iterations, "calls issued back to back", between(1, 1e6));
}

void visit_fields(FieldVisitor& visit, WorkloadSection& section) {
  visit("kind", section.kind, "what runs");
  if (section.kind == WorkloadKind::trace) return visit_fields(visit, section.trace);
  if (section.kind == WorkloadKind::collective)
    visit("collective", section.collective, "operation; its size is counted as nccl-tests does");
  visit("buffers", section.buffers,
        "the caller's buffers: plain; registered with NCCL, which saves copies and thread blocks with NVLS, and copies "
        "with send and receive; or symmetric, in registered memory windows, for which NCCL has special kernels");
  if (section.kind == WorkloadKind::training_step) return visit_fields(visit, section.training);
  if (section.kind == WorkloadKind::inference) return visit_fields(visit, section.inference);
  visit("from", section.from, "smallest size", between(1, static_cast<double>(largest_size.value)));
  visit("to", section.to, "largest size", between(1, static_cast<double>(largest_size.value)));
  visit("factor", section.factor, "ratio of each size to the previous one", between(1.0001, 1e6));
  visit("sizes", section.sizes, "list of sizes, instead of from, to and factor",
        between(1, static_cast<double>(largest_size.value)));
  visit("harness", section.harness, "how the collective is timed");
}

void visit_fields(FieldVisitor& visit, FaultSpec& spec) {
  visit("link", spec.link,
        "a cable (leaf0-spine1, or leaf0-spine1#0 of parallel ones), a NIC (node3.nic2), a switch, uplinks (all cables "
        "between switches), or a link inside a node");
  visit("host", spec.host, "instead of a link, a host by its number: all its NICs and all links inside it; -1: none",
        between(-1, 1e9));
  visit("gpu", spec.gpu, "instead of a link, a GPU, e.g. node3.gpu2: all its links");
  visit("nic", spec.nic, "instead of a link, a NIC, e.g. node3.nic1: its cable");
  visit("rate", spec.rate, "remaining fraction of its rate: 10%, or 0 for down; required unless `clock` is given",
        between(0, 1));
  visit("clock", spec.clock, "clock of a host or a GPU relative to the others; training steps compute slower there",
        between(0.01, 1));
  visit("at", spec.at, "start of the fault, after the start of the collective", between(0, 1e9));
  visit("until", spec.until, "end of the fault; 0s: permanent", between(0, 1e9));
}

void visit_fields(FieldVisitor& visit, NetworkSection& section) {
  visit("engine", section.engine,
        "flow (default), chunk (simulates every slice, for small systems), or bound (no sharing of links)");
}

void visit_fields(FieldVisitor& visit, Scenario& s) {
  visit("fabricast", s.version, "version of the format", between(1, 1));
  visit("name", s.name, "name of the scenario");
  visit("node", s.node, "one host: its GPUs, their links, its NICs");
  visit("profile", s.profile, "fitted profile (JSON) that overrides the hardware parameters");
  visit("nvlink_domain", s.nvlink_domain, "hosts that share one NVLink domain");
  visit("cluster", s.cluster, "the job's hosts and where they are");
  visit("fabric", s.fabric, "the switches");
  visit("routing", s.routing, "paths through the switches");
  visit("sharp", s.sharp, "in-network reduction by the switches (SHARP)");
  visit("nccl", s.nccl, "NCCL's version and variables");
  visit("workload", s.workload, "what runs");
  visit("measured", s.measured, "measurements of this site, on which forecasts are conditioned");
  visit("faults", s.faults, "links that are slower or down for a while");
  visit("reliability", s.reliability, "failure rates, and how the job reacts, for `fabricast risk`");
  visit("network", s.network, "how the network is simulated");
  visit("jobs", s.jobs, "other jobs on the same fabric");
  visit("background", s.background, "flows between hosts and storage, concurrent with the jobs");
  visit("site", s.site, "racks and cables, for the bill of materials");
  visit("prices", s.prices, "price file, for the cost");
  visit("assumed", s.unstated,
        "keys of this file whose values are only assumed; their other possible values widen the interval");
}

const GpuKind& gpu_of(const Scenario& scenario) { return scenario.hardware->gpus.find(scenario.node.spec.gpu)->second; }

std::vector<std::int64_t> Scenario::sizes() const {
  std::vector<std::int64_t> list;
  for (const Bytes b : workload.sizes) list.push_back(b.value);
  if (!list.empty()) return list;
  // Sizes grow in floating point and are rounded, so factors need not be whole; duplicates at small sizes are skipped.
  for (double size = static_cast<double>(workload.from.value);
       size <= static_cast<double>(workload.to.value) * (1 + 1e-12); size *= workload.factor) {
    const auto whole = static_cast<std::int64_t>(std::llround(size));
    if (list.empty() || whole > list.back()) list.push_back(whole);
    if (list.size() > 100000) break;
  }
  return list;
}

}  // namespace fabricast
