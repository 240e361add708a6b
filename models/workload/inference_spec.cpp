#include "fabricast/workload/inference_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "complaints.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, ServingParallel& spec) {
  visit("tensor", spec.tensor, "ranks that split each product", between(1, 1024));
  visit("pipeline", spec.pipeline, "stages", between(1, 4096));
  visit("expert", spec.expert, "ranks that split the experts, out of tensor and data parallelism", between(1, 65536));
  visit("expert_tensor", spec.expert_tensor,
        "ranks that split each expert, of one replica or of several; 0: 1 where `expert` is more, else as tensor",
        between(0, 1024));
  visit("data", spec.data, "replicas, each with requests of its own; 0: what the GPUs leave", between(0, 4e6));
}

void visit_fields(FieldVisitor& visit, PrefillNodes& spec) {
  visit("gpus", spec.gpus, "the job's first GPUs, which work on prompts only; 0: none", between(0, 4e6));
  visit("parallel", spec.parallel, "how they are split");
}

void visit_fields(FieldVisitor& visit, DisaggregatedSpec& spec) {
  visit("prefill", spec.prefill, "GPUs for prompts; the others decode");
  visit("transfer", spec.transfer,
        "way of the cache: nvlink, rdma (GPUDirect), or host (staged in host memory); auto: the first that is there");
  visit("stream", spec.stream, "whether a layer's cache is sent while the next layer computes");
}

void visit_fields(FieldVisitor& visit, InferenceSpec& spec) {
  visit("framework", spec.framework, "what serves: vllm or tensorrt_llm");
  visit("stack", spec.stack, "its generation; empty: its newest");
  visit("model", spec.model, "the transformer");
  visit("precision", spec.precision, "of linear layers: products, and weights unless weight_precision says otherwise");
  visit("weight_precision", spec.weight_precision, "of the weights of linear layers in memory; auto: as products");
  visit("cache_precision", spec.cache_precision,
        "of cached keys and values; auto: fp8 where products have 8 bits or "
        "fewer, else bf16");
  visit("phase", spec.phase, "what is timed: a decode step, a batch of prompts, or requests from end to end");
  visit("batch", spec.batch, "sequences that a replica works on at once; 0: as many as fit in memory",
        between(0, most_served_sequences));
  visit("input", spec.input, "tokens of a prompt", between(1, 1e8));
  visit("output", spec.output, "tokens that follow it", between(1, 1e8));
  visit("chunk", spec.chunk,
        "tokens of prompts that ride along with a decode pass (chunked prefill); 0: prompts have passes of their own",
        between(0, 1e8));
  visit("parallel", spec.parallel, "how a replica is split");
  visit("launch", spec.launch, "of decode passes: as a CUDA graph, or kernel by kernel by the host");
  visit("overlap", spec.overlap,
        "two halves of a pass take turns: exchanges of one run beside the computation of the other");
  visit("imbalance", spec.imbalance, "tokens of the busiest rank's experts, relative to the mean", between(1, 1000));
  visit("disaggregated", spec.disaggregated, "prompts on GPUs of their own, and how their cache gets to the others");
}

