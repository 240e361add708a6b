// The memory model: activations as in [Korthikanti2022], sharded state as in [Rajbhandari2020].
//
// All parts are bytes on one rank of one pipeline stage; docs/models/transformer.md has the formulas and
// docs/references.md their sources. Activations are counted in two groups: those that tensor parallelism always splits,
// and those that only sequence parallelism splits. Coefficients are bytes per element of a width, so most terms are a
// number of tensors times a width.
#include "fabricast/workload/memory.hpp"
#include "fabricast/core/real.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fabricast/workload/stages.hpp"
#include "linear_layers.hpp"

namespace fabricast {

namespace {

/// Bytes per element of activations and gathered parameters. Only GEMMs use fp8 and fp4; the rest then has 16 bits.
double plain_bytes(Precision p) { return p == Precision::fp32 || p == Precision::tf32 ? 4 : 2; }

/// Bytes per parameter: the parameter, its gradient and its optimizer state.
struct StateBytes {
  double parameter, gradient, optimizer;
};

/// Adam keeps two moments, and a 32-bit copy of 16-bit parameters. ZeRO 3 keeps only that copy, and rounds what it
/// gathers.
StateBytes adam_state(const MemoryQuestion& q) {
  const double bytes = plain_bytes(q.precision);
  if (bytes == 4) return {4, 4, 8};
  if (q.zero >= 3) return {4, real(q.gradient_bytes), 8};
  return {bytes, real(q.gradient_bytes), 12};
}

/// The memory of one rank of a pipeline stage.
class StageMemory {
 public:
  StageMemory(const Transformer& model, const MemoryQuestion& question, int stage, const MemoryModel& parameters)
      : m_(model), q_(question), p_(parameters), count_(count_parameters(model)), bytes_(plain_bytes(q_.precision)) {
    use_.stage = stage;
    hold_layers();
  }

  double kept_by_layer(bool sparse) const { return tokens() * layer_keeps(sparse, q_.recompute); }

  MemoryUse run() {
    if (q_.training) {
      train_state();
      train_activations();
    } else {
      infer();
    }
    if (q_.planned)
      // The loss and the layers take turns: logits need what is beyond the memory of the layer in work.
      use_.logits = std::max(0.0, use_.logits - use_.gathered - use_.workspace);
    else
      use_.fragmentation = p_.fragmentation.value * (use_.activations + use_.logits + use_.gathered + use_.workspace);
    // Each kind of group has one communicator with its own buffers.
    int communicators = 0;
    for (const int degree : {q_.layout.tensor, q_.layout.context, q_.layout.data, q_.layout.pipeline, q_.layout.expert})
      communicators += degree > 1;
    use_.communicators = communicators * p_.communicator.value * gib;
    use_.framework = p_.framework.value * gib;
    return use_;
  }

 private:
  int interleave() const { return q_.training && q_.schedule == PipelineSchedule::interleaved ? q_.interleave : 1; }
  bool first() const { return use_.stage == 0; }
  bool last() const { return use_.stage == q_.layout.pipeline - 1; }
  double tensor() const { return q_.layout.tensor; }
  /// Tokens of a micro-batch on this rank.
  double tokens() const { return q_.micro_batch * sequence() / q_.layout.context; }
  double sequence() const { return real(q_.sequence > 0 ? q_.sequence : m_.sequence); }

  void hold_layers() {
    const std::vector<int> chunks = layers_of_chunks(m_.layers, q_.layout.pipeline * interleave(), q_.layers);
    int layer = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c)
      for (int i = 0; i < chunks[c]; ++i, ++layer)
        if (static_cast<int>(c) % q_.layout.pipeline == use_.stage) ++(m_.has_experts(layer) ? sparse_ : dense_);
    // A module contains a layer of the model's last kind.
    if (last()) (m_.has_experts(m_.layers - 1) ? sparse_ : dense_) += mtp_layers();
  }
  /// Modules of multi-token prediction, each with a layer.
  int mtp_layers() const { return q_.training ? q_.mtp_layers : 0; }

