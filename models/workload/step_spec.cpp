// The scenario section `workload` of training steps, in three steps: fields with their texts and ranges (visit_fields),
// defaults and checks (complete), and the resolved step (training_step).
//
// Choices that are `auto` are resolved by the software (Stack), so that a printed scenario states what was forecast.
// Checks collect all faults and give a value that works, where one follows from the others.
#include "fabricast/workload/step_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "complaints.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/workload/layer.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, BatchSpec& spec) {
  visit("global", spec.global, "sequences per step", between(0, 1e7));
  visit("micro", spec.micro, "sequences that a GPU processes at once", between(1, 1e5));
}

void visit_fields(FieldVisitor& visit, ParallelSpec& spec) {
  visit("tensor", spec.tensor, "ranks that split each GEMM", between(1, 1024));
  visit("sequence", spec.sequence, "whether these ranks also split the kernels between the GEMMs, by tokens");
  visit("context", spec.context, "ranks that split each sequence", between(1, 4096));
  visit("pipeline", spec.pipeline, "pipeline stages", between(1, 4096));
  visit("interleave", spec.interleave, "chunks of layers per stage", between(1, 1024));
  visit("layers", spec.layers, "number of layers of each chunk, in model order; empty: as even as possible",
        between(0, 1e5));
  visit("expert", spec.expert, "ranks that share the experts, taken from data and context (and tensor) parallelism",
        between(1, 65536));
  visit("expert_tensor", spec.expert_tensor, "ranks that split each expert: 1 or the value of `tensor`",
        between(1, 1024));
  visit("data", spec.data, "replicas; 0: as many as the GPUs allow", between(0, 4e6));
  visit("zero", spec.zero,
        "what replicas shard instead of replicating it: 0 nothing, 1 optimizer state, 2 also gradients, 3 also "
        "parameters (FSDP); -1: as the framework does",
        between(-1, 3));
  visit("shard", spec.shard, "ranks over which it is sharded; 0: all; fewer: hybrid sharding", between(0, 4e6));
  visit("schedule", spec.schedule, "pipeline schedule; auto: interleaved if a stage has several chunks, else 1f1b");
  visit("order", spec.order, "dimensions of parallelism, from neighbouring to distant ranks");
}

void visit_fields(FieldVisitor& visit, OverlapSpec& spec) {
  visit("data", spec.data, "collectives of data parallelism overlap computation");
  visit("tensor", spec.tensor, "collectives of tensor parallelism overlap the GEMMs that they belong to");
  visit("pipeline", spec.pipeline, "sends between pipeline stages overlap computation");
  visit("expert", spec.expert, "dispatch and combine overlap computation of other micro-batches");
  visit("bucket", spec.bucket, "size of gradients that are reduced together; 0B: as the framework does",
        between(0, static_cast<double>(std::int64_t{1} << 50)));
}

void visit_fields(FieldVisitor& visit, GradientSpec& spec) {
  visit("precision", spec.precision, "precision in which gradients are reduced");
  visit("compression", spec.compression, "bytes on the network, relative to uncompressed gradients", between(1e-4, 1));
}

void visit_fields(FieldVisitor& visit, ExpertSpec& spec) {
  visit("imbalance", spec.imbalance, "tokens of the most loaded rank, relative to the mean", between(1, 1000));
  visit("capacity", spec.capacity, "maximum tokens of an expert, relative to the mean; 0: no limit", between(0, 1000));
  visit("copies", spec.copies,
        "copies of a token in an alltoall; 0: one for each of its experts; fewer if experts of one node share a copy",
        between(0, 1000));
  visit("dispatcher", spec.dispatcher,
        "how tokens reach their experts: alltoall, allgather of all tokens, or one copy to each node and rank that has "
        "one of their experts (deepep, hybridep); auto: alltoall");
  visit("sms", spec.sms,
        "SMs that the kernels of deepep or hybridep take from overlapped computation; 0: 20 and 16, as Megatron does",
        between(0, 200));
  visit("fp8_dispatch", spec.fp8_dispatch, "whether tokens are dispatched in 8 bits; results return in 16");
  visit("fused_permutation", spec.fused_permutation,
        "whether one kernel permutes tokens into the order of experts; auto: as `compiled`");
}