namespace {

Precision weights_of(const InferenceSpec& spec) {
  switch (spec.weight_precision) {
    case WeightChoice::automatic: break;
    case WeightChoice::bf16: return Precision::bf16;
    case WeightChoice::fp16: return Precision::fp16;
    case WeightChoice::fp8: return Precision::fp8;
    case WeightChoice::fp4: return Precision::fp4;
  }
  return spec.precision;
}

/// Ranks that split experts lie in one replica, or are all of several.
void complete_expert_tensor(const ServingParallel& p, const Transformer& m, const std::string& path,
                            Complaints& faults) {
  const std::string key = path + ".expert_tensor";
  const std::int64_t ways = p.expert_tensor, group = ways * p.expert, ranks = std::int64_t{p.tensor} * p.data;
  if (m.expert_ffn % ways != 0)
    faults.add(key, fmt::format("expert_tensor {} does not divide {} columns of an expert", ways, m.expert_ffn));
  if (p.expert > 1 && m.experts % p.expert != 0)
    faults.add(path + ".expert", fmt::format("expert {} does not divide {} experts", p.expert, m.experts),
               fmt::format("change {}.expert or the model", path));
  const bool inside = group == p.tensor, across = p.expert == 1 && ways % p.tensor == 0;
  if (ways > 1 && !inside && !across)
    faults.add(key,
               fmt::format("experts are split by expert {} x expert_tensor {}, which is neither tensor {} nor all of "
                           "several replicas",
                           p.expert, ways, p.tensor),
               "expert x expert_tensor: tensor; or expert: 1, and a multiple of tensor");
  else if (ranks % group != 0)
    faults.add(key,
               fmt::format("expert {} x expert_tensor {} does not divide tensor {} x data {}", p.expert, ways, p.tensor,
                           p.data),
               "change it or the other degrees");
}

void complete_parallel(ServingParallel& p, const Transformer& m, std::int64_t gpus, const std::string& path,
                       const char* whose, Complaints& faults) {
  const std::int64_t replica = std::int64_t{p.tensor} * p.pipeline;
  const std::string product = fmt::format("tensor {} x pipeline {}", p.tensor, p.pipeline);
  if (p.data == 0) {
    if (gpus % replica != 0 || gpus < replica)
      faults.add(path, fmt::format("{} is {}, which does not divide {} {}", product, replica, gpus, whose),
                 "change one of them, or the number of GPUs");
    p.data = static_cast<int>(std::max<std::int64_t>(1, gpus / replica));
  } else if (replica * p.data != gpus) {
    faults.add(path + ".data",
               fmt::format("{} x data {} is {}, and there are {} {}", product, p.data, replica * p.data, gpus, whose),
               gpus % replica == 0 ? fmt::format("data: {} fills them", gpus / replica)
                                   : fmt::format("{} does not divide {}", replica, gpus));
  }
  const auto divides = [&](std::int64_t by, std::int64_t what, const char* name, const char* whole) {
    if (what % by != 0)
      faults.add(fmt::format("{}.{}", path, name), fmt::format("{} {} does not divide {} {}", name, by, what, whole),
                 fmt::format("change {}.{} or the model", path, name));
  };
  divides(p.tensor, m.heads, "tensor", "heads");
  if (m.ffn > 0) divides(p.tensor, m.ffn, "tensor", "columns of the feed-forward part");
  if (p.pipeline > m.layers)
    faults.add(path + ".pipeline", fmt::format("{} stages are more than {} layers", p.pipeline, m.layers));
  if (p.expert == 1 && p.expert_tensor == 0) return;
  if (m.experts == 0 && p.expert > 1) return faults.add(path + ".expert", "the model has no experts", "expert: 1");
  if (m.experts == 0) return faults.add(path + ".expert_tensor", "the model has no experts", "leave out expert_tensor");
  if (p.expert_tensor > 0) return complete_expert_tensor(p, m, path, faults);
  divides(p.expert, m.experts, "expert", "experts");
  if (std::int64_t{p.tensor} * p.data % p.expert != 0)
    faults.add(path + ".expert",
               fmt::format("expert {} does not divide tensor {} x data {}", p.expert, p.tensor, p.data),
               "change it or the other degrees");
}

bool share_nvlink(const InferenceSpec& spec, const NodeSpec& node, int nodes, int nvlink_nodes) {
  const std::int64_t domain = std::int64_t{node.gpus} * std::max(1, std::min(nvlink_nodes, nodes));
  const ServingParallel& p = spec.disaggregated.prefill.parallel;
  const ServingParallel& d = spec.parallel;
  if (node.intranode != Intranode::nvswitch && node.intranode != Intranode::nvlink_mesh) return false;
  // The replicas that exchange first and last.
  const std::int64_t replicas = std::min(p.data, d.data), from = std::int64_t{p.tensor} * p.pipeline * replicas,
                     to = spec.disaggregated.prefill.gpus + std::int64_t{d.tensor} * d.pipeline * replicas;
  return (to - 1) / domain == 0 && (from - 1) / domain == 0;
}

void complete_disaggregated(InferenceSpec& spec, const NodeSpec& node, int nodes, int nvlink_nodes,
                            Complaints& faults) {
  DisaggregatedSpec& d = spec.disaggregated;
  const bool nvlink = share_nvlink(spec, node, nodes, nvlink_nodes);
  if (d.transfer == TransferPath::automatic)
    d.transfer = nvlink ? TransferPath::nvlink : node.gdr != Gdr::off ? TransferPath::rdma : TransferPath::host;
  if (d.transfer == TransferPath::nvlink && !nvlink)
    faults.add("disaggregated.transfer", "GPUs for prompts and those that decode share no NVLink",
               "rdma or host; or nvlink_domain: {nodes: ...}, or fewer GPUs, for all of them in one domain");
  if (d.transfer != TransferPath::nvlink && nvlink)
    faults.add("disaggregated.transfer", "GPUs for prompts and those that decode share NVLink, which is taken",
               "transfer: nvlink");
  if (d.transfer == TransferPath::rdma && node.gdr == Gdr::off)
    faults.add("disaggregated.transfer", "rdma needs GPUDirect, and node.gdr is false", "transfer: host");
}

ParallelLayout layout_of(const ServingParallel& p) {
  ParallelLayout layout;
  layout.tensor = p.tensor, layout.pipeline = p.pipeline, layout.data = p.data, layout.expert = p.expert;
  layout.expert_tensor = p.expert_tensor > 0 ? p.expert_tensor : p.expert > 1 ? 1 : p.tensor;
  // A replica's ranks are neighbours.
  layout.order = p.expert > 1 || layout.expert_tensor > p.tensor
                     ? std::array{Dimension::tensor, Dimension::context, Dimension::data, Dimension::pipeline}
                     : std::array{Dimension::tensor, Dimension::context, Dimension::pipeline, Dimension::data};
  return layout;
}

}  // namespace

