// Queues the kernels of layers and the collectives between them, in the order in which a framework issues them
// (docs/models/training.md). What overlaps is not computed here: a collective starts when the work queued before it has
// ended, and only what calls wait_for waits for it. The timeline (sim/step) turns this into exposed and hidden time.
#include "layer_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "fabricast/core/names.hpp"
#include "fabricast/core/real.hpp"
#include "fabricast/workload/step_memory.hpp"
#include "token_messages.hpp"

namespace fabricast {

namespace {

/// Whether the host takes longer to launch a block than the GPU takes to run it. If not, it stays ahead of the GPU.
// If no block of a step is bound by the host, launches are left out of the program, which makes it smaller and changes
// no time.
bool is_host_bound(const HalfLayer& half) {
  return half.launch_before > std::min(half.before, half.before_backward) ||
         half.launch > std::min(half.forward, half.data_gradient);
}

/// Slowdown of layers if each waits for all ranks that share its parameters (ZeRO 3), so that the slowest of n ranks
/// counts. For normal deviates it is about sqrt(2 ln n) standard deviations above the mean [Cramer1946]. Rates were
/// measured on eight GPUs and include the slowest of these.
double slowest_of(const TrainingStep& step) {
  const double ranks = step.zero == 3 ? step.layout.shard : 1;
  constexpr double measured = 8;
  if (ranks <= measured) return 1;
  const auto above_mean = [](double n) { return std::sqrt(2 * std::log(n)); };
  return 1 + step.stack.jitter.value * (above_mean(ranks) - above_mean(measured));
}

}  // namespace

LayerPasses::LayerPasses(const TrainingStep& step, ProgramBuilder& builder, StageQueue& queue,
                         const LayerGroups& groups)
    : step_(step),
      builder_(builder),
      queue_(queue),
      groups_(groups),
      dense_(time_layer(step, false)),
      sparse_(step.model.experts > 0 ? time_layer(step, true) : LayerTimes{}),
      vocabulary_(time_vocabulary(step)),
      mtp_(time_mtp(step)),
      slower_(slowest_of(step)) {
  if (step.offloaded > 0) {
    const MemoryQuestion question = memory_question(step, step.nvlink_ranks);
    const auto copy = [&](bool experts) {
      return whole_bytes(kept_by_layer(step.model, question, experts)) / step.host_rate;
    };
    dense_copy_ = copy(false);
    sparse_copy_ = copy(true);
  }
  for (const LayerTimes* layer : {&dense_, &sparse_})
    host_bound_ = host_bound_ || is_host_bound(layer->attention) || is_host_bound(layer->ffn);
}

// Passes ask for the same few kinds for each chunk and micro-batch.
std::uint32_t LayerPasses::kind(std::uint32_t groups, Part part, CollectiveOp op, double bytes) {
  const KnownKind asked{groups, part, op, bytes, 0};
  const auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const KnownKind& k) {
    return k.groups == groups && k.part == part && k.op == op && k.bytes == bytes;
  });
  if (known != kinds_.end()) return known->kind;
  kinds_.push_back(asked);
  CollectiveKind k;
  k.name = fmt::format("{} {}", name_of(part), name_of(op));
  k.part = part;
  k.op = op;
  k.bytes = std::max<std::int64_t>(1, std::llround(bytes));
  k.groups = groups;
  if (part == Part::expert) k.sms = static_cast<double>(step_.dispatcher_sms) / step_.kernels.multiprocessors;
  return kinds_.back().kind = builder_.collective(std::move(k));
}

std::uint32_t LayerPasses::tensor_kind(CollectiveOp op, double bytes) {
  return kind(groups_.tensor, Part::tensor, op, bytes * step_.tokens() * static_cast<double>(step_.model.hidden));
}

/// All-gather of the inputs of GEMMs. Inputs of experts are gathered before they are cast.
std::uint32_t LayerPasses::gathered_kind(bool experts) {
  return tensor_kind(CollectiveOp::all_gather, gathers_cast(step_) && !experts ? 1 : 2);
}

