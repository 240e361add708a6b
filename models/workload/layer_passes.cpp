#include "layer_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/names.hpp"
#include "token_messages.hpp"

namespace fabricast {

namespace {

/// Where every layer waits for all ranks that share its parameters, the slowest of n counts: of normal deviates about
/// sqrt(2 ln n) standard deviations above the mean [Cramer1946]. Rates are measured on eight GPUs.
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
      slower_(slowest_of(step)) {}

std::uint32_t LayerPasses::kind(std::uint32_t groups, Part part, CollectiveOp op, double bytes) {
  ExchangeKind k;
  k.name = fmt::format("{} {}", name_of(part), name_of(op));
  k.part = part, k.op = op, k.bytes = std::max<std::int64_t>(1, std::llround(bytes)), k.groups = groups;
  return builder_.exchange(std::move(k));
}

std::uint32_t LayerPasses::tensor_kind(CollectiveOp op) {
  return kind(groups_.tensor, Part::tensor, op, 2 * step_.tokens() * static_cast<double>(step_.model.hidden));
}

/// Tokens go to the ranks of their experts, or come back: what stays exposed of it.
void LayerPasses::exchange_tokens(int count, double bytes) {
  const double x = step_.overlap_expert ? step_.stack.expert_exposed.value : 1;
  if (step_.layout.expert > 1) queue_.wait_for(queue_.exchange(expert_kind(bytes), others, count * x));
}
/// And what runs beside computation. Both ways of it do, so it is queued once.
std::uint32_t LayerPasses::tokens_beside(int count, double bytes) {
  const double x = step_.overlap_expert ? step_.stack.expert_exposed.value : 1;
  return step_.layout.expert > 1 ? queue_.exchange(expert_kind(bytes), others, count * (1 - x)) : no_activity;
}
std::uint32_t LayerPasses::expert_kind(double bytes) {
  const double token = static_cast<double>(step_.model.hidden) * bytes;
  return kind(groups_.expert, Part::expert, CollectiveOp::alltoall,
              static_cast<double>(bytes_of_tokens(sent_tokens(step_) * token, token, step_.layout.expert)));
}

/// Keys and values of the other ranks, in as many steps. \returns what runs beside attention
std::uint32_t LayerPasses::exchange_keys(int count, double times) {
  const int ring = step_.layout.context - 1;
  if (ring == 0) return no_activity;
  const Transformer& m = step_.model;
  const auto width =
      static_cast<double>(m.kv_rank > 0 ? m.query_width() + m.value_width() : 2 * m.kv_heads * m.head_dim);
  const std::uint32_t k = kind(groups_.context, Part::context, CollectiveOp::sendrecv,
                               times * 2 * step_.tokens() * width / step_.layout.tensor);
  const double x = step_.stack.context_exposed.value;
  queue_.wait_for(queue_.exchange(k, others, count * ring * x));
  return queue_.exchange(k, others, count * ring * (1 - x));
}

/// A product reads all tokens and gives all tokens back: gathered before and reduced behind it, or reduced as a whole.
void LayerPasses::forward_half(const HalfLayer& half, bool experts, int count, Part part, const char* what) {
  const bool tensor_experts = experts && step_.layout.expert_tensor == 1;
  const bool split = step_.layout.tensor > 1 && !tensor_experts;
  const double slower = slower_ * count;
  std::vector<std::uint32_t> beside;
  if (experts) {
    queue_.work(half.before * slower, part, what);
    exchange_tokens(count, bytes_of(step_.precision));
    beside = {tokens_beside(count, bytes_of(step_.precision)), tokens_beside(count, 2)};
  }
  if (split && step_.sequence_parallel) {
    const double x = exposed();
    queue_.wait_for(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor, count * x));
    beside.push_back(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor, count * (1 - x)));
    beside.push_back(queue_.exchange(tensor_kind(CollectiveOp::reduce_scatter), tensor, count * (1 - x)));
  }
  queue_.work(half.forward * slower, part, what);
  for (const std::uint32_t id : beside) queue_.wait_for(id);
  if (split)
    queue_.wait_for(step_.sequence_parallel
                        ? queue_.exchange(tensor_kind(CollectiveOp::reduce_scatter), tensor, count * exposed())
                        : queue_.exchange(tensor_kind(CollectiveOp::all_reduce), tensor, count));
  if (experts) exchange_tokens(count, 2);
}