  double share_of_experts() const { return 1.0 / (real(q_.layout.expert) * q_.layout.expert_tensor); }
  /// Parameters on this rank: of a layer without its routed experts, of the routed experts, and of the vocabulary
  /// matrices.
  double layer_elements(bool sparse) const {
    return real(count_.attention + (sparse ? count_.shared : count_.ffn)) / tensor();
  }
  double expert_elements() const {
    const double copies = m_.experts > 0 ? 1 + real(q_.redundant_experts) / real(m_.experts) : 1;
    return real(count_.experts) * copies * share_of_experts();
  }
  double vocabulary_elements() const {
    // With a shared embedding the last stage holds a copy of its own.
    const double copy = (m_.tied || mtp_layers() > 0) && !first() ? real(m_.vocab * m_.hidden) : 0;
    const double further = mtp_layers() * real(mtp_join_parameters(m_));
    return ((first() ? real(count_.embedding) : 0) + (last() ? real(count_.head) + copy + further : 0)) / tensor();
  }

  void train_state() {
    const StateBytes state = adam_state(q_);
    const double plain = dense_ * layer_elements(false) + sparse_ * layer_elements(true) + vocabulary_elements();
    const double experts = sparse_ * expert_elements();
    // Experts have fewer replicas than other parameters, so ZeRO shards them over fewer ranks.
    const double ranks = q_.layout.shard;
    const double expert_ranks = std::max(1.0, ranks * tensor() * share_of_experts());
    // ZeRO stage z shards optimizer state from 1 on, gradients from 2 on, parameters from 3 on [Rajbhandari2020].
    const auto held = [&](int from_zero) {
      return q_.zero >= from_zero ? plain / ranks + experts / expert_ranks : plain + experts;
    };
    use_.optimizer = state.optimizer * held(1);
    use_.gradients = state.gradient * held(2);
    use_.parameters = state.parameter * held(3);
    if (q_.zero < 3 || q_.layout.shard == 1) return;
    if (q_.layout.pipeline > 1) {
      // Pipelines gather parameters once per step and accumulate whole gradients until the last micro-batch.
      use_.gathered = (bytes_ + state.gradient) * (plain + experts);
    } else {
      // The layer in use and those prefetched, the gradients of one layer, and the vocabulary matrices.
      const double layer = sparse_ > 0 ? layer_elements(true) + expert_elements() : layer_elements(false);
      use_.gathered = ((1 + p_.prefetched.value) * bytes_ + state.gradient) * layer + bytes_ * vocabulary_elements();
    }
  }