/// Dispatches tokens to the ranks of their experts, or combines the results (`back`), in 16 bits. With FP8 dispatch
/// tokens are dispatched in 8 bits with one 32-bit scale per 128 elements [DeepSeek2024b]; results return in 16 bits.
void LayerPasses::send_tokens(double calls, bool back, std::vector<std::uint32_t>& sent) {
  if (step_.layout.expert == 1) return;
  // Bytes of a number: 8 bits and the share of a scale, or 16 bits.
  const double number = step_.fp8_dispatch && !back ? 1 + 4. / 128 : 2;
  const double token = number * static_cast<double>(step_.model.hidden);
  const auto send = [&](std::uint32_t groups, CollectiveOp op, double bytes, Stream stream) {
    sent.push_back(queue_.collective(kind(groups, Part::expert, op, bytes), stream, calls));
  };
  const auto alltoall = [&](std::uint32_t groups, double tokens, int ranks, Stream stream) {
    send(groups, CollectiveOp::alltoall, static_cast<double>(bytes_of_tokens(tokens * token, token, ranks)), stream);
  };
  const double own = busiest_tokens(step_);
  switch (step_.dispatcher) {
    case Dispatcher::automatic:
    case Dispatcher::alltoall: return alltoall(groups_.expert, sent_tokens(step_), step_.layout.expert, others);
    case Dispatcher::allgather:
      return send(groups_.expert, back ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather,
                  own * step_.layout.expert * token, others);
    case Dispatcher::deepep:
    case Dispatcher::hybridep: break;
  }
  const int domains = groups_.domains, local = step_.layout.expert / domains;
  const TokenCopies copies = merged_copies(routing_of(step_.model), step_.layout.expert, domains);
  // Tokens from other domains are forwarded while further ones arrive, so the two collectives overlap.
  if (domains > 1) alltoall(groups_.between, own * copies.between * domains, domains, experts_between);
  if (local > 1) alltoall(groups_.within, own * copies.within, local, others);
}

/// Dispatch or combine at the place in the pass where it is needed; nothing if it overlaps the pass (tokens_beside).
void LayerPasses::move_tokens(int count, bool back) {
  if (step_.overlap_expert) return;
  std::vector<std::uint32_t> sent;
  send_tokens(count, back, sent);
  wait_for(sent);
}

/// Dispatch and combine of one micro-batch overlap the computation of another, whatever that computes
/// [Megatron-Core-MoE]. A fraction stays exposed. \returns what to wait for at the end of the pass
std::vector<std::uint32_t> LayerPasses::tokens_beside(int count) {
  std::vector<std::uint32_t> exposed, hidden;
  if (!step_.overlap_expert || count == 0) return hidden;
  const double x = step_.stack.expert_exposed.value;
  for (const bool back : {false, true}) send_tokens(count * x, back, exposed);
  wait_for(exposed);
  for (const bool back : {false, true}) send_tokens(count * (1 - x), back, hidden);
  return hidden;
}

void LayerPasses::wait_for(const std::vector<std::uint32_t>& collectives) {
  for (const std::uint32_t id : collectives) queue_.wait_for(id);
}

void LayerPasses::launched(Seconds time, int count, std::uint32_t after) {
  if (host_bound_) queue_.launched(time * count, after);
}

/// Circulates keys and values among the context parallel ranks, in one step per other rank.
/// \returns the part that overlaps attention
std::uint32_t LayerPasses::circulate_keys(int count, double times) {
  // A ring of c ranks sends keys and values c - 1 times, so that each rank sees all of them.
  const int ring = step_.layout.context - 1;
  if (ring == 0) return no_activity;
  const Transformer& m = step_.model;
  const auto width =
      static_cast<double>(m.kv_rank > 0 ? m.query_width() + m.value_width() : 2 * m.kv_heads * m.head_dim);
  const std::uint32_t k = kind(groups_.context, Part::context, CollectiveOp::sendrecv,
                               times * 2 * step_.tokens() * width / step_.layout.tensor);
  const double x = step_.stack.context_exposed.value, calls = count * ring * m.attention_share();
  queue_.wait_for(queue_.collective(k, others, calls * x));
  return queue_.collective(k, others, calls * (1 - x));
}

