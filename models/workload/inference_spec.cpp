// The scenario section `workload` of inference: fields with their texts and ranges (visit_fields), defaults and checks
// (complete), and the resolved step (inference_step, and prefill_step for prompts on GPUs of their own).
#include "fabricast/workload/inference_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "complaints.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, ServingParallel& spec) {
  visit("tensor", spec.tensor, "ranks that split each GEMM", between(1, 1024));
  visit("pipeline", spec.pipeline, "pipeline stages", between(1, 4096));
  visit("expert", spec.expert, "ranks that share the experts, taken from tensor and data parallelism",
        between(1, 65536));
  visit("expert_tensor", spec.expert_tensor,
        "ranks that split each expert, in one or several replicas; 0: 1 if `expert` is above 1, else as tensor",
        between(0, 1024));
  visit("data", spec.data, "replicas, each with its own requests; 0: as many as the GPUs allow", between(0, 4e6));
}

void visit_fields(FieldVisitor& visit, PrefillNodes& spec) {
  visit("gpus", spec.gpus, "the job's first GPUs, which only process prompts; 0: none", between(0, 4e6));
  visit("parallel", spec.parallel, "their degrees of parallelism");
}

void visit_fields(FieldVisitor& visit, DisaggregatedSpec& spec) {
  visit("prefill", spec.prefill, "GPUs that process prompts; the others decode");
  visit(
      "transfer", spec.transfer,
      "path of the KV cache: nvlink, rdma (GPUDirect), or host (staged in host memory); auto: the first available one");
  visit("stream", spec.stream,
        "when the KV cache is sent: true, each layer while the next layer computes; chunks, each chunk of the prompt "
        "while the next one computes; false, after the prompt; auto: as the engine does");
}

void visit_fields(FieldVisitor& visit, KvCacheSpec& spec) {
  visit("library", spec.library,
        "what sends KV caches: nixl or mooncake, from memory to memory (RDMA, or copies between GPUs); nccl, as sends "
        "and receives; auto: as the engine does, nccl where NICs have no RDMA");
  visit("block", spec.block, "tokens of a block of the paged cache; 0: as the engine does", between(0, 1e6));
  visit("contiguous", spec.contiguous,
        "blocks of a request that are contiguous at both ends, and that one descriptor of a transfer covers; 0: all, "
        "as in an empty cache",
        between(0, 1e8));
  visit("rails", spec.rails,
        "number of NICs, the nearest ones, through which each GPU sends its cache; 0: those as near as its own NIC, at "
        "most two",
        between(0, 64));
  visit("tier", spec.tier,
        "where the cached part of prompts (load.cached) is stored: hbm, the GPUs' memory; host or ssd, from which it "
        "is loaded before the rest of the prompt is computed");
  visit("drives", spec.drives, "rate at which a node reads caches from its drives, for tier ssd");
}

void visit_fields(FieldVisitor& visit, LoadSpec& spec) {
  visit("arrivals", spec.arrivals,
        "closed: each client sends its next request when its last one has ended; poisson: requests arrive at `rate`, "
        "independently of earlier ones; trace: at the times in `file`");
  visit("clients", spec.clients, "number of clients, for closed arrivals; 0: `batch` for each replica",
        between(0, 1e7));
  visit("rate", spec.rate, "requests/s for all replicas together, for poisson arrivals", between(0, 1e9));
  visit("file", spec.file, "CSV with columns arrival_s, input, output and optionally cached, for trace arrivals");
  visit("requests", spec.requests,
        "number of simulated requests; 0: ten times as many as are served concurrently, or the whole file",
        between(0, most_requests));
  visit("warmup", spec.warmup,
        "additional requests at the start, which are not counted; -1: the first one of each client, because all of "
        "these arrive at once",
        between(-1, most_requests));
  visit("spread", spec.spread, "lengths are uniform in mean x (1 - spread .. 1 + spread)", between(0, 1));
  visit("cached", spec.cached, "fraction of a prompt that is in a prefix cache", between(0, 1));
  visit("seed", spec.seed, "seed of sampled lengths and arrivals", between(0, 1e15));
}