  /// Bytes per token that a layer keeps, before division: `split` by tensor parallelism, `whole` by sequence
  /// parallelism.
  struct Kept {
    double split = 0, whole = 0;
  };
  // Inputs of GEMMs are kept in the precision in which the GEMM reads them.
  double input_bytes() const { return q_.input_bytes > 0 ? q_.input_bytes : bytes_; }
  /// Input of a norm unless it is recomputed, input of the GEMM after it, and the mask of dropout.
  double kept_by_norm(const Recomputed& again, bool input_kept = true) const {
    const double after = again.has(RecomputeModule::layernorm) ? 0 : input_bytes();
    return ((input_kept ? bytes_ : 0) + after + (q_.dropout ? 1 : 0)) * real(m_.hidden);
  }
  Kept kept_by_mixer(const Recomputed& again) const {
    if (m_.mamba_layers == 0) return kept_by_attention(again);
    const Kept one = kept_by_attention(again), other = kept_by_mamba(again);
    const double a = m_.attention_share(), s = m_.mamba_share();
    return {a * one.split + s * other.split, a * one.whole + s * other.whole};
  }
  /// Input of the convolution and output of the heads. States of chunks are recomputed.
  Kept kept_by_mamba(const Recomputed& again) const {
    Kept k;
    k.whole = kept_by_norm(again);
    k.split = bytes_ * real(m_.mamba_in() + m_.mamba_width()) + input_bytes() * real(m_.mamba_width());
    return k;
  }
  Kept kept_by_attention(const Recomputed& again) const {
    const double input = input_bytes();
    Kept k;
    k.whole = kept_by_norm(again);
    const double queries = real(m_.query_width()), values = real(m_.value_width());
    // Latent attention keeps the compressed vectors, before and after their norms, on every rank. What is projected up
    // to heads can be recomputed from them.
    if (m_.kv_rank > 0) {
      k.whole += (bytes_ + input) * real(m_.q_rank + m_.kv_rank) + bytes_ * real(m_.rope_dim);
      if (!again.has(RecomputeModule::mla_up_proj)) k.split = bytes_ * (2 * queries + values);
    } else {
      if (!again.has(RecomputeModule::linear_qkv))
        k.split = bytes_ * (queries + real(m_.cache_width() + m_.normed_width()));
    }
    // Input of the output projection. Without a plan of the step's memory it is kept even if the core gives it again.
    const bool core = again.has(RecomputeModule::core_attn);
    const bool given_again = core && (q_.planned || again.has(RecomputeModule::linear_proj));
    if (!given_again) k.split += (bytes_ + (input < bytes_ ? input : 0)) * values;
    if (!core) k.split += kept_by_core();
    return k;
  }
  /// Attention scores, averaged over layers. Fused attention keeps one 32-bit number per row instead.
  double kept_by_core() const {
    if (q_.fused_attention) return 4 * real(m_.heads);
    const double full = static_cast<double>(m_.full_layers()) / m_.layers;
    const double row = full * sequence() + (1 - full) * std::min(sequence(), m_.window);
    return (q_.dropout ? 2 * bytes_ + 1 : bytes_) * real(m_.heads) * row;
  }
  Kept kept_by_ffn(bool sparse, const Recomputed& again) const {
    const double input = input_bytes(), before = (m_.gated ? 2 : 1) * bytes_;  // inputs of the activation function
    Kept k;
    // The input of the block is the sum of the layer's input and what the output projection wrote.
    const bool input_kept = !again.has(RecomputeModule::linear_proj);
    k.whole = kept_by_norm(again, input_kept);
    const bool inner = again.has(RecomputeModule::linear_fc1);  // nothing is kept between the GEMMs
    if (!sparse) {
      // The norm is recomputed together with the feed-forward block.
      if (again.has(RecomputeModule::mlp)) return {0, input_kept ? bytes_ * real(m_.hidden) : 0};
      if (!inner) k.split = (before + input) * real(m_.ffn);
      return k;
    }
    if (again.has(RecomputeModule::moe)) return k;
    k.whole += 8 * real(m_.experts);  // 32-bit logits and probabilities of the router
    // Dispatched copies of a token and the activations between the GEMMs. Results of experts are not kept, because
    // their weights are applied between the GEMMs.
    const double after = again.has(RecomputeModule::moe_act) ? 0 : input, between = inner ? 0 : before + after;
    k.split = m_.active_experts * (input * real(m_.hidden) + between * real(m_.expert_ffn));
    if (!again.has(RecomputeModule::shared_experts))
      k.split += m_.shared_experts * (before + input) * real(m_.expert_ffn);
    return k;
  }
  double divided(const Kept& k) const { return k.split / tensor() + k.whole / (q_.sequence_parallel ? tensor() : 1); }

  /// Bytes per token that a layer keeps from its forward to its backward pass.
  double layer_keeps(bool sparse, const Recomputed& again) const {
    // The input of the layer, which every recomputation starts from.
    const double begin = bytes_ * real(m_.hidden) / (q_.sequence_parallel ? tensor() : 1);
    if (again.kind == Recompute::full) return begin;
    if (again.kind == Recompute::ops) {
      // Results of every second GEMM, and of attention with what its backward pass needs.
      const double ffn = sparse ? m_.active_experts + m_.shared_experts : 1;
      const double width = real(sparse ? m_.expert_ffn : m_.ffn);
      const double split =
          real(m_.query_width() + (m_.kv_rank > 0 ? 0 : m_.cache_width())) + ffn * (m_.gated ? 2 : 1) * width;
      const double whole = (1 + ffn) * real(m_.hidden) / (q_.sequence_parallel ? tensor() : 1);
      return begin + bytes_ * ((split / tensor() + whole) / 2 + real(m_.value_width()) / tensor()) +
             kept_by_core() / tensor();
    }
    return divided(kept_by_mixer(again)) + divided(kept_by_ffn(sparse, again));
  }

