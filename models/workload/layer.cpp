// Times the two halves of a layer (attention or Mamba, dense or MoE feed-forward) on one GPU, without communication.
// layer_passes.cpp queues them with their collectives.
//
// A half consists of GEMMs, the core of attention, and element-wise kernels whose bytes per token and width are
// parameters of the software (Stack). In the backward pass a GEMM becomes two of the same size, one for the gradient of
// its input and one for that of its weights, and element-wise kernels move twice the bytes. Kernel times are those of
// kernels.cpp; the equations are in docs/models/training.md.
#include "fabricast/workload/layer.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/real.hpp"
#include "fabricast/workload/dispatcher.hpp"
#include "fabricast/workload/step_memory.hpp"
#include "linear_layers.hpp"

namespace fabricast {

namespace {

// A GEMM as the software runs it: the model's time, corrected by the stack's rate, and the gap to the next kernel.
// Sizes are rounded, since they come from divisions by degrees of parallelism and from loads of experts.
Seconds gemm_time(const TrainingStep& step, double m, double n, double k, Precision precision, double count = 1) {
  const auto whole = [](double x) { return std::max<std::int64_t>(1, std::llround(x)); };
  const double rate = step.stack.gemm.value * (precision == Precision::fp4 ? step.stack.gemm_4.value : 1);
  return gemm(step.kernels, whole(m), whole(n), whole(k), precision, whole(count)) / rate + step.kernels.kernel_gap();
}
Seconds stream_time(const TrainingStep& step, double bytes) { return stream(step.kernels, Bytes{std::llround(bytes)}); }

/// Tokens of the most loaded rank, relative to the mean.
// A capacity cuts off tokens above it, so the imbalance cannot exceed it.
double busiest_rank(const TrainingStep& step) {
  return step.capacity > 0 ? std::min(step.capacity, step.expert_imbalance) : step.expert_imbalance;
}

/// Times the two blocks of a layer.
class LayerTimer {
 public:
  LayerTimer(const TrainingStep& step)
      : step_(step), model_(step.model), stack_(step.stack), tokens_(step.tokens()), tensor_(step.layout.tensor) {}

  HalfLayer attention() const {
    HalfLayer half;
    add(half, attention_layers(), output_projection(model_), tokens_);
    half.core = core(false);
    half.forward += half.core;
    half.data_gradient += core(true);
    const double widths = static_cast<double>(model_.query_width()) + key_width();
    const double normed = 4 * static_cast<double>(model_.normed_width());  // read and written in 16 bits
    add_elementwise(half, outside() + tokens_ * (stack_.attention * widths + normed) / tensor_);
    gather_heads(half);
    half.data_gradient += cast(half, attention_layers(), tokens_, stack_.cast, gathers_cast(step_));
    half.norm = norm();
    if (model_.kv_rank > 0)
      for (const Linear& l : latent_gemms(model_, tensor_)) half.latent += gemm(tokens_, l.out, l.in);
    reorder_parts(half);
    wait_for_host(half);
    // The launch time grows with the number of GEMMs: latent attention has twice as many, and kernels between them.
    const double gemms = static_cast<double>(attention_layers().size());
    if (step_.cuda_graphs < CudaGraphs::attention) half.launch = stack_.launch.us() * gemms / 2;
    return half;
  }

  /// Mamba 2 works on chunks of tokens [Dao2024]. Inside a chunk it is attention without a softmax, with heads of width
  /// `state_dim` and keys that a group of heads shares. Between chunks it passes on the states, which memory bounds.
  HalfLayer mamba() const {
    HalfLayer half;
    add(half, mamba_gemms(model_, tensor_), 1, tokens_);
    const double width = static_cast<double>(model_.mamba_width()) / tensor_,
                 state = static_cast<double>(model_.state_dim);
    const double chunk = std::min(static_cast<double>(model_.mamba_chunk), static_cast<double>(model_.sequence));
    const double keys = static_cast<double>(model_.mamba_groups) * state / tensor_;
    // Multiply-adds per token: (C/2)(g n + w) inside a chunk of C tokens, half of the square because of causality, and
    // 2 w n to update and to read the state. w is the width of all heads, n the state of each, g the groups.
    const double operations = tokens_ * 2 * (chunk * (keys + width) / 2 + 2 * width * state);
    const Seconds core = unfused_gemms(step_.kernels, operations);
    const double states = tokens_ / chunk * width * state;
    // Passes over memory: 4 B per convolved element, 12 B per element of w, and four passes over each chunk's states,
    // which have 32 bits.
    const double bytes =
        tokens_ * (4 * static_cast<double>(model_.mamba_convolved()) / tensor_ + 12 * width) + 4 * 4 * states;
    half.forward += core;
    half.data_gradient += 2.5 * core;  // backward recomputes the inside of chunks
    add_elementwise(half, outside() + bytes);
    half.data_gradient += cast(half, mamba_gemms(model_, tensor_), tokens_, stack_.cast, gathers_cast(step_));
    half.norm = norm();
    reorder_parts(half);
    wait_for_host(half);
    if (step_.cuda_graphs < CudaGraphs::attention) half.launch = stack_.launch.us();
    return half;
  }
  /// The average mixer of a layer.
  HalfLayer mixer() const {
    if (model_.mamba_layers == 0) return attention();
    return mean_of(attention(), model_.attention_share(), mamba(), model_.mamba_share());
  }

