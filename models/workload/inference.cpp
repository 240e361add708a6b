// Builds programs of inference: queues pass after pass, each through all stages.
//
// A pass goes through the stages; as many passes are in flight as there are stages. Each queues its kernels, its
// collectives and the host's launches, and starts a new round when its tokens of the previous round are there. With
// `overlap` a pass consists of two halves that alternate layer by layer, so that collectives of one half run while the
// other computes. docs/models/inference.md describes the costs.
#include "fabricast/workload/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "fabricast/core/names.hpp"
#include "fabricast/workload/dispatcher.hpp"
#include "fabricast/workload/stages.hpp"
#include "linear_layers.hpp"
#include "stage_queue.hpp"
#include "token_messages.hpp"

namespace fabricast {

namespace {

/// Consecutive equal layers of a stage.
struct LayerRun {
  int count = 0;
  bool experts = false;
};

struct ServingStage {
  std::unique_ptr<StageQueue> queue;
  std::vector<LayerRun> runs;
  Seconds copied;                           ///< to copy weights from host memory, once a pass
  std::uint32_t tensor = 0, expert = 0;     ///< groups
  std::uint16_t host = 0, kv_transfer = 0;  ///< streams
};

/// A pass with the times of its kernels.
struct TimedPass {
  InferencePass pass;
  PassTime time;
  std::vector<TimedPass> halves;  ///< that alternate; empty without overlap
  std::vector<TimedPass> guess;   ///< the pass that guesses; empty without speculation
};

RankGroups shifted(RankGroups groups, std::uint32_t by) {
  for (auto& group : groups)
    for (std::uint32_t& rank : group) rank += by;
  return groups;
}

class InferenceBuilder {
 public:
  InferenceBuilder(const InferenceStep& step, bool graph) : step_(step), graph_(graph), p_(step.layout.pipeline) {
    const std::vector<int> layers = layers_of_chunks(step.model.layers, p_);
    int layer = 0;
    for (int s = 0; s < p_; ++s) {
      ServingStage stage = make_stage(s);
      for (int i = 0; i < layers[index(s)]; ++i, ++layer) {
        const bool experts = step.model.has_experts(layer);
        if (stage.runs.empty() || stage.runs.back().experts != experts) stage.runs.push_back({0, experts});
        ++stage.runs.back().count;
      }
      stages_.push_back(std::move(stage));
    }
    for (int s = 0; s + 1 < p_; ++s)
      pairs_.push_back(builder_.groups(shifted(stage_pairs(step.layout, s, s + 1), step.first_rank)));
  }

  InferenceProgram build_all_reduce(Bytes bytes) {
    const TimedPass nothing;
    whole_ = &nothing;
    stage_ = &stages_.front();
    stage_->queue->begin(0);
    const bool own = runs_own(step_.own_all_reduce, step_.layout.tensor, bytes);
    if (own) {
      stage_->queue->work(all_reduce_seconds(step_.own_all_reduce, step_.layout.tensor, bytes), Part::tensor,
                          own_all_reduce_label);
      // In a sequence of all-reduces the host launches the next one while this one runs.
      if (!graph_) stage_->queue->wait_for(host_work(step_.stack.reduce_launch.us(), "launch"));
    } else {
      call(stage_->tensor, Part::tensor, CollectiveOp::all_reduce, static_cast<double>(bytes.value), 1);
    }
    stage_->queue->wait_for(pending());
    stage_->queue->work({}, Part::vocabulary, "reduced");
    return {builder_.finish(), std::move(launches_)};
  }

  InferenceProgram build(const std::vector<InferencePass>& passes, int rounds, const KvTransfer* kv_transfer) {
    if (kv_transfer) transfer_cache(*kv_transfer);
    std::vector<TimedPass> timed;
    for (std::size_t j = 0; j < passes.size(); ++j) {
      // Timing a pass searches tiles for every GEMM, and the passes of a step are mostly equal.
      const bool same = j > 0 && passes[j].tokens() == passes[j - 1].tokens() && passes[j].keys == passes[j - 1].keys;
      timed.push_back(same ? timed.back() : time_with_halves(passes[j]));
    }
    std::vector<std::uint32_t> tokens(passes.size(),
                                      no_activity);  ///< by pass: what the next round of the pass waits for
    for (int round = 0; round < rounds; ++round)
      for (std::size_t j = 0; j < passes.size(); ++j) {
        whole_ = &timed[j];
        tokens[j] = run_pass(static_cast<int>(j), tokens[j]);
      }
    return {builder_.finish(), std::move(launches_)};
  }

