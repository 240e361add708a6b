// What is built in, from the registries and the hardware data (`list` and `describe`).
//
// A catalogue is a line of the table below: its name, how to list it and how to describe an entry. Data sheets and
// fitted values are shown with source and interval, as everything that a forecast rests on.
#include "fabricast/ask/catalogue.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <span>

#include "fabricast/bill/prices.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/planner/regressions.hpp"
#include "fabricast/planner/variables.hpp"
#include "fabricast/routing/routing.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/schema.hpp"
#include "fabricast/topology/topology.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "field_table.hpp"

namespace fabricast {

namespace {

std::string line(std::string_view name, std::string_view summary) {
  return fmt::format("  {:<20} {}\n", name, summary);
}

/// The source of a parameter without the word for its origin, which has a column of its own.
std::string remark_of(const Parameter& p) {
  const std::string origin(name_of(origin_of(p)));
  if (p.source == origin) return "";
  return p.source.starts_with(origin + ": ") ? p.source.substr(origin.size() + 2) : p.source;
}

std::string parameter_line(const ParameterRef& p) {
  return fmt::format("  {:<28} {:>10} {:<5} {:>9} .. {:<9} {}\n{:34}{}\n", p.name,
                     fmt::format("{:g}", p.parameter->value), p.unit, fmt::format("{:g}", p.parameter->low),
                     fmt::format("{:g}", p.parameter->high), p.parameter->source, "", p.doc);
}

/// The number of parameters by origin, then a line for each parameter.
/// The origin (data sheet, fit, study, guess) is what a reader looks for first.
std::string list_parameters() {
  Hardware h = shipped_hardware();
  std::map<ParameterOrigin, int> counts;
  std::string lines;
  for (const auto& [path, p] : h.all_parameters()) {
    const Parameter& its = *p.parameter;
    const ParameterOrigin origin = origin_of(its);
    ++counts[origin];
    lines +=
        fmt::format("  {:<44} {:>9} {:<5} {:>8} .. {:<8} {:<10} {}\n", path, fmt::format("{:g}", its.value), p.unit,
                    fmt::format("{:g}", its.low), fmt::format("{:g}", its.high), name_of(origin), remark_of(its));
  }
  std::vector<std::string> by_origin;
  for (const auto& [origin, count] : counts) by_origin.push_back(fmt::format("{} {}", count, name_of(origin)));
  return fmt::format("  by origin: {}\n{}", fmt::join(by_origin, ", "), lines);
}

template <class Spec>
std::string fields_of(Spec& spec) {
  FieldTree tree;
  visit_fields(tree, spec);
  return table_of(tree.take());
}

std::string fields_of(void (*visit)(FieldVisitor&, std::any&), std::any spec) {
  FieldTree tree;
  visit(tree, spec);
  return table_of(tree.take());
}

/// The dense peak rates of all precisions that a GPU supports.
std::string peaks_of(const GpuSheet& sheet) {
  std::string out;
  for (std::size_t p = 0; p < sheet.peak.size(); ++p)
    if (sheet.peak[p] > 0)
      out += fmt::format("{}{} {:g}", out.empty() ? "" : ", ", EnumNames<Precision>::names[p], sheet.peak[p] * 1e-12);
  return out;
}

std::string gpu_line(const GpuKind& g) {
  return line(g.name, fmt::format("{}: {:.0f} TFLOP/s fp16, {} at {:g} GB/s, {}", g.summary,
                                  g.sheet.peak_of(Precision::fp16) * 1e-12, to_text(g.sheet.memory),
                                  g.sheet.memory_rate.value * 1e-9, to_text(g.sheet.power)));
}

std::string also_called(std::span<const std::string> names) {
  return names.empty() ? std::string() : fmt::format("  other names: {}\n", fmt::join(names, ", "));
}

/// All names of a kind or variant. Names that it shares with others come last.
std::vector<std::string> all_names(const OtherNames& names) {
  std::vector<std::string> all = names.aliases;
  all.insert(all.end(), names.usual_for.begin(), names.usual_for.end());
  all.insert(all.end(), names.also_called.begin(), names.also_called.end());
  return all;
}

std::string variant_line(const GpuVariant& v) {
  const std::vector<std::string> names = all_names(v.names);
  std::string out = fmt::format("  {}: {} at {:g} GB/s; source: {}\n", names.front(), to_text(v.memory),
                                v.memory_rate.value * 1e-9, v.source);
  return out + also_called(std::span(names).subspan(1));
}

// One page with all that depends on the GPU: names, links, parameters of its architecture, and rates of kernels.
std::string describe_gpu(Hardware& h, const GpuKind& g) {
  std::string out =
      fmt::format("{}: {}\n{}  compute capability {}, usually {} CPUs, {} GPUs per node connected by {}\n", g.name,
                  g.summary, also_called(all_names(g.names)), g.compute_capability, g.cpu, g.gpus, g.intranode);
  for (const GpuVariant& v : g.variants) out += variant_line(v);
  if (g.nvlinks > 0) {
    const LinkType& t = h.links.find(g.nvlink)->second;
    out += fmt::format("  {} x {} at {:g} GB/s = {:.0f} GB/s payload per direction (efficiency {}..{})\n", g.nvlinks,
                       g.nvlink, t.rate.value * 1e-9, g.nvlinks * t.rate.value * t.efficiency.value * 1e-9,
                       t.efficiency.low, t.efficiency.high);
  }
  out += fmt::format("  {} to the host{}, NICs of {}\n  source: {}\narchitecture {}: {}\n", g.pcie,
                     g.c2c.empty() ? "" : " and NVLink-C2C", to_text(g.nic_rate), g.source, g.architecture,
                     h.architectures[g.architecture].summary);
  Architecture architecture = h.architecture(g.architecture);
  for (const ParameterRef& p : parameters(architecture)) out += parameter_line(p);
  const GpuSheet& s = g.sheet;
  out += fmt::format("compute: {} SMs, {} at {:g} GB/s, {}\n  dense TFLOP/s: {}\n  source: {}\n", s.multiprocessors,
                     to_text(s.memory), s.memory_rate.value * 1e-9, to_text(s.power), peaks_of(s), s.source);
  ComputeModel model = h.compute_model(g.compute);
  out += fmt::format("kernels, {}: {}\n", g.compute, model.summary);
  for (const ParameterRef& p : parameters(model)) out += parameter_line(p);
  return out;
}

std::string describe_node(const NodePreset& n) {
  std::string out = fmt::format("{}: {}\n{}", n.name, n.summary, also_called(n.aliases));
  if (!n.env.empty()) {
    out += fmt::format("  variables set by {}:", n.env_by);
    for (const auto& [name, value] : n.env) out += fmt::format(" {}={}", name, value);
    out += "\n";
  }
  if (!n.note.empty()) out += fmt::format("  {}\n", n.note);
  if (n.nvlink_domain > 1) out += fmt::format("  hosts per NVLink domain: {}\n", n.nvlink_domain);
  if (!n.source.empty()) out += fmt::format("  source: {}\n", n.source);
  NodeSpec spec = default_node(shipped_hardware(), "", n.name);
  return out + fields_of(spec);
}

std::string describe_variable(const NcclVariable& v) {
  return fmt::format("{}: {}\n  unset    {}\n  accepts  {}\n  effect   {}\n", v.name, v.summary, v.unset, v.accepts,
                     v.effect.empty() ? "none on forecast times: accepted with a warning" : v.effect);
}

constexpr std::array<std::pair<WorkloadKind, std::string_view>, EnumNames<WorkloadKind>::names.size()> workload_kinds{{
    {WorkloadKind::collective, "a size sweep of one collective"},
    {WorkloadKind::training_step, "a training step of a transformer"},
    {WorkloadKind::inference, "serving of a transformer: steps and requests"},
    {WorkloadKind::trace, "an MLCommons Chakra execution trace"},
}};

std::string model_line(const ModelPreset& preset) {
  const Transformer model = resolve(preset_model(preset.name));
  const ParameterCount count = count_parameters(model);
  std::string size = fmt::format("{:.4g} G parameters", static_cast<double>(count.total) * 1e-9);
  if (model.experts > 0) size += fmt::format(", {:.4g} G active", static_cast<double>(count.active) * 1e-9);
  return fmt::format("  {:<26} {}: {}\n", preset.name, preset.summary, size);
}

/// The dimensions of a model, its parameters and FLOPs, and the published numbers for comparison.
std::string describe_model(const ModelPreset& preset) {
  ModelSpec spec = preset_model(preset.name);
  const Transformer model = resolve(spec);
  const ParameterCount count = count_parameters(model);
  std::string out = fmt::format("{}: {}\n  source: {}\n", preset.name, preset.summary, preset.source);
  out += fmt::format("  parameters: {:.5g}, published {:.5g}\n", static_cast<double>(count.total), preset.parameters);
  if (model.experts > 0) {
    out += fmt::format("  active per token: {:.5g}", static_cast<double>(count.active));
    out += preset.active > 0 ? fmt::format(", published {:.5g}\n", preset.active) : "\n";
  }
  if (preset.checkpoint) out += fmt::format("  released checkpoint: {}\n", name_of(*preset.checkpoint));
  if (preset.expert_checkpoint)
    out += fmt::format("  released checkpoint: {} in routed experts, else bf16\n", name_of(*preset.expert_checkpoint));
  const ModelFlops flops = model_flops(model, model.sequence);
  out += fmt::format("  {:.5g} FLOPs per training token at sequence length {} (full attention), {:.5g} (causal)\n",
                     flops.training(false) / static_cast<double>(model.sequence), model.sequence,
                     flops.training(true) / static_cast<double>(model.sequence));
  spec.dimensions = model;
  spec.gated = model.gated ? Gated::on : Gated::off;
  return out + fields_of(spec);
}

template <class AnyStack>
std::string stack_head(const AnyStack& stack) {
  return fmt::format("{}: {}\n  {}, {}; source: {}\n", stack.name, stack.summary, name_of(stack.framework), stack.year,
                     stack.source);
}

std::string describe_serving_stack(ServingStack stack) {
  std::string out = stack_head(stack) + fmt::format("  {:<44} {}\n", "maximum tokens per prefill pass", stack.tokens);
  for (const ParameterRef& p : parameters(stack)) out += parameter_line(p);
  return out;
}

std::string describe_stack(Stack stack) {
  std::string out = stack_head(stack);
  const auto say = [&](auto what, bool yes) { out += fmt::format("  {:<44} {}\n", what, yes ? "yes" : "no"); };
  say("fused attention", stack.fused_attention);
  say("fused loss", stack.fused_loss);
  say("FP8 with current scaling", stack.current_scaling);
  say("ranks own whole tensors and broadcast them", stack.owns_tensors);
  say("sharded optimizers all-reduce gradients", stack.all_reduces_gradients);
  say("GEMMs accumulate gradients", stack.fused_accumulation);
  say("GEMM inputs are gathered in 8 bits", stack.gathers_cast);
  say("gathered parts are reordered by a copy", stack.reorders_parts);
  say("norms of queries and keys gather all heads", stack.gathers_normed_heads);
  say("full recomputation ends before the last GEMM", stack.ends_recompute_early);
  say("a compiler plans the memory of the step", stack.plans_memory);
  say("weight gradients hide tensor collectives", stack.hides_tensor_backward);
  say("a compiler fuses element-wise kernels", stack.compiled);
  say("overlap.data", stack.overlaps_data);
  say("overlap.tensor", stack.overlaps_tensor);
  say("overlap.pipeline", stack.overlaps_pipeline);
  out +=
      fmt::format("  {:<44} {}\n  {:<44} {} B\n  {:<44} {}\n", "parallel.zero", stack.zero,
                  "size of a reduced gradient", stack.gradient_bytes, "overlap.bucket", to_text(Bytes{stack.bucket}));
  for (const ParameterRef& p : parameters(stack)) out += parameter_line(p);
  return out;
}

/// A collective: what busbw counts, and which algorithms NCCL can run it with.
std::string describe_collective(const std::string& name) {
  const auto op = enum_from<CollectiveOp>(name);
  if (!op) return {};
  std::string out = fmt::format("{}: a collective, for `workload.collective`\n", name);
  constexpr std::int64_t ranks = 64;
  out += fmt::format("  busbw       algbw x {:g} on {} ranks\n  algorithms ", bus_factor(*op, ranks), ranks);
  for (const CollectiveAlgorithm& a : collective_algorithms())
    if (a.supports(*op)) out += fmt::format(" {}", a.name);
  return out + "\n";
}

std::string price_fields() {
  Prices prices;
  prices.items.emplace_back();
  return fields_of(prices);
}

struct Catalogue {
  std::string_view name;
  std::string_view what;
  std::string (*list)();
  /// A description of an entry; empty if this catalogue has no such name.
  std::string (*describe)(const std::string& name);
};

template <class Table>
std::string list_table(const Table& table) {
  std::string out;
  for (const auto& item : table) out += line(item.name, item.summary);
  return out;
}

/// A line for each entry of a map by name.
template <class Map>
std::string list_map(const Map& map) {
  std::string out;
  for (const auto& [name, item] : map) out += line(name, item.summary);
  return out;
}

constexpr std::array catalogues = {
    Catalogue{"gpus", "GPU types for node.gpu",
              [] {
                std::string out;
                for (const auto& [name, g] : shipped_hardware().gpus) out += gpu_line(g);
                return out;
              },
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                const auto named = find_gpu(h, name);
                return named ? describe_gpu(h, *named->kind) : std::string();
              }},
    Catalogue{"nodes", "node types for node.profile", [] { return list_map(shipped_hardware().nodes); },
              [](const std::string& name) -> std::string {
                const NodePreset* node = find_node(shipped_hardware(), name);
                return node ? describe_node(*node) : std::string();
              }},
    Catalogue{
        "links", "link types",
        [] {
          std::string out;
          for (const auto& [name, t] : shipped_hardware().links)
            out += line(name, fmt::format("{:g} GB/s, payload fraction {:.4g}, {:g} us", t.rate.value * 1e-9,
                                          t.efficiency.value, t.latency.value));
          return out;
        },
        [](const std::string& name) -> std::string {
          Hardware h = shipped_hardware();
          const auto it = h.links.find(name);
          if (it == h.links.end()) return {};
          LinkType& t = it->second;
          std::string out = fmt::format("{}: {}, {:g} GB/s per direction; source: {}\n", name, name_of(t.kind),
                                        t.rate.value * 1e-9, t.source);
          out += parameter_line({"efficiency", "", "payload fraction of the line rate", &t.efficiency});
          return out + parameter_line({"latency", "us", "latency of the device that the link enters", &t.latency});
        }},
    Catalogue{"networks", "network types for node.nics.link", [] { return list_map(shipped_hardware().networks); },
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                const auto it = h.networks.find(name);
                if (it == h.networks.end()) return {};
                std::string out = fmt::format("{}: {}\n", name, it->second.summary);
                if (!it->second.like.empty()) out += fmt::format("  other parameters: as {}\n", it->second.like);
                for (const ParameterRef& p : parameters(it->second))
                  if (!p.parameter->inherited) out += parameter_line(p);
                return out;
              }},
    Catalogue{"topologies", "topologies for fabric.kind", [] { return list_table(topologies()); },
              [](const std::string& name) -> std::string {
                const Topology* t = find_by_name(topologies(), name);
                if (!t) return {};
                return fmt::format("{}: {} {}\n{}", t->name, t->summary, t->source,
                                   fields_of(t->visit, t->defaults(FabricBasics{})));
              }},
    Catalogue{"routing", "policies for routing.kind", [] { return list_table(routing_policies()); },
              [](const std::string& name) -> std::string {
                const RoutingPolicy* p = find_by_name(routing_policies(), name);
                return p ? fmt::format("{}: {} {}\n{}", p->name, p->summary, p->source,
                                       fields_of(p->visit, p->defaults()))
                         : std::string();
              }},
    Catalogue{"collectives", "simulated algorithms of collectives", [] { return list_table(collective_algorithms()); },
              [](const std::string& name) -> std::string {
                const CollectiveAlgorithm* a = find_by_name(collective_algorithms(), name);
                if (!a) return {};
                std::string out = fmt::format("{}: {} {}\n  for", a->name, a->summary, a->source);
                for (std::size_t op = 0; op < EnumNames<CollectiveOp>::names.size(); ++op)
                  if (a->supports(static_cast<CollectiveOp>(op)))
                    out += fmt::format(" {}", name_of(static_cast<CollectiveOp>(op)));
                return out + "\n";
              }},
    Catalogue{"workloads", "values of workload.kind, each with its own keys",
              [] {
                std::string out;
                for (const auto& [kind, summary] : workload_kinds) out += line(name_of(kind), summary);
                return out;
              },
              [](const std::string& name) -> std::string {
                WorkloadSection section;
                const auto kind = enum_from<WorkloadKind>(name);
                if (!kind) return {};
                section.kind = *kind;
                return fmt::format("{}: keys of `workload`\n{}", name, fields_of(section));
              }},
    Catalogue{"metrics", "metrics of a configuration, for the `objective` of a sweep",
              [] {
                std::string out;
                for (const Metric& metric : metrics()) out += line(metric.name, metric.summary);
                return out;
              },
              [](const std::string& name) -> std::string {
                const Metric* metric = find_by_name(metrics(), name);
                return metric ? line(metric->name, metric->summary) : std::string();
              }},
    Catalogue{"models", "transformers for workload.model.preset",
              [] {
                std::string out;
                for (const ModelPreset& preset : model_presets()) out += model_line(preset);
                return out;
              },
              [](const std::string& name) -> std::string {
                const ModelPreset* preset = find_by_name(model_presets(), name);
                return preset ? describe_model(*preset) : std::string();
              }},
    Catalogue{"stacks", "software stacks for workload.stack",
              [] { return list_map(shipped_hardware().stacks) + list_map(shipped_hardware().serving); },
              [](const std::string& name) -> std::string {
                const Hardware& h = shipped_hardware();
                if (h.stacks.contains(name)) return describe_stack(h.stack(name));
                return h.serving.contains(name) ? describe_serving_stack(h.serving_stack(name)) : std::string();
              }},
    Catalogue{"variables", "NCCL's variables for nccl.env",
              [] {
                std::string out;
                for (const NcclVariable& v : nccl_variables()) out += fmt::format("  {:<36} {}\n", v.name, v.summary);
                return out;
              },
              [](const std::string& name) -> std::string {
                std::string out;
                for (const NcclVariable& v : nccl_variables())
                  if (name == v.name || name == "variables") out += describe_variable(v);
                return out;
              }},
    Catalogue{"parameters", "all hardware parameters, with their sources", list_parameters,
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                for (const auto& [path, p] : h.all_parameters())
                  if (path == name) return fmt::format("{}\n{}", path, parameter_line(p));
                return {};
              }},
    Catalogue{"regressions", "known performance regressions of NCCL versions, with sources",
              [] {
                std::string out;
                for (const Regression& r : known_regressions())
                  out += fmt::format("  {:<26} {:<24} {}\n", r.id, r.versions(), r.symptom);
                return out;
              },
              [](const std::string& name) -> std::string {
                for (const Regression& r : known_regressions())
                  if (r.id == name)
                    return fmt::format("{}: NCCL {}\n  {}\n  where: {}\n  workaround: {}\n  {}: {}\n", r.id,
                                       r.versions(), r.symptom, r.where,
                                       r.workaround.empty() ? "none known" : r.workaround, r.confidence, r.source);
                return {};
              }},
    Catalogue{"scenario", "keys of a scenario", [] { return table_of(scenario_fields()); },
              [](const std::string& name) -> std::string {
                if (name != "scenario") return {};
                return "keys of a scenario, with their defaults (for an H100 node) and descriptions\n" +
                       table_of(scenario_fields());
              }},
    Catalogue{"prices", "keys of a price file", [] { return price_fields(); },
              [](const std::string& name) -> std::string {
                return name == "prices" ? "keys of a price file, for `bill`\n" + price_fields() : std::string();
              }},
};

}  // namespace