  HalfLayer dense(double width) const {
    HalfLayer half;
    const std::vector<Linear> layers = ffn_layers(width / tensor_);
    add(half, layers, 1, tokens_);
    const double activation = tokens_ * ffn_traffic() * width / tensor_;
    add_elementwise(half, outside() + activation);
    half.data_gradient += cast(half, layers, tokens_, stack_.cast, gathers_cast(step_));
    half.norm = norm();
    half.activation = elementwise(activation);
    reorder_parts(half);
    wait_for_host(half);
    if (step_.cuda_graphs < CudaGraphs::attention) half.launch = stack_.launch.us();
    return half;
  }

  HalfLayer experts() const {
    HalfLayer half;
    const double hidden = static_cast<double>(model_.hidden);
    const int routes = step_.layout.expert, split = step_.layout.expert_tensor;
    // Rows of the experts' GEMMs. The busiest rank counts, because the combine waits for it. Its local experts have
    // equally many rows, in one grouped GEMM.
    const double copies = dispatched_tokens(step_) * busiest_rank(step_);
    const double local = static_cast<double>(model_.experts) / routes;
    const std::vector<Linear> layers = ffn_layers(static_cast<double>(model_.expert_ffn) / split);
    add(half, layers, 1, copies * split / local, local);
    // With FP8 dispatch the input of the first GEMM and the gradient of the last one's result arrive in 8 bits.
    const std::vector<Linear> arrive_whole{{0, layers.front().out}, {layers.back().in, 0}};
    half.data_gradient +=
        cast(half, step_.fp8_dispatch ? arrive_whole : layers, copies * split, stack_.expert_cast, false);
    // The norm, the router, and the permutation into the order of experts and back.
    // With sequence parallelism each tensor rank routes its own shard of the tokens, unless tensor parallelism splits
    // experts.
    const double own = tokens_ / (step_.sequence_parallel && split == 1 ? tensor_ : 1);
    HalfLayer around;
    add_elementwise(around, outside() + copies * ffn_traffic() * static_cast<double>(model_.expert_ffn));
    const Seconds permuted = permutation(copies, std::llround(local));
    around.forward += permuted;
    around.elementwise += permuted;
    around.data_gradient += permuted;
    if (step_.fp8_dispatch) around.data_gradient += cast(around, {{hidden, hidden}}, own, stack_.expert_cast, false);
    const Seconds router = gemm_time(step_, own, static_cast<double>(model_.experts), hidden, Precision::bf16);
    around.forward += router;
    around.gemms += router;
    half.before = around.forward;
    half.elementwise = around.elementwise;
    half.gemms += around.gemms;
    half.before_backward = around.data_gradient + 2 * router;
    if (model_.shared_experts > 0) {
      const double width = static_cast<double>(model_.expert_ffn * model_.shared_experts);
      for (const Linear& l : ffn_layers(width / tensor_)) {
        const Seconds forward = gemm(tokens_, l.out, l.in);
        half.before += forward;
        half.gemms += forward;
        half.shared += forward;
        half.before_backward += gemm(tokens_, l.in, l.out) + gemm(l.out, l.in, tokens_);
      }
    }
    half.norm = norm();
    half.activation = stream_time(step_, copies * (model_.gated ? 6 : 4) * static_cast<double>(model_.expert_ffn));
    wait_for_host(half);
    add_launches_of_experts(half, local);
    return half;
  }

