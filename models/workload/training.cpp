// Builds programs of training steps. The work of all stages is queued in an order in which everything that a pass needs
// has been queued before it.
//
// A stage works through the order of its schedule (schedule.cpp). Each entry becomes the layers of one chunk for one
// micro-batch (layer_passes.cpp), with sends and receives at its ends and the collectives of data parallelism around it
// (data_parallel.cpp). The pipeline bubble and all waits result when the timeline runs the program; no formula for them
// is used.
#include "fabricast/workload/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "data_parallel.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/workload/stages.hpp"
#include "layer_passes.hpp"

namespace fabricast {

namespace {

/// Maximum number of layer passes of a replica that are queued one by one. With more, neighbouring layers are joined to
/// keep the program small.
constexpr double most_passes = 4000;

/// Consecutive equal layers of a chunk. `first` is an index among the layers of the stage.
struct LayerRun {
  int first = 0, count = 1;
  bool experts = false;
  bool predicts = false;  ///< the layer of a module of multi-token prediction
};

class TrainingBuilder {
 public:
  explicit TrainingBuilder(const TrainingStep& step)
      : step_(step),
        p_(step.layout.pipeline),
        chunks_(layers_of_chunks(step.model.layers, p_ * step.interleave, step.layers)),
        counts_(count_parameters(step.model)) {
    joined_ = static_cast<int>(std::ceil(static_cast<double>(step.model.layers) * step.micro_batches() / most_passes));
    for (int s = 0; s < p_; ++s) stages_.push_back(make_stage(s));
    if (p_ > 1)
      for (int s = 0; s < p_; ++s) {
        // The last stage sends to the first, which holds the next chunk.
        forward_pairs_.push_back(builder_.groups(stage_pairs(step.layout, s, (s + 1) % p_)));
        backward_pairs_.push_back(builder_.groups(stage_pairs(step.layout, (s + 1) % p_, s)));
      }
  }

  Program build() {
    const int m = step_.micro_batches();
    const auto order = pipeline_order(step_.schedule, p_, step_.interleave, m);
    passes_.resize(chunks_.size() * static_cast<std::size_t>(m));
    for (Stage& stage : stages_) stage.data->begin_step();
    // Round robin over stages. A stage is queued until it needs a pass of another stage that is not queued yet, because
    // a dependency refers to an existing activity. Every valid schedule ends with all work queued.
    std::vector<std::size_t> next(stages_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < stages_.size(); ++s)
        for (; next[s] < order[s].size() && can_queue(static_cast<int>(s), order[s][next[s]]); ++next[s]) {
          queue(static_cast<int>(s), order[s], next[s]);
          moved = true;
        }
    }
    for (std::size_t s = 0; s < stages_.size(); ++s)
      FABRICAST_CHECK(next[s] == order[s].size(), "a stage waits for itself");
    join_embeddings();
    for (Stage& stage : stages_) {
      stage.queue->begin(-1);
      stage.data->finish();
      stage.queue->work(Seconds{step_.stack.step_fixed.value}, Part::host, "host");
    }
    return builder_.finish();
  }

 private:
  using Kind = PipelineWork::Kind;
  struct Stage {
    std::unique_ptr<StageQueue> queue;
    std::unique_ptr<LayerPasses> passes;
    std::unique_ptr<DataParallel> data;
    std::vector<std::vector<LayerRun>> single;  ///< by chunk: its layers
    std::vector<std::vector<LayerRun>> joined;  ///< by chunk: the same layers in longer runs
    std::vector<double> parameters;             ///< by chunk, per GPU
    std::uint32_t posted = no_activity;         ///< the computation before the round, after which receives are posted
    std::vector<PipelineWork> unsent;           ///< what the stage sends when the round ends
  };
  /// Whether the passes of a micro-batch through a chunk have been queued, and what sends their results to the next
  /// stage.
  struct Passes {
    bool forward = false, backward = false;
    std::uint32_t sent_forward = no_activity, sent_backward = no_activity;
  };

  // DeepEP and HybridEP send a token once per domain and forward it inside, which needs groups of both kinds.
  bool merges_copies() const {
    return step_.dispatcher == Dispatcher::deepep || step_.dispatcher == Dispatcher::hybridep;
  }
  // Chunks are numbered in the order of the model: chunk k of stage s is number k p + s, as in Megatron's interleaved
  // schedule.
  int chunk_number(int stage, int chunk) const { return chunk * p_ + stage; }
  int last_chunk() const { return static_cast<int>(chunks_.size()) - 1; }
  Passes& passes(int chunk, int micro_batch) {
    return passes_[static_cast<std::size_t>(chunk) * static_cast<std::size_t>(step_.micro_batches()) +
                   static_cast<std::size_t>(micro_batch)];
  }

