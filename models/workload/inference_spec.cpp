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

void visit_fields(FieldVisitor& visit, LoadSpec& spec) {
  visit("arrivals", spec.arrivals,
        "closed: each client sends its next request when its last one has ended; poisson: requests come at `rate`, "
        "whatever has ended; trace: at the times of `file`");
  visit("clients", spec.clients, "of closed arrivals; 0: `batch` of each replica", between(0, 1e7));
  visit("rate", spec.rate, "requests/s of all replicas, of poisson arrivals", between(0, 1e9));
  visit("file", spec.file, "of trace arrivals: CSV with the columns arrival_s, input, output and, if known, cached");
  visit("requests", spec.requests,
        "how many are simulated; 0: ten times as many as are at work at once, or all of the file",
        between(0, most_requests));
  visit("warmup", spec.warmup,
        "further requests at the beginning, whose waits do not count; -1: the first one of each client, as all come at "
        "once",
        between(-1, most_requests));
  visit("spread", spec.spread, "lengths are uniform in the mean x (1 - spread .. 1 + spread)", between(0, 1));
  visit("cached", spec.cached, "part of a prompt that a prefix cache has", between(0, 1));
  visit("seed", spec.seed, "of sampled lengths and arrivals", between(0, 1e15));
}

void visit_fields(FieldVisitor& visit, SchedulerSpec& spec) {
  visit("batching", spec.batching,
        "prompts_first: prompts have passes of their own, and decoding waits; mixed: they go into passes that decode; "
        "auto: as the engine has it, mixed with a chunk");
  visit("wait", spec.wait,
        "passes that prompts wait, at most, until they fill `fill` of a pass and all replicas that share experts have "
        "one",
        between(0, 1e6));
  visit("fill", spec.fill, "part of a pass's tokens at which prompts wait no longer", between(0, 1));
  visit("receive", spec.receive, "decode passes from one look at new requests to the next", between(1, 1e6));
}

void visit_fields(FieldVisitor& visit, ServingExpertSpec& spec) {
  visit("precision", spec.precision, "of routed experts' GEMMs; auto: `precision`");
  visit("weight_precision", spec.weight_precision,
        "of routed experts' weights in memory; auto: that of their GEMMs, or `weight_precision`");
  visit("redundant", spec.redundant, "copies of routed experts that many tokens ask for, in all ranks together",
        between(0, 1e5));
}

void visit_fields(FieldVisitor& visit, SpeculationSpec& spec) {
  visit("tokens", spec.tokens,
        "guessed per decode step and verified by the next (multi-token prediction, EAGLE); 0: none", between(0, 64));
  visit("acceptance", spec.acceptance, "probability that a guess holds whose predecessors do", between(0, 1));
  visit("layers", spec.layers, "of the model's own kind that a guess computes, with the vocabulary", between(1, 1000));
}