 private:
  /// Time of `count` grouped GEMMs.
  Seconds gemm(double m, double n, double k, double count = 1) const {
    return gemm_time(step_, m, n, k, step_.precision, count);
  }

  /// Scales of rows are applied to the result of a GEMM of the backward pass by another kernel: the one that applies
  /// them itself is slow where it sums in 32 bits [torchao-2184].
  Seconds rescale(double elements) const {
    return casts() && step_.scaling == Scaling::rowwise ? pass_over(elements) : Seconds{};
  }

  double key_width() const { return static_cast<double>(model_.kv_heads * model_.head_dim); }

  std::vector<Linear> attention_layers() const { return attention_gemms(model_, tensor_); }
  std::vector<Linear> ffn_layers(double width) const { return ffn_gemms(model_, width); }

  /// Adds linear layers, each as `count` grouped GEMMs. \param last  place of the one that writes the result
  void add(HalfLayer& half, const std::vector<Linear>& layers, std::size_t last, double rows, double count = 1) const {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Linear& l = layers[i];
      const Seconds forward = gemm(rows, l.out, l.in, count);
      half.forward += forward;
      half.gemms += forward;
      half.data_gradient += gemm(rows, l.in, l.out, count);
      half.weight_gradient += gemm(l.out, l.in, rows, count);
      half.data_gradient += rescale(rows * l.in * count);
      half.weight_gradient += rescale(l.in * l.out * count) + added(l, count);
      if (i == 0) half.first = forward;
      if (i == last) half.last = forward;
    }
  }

  /// Time in which `count` GEMMs read and write the gradients that they add to, beyond their sums. A wave of thread blocks
  /// does so at once, after its sums, and only the sums of other waves hide it, so that one wave's share is exposed. A
  /// GEMM of a dense layer has 5 to 15 waves, that of an expert often only one. The time does not depend on tokens.
  Seconds added(const Linear& l, double count) const {
    if (!stack_.fused_accumulation) return {};
    const double kernels = stack_.grouped_experts ? 1 : count;
    const double blocks = std::ceil(l.in / 128) * std::ceil(l.out / 256) * count / kernels;
    const double waves = std::max(1.0, std::ceil(blocks / step_.kernels.multiprocessors));
    return stream_time(step_, 2.0 * held_gradient_bytes(step_) * l.in * l.out * count / waves);
  }

  /// Time of the core of attention. Context parallelism divides the causal square into blocks of one rank's queries
  /// and one rank's keys. A rank has one block on the diagonal. With balanced sharing it also has half of the blocks of
  /// its row; if sequences are split in order, the last rank has all of them.
  Seconds core(bool backward) const {
    const Kernels& k = step_.kernels;
    AttentionBlock block;
    block.heads = training_heads(model_, step_.layout.tensor);
    block.sequences = step_.micro_batch;
    block.window = std::llround(model_.window);
    block.queries = block.keys = model_.sequence / step_.layout.context;
    Seconds time;
    if (stack_.fused_attention) {
      const auto fused = [&] { return backward ? flash_backward(k, block) : flash_forward(k, block); };
      time = fused();
      block.causal = false;
      const double others = step_.layout.context - 1;
      if (others > 0) time += fused() * others / 2 * (1 + stack_.context_imbalance.value);
    } else {
      // Unfused kernels compute the whole square, so every rank has as many blocks as there are ranks.
      time = (backward ? unfused_backward(k, block) : unfused_forward(k, block)) * step_.layout.context;
    }
    const double kernel = stack_.fused_attention && stack_.flash_2 ? k.model.flash_2.value : 1;
    return time / (kernel * stack_.attention_rate.value);
  }