void visit_fields(FieldVisitor& visit, VariationSpec& spec) {
  visit("steps", spec.steps, "number of sampled steps", between(1, 10000));
  visit("slow_hosts", spec.slow_hosts, "fraction of hosts that compute slower", between(0, 1));
  visit("slowdown", spec.slowdown, "relative increase of their compute time", between(0, 100));
  visit("jitter", spec.jitter, "relative standard deviation of a GPU's compute time between steps", between(0, 1));
  visit("seed", spec.seed, "random seed of slow hosts and jitter", at_least(0));
}

namespace {

// Four names separated by dashes, each exactly once. The last has no dash after it.
std::optional<std::array<Dimension, 4>> parse_order(std::string_view text) {
  std::array<Dimension, 4> order{};
  std::array<bool, 4> there{};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto dash = text.find('-');
    if ((dash == std::string_view::npos) != (i + 1 == order.size())) return std::nullopt;
    const auto d = enum_from<Dimension>(text.substr(0, dash));
    if (!d || there[static_cast<std::size_t>(*d)]) return std::nullopt;
    order[i] = *d;
    there[static_cast<std::size_t>(*d)] = true;
    if (dash != std::string_view::npos) text.remove_prefix(dash + 1);
  }
  return order;
}

Choose choose(Choose given, bool otherwise) {
  return given != Choose::automatic ? given : otherwise ? Choose::yes : Choose::no;
}

/// Fills in or checks the number of replicas.
void complete_data(ParallelSpec& p, std::int64_t gpus, Complaints& faults) {
  // Data parallelism takes the GPUs that the other degrees leave.
  const std::int64_t others = std::int64_t{p.tensor} * p.context * p.pipeline;
  const std::string degrees = fmt::format("tensor {} x context {} x pipeline {}", p.tensor, p.context, p.pipeline);
  if (p.data == 0) {
    if (gpus % others != 0)
      faults.add("parallel", fmt::format("{} is {}, which does not divide {} GPUs", degrees, others, gpus),
                 "change one of them, or cluster.nodes");
    p.data = static_cast<int>(std::max<std::int64_t>(1, gpus / others));
  } else if (others * p.data != gpus) {
    faults.add("parallel.data",
               fmt::format("{} x data {} is {} ranks, but the job has {} GPUs", degrees, p.data, others * p.data, gpus),
               gpus % others == 0 ? fmt::format("data: {} fills it", gpus / others)
                                  : fmt::format("{} does not divide {}", others, gpus));
  }
}

void check_layers(const ParallelSpec& p, int layers, Complaints& faults) {
  const auto chunks = static_cast<std::size_t>(p.pipeline) * static_cast<std::size_t>(p.interleave);
  const int listed = std::accumulate(p.layers.begin(), p.layers.end(), 0);
  if (p.layers.size() != chunks)
    faults.add("parallel.layers", fmt::format("the number of chunks is {}, but pipeline {} x interleave {} is {}",
                                              p.layers.size(), p.pipeline, p.interleave, chunks));
  else if (listed != layers)
    faults.add("parallel.layers", fmt::format("the chunks add up to {} layers, but the model has {}", listed, layers));
  else
    for (int s = 0; s < p.pipeline; ++s) {
      int held = 0;
      // A stage may have an empty chunk, as long as others of it hold layers.
      for (std::size_t c = static_cast<std::size_t>(s); c < chunks; c += static_cast<std::size_t>(p.pipeline))
        held += p.layers[c];
      if (held == 0) faults.add("parallel.layers", fmt::format("leaves stage {} without layers", s));
    }
}