  // Parameters of a layer on one GPU. Experts are counted apart, because fewer ranks hold the same ones.
  HeldParameters held_by(bool experts) const {
    const double tensor = step_.layout.tensor;
    HeldParameters held;
    held.plain = static_cast<double>(counts_.attention + (experts ? counts_.shared : counts_.ffn)) / tensor;
    if (experts) held.experts = static_cast<double>(counts_.experts) / step_.layout.expert / step_.layout.expert_tensor;
    return held;
  }

  Stage make_stage(int s) {
    const ParallelLayout& layout = step_.layout;
    Stage stage;
    stage.queue = std::make_unique<StageQueue>(builder_, fmt::format("stage {}", s),
                                               static_cast<double>(layout.ranks()) / layout.pipeline);
    LayerGroups groups;
    if (layout.tensor > 1) groups.tensor = builder_.groups(groups_of(layout, s, {Dimension::tensor}));
    if (layout.context > 1) groups.context = builder_.groups(groups_of(layout, s, {Dimension::context}));
    if (layout.expert > 1) {
      const RankGroups experts = expert_groups(layout, s);
      groups.expert = builder_.groups(experts);
      groups.domains = domains_of(experts, step_.nvlink_ranks);
      const int local = layout.expert / groups.domains;
      if (merges_copies() && local > 1) groups.within = builder_.groups(split_neighbours(experts, local));
      if (merges_copies() && groups.domains > 1) groups.between = builder_.groups(split_apart(experts, groups.domains));
    }
    std::vector<HeldParameters> held;
    // The embedding counts with the first layer of the stage, even if chunk 0 has none.
    double embedding = s == 0 ? static_cast<double>(counts_.embedding) / layout.tensor : 0;
    for (int k = 0; k < step_.interleave; ++k) {
      const auto chunk = static_cast<std::size_t>(chunk_number(s, k));
      int layer = 0;
      for (std::size_t before = 0; before < chunk; ++before) layer += chunks_[before];
      std::vector<LayerRun> single, joined;
      double parameters = embedding;
      for (int l = 0; l < chunks_[chunk]; ++l, ++layer) {
        const bool experts = step_.model.has_experts(layer);
        single.push_back({static_cast<int>(held.size()), 1, experts});
        if (!joined.empty() && joined.back().experts == experts && joined.back().count < joined_)
          ++joined.back().count;
        else
          joined.push_back(single.back());
        held.push_back(held_by(experts));
        parameters += held.back().plain + held.back().experts;
        held.back().plain += std::exchange(embedding, 0);
      }
      // The output matrix and the modules of multi-token prediction belong to the last chunk, with a copy of the
      // embedding if the stages differ.
      if (static_cast<int>(chunk) == last_chunk()) {
        held.back().plain += head_parameters();
        parameters += head_parameters();
        for (int module = 0; module < step_.mtp_layers; ++module) {
          const bool experts = step_.model.has_experts(step_.model.layers - 1);
          single.push_back({static_cast<int>(held.size()), 1, experts, true});
          joined.push_back(single.back());
          held.push_back(held_by(experts));
          held.back().plain += static_cast<double>(mtp_join_parameters(step_.model)) / layout.tensor;
          parameters += held.back().plain + held.back().experts;
        }
      }
      stage.single.push_back(std::move(single));
      stage.joined.push_back(std::move(joined));
      stage.parameters.push_back(parameters);
    }
    stage.passes = std::make_unique<LayerPasses>(step_, builder_, *stage.queue, groups);
    stage.data = std::make_unique<DataParallel>(step_, builder_, *stage.queue, s, std::move(held));
    return stage;
  }

  /// Whether the first and the last stage are different and hold the same embedding.
  bool shares_embedding() const { return p_ > 1 && (step_.model.tied || step_.mtp_layers > 0); }
  double head_parameters() const {
    const double copy = shares_embedding() ? static_cast<double>(counts_.embedding) : 0;
    return (static_cast<double>(counts_.head) + copy) / step_.layout.tensor;
  }

  // A forward pass needs the chunk before it, a backward pass the chunk after it; weight gradients need nothing new.
  bool can_queue(int stage, const PipelineWork& work) {
    const int chunk = chunk_number(stage, work.chunk);
    if (work.kind == Kind::forward) return chunk == 0 || passes(chunk - 1, work.micro_batch).forward;
    return work.kind == Kind::weights || chunk == last_chunk() || passes(chunk + 1, work.micro_batch).backward;
  }