void complete(InferenceSpec& spec, const Hardware& hardware, const NodeSpec& node, int nodes, int nvlink_nodes) {
  const ServingStack& stack = find_serving_stack(spec.framework, spec.stack);
  Complaints faults;
  if (stack.framework != spec.framework)
    faults.add("stack",
               fmt::format("{} is of {}, not of {}", stack.name, name_of(stack.framework), name_of(spec.framework)),
               fmt::format("framework: {}", name_of(stack.framework)));
  spec.stack = stack.name;
  if (spec.cache_precision == CacheChoice::automatic)
    spec.cache_precision = bytes_of(spec.precision) <= 1 ? CacheChoice::fp8 : CacheChoice::bf16;
  if (bytes_of(weights_of(spec)) > bytes_of(spec.precision))
    faults.add(
        "weight_precision",
        fmt::format("weights in {} are wider than products in {}", name_of(weights_of(spec)), name_of(spec.precision)),
        "engines narrow weights when they load them: weight_precision: auto");
  const Transformer model = resolve(spec.model);
  const std::int64_t gpus = std::int64_t{nodes} * node.gpus;
  const PrefillNodes& prefill = spec.disaggregated.prefill;
  if (prefill.gpus >= gpus)
    faults.add("disaggregated.prefill.gpus", fmt::format("{} of {} GPUs leave none that decode", prefill.gpus, gpus),
               "fewer, or more nodes");
  if (prefill.gpus > 0 && spec.phase != InferencePhase::both)
    faults.add("disaggregated", fmt::format("is of requests from end to end, and the phase is {}", name_of(spec.phase)),
               "phase: both");
  if (prefill.gpus > 0 && spec.chunk > 0)
    faults.add("chunk", "prompts do not ride along with decoding where they have GPUs of their own", "chunk: 0");
  faults.raise();
  complete_parallel(spec.parallel, model, gpus - prefill.gpus, "parallel",
                    prefill.gpus > 0 ? "GPUs that decode" : "GPUs", faults);
  if (prefill.gpus > 0) {
    complete_parallel(spec.disaggregated.prefill.parallel, model, prefill.gpus, "disaggregated.prefill.parallel",
                      "GPUs for prompts", faults);
    complete_disaggregated(spec, node, nodes, nvlink_nodes, faults);
  }
  faults.raise();
  check_precision(resolve_kernels(node, hardware), spec.precision, "workload.precision");
  if (spec.batch == 0) spec.batch = largest_batch(inference_step(spec, node, hardware), node);
}

InferenceStep inference_step(const InferenceSpec& spec, const NodeSpec& node, const Hardware& hardware) {
  InferenceStep step;
  step.model = resolve(spec.model);
  step.layout = layout_of(spec.parallel);
  step.first_rank = static_cast<std::uint32_t>(spec.disaggregated.prefill.gpus);
  step.precision = spec.precision;
  step.weights = weights_of(spec);
  step.cache = spec.cache_precision == CacheChoice::fp8 ? Precision::fp8 : Precision::bf16;
  step.batch = spec.batch, step.input = spec.input, step.output = spec.output;
  step.graph = spec.launch == PassLaunch::graph, step.imbalance = spec.imbalance;
  step.overlap = spec.overlap;
  step.stack = find_serving_stack(spec.framework, spec.stack);
  step.chunked = spec.chunk > 0;
  step.chunk = step.chunked ? spec.chunk : step.stack.tokens;
  step.kernels = resolve_kernels(node, hardware);
  check_precision(step.kernels, spec.precision, "workload.precision");
  return step;
}

InferenceStep prefill_step(const InferenceSpec& spec, const NodeSpec& node, const Hardware& hardware) {
  InferenceStep step = inference_step(spec, node, hardware);
  step.layout = layout_of(spec.disaggregated.prefill.parallel);
  step.first_rank = 0;
  return step;
}

}  // namespace fabricast