void check_parallel(const TrainingSpec& spec, const Transformer& model, Complaints& faults) {
  const ParallelSpec& p = spec.parallel;
  // Frameworks refuse uneven splits; `key + 9` is the name without `parallel.`.
  const auto divides = [&](std::int64_t by, std::int64_t what, const char* key, const char* name, const char* whole) {
    if (what % by != 0)
      faults.add(key, fmt::format("{} {} does not divide {} {}", name, by, what, whole),
                 fmt::format("change parallel.{} or the model", key + 9));
  };
  divides(p.tensor, model.heads, "parallel.tensor", "tensor", "heads");
  if (model.ffn > 0) divides(p.tensor, model.ffn, "parallel.tensor", "tensor", "columns of the feed-forward block");
  divides(p.context, model.sequence, "parallel.context", "context", "tokens of a sequence");
  if (!p.layers.empty())
    check_layers(p, model.layers, faults);
  else if (std::int64_t{p.pipeline} * p.interleave > model.layers)
    faults.add("parallel.pipeline", fmt::format("pipeline {} x interleave {} is more than {} layers", p.pipeline,
                                                p.interleave, model.layers));
  if (p.interleave > 1 && p.pipeline == 1)
    faults.add("parallel.interleave", "needs a pipeline, but there is only one stage", "use pipeline: 2 or more");
  if (p.interleave > 1 && p.schedule != ScheduleChoice::interleaved)
    faults.add("parallel.schedule", fmt::format("{} supports one chunk per stage", name_of(p.schedule)),
               "use schedule: interleaved, or interleave: 1");
  if (p.sequence && p.tensor == 1)
    faults.add("parallel.sequence", "needs tensor parallelism, but tensor is 1", "use sequence: false");
  if (!parse_order(p.order))
    faults.add("parallel.order", fmt::format("'{}' does not name each dimension exactly once", p.order),
               "e.g. tensor-context-data-pipeline");
  // Context parallel ranks have the same parameters, so they count as replicas for sharding and for experts.
  const std::int64_t replicas = std::int64_t{p.data} * p.context;
  if (p.shard > 0 && replicas % p.shard != 0)
    faults.add("parallel.shard",
               fmt::format("shard {} does not divide data {} x context {}", p.shard, p.data, p.context));
  if (model.experts == 0) {
    if (p.expert > 1) faults.add("parallel.expert", "the model has no experts", "use expert: 1");
    return;
  }
  if (p.expert_tensor != 1 && p.expert_tensor != p.tensor)
    faults.add("parallel.expert_tensor",
               fmt::format("is {}: experts are either whole or split like all other layers", p.expert_tensor),
               fmt::format("use 1 or {}", p.tensor));
  divides(p.expert, model.experts, "parallel.expert", "expert", "experts");
  const std::int64_t holders = replicas * (p.expert_tensor == 1 ? p.tensor : 1);
  if (holders % p.expert != 0)
    faults.add(
        "parallel.expert",
        fmt::format("expert {} does not divide the {} ranks of a stage that can hold experts", p.expert, holders),
        "change parallel.expert or the other degrees");
}

void check_mamba(const ParallelSpec& p, const Transformer& model, Complaints& faults) {
  if (model.mamba_layers == 0) return;
  if (model.mamba_heads % p.tensor != 0 || model.mamba_groups % p.tensor != 0)
    faults.add("parallel.tensor", fmt::format("tensor {} does not divide {} Mamba heads and {} Mamba groups", p.tensor,
                                              model.mamba_heads, model.mamba_groups));
  if (p.context > 1)
    faults.add("parallel.context", "context parallelism of models with Mamba layers is not modelled", "context: 1");
}

void check_mtp(const TrainingSpec& spec, const Transformer& model, Complaints& faults) {
  if (spec.mtp_layers > 0 && model.mamba_layers > 0)
    faults.add("mtp_layers", "multi-token prediction of models with Mamba layers is not modelled", "mtp_layers: 0");
}