  /// Work proceeds in rounds. Between rounds a stage sends to its neighbours and receives from them. A round is one
  /// pass, except in the steady phase of the interleaved schedule without overlap: there it is a forward and a backward
  /// pass. This tells whether pass i and the next one form such a round.
  bool is_paired(int stage, const std::vector<PipelineWork>& order, std::size_t i) const {
    const int warmup = warmup_passes(step_.schedule, p_, stage, step_.interleave, step_.micro_batches());
    return step_.schedule == PipelineSchedule::interleaved && !step_.overlap_pipeline && i + 1 < order.size() &&
           static_cast<int>(i) >= warmup && order[i].kind == Kind::forward && order[i + 1].kind == Kind::backward;
  }

  void queue(int s, const std::vector<PipelineWork>& order, std::size_t i) {
    Stage& stage = stages_[index(s)];
    const PipelineWork& work = order[i];
    if (i == 0 || !is_paired(s, order, i - 1)) stage.posted = stage.queue->last();
    stage.queue->begin(work.micro_batch);
    if (work.kind == Kind::forward) forward(s, stage, work);
    if (work.kind == Kind::backward) backward(s, stage, work);
    if (work.kind == Kind::weights) {
      for (const LayerRun& run : runs_of(stage, work)) stage.passes->weights(run.experts, run.count);
      end_backward(stage, work);
    }
    if (!is_paired(s, order, i)) send_results(s, stage);
  }

  bool is_last(const PipelineWork& work) const { return work.micro_batch + 1 == step_.micro_batches(); }
  /// The runs of layers to queue: one by one if each layer has its own collectives.
  const std::vector<LayerRun>& runs_of(const Stage& stage, const PipelineWork& work) const {
    const auto k = static_cast<std::size_t>(work.chunk);
    const bool single = stage.data->by_layer(is_last(work)) || (step_.overlap_data && work.micro_batch == 0);
    return single ? stage.single[k] : stage.joined[k];
  }

  /// Layers of a run that are offloaded; these are the first layers of a stage.
  int offloaded(const LayerRun& run) const {
    return static_cast<int>(std::clamp(step_.offloaded - run.first, 0.0, static_cast<double>(run.count)));
  }

  void forward(int s, Stage& stage, const PipelineWork& work) {
    const int chunk = chunk_number(s, work.chunk);
    if (chunk > 0) receive(stage, passes(chunk - 1, work.micro_batch).sent_forward);
    if (chunk == 0) stage.passes->embedding(false);
    const std::vector<LayerRun>& runs = runs_of(stage, work);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      stage.data->before(runs[i].first, i + 1 < runs.size() ? runs[i + 1].first : -1, work.micro_batch == 0);
      stage.passes->offload(runs[i].experts, offloaded(runs[i]));
      if (runs[i].predicts) stage.passes->join_tokens(false);
      stage.passes->forward(runs[i].experts, runs[i].count);
      if (runs[i].predicts) stage.passes->vocabulary(false);
    }
    if (chunk == last_chunk()) stage.passes->vocabulary(false);
    stage.unsent.push_back(work);
  }

  void backward(int s, Stage& stage, const PipelineWork& work) {
    const int chunk = chunk_number(s, work.chunk);
    const bool with_weights = step_.schedule != PipelineSchedule::zero_bubble;
    if (chunk < last_chunk()) receive(stage, passes(chunk + 1, work.micro_batch).sent_backward);
    if (chunk == last_chunk()) stage.passes->vocabulary(true);
    const std::vector<LayerRun>& runs = runs_of(stage, work);
    const auto fetch = [&](const LayerRun& run) { return stage.passes->fetch(run.experts, offloaded(run)); };
    // Offloaded activations come back one run ahead, while the run before it in this pass is computed.
    std::uint32_t here = runs.empty() ? no_activity : fetch(runs.back());
    for (std::size_t i = runs.size(); i-- > 0;) {
      stage.queue->wait_for(here);
      here = i > 0 ? fetch(runs[i - 1]) : no_activity;
      const int then = i > 0 ? runs[i - 1].first : -1;
      if (i + 1 < runs.size())
        stage.data->before(runs[i].first, then, false);
      else
        stage.data->prefetch(then);  // the last layer of the forward pass is still gathered
      if (runs[i].predicts) stage.passes->vocabulary(true);
      stage.passes->backward(runs[i].experts, runs[i].count, with_weights);
      if (runs[i].predicts) stage.passes->join_tokens(true);
      // Gradients of a layer are complete after its own backward pass, so buckets fill from the last layer to the
      // first.
      if (with_weights) stage.data->reduce(runs[i].first, runs[i].count, is_last(work));
    }
    if (chunk == 0) stage.passes->embedding(true);
    stage.unsent.push_back(work);
    if (with_weights) accumulate(stage, work);
  }