  /// Bytes of the element-wise kernels of half a layer that tensor parallelism does not split.
  // `outside` holds for a whole layer, so a half has half of it.
  double outside() const {
    const double split = step_.sequence_parallel ? tensor_ : 1;
    return tokens_ * stack_.outside * static_cast<double>(model_.hidden) / 2 / split;
  }
  /// Time of a norm, which reads and writes every token once in 16 bits.
  Seconds norm() const {
    return pass_over(tokens_ * static_cast<double>(model_.hidden) / (step_.sequence_parallel ? tensor_ : 1));
  }
  /// Time to read and write elements once in 16 bits.
  Seconds pass_over(double elements) const { return stream_time(step_, 2 * 2 * elements); }
  double ffn_traffic() const { return model_.gated ? stack_.gated_ffn : stack_.ffn; }
  // Without a compiler each operation is a kernel of its own, which reads and writes what a fused one keeps in
  // registers.
  Seconds elementwise(double bytes) const {
    return stream_time(step_, bytes * (step_.compiled ? 1 : stack_.eager.value));
  }
  void add_elementwise(HalfLayer& half, double bytes) const {
    const Seconds time = elementwise(bytes);
    half.elementwise += time;
    half.forward += time;
    half.data_gradient += 2 * time;
  }
  /// Casts of GEMM inputs to 8 bits. Adds those of the forward pass to `half`, and returns the time of those of the
  /// backward pass.
  Seconds cast(HalfLayer& half, const std::vector<Linear>& layers, double rows, const Parameter& bytes,
               bool gathered) const {
    if (!casts()) return {};
    // `bytes` holds for delayed scaling; other recipes differ by their traffic.
    const double each = bytes.value * cast_traffic(step_.scaling) / cast_traffic(Scaling::delayed);
    double in = 0, out = 0;
    for (const Linear& l : layers) {
      in += cast_of(l.in, each, gathered);
      out += cast_of(l.out, each, gathered);
    }
    const Seconds forward = stream_time(step_, rows * in);
    half.forward += forward;
    half.elementwise += forward;
    return stream_time(step_, rows * out);
  }
  /// Bytes to cast `width` elements of a token. If the tensor is gathered after the cast, each rank casts its shard and
  /// transposes the whole.
  double cast_of(double width, double each, bool gathered) const {
    if (!gathered || width != static_cast<double>(model_.hidden)) return width * each;
    return width * (each / tensor_ + 2);
  }
  bool casts() const { return step_.precision == Precision::fp8 || step_.precision == Precision::fp4; }

  /// Time of the permutation. Without fusion, its traffic is larger by the same factor as that of other eager
  /// kernels.
  Seconds permutation(double copies, std::int64_t local_experts) const {
    const double traffic = permutation_traffic(step_.dispatcher, local_experts);
    const double passes = step_.fused_permutation ? 1 : stack_.eager.value;
    return stream_time(step_, traffic * passes * copies * static_cast<double>(model_.hidden));
  }

  void add_launches_of_experts(HalfLayer& half, double local_experts) const {
    if (step_.cuda_graphs == CudaGraphs::step) return;
    // One GEMM per expert. In 8 bits the input and the weights of each expert are also cast one by one, unless all
    // experts have equally many tokens, so that one kernel casts them.
    const double each = casts() && step_.capacity == 0 ? 3 : 1;
    // Dispatch, permutation, activation and combine take as many kernels as a dense block.
    const double gemms = stack_.grouped_experts ? 1 : local_experts * each;
    half.launch = stack_.launch.us() + gemms * stack_.expert_launch.us();
    const bool fused = step_.dispatcher == Dispatcher::hybridep;
    if (step_.cuda_graphs < CudaGraphs::router)
      half.launch_before = (fused ? stack_.fused_launch : stack_.router_launch).us();
    // HybridEP counts tokens on the GPU, and with a capacity the counts are fixed, so the host need not wait for them.
    half.synchronizes = !fused && !stack_.grouped_experts && step_.capacity == 0;
  }

  /// Copies that reorder a gathered and a reduced tensor; each is read and written [PyTorch-DTensor].
  void reorder_parts(HalfLayer& half) const {
    if (!stack_.reorders_parts || !step_.sequence_parallel || tensor_ == 1 || step_.overlap_tensor) return;
    const Seconds time = 2 * pass_over(tokens_ * static_cast<double>(model_.hidden));
    half.forward += time;
    half.data_gradient += time;
  }

  /// All heads of queries and keys on every rank: a copy puts them in order, and positions are applied to those of
  /// other ranks, too [torchtitan-1870]. Their gradients are shards again.
  void gather_heads(HalfLayer& half) const {
    if (!stack_.gathers_normed_heads || !model_.qk_norm || tensor_ == 1) return;
    const double all = tokens_ * static_cast<double>(model_.normed_width());
    half.gathered = whole_bytes(2 * all);
    const Seconds rotated = elementwise(stack_.attention * all * (1 - 1 / tensor_));
    half.elementwise += rotated;
    half.forward += rotated + pass_over(all);
  }