void visit_fields(FieldVisitor& visit, InferenceSpec& spec) {
  visit("framework", spec.framework, "what serves: vllm, sglang or tensorrt_llm");
  visit("stack", spec.stack, "its release; empty: its newest");
  visit("model", spec.model, "the transformer");
  visit("precision", spec.precision, "of linear layers: products, and weights unless weight_precision says otherwise");
  visit("weight_precision", spec.weight_precision, "of the weights of linear layers in memory; auto: as products");
  visit("cache_precision", spec.cache_precision,
        "of cached keys and values; auto: fp8 where products have 8 bits or "
        "fewer, else bf16");
  visit("phase", spec.phase,
        "what is timed: a decode step, a batch of prompts, requests from end to end, or one all-reduce of tensor "
        "parallelism");
  visit("batch", spec.batch, "sequences that a replica works on at once, at most; 0: as many as fit in memory",
        between(0, most_served_sequences));
  visit("message", spec.message, "of phase all_reduce; 0B: what a decode step of `batch` reduces");
  visit("input", spec.input, "tokens of a prompt", between(1, 1e8));
  visit("output", spec.output, "tokens that follow it", between(1, 1e8));
  visit("chunk", spec.chunk,
        "tokens of a pass at most, prompts are cut to fill it (chunked prefill); 0: as the engine has it",
        between(0, 1e8));
  visit("experts", spec.experts, "routed experts, where they differ from other linear layers");
  visit("scheduler", spec.scheduler, "when passes with prompts begin, in phase both");
  visit("speculation", spec.speculation, "tokens that are guessed and then verified by one pass");
  visit("load", spec.load, "requests that come, in phase both");
  visit("parallel", spec.parallel, "how a replica is split");
  visit("launch", spec.launch, "of decode passes: as a CUDA graph, or kernel by kernel by the host");
  visit("all_reduce", spec.all_reduce,
        "what reduces up to 8MiB inside an NVLink domain: own, a kernel of the engine; nccl; auto: as the engine does");
  visit("overlap", spec.overlap,
        "two halves of a pass take turns: exchanges of one run beside the computation of the other");
  visit("imbalance", spec.imbalance, "tokens of the busiest rank's experts, relative to the mean", between(1, 1000));
  visit("disaggregated", spec.disaggregated, "prompts on GPUs of their own, and how their cache gets to the others");
}

