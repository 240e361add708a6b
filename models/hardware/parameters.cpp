// The lists of parameters: names as in the data files, units and descriptions.
//
// Each list joins the members of a struct with their names in JSON, so reading, printing, fitting and sampling all go
// through it. A parameter that is added to a list takes part in all of these. Paths are `section.set.name`; the fit and
// profiles address parameters by them.
#include <array>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

namespace {
constexpr std::array<std::string_view, 3> hop_names = {"hop_ll", "hop_ll128", "hop_simple"};
constexpr std::array<std::string_view, 3> rate_names = {"rate_ll", "rate_ll128", "rate_simple"};

void add_protocols(std::vector<ParameterRef>& list, const std::array<std::string_view, 3>& names, std::string_view unit,
                   std::string_view doc, PerProtocol<Parameter>& parameters) {
  for (std::size_t p = 0; p < 3; ++p) list.push_back({names[p], unit, doc, &parameters[p]});
}
}  // namespace

// The source begins with the kind of origin. A reference alone is a fit of this project.
ParameterOrigin origin_of(const Parameter& p) {
  if (p.low == p.high) return ParameterOrigin::constant;
  return enum_from<ParameterOrigin>(p.source.substr(0, p.source.find(':'))).value_or(ParameterOrigin::fit);
}

// Work of NCCL on a GPU: launches, hops over NVLink, rates of a channel, NVLS and copy engines.
std::vector<ParameterRef> parameters(Architecture& a) {
  std::vector<ParameterRef> list = {
      {"launch", "us", "fixed time of one collective call", &a.launch},
      {"issue_gap", "us", "minimum time between overlapping calls (broadcast, reduce)", &a.issue_gap},
      {"issue_per_gpu", "us", "host time per GPU if one thread drives several", &a.issue_per_gpu},
      {"slice", "us", "synchronization per slice at a GPU", &a.slice},
      {"ll_burst", "us", "added to an LL step that uses more than one warp", &a.ll_burst}};
  add_protocols(list, hop_names, "us", "from a store by one GPU to its use by the next, over NVLink", a.hop);
  add_protocols(list, rate_names, "GB/s", "payload rate at which one channel copies or reduces", a.rate);
  list.push_back({"rate_unaligned", "GB/s",
                  "sends and receives: payload rate of a channel if data is not aligned to 16 B", &a.rate_unaligned});
  list.push_back({"fence_ll128", "us", "LL128 rings: added per slice at a GPU next to a NIC", &a.fence_ll128});
  list.insert(list.end(), {{"pcie_hop", "", "hops over PCIe, relative to those of the path", &a.pcie_hop},
                           {"network_hop", "", "hops over a network, relative to those of its kind", &a.network_hop}});
  list.insert(list.end(),
              {{"nvls_hop", "us", "NVLS: from the copy by one GPU to the reduction by another", &a.nvls_hop},
               {"nvls_slice", "us", "NVLS: overhead per piece of a head", &a.nvls_slice},
               {"nvls_rate", "GB/s", "NVLS: payload rate at which one channel copies in and out", &a.nvls_rate},
               {"nvls_fan", "", "NVLSTree: relative slowdown of heads inside the tree", &a.nvls_fan},
               {"copy_barrier", "us", "copy engines: barrier of the streams of all ranks", &a.copy_barrier},
               {"copy_start", "us", "copy engines: time per copy of a call, besides its bytes", &a.copy_start}});
  return list;
}

// A path between GPUs over PCIe, directly or through host memory.
std::vector<ParameterRef> parameters(PciePath& path) {
  std::vector<ParameterRef> list;
  add_protocols(list, hop_names, "us", "from a store by one GPU to its use by the next, over PCIe", path.hop);
  list.push_back({"efficiency", "", "fraction of the PCIe payload rate", &path.efficiency});
  return list;
}