 private:
  static constexpr int feed_forward_linears = 2;
  static std::size_t index(int stage) { return static_cast<std::size_t>(stage); }

  TimedPass time_with_halves(const InferencePass& pass) const {
    TimedPass timed{pass, time_pass(step_, pass), {}, {}};
    if (step_.speculation.tokens > 0 && pass.sequences > 0) {
      const InferencePass guess = guessing_pass(pass);
      timed.guess.push_back({guess, time_pass(step_, guess), {}, {}});
    }
    if (!step_.overlap) return timed;
    const std::vector<InferencePass> halves = halves_of(pass);
    if (halves.size() < 2) return timed;
    for (const InferencePass& half : halves) timed.halves.push_back({half, time_pass(step_, half), {}, {}});
    return timed;
  }

  ServingStage make_stage(int s) {
    const ParallelLayout& l = step_.layout;
    ServingStage stage;
    stage.queue =
        std::make_unique<StageQueue>(builder_, fmt::format("stage {}", s), static_cast<double>(l.ranks()) / l.pipeline);
    if (step_.offload_weights > 0)
      stage.copied =
          Bytes{std::llround(memory_of(step_.model, memory_question(step_, 1, 1), s).in_host)} / step_.host_rate;
    auto& streams = builder_.program.actors.back().streams;
    stage.host = static_cast<std::uint16_t>(streams.size());
    streams.emplace_back("host");
    stage.kv_transfer = static_cast<std::uint16_t>(streams.size());
    streams.emplace_back("KV-cache transfer");
    if (l.tensor > 1) stage.tensor = builder_.groups(shifted(groups_of(l, s, {Dimension::tensor}), step_.first_rank));
    // Experts are held by consecutive ranks of a stage, over replicas if there are more than tensor ranks.
    if (dispatches() || gathers())
      stage.expert = builder_.groups(
          shifted(split_neighbours(groups_of(l, s, {Dimension::tensor, Dimension::context, Dimension::data}),
                                   dispatches() ? l.expert : l.expert_tensor),
                  step_.first_rank));
    return stage;
  }

  /// Tokens are dispatched to experts of other replicas. All ranks of a replica have its tokens, so inside one nothing
  /// is sent.
  bool dispatches() const { return step_.layout.expert > step_.layout.tensor; }

  /// Experts are split over the ranks of several replicas, and each rank gathers the tokens of all.
  bool gathers() const { return step_.layout.expert_tensor > step_.layout.tensor; }

  /// Queues one pass. \returns the activity whose end makes its tokens available
  std::uint32_t run_pass(int micro_batch, std::uint32_t before) {
    const InferencePass& pass = whole_->pass;
    // The engine schedules a pass on the host, at a cost for the pass and for each sequence. It needs the tokens of the
    // previous round, so this time is exposed.
    const Seconds host = step_.stack.step_fixed.us() +
                         step_.stack.sequence_fixed.us() * static_cast<double>(pass.sequences + pass.prompts);
    std::uint32_t scheduled = no_activity, received = no_activity;
    for (int s = 0; s < p_; ++s) {
      ServingStage& stage = stages_[index(s)];
      stage_ = &stage;
      stage.queue->begin(micro_batch);
      work_on(whole_->halves.size());
      if (s == 0) {
        scheduled = host_work(host, "host");
        if (before != no_activity) builder_.depends(scheduled, before);
        stage.queue->wait_for(scheduled);
        compute(times_->embedding, 1, Part::vocabulary, "embedding");
        reduce(1);
      } else {
        stage.queue->wait_for(received);
        // The host of a later stage launches nothing of this pass before the first stage has scheduled it.
        builder_.depends(host_work({}, "host"), scheduled);
      }
      // Weights are copied layer by layer ahead of the computation, so a pass lasts at least as long as all its copies.
      const std::uint32_t copied =
          stage.copied > Seconds{} ? stage.queue->copy(stage.copied, "weights in host memory") : no_activity;
      for (const LayerRun& run : stage.runs) {
        // Layers are queued one by one if the host launches kernels ahead of the GPU, or if halves alternate.
        const int pieces = graph_ && whole_->halves.empty() ? 1 : run.count;
        for (int i = 0; i < pieces; ++i) layers(run.experts, run.count / pieces);
      }
      work_on(whole_->halves.size());
      stage.queue->wait_for(copied);
      if (s + 1 < p_) received = send(s);
    }
    vocabulary();
    guess();
    stage_->queue->wait_for(pending());
    pending() = no_activity;
    // An activity without duration marks the end of the pass, since a dependency needs one.
    return stage_->queue->work({}, Part::vocabulary, "tokens");
  }