/// With tensor parallelism, a pair of GEMMs reads all tokens and yields partial sums for all. With sequence
/// parallelism, tokens are all-gathered before and reduce-scattered after it; without, results are all-reduced.
void LayerPasses::forward_half(const HalfLayer& half, bool experts, int count, Part part, const char* what,
                               bool to_end) {
  // Whole experts need no collectives of tensor parallelism: tokens were dispatched from the shards of the ranks.
  const bool tensor_experts = experts && step_.layout.expert_tensor == 1;
  const bool split = step_.layout.tensor > 1 && !tensor_experts;
  const double slower = slower_ * count, calls = count * half.parts;
  // Collectives that overlap this half; the fraction `exposed` of each runs ahead of the GEMMs or behind them.
  std::vector<std::uint32_t> beside;
  std::uint32_t counted = no_activity;
  if (experts) {
    const std::uint32_t before = queue_.work(half.before * slower, part, what);
    launched(half.launch_before, count);
    if (half.synchronizes) counted = before;
    move_tokens(count, false);
  }
  if (split && step_.sequence_parallel) {
    const double x = exposed();
    queue_.wait_for(queue_.collective(gathered_kind(experts), tensor, calls * x));
    beside.push_back(queue_.collective(gathered_kind(experts), tensor, calls * (1 - x)));
    if (to_end) beside.push_back(queue_.collective(tensor_kind(CollectiveOp::reduce_scatter), tensor, calls * (1 - x)));
  }
  // The norms of heads stand between the GEMMs, so nothing hides this one.
  if (half.gathered > Bytes{}) {
    const auto heads = kind(groups_.tensor, Part::tensor, CollectiveOp::all_gather, real(half.gathered.value));
    queue_.wait_for(queue_.collective(heads, tensor, calls));
  }
  queue_.work((half.forward - (to_end ? Seconds{} : half.last)) * slower, part, what);
  launched(half.launch, count, counted);
  wait_for(beside);
  if (split && to_end)
    queue_.wait_for(step_.sequence_parallel
                        ? queue_.collective(tensor_kind(CollectiveOp::reduce_scatter), tensor, calls * exposed())
                        : queue_.collective(tensor_kind(CollectiveOp::all_reduce), tensor, calls));
  if (experts) move_tokens(count, true);
}

void LayerPasses::backward_half(const HalfLayer& half, bool experts, int count, bool with_weights, const char* what) {
  const bool split = step_.layout.tensor > 1 && !(experts && step_.layout.expert_tensor == 1);
  const bool hides = step_.stack.hides_tensor_backward;
  const double slower = slower_ * count, calls = count * half.parts;
  std::vector<std::uint32_t> beside;
  if (experts) move_tokens(count, false);
  if (split && step_.sequence_parallel) {
    const double x = exposed();
    queue_.wait_for(queue_.collective(gathered_kind(experts), tensor, calls * x));
    beside.push_back(queue_.collective(gathered_kind(experts), tensor, calls * (1 - x)));
    // Only a shard of the GEMM's input was kept, so it is gathered again.
    if (hides) beside.push_back(queue_.collective(gathered_kind(experts), tensor, calls));
  }
  queue_.work(half.data_gradient * slower, Part::backward, what);
  launched(half.launch, count);
  wait_for(beside);
  std::uint32_t reduced = no_activity;
  if (split) {
    const auto op = step_.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
    // Weight gradients need nothing from other ranks, so the reduction of the data gradients can hide behind them.
    // Zero-bubble schedules defer them, and then there is nothing to hide behind.
    const bool behind = hides && with_weights;
    const double x = behind ? 0 : exposed();
    queue_.wait_for(queue_.collective(tensor_kind(op), tensor, calls * x));
    reduced = queue_.collective(tensor_kind(op), tensor, calls * (1 - x));
  }
  if (with_weights) queue_.work(half.weight_gradient * slower, Part::backward, what);
  queue_.wait_for(reduced);
  if (experts) {
    move_tokens(count, true);
    queue_.work(half.before_backward * slower, Part::backward, what);
    launched(half.launch_before, count);
  }
}

void LayerPasses::forward(bool experts, int count) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  const std::vector<std::uint32_t> tokens = tokens_beside(experts ? count : 0);
  const std::uint32_t keys = circulate_keys(count, 1);
  forward_half(t.attention, false, count, Part::forward, "attention");
  queue_.wait_for(keys);
  forward_half(t.ffn, experts, count, Part::forward, experts ? "experts" : "feed-forward");
  wait_for(tokens);
}