// What a kind of network and its transport cost, apart from the links and switches of the fabric.
std::vector<ParameterRef> parameters(Network& n) {
  std::vector<ParameterRef> list = {
      {"nic_efficiency", "", "fraction of the link's payload rate that a NIC reaches", &n.nic_efficiency}};
  add_protocols(list, hop_names, "us", "from buffer to buffer over the network, without the fabric", n.hop);
  list.insert(
      list.end(),
      {{"message", "us", "proxy thread time per message", &n.message},
       {"thread_rate", "GB/s", "rate at which a proxy thread copies data itself (sockets); 0: it does not",
        &n.thread_rate},
       {"nic_slice", "us", "added per slice at a GPU next to a NIC: Simple rings, sends and receives", &n.nic_slice},
       {"peer_efficiency", "", "fraction of its rate that a NIC reaches in sends and receives", &n.peer_efficiency},
       {"peer", "us", "sends and receives: proxy thread time per message of a pair", &n.peer},
       {"peer_small", "us", "sends and receives: added to `peer` for messages of at most 192 B", &n.peer_small},
       {"peer_chunk", "us", "sends and receives: proxy thread time per chunk sent and received", &n.peer_chunk},
       {"flush", "us", "added to a Simple hop with GPUDirect RDMA to GPUs before Hopper, for the flush", &n.flush},
       {"start", "us", "added once per call that uses the network", &n.start},
       {"staged_hop", "us", "added to a hop without GPUDirect RDMA", &n.staged_hop},
       {"staged_efficiency", "", "NIC efficiency without GPUDirect RDMA, relative to that with it",
        &n.staged_efficiency},
       {"message_threshold", "KiB", "size above which messages use a rendezvous; 0: never", &n.message_threshold},
       {"rendezvous", "us", "time of a rendezvous", &n.rendezvous},
       {"sharp_latency", "us", "SHARP: added to a hop through switches that reduce", &n.sharp_latency},
       {"sharp_efficiency", "", "SHARP: fraction of a NIC's rate at which switches stream", &n.sharp_efficiency},
       {"contended_efficiency", "",
        "fraction of a link between switches that flows of several ports reach, with fabric.congestion.control: "
        "reactive",
        &n.contended_efficiency},
       {"sprayed_efficiency", "", "the same if packets are spread regardless of the load of links",
        &n.sprayed_efficiency},
       {"queue", "us", "queueing delay at a link that other flows fill, with fabric.congestion.control: reactive",
        &n.queue}});
  return list;
}

// NCCL and its callers, independent of GPU and network.
std::vector<ParameterRef> parameters(Software& s) {
  return {
      {"channel_launch_before_2.9", "us", "per channel and call, NCCL before 2.9", &s.channel_launch_old},
      {"channel_launch", "us", "per channel and call", &s.channel_launch},
      {"ll_check", "GB/s", "rate of LL payload whose flags a proxy thread checks", &s.ll_check},
      {"last_receive", "", "cost of a receive-only step, relative to one that also sends", &s.last_receive},
      {"issue_group", "us", "host time per GPU for a group of sends and receives, beyond issue_per_gpu",
       &s.issue_group},
      {"both_ways", "", "rate of a block whose threads go up and down a tree, relative to one direction",
       &s.both_directions},
      {"nvlstree_hop", "", "network hop in an NVLSTree, relative to other algorithms", &s.nvlstree_hop},
      {"tree_hop_ll", "", "LL hop along the chain of a tree inside a node, relative to a hop of a ring",
       &s.tree_hop_ll},
      {"gdr_by_cpu_efficiency", "", "GPUDirect RDMA through a CPU: fraction of the PCIe payload rate", &s.gdr_by_cpu},
      {"pytorch", "us", "added if PyTorch times every call with events", &s.pytorch},
      {"host_timed", "us", "added if the host times and synchronizes every call", &s.host_timed}};
}