void visit_fields(FieldVisitor& visit, SchedulerSpec& spec) {
  visit("batching", spec.batching,
        "prompts_first: prompts run in separate passes, and decoding waits; mixed: prompts join decode passes; auto: "
        "mixed with a chunk, else as the engine does");
  visit("wait", spec.wait,
        "maximum number of passes that prompts wait until they fill `fill` of a pass and all replicas that share "
        "experts have one",
        between(0, 1e6));
  visit("fill", spec.fill, "fraction of a pass's tokens at which prompts stop waiting", between(0, 1));
  visit("receive", spec.receive, "decode passes between two checks for new requests", between(1, 1e6));
  visit(
      "ahead", spec.ahead,
      "true: the host plans a pass while the one before it runs, so a request that arrives during a pass joins the one "
      "after the next; auto: as the engine does");
  visit("tokens", spec.tokens,
        "maximum tokens of a pass with prompts, which are cut only if the engine does; 0: `chunk`, or as the engine "
        "does",
        between(0, 1e8));
}

void visit_fields(FieldVisitor& visit, ServingExpertSpec& spec) {
  visit("precision", spec.precision, "precision of routed experts' GEMMs; auto: `precision`");
  visit("weight_precision", spec.weight_precision,
        "format of routed experts' weights in memory; auto: the precision of their GEMMs, or `weight_precision`");
  visit("redundant", spec.redundant, "additional copies of routed experts with high load, summed over all ranks",
        between(0, 1e5));
}

void visit_fields(FieldVisitor& visit, SpeculationSpec& spec) {
  visit("tokens", spec.tokens,
        "tokens guessed per decode step and verified by the next (multi-token prediction, EAGLE); 0: none",
        between(0, 64));
  visit("acceptance", spec.acceptance, "probability that a guess is accepted if all before it are", between(0, 1));
  visit("layers", spec.layers, "layers of the model's own kind that compute a guess, besides the vocabulary",
        between(1, 1000));
}

void visit_fields(FieldVisitor& visit, InferenceSpec& spec) {
  visit("framework", spec.framework, "serving engine: vllm, sglang or tensorrt_llm");
  visit("stack", spec.stack, "release of the engine (`fabricast list stacks`); empty: the newest");
  visit("model", spec.model, "the transformer");
  visit("precision", spec.precision, "precision of linear layers: GEMMs, and weights unless weight_precision is given");
  visit("weight_precision", spec.weight_precision,
        "format of linear layers' weights in memory; auto: the precision of their GEMMs");
  visit("projection_precision", spec.projection_precision,
        "precision of attention's output projection, GEMM and weights; auto: as other linear layers");
  visit("offload_weights", spec.offload_weights,
        "fraction of linear layers' weights in host memory, from where every pass copies them while it computes",
        between(0, 1));
  visit("cache_precision", spec.cache_precision,
        "format of the KV cache; auto: fp8 if GEMMs, or those of experts, use 8 bits or fewer, else bf16");
  visit("phase", spec.phase,
        "what is timed: a decode step, a batch of prompts, requests from end to end, or one all-reduce of tensor "
        "parallelism");
  visit("batch", spec.batch, "maximum concurrent sequences of a replica; 0: as many as fit in memory",
        between(0, most_served_sequences));
  visit("message", spec.message, "size, for phase all_reduce; 0B: what a decode step of `batch` reduces");
  visit("input", spec.input, "tokens of a prompt", between(1, 1e8));
  visit("output", spec.output, "tokens generated after it", between(1, 1e8));
  visit("chunk", spec.chunk,
        "maximum tokens of a pass; prompts are cut to fill it (chunked prefill); 0: as the engine does",
        between(0, 1e8));
  visit("experts", spec.experts, "routed experts, if they differ from other linear layers");
  visit("scheduler", spec.scheduler, "when passes with prompts start, in phase both");
  visit("speculation", spec.speculation, "speculative decoding: tokens are guessed, and one pass verifies them");
  visit("load", spec.load, "arriving requests, in phase both");
  visit("parallel", spec.parallel, "degrees of parallelism of a replica");
  visit("launch", spec.launch, "how the host launches decode passes: as a CUDA graph, or kernel by kernel");
  visit("all_reduce", spec.all_reduce,
        "what runs all-reduces up to 8MiB inside an NVLink domain: own, a kernel of the engine; nccl; auto: as the "
        "engine does");
  visit("overlap", spec.overlap, "split a pass in halves: communication of one overlaps computation of the other");
  visit("imbalance", spec.imbalance, "tokens for the experts of the most loaded rank, relative to the mean",
        between(1, 1000));
  visit("kv_cache", spec.kv_cache, "how the KV cache is held and moved");
  visit("disaggregated", spec.disaggregated, "prefill on separate GPUs, and how the KV cache reaches the decode GPUs");
}