/// Whether recomputation dispatches and combines tokens again.
bool LayerPasses::sends_again() const {
  return step_.recompute.kind == Recompute::full || step_.recompute.has(RecomputeModule::moe);
}

void LayerPasses::again(bool experts, int count) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  if (step_.recompute.kind == Recompute::full) {
    forward_half(t.attention, false, count, Part::recompute, "recompute attention");
    forward_half(t.ffn, experts, count, Part::recompute, "recompute feed-forward", !ends_early(step_, experts));
    return;
  }
  const bool sends = experts && sends_again();
  // If experts are recomputed with their dispatch, their kernels are queued by forward_half below and must not count
  // twice.
  const Seconds time = recompute_time(step_, t, experts) - (sends ? t.ffn.before + t.ffn.forward : Seconds{});
  if (time > Seconds{}) queue_.work(time * slower_ * count, Part::recompute, "recompute parts of layers");
  if (sends) forward_half(t.ffn, true, count, Part::recompute, "recompute experts");
}

void LayerPasses::backward(bool experts, int count, bool with_weights) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  const std::vector<std::uint32_t> tokens = tokens_beside(experts ? count * (sends_again() ? 2 : 1) : 0);
  again(experts, count);
  backward_half(t.ffn, experts, count, with_weights, experts ? "experts" : "feed-forward");
  const std::uint32_t keys = circulate_keys(count, 2);  // their gradients circulate as well
  backward_half(t.attention, false, count, with_weights, "attention");
  queue_.wait_for(keys);
  wait_for(tokens);
}

void LayerPasses::weights(bool experts, int count) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  queue_.work((t.attention.weight_gradient + t.ffn.weight_gradient) * slower_ * count, Part::backward, "weights");
}

std::uint32_t LayerPasses::fetch(bool experts, int count) {
  if (count == 0) return no_activity;
  return queue_.copy(count * (experts ? sparse_copy_ : dense_copy_), "activations in host memory");
}

void LayerPasses::offload(bool experts, int count) {
  const std::uint32_t before = std::exchange(away_, fetch(experts, count));
  // A run is copied while it is computed, and the next run waits for the copy, so the GPU holds two runs at most.
  queue_.wait_for(before);
}

void LayerPasses::embedding(bool backward) {
  queue_.work(backward ? vocabulary_.embedding_backward : vocabulary_.embedding, Part::vocabulary, "embedding");
}

void LayerPasses::vocabulary(bool backward) {
  const bool split = step_.layout.tensor > 1;
  // Ranks hold shards of the tokens and of the vocabulary. Each gathers all tokens for its part of the logits, and
  // gradients return by the matching reduction.
  if (split && !backward && step_.sequence_parallel)
    queue_.wait_for(queue_.collective(tensor_kind(CollectiveOp::all_gather), tensor));
  queue_.work(backward ? vocabulary_.backward : vocabulary_.forward, Part::vocabulary, "vocabulary");
  if (split && backward)
    queue_.wait_for(queue_.collective(
        tensor_kind(step_.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce), tensor));
}

/// Tensor parallelism splits its GEMM by columns. The input is all-gathered if ranks hold shards of it, the output
/// always.
void LayerPasses::join_tokens(bool backward) {
  const bool split = step_.layout.tensor > 1;
  const auto collective = [&](CollectiveOp op, double calls) {
    if (split) queue_.wait_for(queue_.collective(tensor_kind(op), tensor, calls));
  };
  const bool parts = step_.sequence_parallel;
  if (!backward && parts) collective(CollectiveOp::all_gather, 2);
  queue_.work(backward ? mtp_.backward : mtp_.forward, backward ? Part::backward : Part::forward, "join tokens");
  if (!backward) collective(CollectiveOp::all_gather, 1);
  if (backward) collective(parts ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce, 2);
}

void LayerPasses::gather_received() {
  queue_.wait_for(queue_.collective(tensor_kind(CollectiveOp::all_gather), tensor));
}

}  // namespace fabricast