  void vocabulary() {
    compute(times_->vocabulary, 1, Part::vocabulary, "vocabulary");
    // Logits of 16 bits, for the tokens from which a next one is sampled.
    const double rows = static_cast<double>(pass_->sequences * pass_->width + pass_->prompts);
    const double logits = rows * static_cast<double>(step_.model.vocab) * 2;
    if (step_.layout.tensor > 1) call(stage_->tensor, Part::tensor, CollectiveOp::all_gather, logits, 1);
  }

  /// Guesses for the next pass, one after the other, on the last stage.
  void guess() {
    if (whole_->guess.empty()) return;
    pass_ = &whole_->guess.front().pass;
    times_ = &whole_->guess.front().time;
    for (int i = 0; i < step_.speculation.tokens; ++i) {
      attention(step_.model.experts > 0, step_.speculation.layers);
      feed_forward(step_.model.experts > 0, step_.speculation.layers);
      vocabulary();
    }
  }

  /// Selects the half of the pass that following calls work on; the whole pass if `half` is the number of halves.
  void work_on(std::size_t half) {
    const bool whole = half == whole_->halves.size();
    half_ = whole ? 0 : half;
    const TimedPass& now = whole ? *whole_ : whole_->halves[half];
    pass_ = &now.pass;
    times_ = &now.time;
    if (!whole) return;
    // The whole pass continues after both halves have ended.
    for (std::uint32_t& collective : pending_) {
      stage_->queue->wait_for(collective);
      collective = no_activity;
    }
  }
  /// The last collective of this half.
  std::uint32_t& pending() { return pending_[half_]; }

  std::uint32_t host_work(Seconds time, const std::string& what) {
    Activity a;
    a.time = time;
    a.part = Part::host;
    a.label = builder_.label(what);
    const Place place{stage_->queue->actor(), stage_->host};
    return builder_.add(a, {&place, 1});
  }

  void compute(const LayerTime& t, int count, Part gemms, const std::string& what) {
    stage_->queue->wait_for(pending());
    pending() = no_activity;
    // Without a CUDA graph each kernel waits for its launch. The host works on its own stream, so it may be ahead of
    // the GPU.
    if (!graph_) stage_->queue->wait_for(host_work(count * launch_time(t, gemms), "launch"));
    stage_->queue->work(count * t.gemms, gemms, what);
    if (t.attention > Seconds{}) stage_->queue->work(count * t.attention, Part::attention, what);
    const Part other = gemms == Part::vocabulary ? Part::vocabulary : Part::elementwise;
    stage_->queue->work(count * t.elementwise, other, what);
  }

  /// Host time to launch the kernels of half a layer or of the vocabulary.
  Seconds launch_time(const LayerTime& t, Part gemms) const {
    const ServingStack& stack = step_.stack;
    Seconds beside{};
    // The host passes through the code of each linear layer. `layer_launch` is that of the four of a dense model.
    if (gemms != Part::vocabulary) beside = linear_layers(t) / 4.0 * stack.layer_launch.us();
    if (&t == &times_->sparse) beside += stack.expert_launch.us();
    return t.kernels * stack.kernel_launch.us() + beside;
  }