void check_batch(const TrainingSpec& spec, Complaints& faults) {
  const BatchSpec& b = spec.batch;
  const ParallelSpec& p = spec.parallel;
  if (b.global == 0) return faults.add("batch.global", "is missing", "e.g. batch: {global: 1024, micro: 1}");
  // Sequences that all replicas process at once; a step consists of whole micro-batches.
  const std::int64_t at_once = std::int64_t{b.micro} * p.data;
  if (b.global % at_once != 0)
    return faults.add("batch.global",
                      fmt::format("{} sequences are not a multiple of micro {} x data {}", b.global, b.micro, p.data),
                      b.global < at_once ? fmt::format("at least {}", at_once)
                                         : fmt::format("e.g. {}", b.global / at_once * at_once));
  if (const std::int64_t m = b.global / at_once; p.interleave > 1 && m % p.pipeline != 0)
    faults.add("batch.global",
               fmt::format("{} micro-batches are not a multiple of {} stages, as the interleaved schedule needs", m,
                           p.pipeline),
               fmt::format("e.g. {}", (m / p.pipeline + 1) * p.pipeline * at_once));
}

// Recipes only apply to 8 and 4 bits. torchtitan's default is current scaling, that of the others delayed scaling.
void complete_scaling(TrainingSpec& spec, const Stack& stack, Complaints& faults) {
  const bool narrow = spec.precision == Precision::fp8 || spec.precision == Precision::fp4;
  if (spec.scaling == Scaling::automatic) {
    if (narrow)
      spec.scaling = spec.precision == Precision::fp4 ? Scaling::nvfp4
                     : stack.current_scaling          ? Scaling::current
                                                      : Scaling::delayed;
    return;
  }
  if (!scales(spec.scaling, spec.precision))
    faults.add("scaling", fmt::format("{} does not apply to {}", name_of(spec.scaling), name_of(spec.precision)),
               narrow ? "remove it" : "use precision: fp8 or fp4");
}

}  // namespace

void visit_fields(FieldVisitor& visit, TrainingSpec& spec) {
  visit("framework", spec.framework, "training framework: decides what is overlapped and fused");
  visit("stack", spec.stack, "generation of the framework (`fabricast list stacks`); empty: the newest");
  visit("model", spec.model, "the transformer");
  visit("mtp_layers", spec.mtp_layers,
        "modules of multi-token prediction: each adds a layer and a pass through the vocabulary to the last stage",
        between(0, 100));
  visit("precision", spec.precision,
        "precision of GEMMs; fp8 and fp4: of linear layers, as the framework's recipe does");
  visit("scaling", spec.scaling,
        "how 8-bit and 4-bit numbers are scaled: delayed, current, rowwise, blockwise, mxfp8, nvfp4; auto: as the "
        "framework does");
  visit("batch", spec.batch, "batch sizes");
  visit("parallel", spec.parallel, "degrees of parallelism");
  visit("recompute", spec.recompute,
        "activation recomputation: none, selective (the core of attention), ops (every second GEMM and element-wise "
        "kernels), or full (whole layers)");
  visit("recompute_modules", spec.recompute_modules,
        "for selective: modules to recompute instead of the core of attention");
  visit("offload_layers", spec.offload_layers, "layers per GPU whose activations are offloaded to host memory",
        between(0, 10000));
  visit("overlap", spec.overlap, "communication that overlaps computation");
  visit("gradients", spec.gradients, "how gradients are reduced");
  visit("experts", spec.experts, "MoE: load balance and dispatch of tokens");
  visit("compiled", spec.compiled, "whether a compiler fuses element-wise kernels");
  visit("flash_2", spec.flash_2,
        "whether attention runs FlashAttention 2 instead of the GPU's own kernel, such as cuDNN's or FlashAttention 3");
  visit("cuda_graphs", spec.cuda_graphs,
        "what runs as CUDA graphs: none, the MoE router, attention and the router, or the whole step");
  visit("fixed", spec.fixed,
        "time per step outside computation and communication: data, host, logging; below 0: the framework's",
        between(-1, 1e6));
  visit("memory", spec.memory,
        "check: a step that does not fit in a GPU's memory is an error; ignore: it is forecast anyway");
  visit("variation", spec.variation, "variation between steps and hosts");
}