std::vector<std::string_view> described_names() {
  const Hardware& h = shipped_hardware();
  std::vector<std::string_view> known;
  for (const auto& [key, value] : h.gpus) known.push_back(key);
  for (const auto& [key, value] : h.nodes) known.push_back(key);
  for (const auto& [key, value] : h.links) known.push_back(key);
  for (const auto& [key, value] : h.networks) known.push_back(key);
  for (const std::string_view key : names_of(topologies())) known.push_back(key);
  for (const std::string_view key : names_of(routing_policies())) known.push_back(key);
  for (const std::string_view key : names_of(collective_algorithms())) known.push_back(key);
  for (const std::string_view key : names_of(nccl_variables())) known.push_back(key);
  for (const auto& [key, value] : h.stacks) known.push_back(key);
  for (const auto& [key, value] : h.serving) known.push_back(key);
  for (const std::string_view key : names_of(model_presets())) known.push_back(key);
  for (const std::string_view key : names_of(metrics())) known.push_back(key);
  for (const std::string_view kind : EnumNames<WorkloadKind>::names) known.push_back(kind);
  for (const Regression& regression : known_regressions()) known.push_back(regression.id);
  for (const std::string_view op : EnumNames<CollectiveOp>::names) known.push_back(op);
  for (const std::string_view more : {"scenario", "prices", "variables"}) known.push_back(more);
  return known;
}