namespace {

/// The precision of the same name; `otherwise` for automatic.
template <class Choice>
Precision precision_or(Choice choice, Precision otherwise) {
  if (choice == Choice::automatic) return otherwise;
  return enum_from<Precision>(name_of(choice)).value_or(otherwise);
}

GemmPrecision linear_of(const InferenceSpec& spec) {
  return {spec.precision, precision_or(spec.weight_precision, spec.precision)};
}

GemmPrecision experts_of(const InferenceSpec& spec) {
  const GemmPrecision linear = linear_of(spec);
  const Precision compute = precision_or(spec.experts.precision, linear.compute);
  const Precision weights = spec.experts.precision == ExpertPrecision::automatic ? linear.weights : compute;
  return {compute, precision_or(spec.experts.weight_precision, weights)};
}

/// Weights are narrowed when they are loaded, never widened in memory.
void check_weights(const GemmPrecision& p, const std::string& key, Complaints& faults) {
  if (bytes_of(p.weights) <= bytes_of(p.compute)) return;
  faults.add(key, fmt::format("weights in {} are wider than GEMMs in {}", name_of(p.weights), name_of(p.compute)),
             "engines narrow weights when they load them: " + key + ": auto");
}

void check_load(const LoadSpec& load, Complaints& faults) {
  if ((load.arrivals == Arrivals::poisson) != (load.rate > 0))
    faults.add("load.rate",
               load.rate > 0 ? fmt::format("is of poisson arrivals, and they are {}", name_of(load.arrivals))
                             : "is missing: requests of poisson arrivals come at a rate",
               load.rate > 0 ? "load.arrivals: poisson" : "requests/s, as load.rate: 10");
  if ((load.arrivals == Arrivals::trace) == load.file.empty())
    faults.add("load.file",
               load.file.empty() ? "is missing: trace arrivals come from a file"
                                 : fmt::format("is of trace arrivals, and they are {}", name_of(load.arrivals)),
               load.file.empty() ? "CSV with the columns arrival_s, input, output" : "load.arrivals: trace");
  if (load.clients > 0 && load.arrivals != Arrivals::closed)
    faults.add("load.clients", fmt::format("wait for answers, and arrivals are {}", name_of(load.arrivals)),
               "load.arrivals: closed");
}

/// Ranks that split experts lie in one replica, or are all of several.
void complete_expert_tensor(const ServingParallel& p, const Transformer& m, std::int64_t placed,
                            const std::string& path, Complaints& faults) {
  const std::string key = path + ".expert_tensor";
  const std::int64_t routes = p.expert_tensor, group = routes * p.expert, ranks = std::int64_t{p.tensor} * p.data;
  if (m.expert_ffn % routes != 0)
    faults.add(key, fmt::format("expert_tensor {} does not divide {} columns of an expert", routes, m.expert_ffn));
  if (p.expert > 1 && placed % p.expert != 0)
    faults.add(path + ".expert", fmt::format("expert {} does not divide {} experts", p.expert, placed),
               fmt::format("change {}.expert or the model", path));
  const bool inside = group == p.tensor, across = p.expert == 1 && routes % p.tensor == 0;
  if (routes > 1 && !inside && !across)
    faults.add(key,
               fmt::format("experts are split by expert {} x expert_tensor {}, which is neither tensor {} nor all of "
                           "several replicas",
                           p.expert, routes, p.tensor),
               "expert x expert_tensor: tensor; or expert: 1, and a multiple of tensor");
  else if (ranks % group != 0)
    faults.add(key,
               fmt::format("expert {} x expert_tensor {} does not divide tensor {} x data {}", p.expert, routes, p.tensor,
                           p.data),
               "change it or the other degrees");
}

/// \param placed  experts, redundant ones with them
void complete_parallel(ServingParallel& p, const Transformer& m, std::int64_t placed, std::int64_t gpus,
                       const std::string& path, const char* whose, Complaints& faults) {
  const std::int64_t replica = std::int64_t{p.tensor} * p.pipeline;
  const std::string gemm = fmt::format("tensor {} x pipeline {}", p.tensor, p.pipeline);
  if (p.data == 0) {
    if (gpus % replica != 0 || gpus < replica)
      faults.add(path, fmt::format("{} is {}, which does not divide {} {}", gemm, replica, gpus, whose),
                 "change one of them, or the number of GPUs");
    p.data = static_cast<int>(std::max<std::int64_t>(1, gpus / replica));
  } else if (replica * p.data != gpus) {
    faults.add(path + ".data",
               fmt::format("{} x data {} is {}, and there are {} {}", gemm, p.data, replica * p.data, gpus, whose),
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
  if (p.expert_tensor > 0) return complete_expert_tensor(p, m, placed, path, faults);
  divides(p.expert, placed, "expert", "experts");
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
  const ServingStack stack = find_serving_stack(hardware, spec.framework, spec.stack);
  Complaints faults;
  if (stack.framework != spec.framework)
    faults.add("stack",
               fmt::format("{} is of {}, not of {}", stack.name, name_of(stack.framework), name_of(spec.framework)),
               fmt::format("framework: {}", name_of(stack.framework)));
  spec.stack = stack.name;
  if (spec.cache_precision == CacheChoice::automatic)
    spec.cache_precision = bytes_of(spec.precision) <= 1 ? CacheChoice::fp8 : CacheChoice::bf16;
  if (spec.scheduler.batching == Batching::automatic)
    spec.scheduler.batching = spec.chunk > 0 || stack.mixed ? Batching::mixed : Batching::prompts_first;
  check_load(spec.load, faults);
  check_weights(linear_of(spec), "weight_precision", faults);
  check_weights(experts_of(spec), "experts.weight_precision", faults);
  const Transformer model = resolve(spec.model);
  if (model.mamba_layers > 0)
    faults.add("model.mamba_layers", "serving of models with Mamba is not modelled", "kind: training_step");
  const std::int64_t gpus = std::int64_t{nodes} * node.gpus;
  const PrefillNodes& prefill = spec.disaggregated.prefill;
  if (prefill.gpus >= gpus)
    faults.add("disaggregated.prefill.gpus", fmt::format("{} of {} GPUs leave none that decode", prefill.gpus, gpus),
               "fewer, or more nodes");
  if (prefill.gpus > 0 && spec.phase != InferencePhase::both)
    faults.add("disaggregated", fmt::format("is of requests from end to end, and the phase is {}", name_of(spec.phase)),
               "phase: both");
  if (spec.message.value > 0 && spec.phase != InferencePhase::all_reduce)
    faults.add("message", fmt::format("is of one all-reduce, and the phase is {}", name_of(spec.phase)),
               "phase: all_reduce");
  if (spec.phase == InferencePhase::all_reduce && spec.parallel.tensor == 1)
    faults.add("parallel.tensor", "one GPU has nothing to reduce", "parallel: {tensor: 8}");
  if (prefill.gpus > 0 && spec.chunk > 0)
    faults.add("chunk", "prompts do not ride along with decoding where they have GPUs of their own", "chunk: 0");
  faults.raise();
  if (spec.experts.redundant > 0 && model.experts == 0)
    faults.add("experts.redundant", "the model has no experts", "leave it out");
  const std::int64_t placed = model.experts + spec.experts.redundant;
  complete_parallel(spec.parallel, model, placed, gpus - prefill.gpus, "parallel",
                    prefill.gpus > 0 ? "GPUs that decode" : "GPUs", faults);
  if (prefill.gpus > 0) {
    complete_parallel(spec.disaggregated.prefill.parallel, model, placed, prefill.gpus,
                      "disaggregated.prefill.parallel", "GPUs for prompts", faults);
    complete_disaggregated(spec, node, nodes, nvlink_nodes, faults);
  }
  faults.raise();
  const Kernels kernels = resolve_kernels(node, hardware);
  check_precision(kernels, spec.precision, "workload.precision");
  check_precision(kernels, experts_of(spec).compute, "workload.experts.precision");
  if (spec.batch == 0) spec.batch = largest_batch(inference_step(spec, node, nvlink_nodes, hardware), node);
}

PromptPolicy prompt_policy(const InferenceSpec& spec, const ServingStack& stack) {
  PromptPolicy policy;
  policy.mixed = spec.scheduler.batching == Batching::mixed;
  policy.chunked = spec.chunk > 0 || stack.chunked;
  policy.wait = spec.scheduler.wait;
  policy.fill = spec.scheduler.fill;
  policy.receive = spec.scheduler.receive;
  return policy;
}

InferenceStep inference_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes,
                             const Hardware& hardware) {
  InferenceStep step;
  step.model = resolve(spec.model);
  step.layout = layout_of(spec.parallel);
  step.first_rank = static_cast<std::uint32_t>(spec.disaggregated.prefill.gpus);
  step.linear = linear_of(spec);
  step.experts = experts_of(spec), step.redundant_experts = spec.experts.redundant;
  step.cache = spec.cache_precision == CacheChoice::fp8 ? Precision::fp8 : Precision::bf16;
  step.batch = spec.batch;
  step.input = spec.input;
  step.output = spec.output;
  step.graph = spec.launch == PassLaunch::graph;
  step.overlap = spec.overlap;
  step.imbalance = spec.imbalance;
  step.speculation = {spec.speculation.tokens, spec.speculation.acceptance, spec.speculation.layers};
  step.stack = find_serving_stack(hardware, spec.framework, spec.stack);
  step.chunk = spec.chunk > 0 ? spec.chunk : step.stack.tokens;
  step.kernels = resolve_kernels(node, hardware);
  step.kernels.model.grouped.value *= step.stack.expert_rate.value;
  if (spec.all_reduce != AllReduceBy::automatic) step.stack.own_all_reduce = spec.all_reduce == AllReduceBy::own;
  step.own_all_reduce = own_all_reduce(step.stack, node, nvlink_nodes, hardware);
  return step;
}

InferenceStep prefill_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes,
                           const Hardware& hardware) {
  InferenceStep step = inference_step(spec, node, nvlink_nodes, hardware);
  step.layout = layout_of(spec.disaggregated.prefill.parallel);
  step.first_rank = 0;
  return step;
}

}  // namespace fabricast