  /// Bytes per token that the layers of a stage keep on the GPU. Of the offloaded layers the GPU holds two: the one
  /// that is computed and the one that is being copied.
  double kept_on_gpu() const {
    const double all = dense_ * layer_keeps(false, q_.recompute) + sparse_ * layer_keeps(true, q_.recompute);
    const double layers = dense_ + sparse_, away = std::max(0.0, std::min(q_.offloaded, layers) - 2);
    return layers > 0 ? all * (layers - away) / layers : 0;
  }

  void train_activations() {
    const double tokens = this->tokens();
    const double flight = micro_batches_in_flight(q_, use_.stage);
    use_.activations = flight * tokens * kept_on_gpu();

    const Recompute again = q_.recompute.kind;
    const double width = sparse_ > 0 ? real(m_.active_experts) * real(m_.expert_ffn) : real(m_.ffn);
    // Gradients of the widest block, a gathered input, and the keys and values that circulate with context parallelism.
    use_.workspace = tokens * bytes_ * ((m_.gated ? 3 : 2) * width / tensor() + 2 * real(m_.hidden));
    if (q_.layout.context > 1) use_.workspace += 2 * tokens * bytes_ * real(m_.cache_width()) / tensor();
    if (again == Recompute::full || again == Recompute::ops)
      use_.workspace += tokens * layer_keeps(sparse_ > 0, {});
    else if (q_.recompute.has(RecomputeModule::moe) || q_.recompute.has(RecomputeModule::mlp))
      use_.workspace += tokens * divided(kept_by_ffn(sparse_ > 0, {}));

    const double split_tokens = tokens / (q_.sequence_parallel ? tensor() : 1);
    // The mask of dropout behind the embedding, 1 B per element.
    if (first() && q_.dropout) use_.logits += flight * split_tokens * real(m_.hidden);
    if (last()) {
      // With gpipe all forward passes precede the first backward pass, so the logits of all micro-batches are alive.
      const double batches = q_.schedule == PipelineSchedule::gpipe ? q_.micro_batches : 1;
      const double per_logit = (q_.fused_loss ? p_.fused_logit : p_.logit).value;
      const double losses = 1 + mtp_layers();
      use_.logits += losses * batches *
                     (tokens * per_logit * real(m_.vocab) / tensor() + 2 * bytes_ * split_tokens * real(m_.hidden));
      // Two vectors, each before and after its norm.
      const double joined = q_.recompute.kind == Recompute::full ? bytes_ : bytes_ + input_bytes();
      use_.activations += flight * split_tokens * mtp_layers() * 2 * joined * real(m_.hidden);
    }
  }

  void infer() {
    const double layers = dense_ * layer_elements(false) + sparse_ * layer_elements(true);
    const NumberFormat weights = q_.weights.value_or(format_of(q_.precision));
    double linear = layers * stored_bytes_of(weights) +
                    sparse_ * expert_elements() * stored_bytes_of(q_.expert_weights.value_or(weights));
    const double projection = attention_gemms(m_, tensor())[output_projection(m_)].in * real(m_.hidden);
    linear += (dense_ + sparse_) * projection *
              (stored_bytes_of(q_.projection_weights.value_or(weights)) - stored_bytes_of(weights));
    // The GPU holds two layers of what lies in host memory: the one that is computed and the one that is copied.
    use_.in_host = q_.offload_weights * linear;
    const double copied = use_.in_host * std::min(1.0, 2.0 / std::max(1, dense_ + sparse_));
    use_.parameters = vocabulary_elements() * bytes_ + linear - use_.in_host + copied;
    // If there are fewer key-value heads than ranks, several ranks hold the same head. All ranks hold a latent vector.
    const double width = m_.kv_rank > 0
                             ? real(m_.cache_width())
                             : 2 * real(m_.head_dim) * real((m_.kv_heads + q_.layout.tensor - 1) / q_.layout.tensor);
    const double full = static_cast<double>(m_.full_layers()) / m_.layers;
    const double length = full * sequence() + (1 - full) * std::min(sequence(), m_.window);
    use_.cache =
        (dense_ + sparse_) * q_.batch * length / q_.layout.context * width * stored_bytes_of(q_.cache_precision);
    const double tokens = q_.tokens > 0 ? real(q_.tokens) : q_.batch;
    // Activations of one layer, which is what an engine holds at a time.
    use_.workspace = tokens * layer_keeps(sparse_ > 0, {Recompute::selective, {}});
    if (last()) use_.logits = q_.batch * 4 * real(m_.vocab) / tensor();
  }