std::vector<std::string_view> catalogue_names() {
  std::vector<std::string_view> names;
  for (const Catalogue& c : catalogues) names.push_back(c.name);
  return names;
}

std::string catalogue_text(const std::string& what) {
  if (!what.empty() && !find_by_name(catalogues, what))
    throw UserError(fmt::format("fabricast list: there is no catalogue '{}'", what),
                    suggestion(what, names_of(catalogues)));
  std::string out;
  for (const Catalogue& c : catalogues) {
    if (what.empty() && (c.name == "parameters" || c.name == "scenario" || c.name == "variables" ||
                         c.name == "prices" || c.name == "regressions"))
      out += fmt::format("{}: {} (`fabricast list {}`)\n", c.name, c.what, c.name);
    else if (what.empty() || c.name == what)
      out += fmt::format("{}: {}\n{}", c.name, c.what, c.list());
  }
  return out;
}

std::string description_of(const std::string& name) {
  std::string out;
  // A name may be in several catalogues (`ring`, `alltoall`): all entries are shown.
  for (const Catalogue& c : catalogues) out += c.describe(name);
  out += describe_collective(name);
  if (out.empty()) out = describe_key(name);
  if (!out.empty()) return out;
  if (const OtherAccelerator* other = find_other_accelerator(shipped_hardware(), name))
    throw UserError("fabricast describe: " + not_modelled(*other, name), other->instead);
  const auto near = nearest(name, described_names());
  throw UserError(fmt::format("fabricast describe: there is no entry '{}'", name),
                  near ? fmt::format("did you mean '{}'?", *near) : "`fabricast list` lists the names");
}

}  // namespace fabricast