  // Host time that the GPU waits for in every layer, even where launches are ahead of it.
  void wait_for_host(HalfLayer& half) const {
    const Seconds time = stack_.layer_launch.us() / 2;
    half.forward += time;
    half.data_gradient += 2 * time;
  }

  const TrainingStep& step_;
  const Transformer& model_;
  const Stack& stack_;
  double tokens_;
  double tensor_;
};

}  // namespace

// Copies of tokens that a rank dispatches: each of its tokens goes to `active_experts` experts.
double dispatched_tokens(const TrainingStep& step) {
  const bool split = step.sequence_parallel && step.layout.tensor > 1;
  return step.tokens() / (split ? step.layout.tensor : 1) * step.model.active_experts;
}

double busiest_tokens(const TrainingStep& step) {
  return dispatched_tokens(step) / step.model.active_experts * busiest_rank(step);
}

double sent_tokens(const TrainingStep& step) {
  const double copies = step.token_copies > 0 ? std::min<double>(step.token_copies, step.model.active_experts)
                                              : step.model.active_experts;
  return copies * busiest_tokens(step);
}

HalfLayer mean_of(const HalfLayer& one, double of_one, const HalfLayer& other, double of_other) {
  HalfLayer mean;
  mean.parts = of_one * one.parts + of_other * other.parts;
  for (Seconds HalfLayer::*part :
       {&HalfLayer::before, &HalfLayer::forward, &HalfLayer::core, &HalfLayer::elementwise, &HalfLayer::gemms,
        &HalfLayer::norm, &HalfLayer::activation, &HalfLayer::first, &HalfLayer::last, &HalfLayer::latent,
        &HalfLayer::shared, &HalfLayer::before_backward, &HalfLayer::data_gradient, &HalfLayer::weight_gradient,
        &HalfLayer::launch_before, &HalfLayer::launch})
    mean.*part = of_one * one.*part + of_other * other.*part;
  // Each of the mean's parts gathers its share.
  const double gathered = of_one * real(one.gathered.value) + of_other * real(other.gathered.value);
  mean.gathered = whole_bytes(gathered / mean.parts);
  mean.synchronizes = one.synchronizes || other.synchronizes;
  return mean;
}

bool gathers_cast(const TrainingStep& step) {
  return step.layout.tensor > 1 && step.sequence_parallel && step.precision == Precision::fp8 &&
         step.stack.gathers_cast && travels_cast(step.scaling);
}

LayerTimes time_layer(const TrainingStep& step, bool experts) {
  const LayerTimer timer(step);
  return {timer.mixer(), experts ? timer.experts() : timer.dense(static_cast<double>(step.model.ffn))};
}

bool ends_early(const TrainingStep& step, bool experts) {
  return !experts && step.recompute.kind == Recompute::full && step.stack.ends_recompute_early;
}

Seconds recompute_time(const TrainingStep& step, const LayerTimes& t, bool experts) {
  // `ops` keeps the result of every second GEMM, so it computes half of them again, and all element-wise kernels.
  const auto all = [](const HalfLayer& half) { return half.before + half.forward; };
  switch (step.recompute.kind) {
    case Recompute::none: return {};
    case Recompute::ops: return t.attention.elementwise + t.ffn.elementwise + (t.attention.gemms + t.ffn.gemms) / 2;
    case Recompute::full: return all(t.attention) + all(t.ffn) - (ends_early(step, experts) ? t.ffn.last : Seconds{});
    case Recompute::selective: break;
  }
  const auto with = [&](RecomputeModule module, Seconds own) { return step.recompute.has(module) ? own : Seconds{}; };
  Seconds time =
      with(RecomputeModule::core_attn, t.attention.core) + with(RecomputeModule::mla_up_proj, t.attention.latent) +
      with(RecomputeModule::layernorm, t.attention.norm) + with(RecomputeModule::linear_qkv, t.attention.first) +
      with(RecomputeModule::linear_proj, t.attention.last);
  // The whole feed-forward block contains its norm, activation and shared experts, so these do not count again.
  const RecomputeModule whole = experts ? RecomputeModule::moe : RecomputeModule::mlp;
  if (step.recompute.has(whole)) return time + all(t.ffn);
  time += with(RecomputeModule::layernorm, t.ffn.norm) + with(RecomputeModule::linear_fc1, t.ffn.first);
  if (experts) time += with(RecomputeModule::shared_experts, t.ffn.shared);
  // The first GEMM is repeated for what its activation function gives, so that is repeated with it.
  if (step.recompute.has(RecomputeModule::linear_fc1)) return time + t.ffn.activation;
  return experts ? time + with(RecomputeModule::moe_act, t.ffn.activation) : time;
}