Stack find_stack(const Hardware& hardware, Framework framework, const std::string& name) {
  if (!name.empty()) {
    if (hardware.stacks.contains(name)) return hardware.stack(name);
    std::vector<std::string_view> known;
    for (const auto& [known_name, stack] : hardware.stacks) known.push_back(known_name);
    throw UserError::at("workload.stack", fmt::format("unknown stack '{}'", name), suggestion(name, known));
  }
  // Without a name the newest generation of the framework; of equal years the last by name.
  const Stack* newest = nullptr;
  for (const auto& [stack_name, stack] : hardware.stacks)
    if (stack.framework == framework && !stack.superseded && (!newest || stack.year >= newest->year)) newest = &stack;
  if (!newest)
    throw UserError::at("workload.framework", fmt::format("{} is not a training framework", name_of(framework)),
                        "use megatron, nemo, fsdp, ddp or deepspeed");
  return hardware.stack(newest->name);
}

void complete(TrainingSpec& spec, const Hardware& hardware, std::int64_t gpus) {
  const Stack stack = find_stack(hardware, spec.framework, spec.stack);
  Complaints faults;
  if (stack.framework != spec.framework)
    faults.add(
        "stack",
        fmt::format("{} is a release of {}, not of {}", stack.name, name_of(stack.framework), name_of(spec.framework)),
        fmt::format("framework: {}", name_of(stack.framework)));
  spec.stack = stack.name;
  ParallelSpec& p = spec.parallel;
  complete_data(p, gpus, faults);
  if (p.zero < 0) p.zero = stack.zero;
  // Order matters: degrees before what depends on them, software before choices that follow it, and the model last,
  // since its checks need all degrees.
  if (p.shard == 0) p.shard = p.zero > 0 ? p.data * p.context : 1;
  if (p.schedule == ScheduleChoice::automatic)
    p.schedule = p.interleave > 1 ? ScheduleChoice::interleaved : ScheduleChoice::one_f_one_b;
  spec.overlap.data = choose(spec.overlap.data, stack.overlaps_data);
  spec.overlap.tensor = choose(spec.overlap.tensor, stack.overlaps_tensor);
  spec.overlap.pipeline = choose(spec.overlap.pipeline, stack.overlaps_pipeline);
  // No framework overlaps dispatch by default.
  spec.overlap.expert = choose(spec.overlap.expert, false);
  if (spec.overlap.bucket.value == 0) spec.overlap.bucket = Bytes{stack.bucket};
  if (spec.gradients.precision == GradientPrecision::automatic)
    spec.gradients.precision = stack.gradient_bytes == 2 ? GradientPrecision::bf16 : GradientPrecision::fp32;
  spec.compiled = choose(spec.compiled, stack.compiled);
  spec.flash_2 = choose(spec.flash_2, stack.flash_2);
  spec.experts.fused_permutation = choose(spec.experts.fused_permutation, spec.compiled == Choose::yes);
  if (spec.experts.dispatcher == Dispatcher::automatic) spec.experts.dispatcher = Dispatcher::alltoall;
  if (spec.experts.copies > 0 && spec.experts.dispatcher != Dispatcher::alltoall)
    faults.add("experts.copies", fmt::format("only applies to alltoall, not to {}", name_of(spec.experts.dispatcher)),
               "remove it");
  if (spec.experts.sms > 0 && sms_of(spec.experts.dispatcher) == 0)
    faults.add("experts.sms",
               fmt::format("only applies to deepep and hybridep; {} runs on NCCL's channels",
                           name_of(spec.experts.dispatcher)),
               "remove it, or set nccl.env NCCL_MAX_NCHANNELS");
  if (spec.experts.fp8_dispatch && (sms_of(spec.experts.dispatcher) == 0 || spec.precision != Precision::fp8))
    faults.add("experts.fp8_dispatch", "needs deepep or hybridep, and experts that compute in fp8",
               "remove it, or set precision: fp8 and experts.dispatcher: deepep");
  if (spec.experts.sms == 0) spec.experts.sms = sms_of(spec.experts.dispatcher);
  // A list of modules implies `selective`.
  if (!spec.recompute_modules.empty()) {
    if (spec.recompute == Recompute::none) spec.recompute = Recompute::selective;
    if (spec.recompute != Recompute::selective)
      faults.add("recompute_modules",
                 fmt::format("only apply to recompute: selective, not {}", name_of(spec.recompute)),
                 "use recompute: selective");
  }
  complete_scaling(spec, stack, faults);
  if (spec.fixed.value < 0) spec.fixed = Seconds{stack.step_fixed.value};
  const Transformer model = resolve(spec.model);
  check_parallel(spec, model, faults);
  check_mamba(p, model, faults);
  check_mtp(spec, model, faults);
  // With wrong degrees its messages would mislead.
  if (faults.none()) check_batch(spec, faults);
  faults.raise();
}