void LayerPasses::backward_half(const HalfLayer& half, bool experts, int count, bool with_weights, const char* what) {
  const bool split = step_.layout.tensor > 1 && !(experts && step_.layout.expert_tensor == 1);
  const bool hides = step_.stack.hides_tensor_backward;
  const double slower = slower_ * count;
  std::vector<std::uint32_t> beside;
  if (experts) {
    exchange_tokens(count, 2);
    beside = {tokens_beside(count, 2), tokens_beside(count, 2)};
  }
  if (split && step_.sequence_parallel) {
    const double x = exposed();
    queue_.wait_for(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor, count * x));
    beside.push_back(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor, count * (1 - x)));
    // What the product read was kept in parts only.
    if (hides) beside.push_back(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor, count));
  }
  queue_.work(half.data_gradient * slower, Part::backward, what);
  for (const std::uint32_t id : beside) queue_.wait_for(id);
  std::uint32_t reduced = no_activity;
  if (split) {
    const auto op = step_.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
    const bool behind = hides && with_weights;
    const double x = behind ? 0 : exposed();
    queue_.wait_for(queue_.exchange(tensor_kind(op), tensor, count * x));
    reduced = queue_.exchange(tensor_kind(op), tensor, count * (1 - x));
  }
  if (with_weights) queue_.work(half.weight_gradient * slower, Part::backward, what);
  queue_.wait_for(reduced);
  if (experts) {
    exchange_tokens(count, 2);
    queue_.work(half.before_backward * slower, Part::backward, what);
  }
}

void LayerPasses::forward(bool experts, int count) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  const std::uint32_t beside = exchange_keys(count, 1);
  forward_half(t.attention, false, count, Part::forward, "attention");
  queue_.wait_for(beside);
  forward_half(t.ffn, experts, count, Part::forward, experts ? "experts" : "feed-forward");
}

void LayerPasses::again(bool experts, int count) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  switch (step_.recompute) {
    case Recompute::none: return;
    case Recompute::selective:
      queue_.work(t.attention.core * slower_ * count, Part::recompute, "attention again");
      return;
    case Recompute::ops: {
      const double seconds = t.attention.elementwise + t.ffn.elementwise + (t.attention.products + t.ffn.products) / 2;
      queue_.work(seconds * slower_ * count, Part::recompute, "every second product again");
      return;
    }
    case Recompute::full:
      forward_half(t.attention, false, count, Part::recompute, "attention again");
      forward_half(t.ffn, experts, count, Part::recompute, "feed-forward again");
  }
}

void LayerPasses::backward(bool experts, int count, bool with_weights) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  again(experts, count);
  backward_half(t.ffn, experts, count, with_weights, experts ? "experts" : "feed-forward");
  const std::uint32_t beside = exchange_keys(count, 2);  // their gradients go round as well
  backward_half(t.attention, false, count, with_weights, "attention");
  queue_.wait_for(beside);
}

void LayerPasses::weights(bool experts, int count) {
  const LayerTimes& t = experts ? sparse_ : dense_;
  queue_.work((t.attention.weight_gradient + t.ffn.weight_gradient) * slower_ * count, Part::backward, "weights");
}

void LayerPasses::embedding(bool backward) {
  queue_.work(backward ? vocabulary_.embedding_backward : vocabulary_.embedding, Part::vocabulary, "embedding");
}

void LayerPasses::vocabulary(bool backward) {
  const bool split = step_.layout.tensor > 1;
  if (split && !backward && step_.sequence_parallel)
    queue_.wait_for(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor));
  queue_.work(backward ? vocabulary_.backward : vocabulary_.forward, Part::vocabulary, "vocabulary");
  if (split && backward)
    queue_.wait_for(queue_.exchange(
        tensor_kind(step_.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce), tensor));
}

void LayerPasses::gather_received() { queue_.wait_for(queue_.exchange(tensor_kind(CollectiveOp::all_gather), tensor)); }

}  // namespace fabricast