  /// Linear layers of half a layer, besides those of routed experts, which are one call.
  int linear_layers(const LayerTime& t) const {
    const Transformer& m = step_.model;
    if (&t == &times_->dense) return feed_forward_linears;
    if (&t == &times_->sparse) return 1 + (m.shared_experts > 0 ? feed_forward_linears : 0);  // the router
    // Both projections down to latent vectors are one layer [DeepSeek2024a].
    const int fused = m.kv_rank > 0 && m.q_rank > 0 ? 1 : 0;
    return static_cast<int>(attention_gemms(m, 1).size()) - fused;
  }

  void call(std::uint32_t groups, Part part, CollectiveOp op, double bytes, int count) {
    CollectiveKind k;
    k.name = fmt::format("{} {}", name_of(part), name_of(op));
    k.part = part;
    k.op = op;
    k.bytes = std::max<std::int64_t>(1, std::llround(bytes));
    k.groups = groups;
    const std::uint32_t kind = builder_.collective(std::move(k));
    // With halves, the other one may compute while this collective runs.
    const std::uint32_t before = pending();
    if (whole_->halves.empty()) stage_->queue->wait_for(before);
    // Ranks wait for the slowest of them in every collective, which its time alone does not contain.
    const Parameter& fixed = part == Part::expert ? step_.stack.dispatch : step_.stack.collective;
    stage_->queue->work(count * fixed.us(), part, "fixed cost of collectives");
    if (!graph_) {
      const std::uint32_t launch = host_work({}, "launch of a collective");
      // The launch time depends on the channels of the collective, which the caller knows.
      launches_.emplace_back(launch, kind);
      stage_->queue->wait_for(launch);
    }
    pending() = stage_->queue->collective(kind, part == Part::tensor ? tensor : others, count);
    if (before != no_activity) builder_.depends(pending(), before);
  }

  double hidden_bytes() const {
    return 2 * static_cast<double>(pass_->tokens()) * static_cast<double>(step_.model.hidden);
  }
  void reduce(int count) {
    if (step_.layout.tensor == 1) return;
    const Bytes bytes{std::llround(hidden_bytes())};
    if (!runs_own(step_.own_all_reduce, step_.layout.tensor, bytes))
      return call(stage_->tensor, Part::tensor, CollectiveOp::all_reduce, hidden_bytes(), count);
    const Seconds kernel = all_reduce_seconds(step_.own_all_reduce, step_.layout.tensor, bytes);
    const Seconds each = kernel + step_.stack.collective.us();
    stage_->queue->wait_for(pending());
    pending() = no_activity;
    if (!graph_) stage_->queue->wait_for(host_work(count * step_.stack.reduce_launch.us(), "launch"));
    const std::uint32_t kernels = stage_->queue->work(count * each, Part::tensor, own_all_reduce_label);
    builder_.program.activities[kernels].calls = count;
  }

  void layers(bool experts, int count) {
    // Attention of both halves before the feed-forward blocks of both: each half's all-reduce overlaps the other half's
    // kernels.
    const std::size_t halves = std::max<std::size_t>(1, whole_->halves.size());
    for (std::size_t h = 0; h < halves; ++h) work_on(h), attention(experts, count);
    for (std::size_t h = 0; h < halves; ++h) work_on(h), feed_forward(experts, count);
  }

  /// How often a token is dispatched. Kernels for many tokens send it once to each rank that holds some of its experts
  /// [DeepEP, TensorRT-LLM-all-to-all], those for few tokens once per expert, unless the engine merges these, too.
  double copies_of_token() const {
    const int ranks = step_.layout.expert;
    const Routing routing = routing_of(step_.model);
    if (pass_->prompts == 0 && !step_.stack.merges) return routing.active;
    // Redundant experts and uneven shares leave no equal parts, for which the probability is known.
    if (routing.experts % ranks != 0) return std::min(routing.active, ranks);
    return merged_copies(routing, ranks, 1).within;
  }