  const Transformer& m_;
  const MemoryQuestion& q_;
  const MemoryModel& p_;
  const ParameterCount count_;
  const double bytes_;
  int dense_ = 0, sparse_ = 0;
  MemoryUse use_;
};

}  // namespace

std::vector<ParameterRef> parameters(MemoryModel& m) {
  return {{"framework", "GiB", "CUDA context, libraries, framework", &m.framework},
          {"communicator", "GiB", "buffers of an NCCL communicator", &m.communicator},
          {"fragmentation", "", "fraction of temporary tensors that the allocator loses", &m.fragmentation},
          {"logit", "B", "per logit of a training step", &m.logit},
          {"fused_logit", "B", "per logit of a training step with a fused loss", &m.fused_logit},
          {"prefetched", "", "layers that ZeRO 3 gathers ahead", &m.prefetched}};
}

std::array<std::pair<std::string_view, double>, MemoryUse::parts> MemoryUse::by_part() const {
  return {{{"parameters", parameters},
           {"gradients", gradients},
           {"optimizer", optimizer},
           {"activations", activations},
           {"logits", logits},
           {"gathered layers", gathered},
           {"keys and values", cache},
           {"workspace", workspace},
           {"fragmentation", fragmentation},
           {"communicators", communicators},
           {"framework", framework}}};
}

double MemoryUse::total() const {
  return parameters + gradients + optimizer + activations + logits + gathered + cache + workspace + fragmentation +
         communicators + framework;
}

double micro_batches_in_flight(const MemoryQuestion& q, int stage) {
  const int all = q.micro_batches, stages = q.layout.pipeline;
  switch (q.schedule) {
    case PipelineSchedule::gpipe: return all;
    case PipelineSchedule::one_f_one_b: return std::min(all, stages - stage);
    // Weight gradients are deferred and keep their activations, until all stages hold equally many.
    case PipelineSchedule::zero_bubble: return std::min(all, stages);
    case PipelineSchedule::interleaved: break;
  }
  if (stages == 1) return 1;
  // Chunks in flight: the warm-up passes of the schedule and one more; each holds 1 / interleave of the layers.
  const int chunks = 2 * (stages - stage - 1) + (q.interleave - 1) * stages + 1;
  return std::min(static_cast<double>(all), static_cast<double>(chunks) / q.interleave);
}

double kept_by_layer(const Transformer& model, const MemoryQuestion& question, bool experts) {
  return StageMemory(model, question, 0, shipped_memory_model()).kept_by_layer(experts);
}

MemoryUse memory_of(const Transformer& model, const MemoryQuestion& question, int stage,
                    const MemoryModel& parameters) {
  FABRICAST_CHECK(0 <= stage && stage < question.layout.pipeline, fmt::format("no stage {}", stage));
  return StageMemory(model, question, stage, parameters).run();
}

MemoryUse peak_memory(const Transformer& model, const MemoryQuestion& question, const MemoryModel& parameters) {
  MemoryUse most;
  for (int stage = 0; stage < question.layout.pipeline; ++stage) {
    const MemoryUse use = memory_of(model, question, stage, parameters);
    if (stage == 0 || use.total() > most.total()) most = use;
  }
  return most;
}

std::string to_text(const MemoryUse& use) {
  auto parts = use.by_part();
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = fmt::format("{:.1f} GiB on stage {}", use.total() / gib, use.stage);
  std::string_view separator = ": ";
  for (const auto& [name, bytes] : parts) {
    if (bytes < 0.05 * gib) break;
    text += fmt::format("{}{} {:.1f}", separator, name, bytes / gib);
    separator = ", ";
  }
  return text;
}

}  // namespace fabricast
