// `list` and `describe`: what is built in, from the registries and the hardware data.
#include <fmt/format.h>

#include <array>
#include <functional>

#include "commands.hpp"
#include "fabricast/bill/prices.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/planner/variables.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "fabricast/workload/serving_stack.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

std::string line(std::string_view name, std::string_view summary) {
  return fmt::format("  {:<20} {}\n", name, summary);
}

std::string parameter_line(const ParameterRef& p) {
  return fmt::format("  {:<28} {:>10} {:<5} {:>9} .. {:<9} {}\n{:34}{}\n", p.name,
                     fmt::format("{:g}", p.parameter->value), p.unit, fmt::format("{:g}", p.parameter->low),
                     fmt::format("{:g}", p.parameter->high), p.parameter->source, "", p.doc);
}

/// Prints fields as a table: key, default, meaning.
class FieldTable final : public FieldVisitor {
 public:
  void scalar(const FieldInfo& info, ScalarRef value) override {
    if (info.name.empty()) return;  // an element of a list of scalars: the list's own line says it all
    std::string text = std::visit(
        [](auto ref) -> std::string {
          using T = decltype(ref);
          if constexpr (std::is_same_v<T, WordRef>)
            return std::string(ref.words[ref.get(ref.target)]);
          else if constexpr (std::is_same_v<T, Ratio*>)
            return fmt::format("{}", ref->value);
          else if constexpr (std::is_same_v<T, bool*>)
            return *ref ? "true" : "false";
          else if constexpr (std::is_same_v<T, std::string*>)
            return *ref;
          else if constexpr (std::is_arithmetic_v<std::remove_pointer_t<T>>)
            return fmt::format("{}", *ref);
          else
            return to_text(*ref);
        },
        value);
    out_ += fmt::format("  {:<34} {:<14} {}", prefix_ + std::string(info.name), text, info.doc);
    if (const auto* words = std::get_if<WordRef>(&value)) out_ += fmt::format(" ({})", join(words->words, " | "));
    out_ += "\n";
  }
  bool enter(const FieldInfo& info) override {
    lengths_.push_back(prefix_.size());
    prefix_ += info.name.empty() ? "" : std::string(info.name) + ".";
    return true;
  }
  void leave() override {
    prefix_.resize(lengths_.back());
    lengths_.pop_back();
  }
  std::size_t enter_list(const FieldInfo& info, std::size_t) override {
    out_ += fmt::format("  {:<34} {:<14} {}\n", prefix_ + std::string(info.name), "[...]", info.doc);
    lengths_.push_back(prefix_.size());
    prefix_ += std::string(info.name) + "[].";
    return 1;  // one element, for its keys
  }
  void string_map(const FieldInfo& info, std::map<std::string, std::string>&) override {
    out_ += fmt::format("  {:<34} {:<14} {}\n", prefix_ + std::string(info.name), "{...}", info.doc);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_, prefix_;
  std::vector<std::size_t> lengths_;
};

std::string fields_of(void (*visit)(FieldVisitor&, std::any&), std::any spec) {
  FieldTable table;
  visit(table, spec);
  return table.take();
}

/// Dense peaks of all precisions that a GPU has.
std::string peaks_of(const GpuSheet& sheet) {
  std::string out;
  for (std::size_t p = 0; p < sheet.peak.size(); ++p)
    if (sheet.peak[p] > 0)
      out += fmt::format("{}{} {:g}", out.empty() ? "" : ", ", EnumNames<Precision>::names[p], sheet.peak[p] * 1e-12);
  return out;
}

std::string gpu_line(const GpuKind& g) {
  return line(g.name, fmt::format("{}: {:.0f} TFLOP/s of fp16, {} at {:g} GB/s, {}", g.summary,
                                  g.sheet.peak_of(Precision::fp16) * 1e-12, to_text(g.sheet.memory),
                                  g.sheet.memory_rate.value * 1e-9, to_text(g.sheet.power)));
}

std::string describe_gpu(Hardware& h, const GpuKind& g) {
  std::string out = fmt::format("{}: {}\n  compute capability {}, usually {} CPUs, {} GPUs per node by {}\n", g.name,
                                g.summary, g.compute_capability, g.cpu, g.gpus, g.intranode);
  if (g.nvlinks > 0) {
    const LinkType& t = h.links.find(g.nvlink)->second;
    out += fmt::format("  {} x {} of {:g} GB/s = {:.0f} GB/s of payload each way ({}..{})\n", g.nvlinks, g.nvlink,
                       t.rate.value * 1e-9, g.nvlinks * t.rate.value * t.efficiency.value * 1e-9, t.efficiency.low,
                       t.efficiency.high);
  }
  out += fmt::format("  {} to the host{}, NICs of {}\n  source {}\nits architecture {}: {}\n", g.pcie,
                     g.c2c.empty() ? "" : " and NVLink-C2C", to_text(g.nic_rate), g.source, g.architecture,
                     h.architectures[g.architecture].summary);
  for (const ParameterRef& p : parameters(h.architectures[g.architecture])) out += parameter_line(p);
  const GpuSheet& s = g.sheet;
  out += fmt::format("it computes with {} multiprocessors, {} at {:g} GB/s, {}\n  dense TFLOP/s {}\n  source {}\n",
                     s.multiprocessors, to_text(s.memory), s.memory_rate.value * 1e-9, to_text(s.power), peaks_of(s),
                     s.source);
  ComputeModel model = h.compute_model(g.compute);
  out += fmt::format("its kernels, {}: {}\n", g.compute, model.summary);
  for (const ParameterRef& p : parameters(model)) out += parameter_line(p);
  return out;
}

std::string describe_variable(const NcclVariable& v) {
  return fmt::format("{}: {}\n  without  {}\n  accepts  {}\n  effect   {}\n", v.name, v.summary, v.unset, v.accepts,
                     v.effect.empty() ? "none on time: accepted with a warning" : v.effect);
}

constexpr std::array<std::pair<WorkloadKind, std::string_view>, EnumNames<WorkloadKind>::names.size()> workload_kinds{{
    {WorkloadKind::collective, "one collective over sizes"},
    {WorkloadKind::training_step, "a step that trains a transformer"},
    {WorkloadKind::inference, "steps and requests of a transformer that serves"},
    {WorkloadKind::trace, "an execution trace of MLCommons Chakra"},
}};

std::string model_line(const ModelPreset& preset) {
  const Transformer model = resolve(preset_model(preset.name));
  const ParameterCount count = count_parameters(model);
  std::string size = fmt::format("{:.4g} G parameters", static_cast<double>(count.total) * 1e-9);
  if (model.experts > 0) size += fmt::format(", {:.4g} G active", static_cast<double>(count.active) * 1e-9);
  return fmt::format("  {:<26} {}: {}\n", preset.name, preset.summary, size);
}

/// Published sizes, dimensions, and what follows from them.
std::string describe_model(const ModelPreset& preset) {
  ModelSpec spec = preset_model(preset.name);
  const Transformer model = resolve(spec);
  const ParameterCount count = count_parameters(model);
  std::string out = fmt::format("{}: {}\n  source {}\n", preset.name, preset.summary, preset.source);
  out += fmt::format("  parameters {:.5g}, published {:.5g}\n", static_cast<double>(count.total), preset.parameters);
  if (model.experts > 0) {
    out += fmt::format("  of a token {:.5g}", static_cast<double>(count.active));
    out += preset.active > 0 ? fmt::format(", published {:.5g}\n", preset.active) : "\n";
  }
  const ModelFlops flops = model_flops(model, model.sequence);
  out += fmt::format("  {:.5g} FLOP to train on a token of {} (attention over the full square), {:.5g} causal\n",
                     flops.training(false) / static_cast<double>(model.sequence), model.sequence,
                     flops.training(true) / static_cast<double>(model.sequence));
  FieldTable table;
  spec.dimensions = model, spec.gated = model.gated ? Gated::on : Gated::off;
  visit_fields(table, spec);
  return out + table.take();
}

template <class AnyStack>
std::string stack_head(const AnyStack& stack) {
  return fmt::format("{}: {}\n  {}, {}; source {}\n", stack.name, stack.summary, name_of(stack.framework), stack.year,
                     stack.source);
}

std::string describe_serving_stack(ServingStack stack) {
  std::string out = stack_head(stack) + fmt::format("  {:<44} {}\n", "tokens of a pass over prompts", stack.tokens);
  for (const ParameterRef& p : parameters(stack)) out += parameter_line(p);
  return out;
}

std::string describe_stack(Stack stack) {
  std::string out = stack_head(stack);
  const auto say = [&](std::string_view what, bool yes) {
    out += fmt::format("  {:<44} {}\n", what, yes ? "yes" : "no");
  };
  say("attention is fused", stack.fused_attention);
  say("the loss is fused", stack.fused_loss);
  say("products add gradients up", stack.fused_accumulation);
  say("tensor collectives behind weight gradients", stack.hides_tensor_backward);
  say("a compiler fuses element-wise kernels", stack.compiled);
  say("overlap.data", stack.overlaps_data), say("overlap.tensor", stack.overlaps_tensor);
  say("overlap.pipeline", stack.overlaps_pipeline);
  out +=
      fmt::format("  {:<44} {}\n  {:<44} {} B\n  {:<44} {}\n", "parallel.zero", stack.zero,
                  "a gradient as it is reduced", stack.gradient_bytes, "overlap.bucket", to_text(Bytes{stack.bucket}));
  for (const ParameterRef& p : parameters(stack)) out += parameter_line(p);
  return out;
}

/// The keys of a scenario with the defaults that a reader gives them, which depend on the node.
std::string scenario_fields() {
  Scenario s = parse_scenario("fabricast: 1\nnode: {}\ncluster: {nodes: 1}\nworkload: {}\n", "describe").scenario;
  s.cluster.size = 0;  // the reader has counted the job's hosts
  FieldTable table;
  visit_fields(table, s);
  return table.take();
}

std::string price_fields() {
  Prices prices;
  prices.items.emplace_back();
  FieldTable table;
  visit_fields(table, prices);
  return table.take();
}

struct Catalogue {
  std::string_view name;
  std::string_view what;
  std::string (*list)();
  /// Empty if it does not know the name.
  std::string (*describe)(const std::string& name);
};

template <class Table>
std::string list_table(const Table& table) {
  std::string out;
  for (const auto& item : table) out += line(item.name, item.summary);
  return out;
}

/// Of things kept by name.
template <class Map>
std::string list_map(const Map& map) {
  std::string out;
  for (const auto& [name, item] : map) out += line(name, item.summary);
  return out;
}

constexpr std::array catalogues = {
    Catalogue{"gpus", "kinds of GPUs for node.gpu",
              [] {
                std::string out;
                for (const auto& [name, g] : shipped_hardware().gpus) out += gpu_line(g);
                return out;
              },
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                const auto it = h.gpus.find(name);
                return it == h.gpus.end() ? std::string() : describe_gpu(h, it->second);
              }},
    Catalogue{"nodes", "kinds of nodes for node.profile", [] { return list_map(shipped_hardware().nodes); },
              [](const std::string& name) -> std::string {
                const auto it = shipped_hardware().nodes.find(name);
                if (it == shipped_hardware().nodes.end()) return {};
                NodeSpec spec = default_node(shipped_hardware(), "", name);
                FieldTable table;
                visit_fields(table, spec);
                return fmt::format("{}: {}\n{}", name, it->second.summary, table.take());
              }},
    Catalogue{"links", "types of links",
              [] {
                std::string out;
                for (const auto& [name, t] : shipped_hardware().links)
                  out += line(name, fmt::format("{:g} GB/s, {:.4g} of it payload, {:g} us", t.rate.value * 1e-9,
                                                t.efficiency.value, t.latency.value));
                return out;
              },
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                const auto it = h.links.find(name);
                if (it == h.links.end()) return {};
                LinkType& t = it->second;
                std::string out = fmt::format("{}: {}, {:g} GB/s one direction, source {}\n", name, name_of(t.kind),
                                              t.rate.value * 1e-9, t.source);
                out += parameter_line({"efficiency", "", "payload share of the line rate", &t.efficiency});
                return out + parameter_line({"latency", "us", "of the device entered", &t.latency});
              }},
    Catalogue{"networks", "kinds of networks for node.nics.link", [] { return list_map(shipped_hardware().networks); },
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                const auto it = h.networks.find(name);
                if (it == h.networks.end()) return {};
                std::string out = fmt::format("{}: {}\n", name, it->second.summary);
                if (!it->second.like.empty())
                  out += fmt::format("  what it has not of its own: as {}\n", it->second.like);
                for (const ParameterRef& p : parameters(it->second))
                  if (!p.parameter->inherited) out += parameter_line(p);
                return out;
              }},
    Catalogue{"topologies", "fabrics for fabric.kind", [] { return list_table(topologies()); },
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
    Catalogue{"collectives", "algorithms that are simulated", [] { return list_table(collective_algorithms()); },
              [](const std::string& name) -> std::string {
                const CollectiveAlgorithm* a = find_by_name(collective_algorithms(), name);
                if (!a) return {};
                std::string out = fmt::format("{}: {} {}\n  for", a->name, a->summary, a->source);
                for (std::size_t op = 0; op < EnumNames<CollectiveOp>::names.size(); ++op)
                  if (a->supports(static_cast<CollectiveOp>(op)))
                    out += fmt::format(" {}", name_of(static_cast<CollectiveOp>(op)));
                return out + "\n";
              }},
    Catalogue{"workloads", "kinds for workload.kind, each with keys of its own",
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
                FieldTable table;
                visit_fields(table, section);
                return fmt::format("{}: keys of `workload`\n{}", name, table.take());
              }},
    Catalogue{"metrics", "numbers of a configuration, for `objective` of a sweep",
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
    Catalogue{"stacks", "generations of software for workload.stack",
              [] { return list_map(shipped_hardware().stacks) + list_map(serving_stacks()); },
              [](const std::string& name) -> std::string {
                const auto& training = shipped_hardware().stacks;
                if (const auto it = training.find(name); it != training.end()) return describe_stack(it->second);
                const auto it = serving_stacks().find(name);
                return it == serving_stacks().end() ? std::string() : describe_serving_stack(it->second);
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
    Catalogue{"parameters", "all fitted or published numbers",
              [] {
                Hardware h = shipped_hardware();
                std::string out;
                for (const auto& [path, p] : h.all_parameters())
                  out += fmt::format("  {:<44} {:>9} {:<5} {:>8} .. {:<8} {}\n", path,
                                     fmt::format("{:g}", p.parameter->value), p.unit,
                                     fmt::format("{:g}", p.parameter->low), fmt::format("{:g}", p.parameter->high),
                                     p.parameter->source);
                return out;
              },
              [](const std::string& name) -> std::string {
                Hardware h = shipped_hardware();
                for (const auto& [path, p] : h.all_parameters())
                  if (path == name) return fmt::format("{}\n{}", path, parameter_line(p));
                return {};
              }},
    Catalogue{"scenario", "keys of a scenario", [] { return scenario_fields(); },
              [](const std::string& name) -> std::string {
                if (name != "scenario") return {};
                return "keys of a scenario, their defaults (with an H100 node) and meaning\n" + scenario_fields();
              }},
    Catalogue{"prices", "keys of a file of prices", [] { return price_fields(); },
              [](const std::string& name) -> std::string {
                return name == "prices" ? "keys of a file of prices, for `bill`\n" + price_fields() : std::string();
              }},
};

}  // namespace

int list_verb(const std::vector<std::string>& arguments) {
  Options options("list", "Lists what is built in.", {"[WHAT]"});
  if (!options.parse(arguments)) return 0;
  const std::string what = options.text("WHAT");
  if (!what.empty() && !find_by_name(catalogues, what))
    throw UserError(fmt::format("fabricast list: there is no list of '{}'", what),
                    suggestion(what, names_of(catalogues)));
  std::string out;
  for (const Catalogue& c : catalogues) {
    if (what.empty() && (c.name == "parameters" || c.name == "scenario" || c.name == "variables" || c.name == "prices"))
      out += fmt::format("{}: {} (`fabricast list {}`)\n", c.name, c.what, c.name);
    else if (what.empty() || c.name == what)
      out += fmt::format("{}: {}\n{}", c.name, c.what, c.list());
  }
  emit("-", out);
  return 0;
}

int describe_verb(const std::vector<std::string>& arguments) {
  Options options("describe", "Describes one thing that `list` shows, with its sources.", {"NAME"});
  if (!options.parse(arguments)) return 0;
  const std::string name = options.get<std::string>("NAME");
  std::string out;
  for (const Catalogue& c : catalogues) out += c.describe(name);
  if (out.empty()) {
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
    for (const auto& [key, value] : serving_stacks()) known.push_back(key);
    for (const std::string_view key : names_of(model_presets())) known.push_back(key);
    const auto near = nearest(name, known);
    throw UserError(fmt::format("fabricast describe: nothing is called '{}'", name),
                    near ? fmt::format("did you mean '{}'?", *near) : "`fabricast list` shows the names");
  }
  emit("-", out);
  return 0;
}

}  // namespace fabricast