// What kernels reach of the data sheet (docs/models/compute.md).
std::vector<ParameterRef> parameters(ComputeModel& c) {
  const bool share = true;
  return {
      {"gemm_16", "", "large GEMMs in fp16, bf16, tf32 or fp32: fraction of the peak", &c.gemm_16, share},
      {"gemm_8", "", "large GEMMs in fp8: fraction of the peak", &c.gemm_8, share},
      {"gemm_4", "", "large GEMMs in fp4: fraction of the peak", &c.gemm_4, share},
      {"gemm_depth", "terms", "K at which a 16-bit GEMM reaches half of that", &c.gemm_depth},
      {"grouped", "", "grouped GEMMs, as of experts: rate relative to a single GEMM", &c.grouped, share},
      {"burst", "", "GEMMs timed in a loop of milliseconds: rate relative to a long step", &c.burst},
      {"gemm_memory", "", "memory-bound GEMMs: fraction of the memory bandwidth", &c.gemm_memory, share},
      {"gemm_memory_4", "", "the same with 4-bit weights", &c.gemm_memory_4, share},
      {"decode_memory", "", "memory-bound decode attention: fraction of the memory bandwidth", &c.decode_memory, share},
      {"stream", "", "element-wise kernels: fraction of the memory bandwidth", &c.stream, share},
      {"optimizer_stream", "", "the optimizer: fraction of the memory bandwidth", &c.optimizer_stream, share},
      {"kernel_gap", "us", "between the end of a kernel and the start of the next", &c.kernel_gap},
      {"flash", "", "fused attention, forward, heads of 128: fraction of the 16-bit peak", &c.flash, share},
      {"flash_backward", "", "its backward pass: rate relative to forward", &c.flash_backward, share},
      {"flash_block", "keys", "mean number of keys per query at which it reaches half of that", &c.flash_block},
      {"flash_backward_block", "keys", "the same for the backward pass", &c.flash_backward_block},
      {"flash_2", "", "FlashAttention 2, which was written for Ampere: rate relative to that", &c.flash_2, share},
      {"flash_head", "", "cost of a score besides its GEMMs, in dimensions of a head", &c.flash_head},
      {"unfused", "", "attention by separate GEMMs: fraction of the 16-bit peak", &c.unfused, share},
      {"power_exponent", "", "GEMM rates scale with (limit / power of the data sheet) to this exponent",
       &c.power_exponent},
      {"stream_power", "", "power of element-wise kernels, relative to that of the data sheet", &c.stream_power, share},
      {"flash_power", "", "the same of fused attention", &c.flash_power, share}};
}

// Errors of forecasts that remain if all parameters are known, by size of the call (docs/models/intervals.md).
std::vector<ParameterRef> parameters(ForecastSpread& s) {
  return {
      {"below_64KiB", "", "spread of forecasts beyond their parameters, as a standard deviation of ln", &s.bands[0]},
      {"below_1MiB", "", "the same from 64 KiB on", &s.bands[1]},
      {"below_64MiB", "", "the same from 1 MiB on", &s.bands[2]},
      {"from_64MiB", "", "the same from 64 MiB on", &s.bands[3]}};
}

std::vector<ParameterRef> parameters(StepSpread& s) {
  return {
      {"dense", "", "spread of steps of dense models beyond their parameters, as a standard deviation of ln", &s.dense},
      {"experts", "", "the same for MoE models", &s.experts},
      {"unvalidated", "", "factor on these if nothing was measured on such a GPU or with such software",
       &s.unvalidated}};
}

std::vector<ParameterRef> parameters(ServingSpread& s) {
  return {{"step", "", "spread of passes and rates of dense models, as a standard deviation of ln", &s.step},
          {"step_experts", "", "the same for MoE models", &s.step_experts},
          {"wait", "", "spread of TTFT of dense models", &s.wait},
          {"wait_experts", "", "the same for MoE models", &s.wait_experts},
          {"wait_apart", "", "spread of TTFT with disaggregated prefill", &s.wait_apart},
          {"all_reduce", "", "spread of one all-reduce", &s.all_reduce},
          {"unvalidated", "", "factor on these if nothing was measured on such a GPU or engine", &s.unvalidated}};
}

namespace {
template <class Map>
void add_all(std::vector<std::pair<std::string, ParameterRef>>& all, std::string_view section, Map& map) {
  for (auto& [name, item] : map)
    for (const ParameterRef& p : parameters(item))
      all.emplace_back(std::string(section) + "." + name + "." + std::string(p.name), p);
}
}  // namespace

// One star stands for any text, for example `compute.*.gemm_16`.
bool names_parameter(std::string_view pattern, std::string_view path) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == path;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return path.size() > head.size() + tail.size() && path.starts_with(head) && path.ends_with(tail);
}