  // Results of a round are sent together. The last chunk has no successor, and the first no predecessor.
  void send_results(int s, Stage& stage) {
    const int after = (s + 1) % p_, before = (s + p_ - 1) % p_;
    std::vector<std::uint32_t> sent;
    for (const PipelineWork& work : std::exchange(stage.unsent, {})) {
      const int chunk = chunk_number(s, work.chunk);
      Passes& done = passes(chunk, work.micro_batch);
      stage.queue->begin(work.micro_batch);
      if (work.kind == Kind::forward) {
        done.forward = true;
        if (chunk == last_chunk()) continue;
        sent.push_back(done.sent_forward = send(s, after, forward_pairs_[index(s)], send_forward));
      } else {
        done.backward = true;
        if (chunk == 0) continue;
        sent.push_back(done.sent_backward = send(s, before, backward_pairs_[index(before)], send_backward));
      }
    }
    if (step_.overlap_pipeline) return;
    for (const std::uint32_t id : sent) stage.queue->wait_for(id);
  }

  void end_backward(Stage& stage, const PipelineWork& work) {
    for (const LayerRun& run : runs_of(stage, work)) stage.data->reduce(run.first, run.count, is_last(work));
    accumulate(stage, work);
  }

  /// Adds gradients to those of earlier micro-batches.
  void accumulate(Stage& stage, const PipelineWork& work) {
    if (step_.micro_batches() == 1 || step_.stack.accumulation.value == 0) return;
    const double bytes = stage.parameters[static_cast<std::size_t>(work.chunk)] * step_.stack.accumulation.value;
    stage.queue->work(stream(step_.kernels, Bytes{std::llround(bytes)}), Part::accumulation, "accumulation");
  }

  std::uint32_t send(int from, int to, std::uint32_t pairs, Stream stream) {
    CollectiveKind kind;
    kind.part = Part::pipeline;
    kind.op = CollectiveOp::sendrecv;
    kind.one_way = true;
    kind.groups = pairs;
    kind.name = fmt::format("pipeline {} to {}", from, to);
    // Each tensor rank sends its shard: with sequence parallelism it has no more, otherwise the receivers gather the
    // shards again (scatter-gather of [Narayanan2021]).
    const double bytes = 2 * step_.tokens() * static_cast<double>(step_.model.hidden) / step_.layout.tensor;
    kind.bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes));
    const auto receiving = static_cast<Stream>(stream + 1);
    StageQueue& queue = *stages_[index(from)].queue;
    const std::array<Place, 2> places{Place{static_cast<std::uint32_t>(from), stream},
                                      Place{static_cast<std::uint32_t>(to), receiving}};
    return queue.collective(builder_.collective(std::move(kind)), places);
  }

  void receive(Stage& stage, std::uint32_t sent) {
    // Without overlap the receive is posted when the previous round has ended.
    if (!step_.overlap_pipeline && stage.posted != no_activity) builder_.depends(sent, stage.posted);
    stage.queue->wait_for(sent);
    if (step_.layout.tensor > 1 && !step_.sequence_parallel) stage.passes->gather_received();
  }

  /// The first and the last stage sum the gradients of the embedding that they share.
  void join_embeddings() {
    if (!shares_embedding()) return;
    CollectiveKind kind;
    kind.part = Part::pipeline;
    kind.op = CollectiveOp::all_reduce;
    kind.name = "embedding all_reduce";
    kind.groups = builder_.groups(stage_pairs(step_.layout, 0, p_ - 1));
    kind.bytes = counts_.embedding / step_.layout.tensor * step_.stack.gradient_bytes;
    StageQueue& first = *stages_.front().queue;
    StageQueue& last = *stages_.back().queue;
    const std::array<Place, 2> places{Place{0, data}, Place{static_cast<std::uint32_t>(p_ - 1), data}};
    const std::uint32_t id = first.collective(builder_.collective(std::move(kind)), places);
    // The collective waits for the computation of both stages; that of the first is implied by the queue that adds it.
    builder_.depends(id, last.last());
    first.wait_for(id);
    last.wait_for(id);
  }

  static std::size_t index(int stage) { return static_cast<std::size_t>(stage); }

  const TrainingStep& step_;
  int p_, joined_ = 1;
  std::vector<int> chunks_;
  ParameterCount counts_;
  ProgramBuilder builder_;
  std::vector<Stage> stages_;
  std::vector<std::uint32_t> forward_pairs_, backward_pairs_;  ///< indexed by the stage that comes first in the model
  std::vector<Passes> passes_;
};

}  // namespace

Program training_program(const TrainingStep& step) { return TrainingBuilder(step).build(); }

double model_flops_per_gpu(const TrainingStep& step, bool causal) {
  return model_flops(step.model, step.model.sequence, step.mtp_layers).training(causal) * step.global_batch /
         static_cast<double>(step.layout.ranks());
}

}  // namespace fabricast