namespace {

/// The precision or format that a choice names; `otherwise` if it is automatic.
template <class Chosen, class Choice>
// The enumerations of choices have the names of what is chosen, and `auto` in front.
Chosen chosen_or(Choice choice, Chosen otherwise) {
  if (choice == Choice::automatic) return otherwise;
  return enum_from<Chosen>(name_of(choice)).value_or(otherwise);
}

GemmPrecision linear_of(const InferenceSpec& spec) {
  return {spec.precision, chosen_or(spec.weight_precision, format_of(spec.precision))};
}

// Experts follow the linear layers unless set: their own precision decides their weights, and a weight precision
// overrides both.
GemmPrecision experts_of(const InferenceSpec& spec) {
  const GemmPrecision linear = linear_of(spec);
  const Precision compute = chosen_or(spec.experts.precision, linear.compute);
  const NumberFormat weights = spec.experts.precision == GemmChoice::automatic ? linear.weights : format_of(compute);
  return {compute, chosen_or(spec.experts.weight_precision, weights)};
}

// Some 4-bit checkpoints quantize only this projection of attention, the largest one of latent attention.
GemmPrecision projection_of(const InferenceSpec& spec) {
  const GemmPrecision linear = linear_of(spec);
  if (spec.projection_precision == GemmChoice::automatic) return linear;
  const Precision given = chosen_or(spec.projection_precision, linear.compute);
  return {given, format_of(given)};
}

/// Engines narrow weights when they load them, but never widen them in memory.
void check_weights(const GemmPrecision& p, const std::string& key, Complaints& faults) {
  if (bytes_of(p.weights) <= bytes_of(p.compute)) return;
  faults.add(key, fmt::format("weights in {} are wider than GEMMs in {}", name_of(p.weights), name_of(p.compute)),
             "engines convert weights to the narrower format when they load them; use " + key + ": auto");
}

// Keys of one kind of arrivals are refused with another, because they would be ignored without notice.
void check_load(const LoadSpec& load, Complaints& faults) {
  if ((load.arrivals == Arrivals::poisson) != (load.rate > 0))
    faults.add("load.rate",
               load.rate > 0
                   ? fmt::format("only applies to poisson arrivals, but arrivals are {}", name_of(load.arrivals))
                   : "is missing: poisson arrivals need a rate",
               load.rate > 0 ? "use load.arrivals: poisson" : "requests/s, e.g. load.rate: 10");
  if ((load.arrivals == Arrivals::trace) == load.file.empty())
    faults.add("load.file",
               load.file.empty()
                   ? "is missing: trace arrivals need a file"
                   : fmt::format("only applies to trace arrivals, but arrivals are {}", name_of(load.arrivals)),
               load.file.empty() ? "CSV with columns arrival_s, input, output" : "use load.arrivals: trace");
  if (load.clients > 0 && load.arrivals != Arrivals::closed)
    faults.add("load.clients",
               fmt::format("only apply to closed arrivals, but arrivals are {}", name_of(load.arrivals)),
               "use load.arrivals: closed");
}

/// Ranks that split an expert are part of one replica, or all ranks of several.
void complete_expert_tensor(const ServingParallel& p, const Transformer& m, std::int64_t placed,
                            const std::string& path, Complaints& faults) {
  const std::string key = path + ".expert_tensor";
  const std::int64_t routes = p.expert_tensor, group = routes * p.expert, ranks = std::int64_t{p.tensor} * p.data;
  if (m.expert_ffn % routes != 0)
    faults.add(key, fmt::format("expert_tensor {} does not divide the width {} of an expert", routes, m.expert_ffn));
  if (p.expert > 1 && placed % p.expert != 0)
    faults.add(path + ".expert", fmt::format("expert {} does not divide {} experts", p.expert, placed),
               fmt::format("change {}.expert or the model", path));
  // Either the ranks of one replica hold the experts in expert x expert_tensor parts, or all ranks of several replicas
  // split every expert.
  const bool inside = group == p.tensor, across = p.expert == 1 && routes % p.tensor == 0;
  if (routes > 1 && !inside && !across)
    faults.add(
        key,
        fmt::format("expert {} x expert_tensor {} is neither tensor {} nor the ranks of several whole "
                    "replicas",
                    p.expert, routes, p.tensor),
        "make expert x expert_tensor equal to tensor; or set expert: 1, and expert_tensor to a multiple of tensor");
  else if (ranks % group != 0)
    faults.add(key,
               fmt::format("expert {} x expert_tensor {} does not divide tensor {} x data {}", p.expert, routes,
                           p.tensor, p.data),
               "change it or the other degrees");
}

/// \param placed  experts including redundant copies  \param whose  the GPUs in messages
void complete_parallel(ServingParallel& p, const Transformer& m, std::int64_t placed, std::int64_t gpus,
                       const std::string& path, const char* whose, Complaints& faults) {
  const std::int64_t replica = std::int64_t{p.tensor} * p.pipeline;
  const std::string degrees = fmt::format("tensor {} x pipeline {}", p.tensor, p.pipeline);
  if (p.data == 0) {
    if (gpus % replica != 0 || gpus < replica)
      faults.add(path, fmt::format("{} is {}, which does not divide {} {}", degrees, replica, gpus, whose),
                 "change one of them, or the number of GPUs");
    p.data = static_cast<int>(std::max<std::int64_t>(1, gpus / replica));
  } else if (replica * p.data != gpus) {
    faults.add(path + ".data",
               fmt::format("{} x data {} is {}, but there are {} {}", degrees, p.data, replica * p.data, gpus, whose),
               gpus % replica == 0 ? fmt::format("data: {} fills them", gpus / replica)
                                   : fmt::format("{} does not divide {}", replica, gpus));
  }
  const auto divides = [&](std::int64_t by, std::int64_t what, const char* name, const char* whole) {
    if (what % by != 0)
      faults.add(fmt::format("{}.{}", path, name), fmt::format("{} {} does not divide {} {}", name, by, what, whole),
                 fmt::format("change {}.{} or the model", path, name));
  };
  divides(p.tensor, m.heads, "tensor", "heads");
  if (m.ffn > 0) divides(p.tensor, m.ffn, "tensor", "columns of the feed-forward block");
  if (p.pipeline > m.layers)
    faults.add(path + ".pipeline", fmt::format("{} stages are more than {} layers", p.pipeline, m.layers));
  if (p.expert == 1 && p.expert_tensor == 0) return;
  if (m.experts == 0 && p.expert > 1) return faults.add(path + ".expert", "the model has no experts", "use expert: 1");
  if (m.experts == 0) return faults.add(path + ".expert_tensor", "the model has no experts", "remove expert_tensor");
  if (p.expert_tensor > 0) return complete_expert_tensor(p, m, placed, path, faults);
  divides(p.expert, placed, "expert", "experts");
  if (std::int64_t{p.tensor} * p.data % p.expert != 0)
    faults.add(path + ".expert",
               fmt::format("expert {} does not divide tensor {} x data {}", p.expert, p.tensor, p.data),
               "change it or the other degrees");
}

// Whether all KV-cache transfers stay inside the first NVLink domain. Prefill GPUs come first, so the last ranks of
// both sides decide.
bool share_nvlink(const InferenceSpec& spec, const NodeSpec& node, int nodes, int nvlink_nodes) {
  const std::int64_t domain = std::int64_t{node.gpus} * std::max(1, std::min(nvlink_nodes, nodes));
  const ServingParallel& p = spec.disaggregated.prefill.parallel;
  const ServingParallel& d = spec.parallel;
  if (node.intranode != Intranode::nvswitch && node.intranode != Intranode::nvlink_mesh) return false;
  // The last replicas that transfer a cache, one on each side.
  const std::int64_t replicas = std::min(p.data, d.data), from = std::int64_t{p.tensor} * p.pipeline * replicas,
                     to = spec.disaggregated.prefill.gpus + std::int64_t{d.tensor} * d.pipeline * replicas;
  return (to - 1) / domain == 0 && (from - 1) / domain == 0;
}

void complete_disaggregated(InferenceSpec& spec, const NodeSpec& node, int nodes, int nvlink_nodes,
                            Complaints& faults) {
  DisaggregatedSpec& d = spec.disaggregated;
  const bool nvlink = share_nvlink(spec, node, nodes, nvlink_nodes);
  if (d.transfer == TransferPath::automatic)
    // NVLink where it exists, GPUDirect RDMA otherwise, and host memory if that is off. A path that does not exist, or
    // that would not be taken, is an error.
    d.transfer = nvlink ? TransferPath::nvlink : node.gdr != Gdr::off ? TransferPath::rdma : TransferPath::host;
  if (d.transfer == TransferPath::nvlink && !nvlink)
    faults.add("disaggregated.transfer", "no NVLink connects the prefill GPUs to the decode GPUs",
               "use rdma or host; or put all of them in one domain: nvlink_domain: {nodes: ...}, or fewer GPUs");
  if (d.transfer != TransferPath::nvlink && nvlink)
    faults.add("disaggregated.transfer", "NVLink connects the prefill GPUs to the decode GPUs, so transfers use it",
               "use transfer: nvlink");
  if (d.transfer == TransferPath::rdma && node.gdr == Gdr::off)
    faults.add("disaggregated.transfer", "rdma needs GPUDirect RDMA, but node.gdr is false", "use transfer: host");
}

bool has_rdma(LinkKind kind) {
  return kind == LinkKind::infiniband || kind == LinkKind::roce || kind == LinkKind::efa || kind == LinkKind::slingshot;
}

/// \pre the path of the transfer is complete
void complete_kv_cache(InferenceSpec& spec, const ServingStack& stack, const NodeSpec& node, Complaints& faults) {
  KvCacheSpec& kv = spec.kv_cache;
  const bool over_nics = spec.disaggregated.prefill.gpus > 0 && spec.disaggregated.transfer != TransferPath::nvlink;
  const bool writes = !over_nics || has_rdma(node.nics.link);
  if (kv.library == KvLibrary::automatic) kv.library = writes ? stack.kv_library : KvLibrary::nccl;
  if (kv.library != KvLibrary::nccl && !writes)
    faults.add("kv_cache.library",
               fmt::format("{} writes to remote memory, which {} NICs do not support", name_of(kv.library),
                           name_of(node.nics.link)),
               "use library: nccl");
  if (kv.block == 0) kv.block = stack.kv_block;
  if (spec.disaggregated.stream == KvStream::automatic)
    spec.disaggregated.stream = kv.library == KvLibrary::nccl ? KvStream::layers : stack.kv_stream;
  if (kv.rails > node.nics.count && over_nics)
    faults.add("kv_cache.rails", fmt::format("a node has {} NICs", node.nics.count),
               fmt::format("use rails: {} or fewer", node.nics.count));
  if (kv.rails > 0 && kv.library == KvLibrary::nccl)
    faults.add("kv_cache.rails", "NCCL chooses NICs itself", "use rails: 0, or library: nixl");
  if (kv.drives.value <= 0) kv.drives = usual_drive_rate().gbps();
  if (kv.tier != CacheTier::hbm && spec.load.cached <= 0 && spec.load.arrivals != Arrivals::trace)
    faults.add("kv_cache.tier", "only applies to cached prefixes, but prompts have none", "e.g. load: {cached: 0.9}");
}

ParallelLayout layout_of(const ServingParallel& p) {
  ParallelLayout layout;
  layout.tensor = p.tensor;
  layout.pipeline = p.pipeline;
  layout.data = p.data;
  layout.expert = p.expert;
  layout.expert_tensor = p.expert_tensor > 0 ? p.expert_tensor : p.expert > 1 ? 1 : p.tensor;
  // The ranks of a replica are neighbours. If replicas share experts, the ranks of a stage are.
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
    faults.add(
        "stack",
        fmt::format("{} is a release of {}, not of {}", stack.name, name_of(stack.framework), name_of(spec.framework)),
        fmt::format("framework: {}", name_of(stack.framework)));
  spec.stack = stack.name;
  // Engines keep the cache in 8 bits where they compute in 8 bits or fewer, be it only in experts.
  const double narrowest = std::min(bytes_of(spec.precision), bytes_of(experts_of(spec).compute));
  if (spec.cache_precision == CacheChoice::automatic)
    spec.cache_precision = narrowest <= 1 ? CacheChoice::fp8 : CacheChoice::bf16;
  if (spec.scheduler.batching == Batching::automatic)
    spec.scheduler.batching = spec.chunk > 0 || stack.mixed ? Batching::mixed : Batching::prompts_first;
  if (spec.scheduler.ahead == PlanAhead::automatic)
    spec.scheduler.ahead = plans_ahead(stack) ? PlanAhead::on : PlanAhead::off;
  if (spec.scheduler.tokens > 0 && spec.chunk > 0)
    faults.add("scheduler.tokens", "chunk also sets the tokens of a pass", "set only one of them");
  check_load(spec.load, faults);
  check_weights(linear_of(spec), "weight_precision", faults);
  check_weights(experts_of(spec), "experts.weight_precision", faults);
  const Transformer model = resolve(spec.model);
  if (model.mamba_layers > 0)
    faults.add("model.mamba_layers", "serving of models with Mamba layers is not modelled", "use kind: training_step");
  const std::int64_t gpus = std::int64_t{nodes} * node.gpus;
  const PrefillNodes& prefill = spec.disaggregated.prefill;
  if (prefill.gpus >= gpus)
    faults.add("disaggregated.prefill.gpus", fmt::format("{} of {} GPUs leave none for decode", prefill.gpus, gpus),
               "use fewer prefill GPUs, or more nodes");
  if (prefill.gpus > 0 && spec.phase != InferencePhase::both)
    faults.add("disaggregated",
               fmt::format("only applies to requests from end to end, but the phase is {}", name_of(spec.phase)),
               "use phase: both");
  if (spec.message.value > 0 && spec.phase != InferencePhase::all_reduce)
    faults.add("message", fmt::format("only applies to one all-reduce, but the phase is {}", name_of(spec.phase)),
               "use phase: all_reduce");
  if (spec.phase == InferencePhase::all_reduce && spec.parallel.tensor == 1)
    faults.add("parallel.tensor", "one GPU has nothing to reduce", "e.g. parallel: {tensor: 8}");
  if (prefill.gpus > 0 && spec.chunk > 0)
    faults.add("chunk", "prompts on separate GPUs do not share passes with decoding", "use chunk: 0");
  // Degrees are only checked against a model and GPUs that are valid themselves.
  faults.raise();
  if (spec.experts.redundant > 0 && model.experts == 0)
    faults.add("experts.redundant", "the model has no experts", "remove it");
  // Experts that ranks hold: redundant copies take places like any other.
  const std::int64_t placed = model.experts + spec.experts.redundant;
  complete_parallel(spec.parallel, model, placed, gpus - prefill.gpus, "parallel",
                    prefill.gpus > 0 ? "decode GPUs" : "GPUs", faults);
  if (prefill.gpus > 0) {
    complete_parallel(spec.disaggregated.prefill.parallel, model, placed, prefill.gpus,
                      "disaggregated.prefill.parallel", "prefill GPUs", faults);
    complete_disaggregated(spec, node, nodes, nvlink_nodes, faults);
  }
  complete_kv_cache(spec, stack, node, faults);
  faults.raise();
  const Kernels kernels = resolve_kernels(node, hardware);
  check_precision(kernels, spec.precision, "workload.precision");
  check_precision(kernels, experts_of(spec).compute, "workload.experts.precision");
  check_precision(kernels, projection_of(spec).compute, "workload.projection_precision");
  // The default batch is the largest that fits in memory, so it needs the complete step.
  if (spec.batch == 0) spec.batch = largest_batch(inference_step(spec, node, nvlink_nodes, hardware), node);
}

namespace {

/// An engine's own limit, of one replica. Replicas without experts are servers of their own.
std::int64_t tokens_of_pass(const ServingStack& stack, const ParallelLayout& layout) {
  return std::max(1, stack.divides_tokens ? stack.tokens / layout.sharing_replicas() : stack.tokens);
}

}  // namespace

PromptPolicy prompt_policy(const InferenceSpec& spec, const ServingStack& stack) {
  PromptPolicy policy;
  policy.mixed = spec.scheduler.batching == Batching::mixed;
  policy.chunked = spec.chunk > 0 || stack.chunked;
  policy.wait = spec.scheduler.wait;
  policy.fill = spec.scheduler.fill;
  policy.receive = spec.scheduler.receive;
  policy.ahead = spec.scheduler.ahead == PlanAhead::on;
  return policy;
}

InferenceStep inference_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes,
                             const Hardware& hardware) {
  InferenceStep step;
  step.model = resolve(spec.model);
  step.layout = layout_of(spec.parallel);
  // Prefill GPUs are the first of the job.
  step.first_rank = static_cast<std::uint32_t>(spec.disaggregated.prefill.gpus);
  step.linear = linear_of(spec);
  step.experts = experts_of(spec);
  step.projection = projection_of(spec);
  step.redundant_experts = spec.experts.redundant;
  step.offload_weights = spec.offload_weights;
  step.host_rate = host_rate(node, hardware);
  step.cache = chosen_or(spec.cache_precision, NumberFormat::bf16);
  step.batch = spec.batch;
  step.input = spec.input;
  step.output = spec.output;
  step.graph = spec.launch == PassLaunch::graph;
  step.overlap = spec.overlap;
  step.imbalance = spec.imbalance;
  step.speculation = {spec.speculation.tokens, spec.speculation.acceptance, spec.speculation.layers};
  step.stack = find_serving_stack(hardware, spec.framework, spec.stack);
  step.chunk = spec.chunk > 0              ? spec.chunk
               : spec.scheduler.tokens > 0 ? spec.scheduler.tokens
                                           : tokens_of_pass(step.stack, step.layout);
  step.kernels = resolve_kernels(node, hardware);
  // Engines' kernels for experts do not reach the rate of large tiles. Small tiles are slower than that in any case.
  // Where the GPU multiplies 4 bits, engines have kernels of their own for such weights, which also route tokens.
  // Elsewhere the general kernels convert them.
  const bool own_kernels = step.experts.weights == NumberFormat::fp4 && step.kernels.has(Precision::fp4);
  step.kernels.grouped_limit = (own_kernels ? step.stack.expert_rate_4 : step.stack.expert_rate).value;
  if (own_kernels) step.stack.expert_fixed.value = 0;
  if (spec.all_reduce != AllReduceBy::automatic) step.stack.own_all_reduce = spec.all_reduce == AllReduceBy::own;
  step.own_all_reduce = own_all_reduce(step.stack, node, nvlink_nodes, hardware);
  const KvCacheSpec& kv = spec.kv_cache;
  step.pages = {kv.library,    spec.disaggregated.stream, kv.block,
                kv.contiguous, std::max(1, kv.rails),     step.stack.descriptor.us()};
  return step;
}

InferenceStep prefill_step(const InferenceSpec& spec, const NodeSpec& node, int nvlink_nodes,
                           const Hardware& hardware) {
  // The same model and software, with a layout and GPUs of its own.
  InferenceStep step = inference_step(spec, node, nvlink_nodes, hardware);
  step.layout = layout_of(spec.disaggregated.prefill.parallel);
  step.first_rank = 0;
  return step;
}

}  // namespace fabricast