// A GPU's power limit holds for the mean of many kernels. GEMMs draw more than the limit at the full clock, so a long run
// of them lowers the clock; between kernels that draw less, the clock stays up. To first order the energy of a GEMM does
// not depend on the clock near its top. A mix therefore takes the longer of its time at the full clock and its energy
// over the limit: GEMMs take t - sum of (1 - p) of the others, but at least t / burst [gpu-measurements-2026-11].
double boost_of(const Kernels& kernels, const KernelMix& mix) {
  if (mix.gemms <= Seconds{}) return 1;
  const ComputeModel& model = kernels.model;
  const auto unused = [&](const Parameter& p) { return 1 - std::min(1.0, p.value / kernels.power); };
  const Seconds left = mix.attention * unused(model.flash_power) + mix.others * unused(model.stream_power);
  // Below the data sheet's limit, GEMMs are slower under load, but not at the full clock.
  const double most = std::max(1.0, model.burst.value / kernels.speed);
  return std::clamp(mix.gemms / std::max(mix.gemms - left, mix.gemms / most), 1.0, most);
}

KernelMix kernel_mix(const TrainingStep& step) {
  KernelMix mix;
  // Backward has twice the GEMMs of forward. Fused attention computes its scores again: 5 GEMMs compared with 2.
  const double attention = step.stack.fused_attention ? 3.5 : 3;
  const auto add = [&](const HalfLayer& half, double layers) {
    const Seconds all = half.before + half.forward + half.before_backward + half.data_gradient + half.weight_gradient;
    const Seconds gemms = 3 * half.gemms, core = attention * half.core;
    mix.gemms += layers * gemms;
    mix.attention += layers * core;
    mix.others += layers * std::max(Seconds{}, all - gemms - core);
  };
  const Transformer& m = step.model;
  const double sparse = m.experts > 0 ? static_cast<double>(m.layers - m.dense_layers) : 0;
  const double dense = static_cast<double>(m.layers) - sparse;
  const auto add_layers = [&](double layers, bool experts) {
    if (layers == 0) return;
    const LayerTimes t = time_layer(step, experts);
    add(t.attention, layers);
    add(t.ffn, layers);
  };
  add_layers(dense, false);
  add_layers(sparse, true);
  const VocabularyTimes v = time_vocabulary(step);
  mix.gemms += v.forward + v.backward - v.logits;
  mix.others += v.logits;
  return mix;
}

VocabularyTimes time_vocabulary(const TrainingStep& step) {
  const double hidden = static_cast<double>(step.model.hidden), tokens = step.tokens();
  const double vocab = static_cast<double>(step.model.vocab) / step.layout.tensor;
  // Passes over the logits for the loss: one third in the forward pass, two thirds in the backward pass.
  const auto gemm = [&](double m, double n, double k) { return gemm_time(step, m, n, k, Precision::bf16); };
  VocabularyTimes v;
  v.logits = stream_time(step, tokens * vocab * step.stack.logit);
  v.forward = gemm(tokens, vocab, hidden) + v.logits / 3;
  v.backward = gemm(tokens, hidden, vocab) + gemm(vocab, hidden, tokens) + v.logits * 2 / 3;
  v.embedding = stream_time(step, 4 * hidden * tokens);
  v.embedding_backward = stream_time(step, 8 * hidden * tokens);
  return v;
}

MtpTimes time_mtp(const TrainingStep& step) {
  const double hidden = static_cast<double>(step.model.hidden), tokens = step.tokens(), split = step.layout.tensor;
  const VocabularyTimes v = time_vocabulary(step);
  const Seconds norms = 3 * stream_time(step, 4 * tokens * hidden / (step.sequence_parallel ? split : 1));
  const auto gemm = [&](double m, double n, double k) { return gemm_time(step, m, n, k, step.precision); };
  MtpTimes t;
  t.forward = v.embedding + norms + gemm(tokens, hidden / split, 2 * hidden);
  t.backward = v.embedding_backward + 2 * norms + gemm(tokens, 2 * hidden, hidden / split) +
               gemm(hidden / split, 2 * hidden, tokens);
  return t;
}

}  // namespace fabricast