TrainingStep training_step(const TrainingSpec& spec, const NodeSpec& node, const Hardware& hardware, int nvlink_ranks) {
  const ParallelSpec& p = spec.parallel;
  TrainingStep step;
  step.model = resolve(spec.model);
  step.mtp_layers = spec.mtp_layers;
  step.layout = {p.tensor, p.context, p.data, p.pipeline, p.expert, p.expert_tensor, p.shard, *parse_order(p.order)};
  step.sequence_parallel = p.sequence;
  step.global_batch = spec.batch.global;
  step.micro_batch = spec.batch.micro;
  step.precision = spec.precision;
  step.recompute = {spec.recompute, spec.recompute_modules};
  step.zero = p.zero;
  // ScheduleChoice has `auto` in front of the same values.
  step.schedule = static_cast<PipelineSchedule>(static_cast<int>(p.schedule) - 1);
  step.interleave = p.interleave;
  step.layers = p.layers;
  step.overlap_data = spec.overlap.data == Choose::yes;
  step.overlap_tensor = spec.overlap.tensor == Choose::yes;
  step.overlap_pipeline = spec.overlap.pipeline == Choose::yes;
  step.bucket = spec.overlap.bucket;
  step.compression = spec.gradients.compression;
  step.compiled = spec.compiled == Choose::yes;
  step.expert_imbalance = spec.experts.imbalance;
  step.capacity = spec.experts.capacity;
  step.token_copies = spec.experts.copies;
  step.overlap_expert = spec.overlap.expert == Choose::yes;
  step.dispatcher = spec.experts.dispatcher;
  step.dispatcher_sms = spec.experts.sms;
  step.fp8_dispatch = spec.experts.fp8_dispatch;
  step.fused_permutation = spec.experts.fused_permutation == Choose::yes;
  step.cuda_graphs = spec.cuda_graphs;
  step.nvlink_ranks = nvlink_ranks;
  step.scaling = spec.scaling;
  step.stack = find_stack(hardware, spec.framework, spec.stack);
  // The scenario overrides what the software would do.
  step.stack.gradient_bytes = spec.gradients.precision == GradientPrecision::bf16 ? 2 : 4;
  step.stack.step_fixed.value = spec.fixed.value;
  step.stack.flash_2 = spec.flash_2 == Choose::yes;
  step.kernels = resolve_kernels(node, hardware);
  step.offloaded = spec.offload_layers;
  step.host_rate = host_rate(node, hardware);
  check_precision(step.kernels, spec.precision, "workload.precision");
  step.kernels.boost = boost_of(step.kernels, kernel_mix(step));
  return step;
}

}  // namespace fabricast