  /// Dispatches tokens to their experts, or combines the results. \param bytes  per element
  void collective_copies(double bytes, int count) {
    const double copies =
        static_cast<double>(pass_->tokens()) * copies_of_token() / step_.layout.tensor * step_.imbalance;
    const double token = static_cast<double>(step_.model.hidden) * bytes;
    call(stage_->expert, Part::expert, CollectiveOp::alltoall,
         static_cast<double>(bytes_of_tokens(copies * token, token, step_.layout.expert)), count);
  }

  /// Gathers the tokens of all replicas that split experts, or reduces the partial results of their ranks.
  void move_tokens(CollectiveOp op, double bytes, int count) {
    const double replicas = static_cast<double>(step_.layout.expert_tensor) / step_.layout.tensor;
    call(stage_->expert, Part::expert, op, hidden_bytes() / 2 * bytes * replicas, count);
  }

  void attention(bool experts, int count) {
    compute(times_->attention, count, Part::gemms, "attention");
    reduce(count);
    // Tokens are cast before they are sent if experts compute in 8 bits; results return in 16.
    const double bytes = std::min(2.0, bytes_of(step_.experts.compute));
    if (experts && dispatches()) collective_copies(bytes, count);
    if (experts && gathers()) move_tokens(CollectiveOp::all_gather, bytes, count);
  }

  void feed_forward(bool experts, int count) {
    compute(experts ? times_->sparse : times_->dense, count, Part::gemms, experts ? "experts" : "ffn");
    // Experts inside one replica are reduced like any other block: all its ranks have the same tokens.
    if (!experts || !(dispatches() || gathers())) return reduce(count);
    if (dispatches())
      collective_copies(2, count);
    else
      move_tokens(CollectiveOp::reduce_scatter, 2, count);
    // Each rank of a replica has received the results of its share of the tokens.
    if (step_.layout.tensor > 1) call(stage_->tensor, Part::tensor, CollectiveOp::all_gather, hidden_bytes(), count);
  }

  std::uint32_t send(int from) {
    CollectiveKind kind;
    kind.part = Part::pipeline;
    kind.op = CollectiveOp::sendrecv;
    kind.one_way = true;
    kind.groups = pairs_[index(from)];
    kind.name = fmt::format("pipeline {} to {}", from, from + 1);
    kind.bytes = std::max<std::int64_t>(1, std::llround(hidden_bytes() / step_.layout.tensor));
    const std::array<Place, 2> places{Place{static_cast<std::uint32_t>(from), send_forward},
                                      Place{static_cast<std::uint32_t>(from + 1), receive_forward}};
    return stage_->queue->collective(builder_.collective(std::move(kind)), places);
  }

  void transfer_cache(const KvTransfer& kv_transfer) {
    const std::vector<std::uint32_t> kinds = kv_transfer_kinds(kv_transfer, builder_);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      // All stages receive at the same time, so the first one stands for all. Each set of pairs has its own stream.
      auto& streams = builder_.program.actors.front().streams;
      auto stream = stages_.front().kv_transfer;
      if (i > 0) {
        stream = static_cast<std::uint16_t>(streams.size());
        streams.push_back(fmt::format("KV-cache transfer {}", i));
      }
      const Place place{0, stream};
      stages_.front().queue->collective(kinds[i], {&place, 1});
    }
  }

  const InferenceStep& step_;
  bool graph_;
  int p_;
  ProgramBuilder builder_;
  std::vector<ServingStage> stages_;
  std::vector<std::uint32_t> pairs_;  ///< by the stage that sends
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launches_;
  const TimedPass* whole_ = nullptr;
  const InferencePass* pass_ = nullptr;  ///< the whole pass, or the selected half
  const PassTime* times_ = nullptr;
  std::size_t half_ = 0;
  std::array<std::uint32_t, 2> pending_{no_activity, no_activity};  ///< by half
  ServingStage* stage_ = nullptr;
};

}  // namespace

InferenceProgram all_reduce_program(const InferenceStep& step, Bytes bytes, bool graph) {
  return InferenceBuilder(step, graph).build_all_reduce(bytes);
}

InferenceProgram inference_program(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds,
                                   bool graph, const KvTransfer* kv_transfer) {
  return InferenceBuilder(step, graph).build(passes, rounds, kv_transfer);
}

}  // namespace fabricast