std::vector<std::pair<std::string, ParameterRef>> Hardware::all_parameters(bool inherited_too) {
  std::vector<std::pair<std::string, ParameterRef>> all;
  add_all(all, "architectures", architectures);
  // Links are no sets: they have two parameters next to their facts.
  for (auto& [name, type] : links) {
    all.emplace_back("links." + name + ".efficiency",
                     ParameterRef{"efficiency", "", "payload fraction of the line rate", &type.efficiency});
    all.emplace_back("links." + name + ".latency",
                     ParameterRef{"latency", "us", "of the device that the link enters", &type.latency});
  }
  add_all(all, "networks", networks);
  add_all(all, "pcie_paths", pcie_paths);
  add_all(all, "stacks", stacks);
  add_all(all, "serving", serving);
  for (const ParameterRef& p : parameters(software)) all.emplace_back("software." + std::string(p.name), p);
  for (const ParameterRef& p : parameters(spread)) all.emplace_back("forecast.spread." + std::string(p.name), p);
  for (const ParameterRef& p : parameters(step_spread)) all.emplace_back("forecast.steps." + std::string(p.name), p);
  for (const ParameterRef& p : parameters(serving_spread))
    all.emplace_back("forecast.serving." + std::string(p.name), p);
  add_all(all, "compute", compute);
  if (!inherited_too) std::erase_if(all, [](const auto& p) { return p.second.parameter->inherited; });
  return all;
}

namespace {

/// A set of parameters with what it inherits.
template <class Map>
typename Map::mapped_type whole(const Map& map, std::string_view name) {
  // Recursive, since a set may be like one that is itself like another. Lists of equal types have equal order.
  typename Map::mapped_type item = map.find(name)->second;
  if (item.like.empty()) return item;
  typename Map::mapped_type base = whole(map, item.like);
  const std::vector<ParameterRef> own = parameters(item), its = parameters(base);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i].parameter->inherited) *own[i].parameter = *its[i].parameter;
  return item;
}

template <class Map>
// Turns inherited parameters into parameters of the set's own, with the values that they have now. A fit can then move
// them without moving those of the parent.
void own_in(std::string_view section, Map& map, std::string_view path) {
  for (auto& [name, item] : map) {
    auto entire = whole(map, name);
    const std::vector<ParameterRef> own = parameters(item), all = parameters(entire);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::string its = std::string(section) + "." + name + "." + std::string(own[i].name);
      if (its == path || its.starts_with(std::string(path) + ".")) *own[i].parameter = *all[i].parameter;
    }
  }
}

/// Prefix of a set's own parameters, and the paths from which it inherits the others.
template <class Map>
std::vector<std::string> parameters_in(std::string_view section, const Map& map, std::string_view name) {
  auto item = map.find(name)->second;
  const std::vector<ParameterRef> own = parameters(item);
  std::vector<std::string> paths = {std::string(section) + "." + std::string(name) + "."};
  std::vector<bool> found(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) found[i] = !own[i].parameter->inherited;
  for (std::string above = item.like; !above.empty(); above = map.find(above)->second.like) {
    auto base = map.find(above)->second;
    const std::vector<ParameterRef> its = parameters(base);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (found[i] || its[i].parameter->inherited) continue;
      paths.push_back(std::string(section) + "." + above + "." + std::string(its[i].name));
      found[i] = true;
    }
  }
  return paths;
}

}  // namespace

// Which parameters a device depends on, through all sets that it inherits from.
std::vector<std::string> Hardware::parameters_of(std::string_view section, std::string_view name) const {
  if (section == "architectures") return parameters_in(section, architectures, name);
  if (section == "networks") return parameters_in(section, networks, name);
  if (section == "compute") return parameters_in(section, compute, name);
  if (section == "serving") return parameters_in(section, serving, name);
  return parameters_in(section, stacks, name);
}

void Hardware::own(std::string_view path) {
  own_in("architectures", architectures, path);
  own_in("networks", networks, path);
  own_in("compute", compute, path);
  own_in("stacks", stacks, path);
  own_in("serving", serving, path);
}

Architecture Hardware::architecture(std::string_view name) const { return whole(architectures, name); }
Network Hardware::network(std::string_view name) const { return whole(networks, name); }
ComputeModel Hardware::compute_model(std::string_view name) const { return whole(compute, name); }
Stack Hardware::stack(std::string_view name) const { return whole(stacks, name); }
ServingStack Hardware::serving_stack(std::string_view name) const { return whole(serving, name); }

Parameter* Hardware::find(std::string_view path) {
  for (auto& [name, ref] : all_parameters(true))
    if (name == path) return ref.parameter;
  return nullptr;
}

}  // namespace fabricast
