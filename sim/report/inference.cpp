#include "fabricast/report/inference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/draws.hpp"
#include "fabricast/traffic/flow_traffic.hpp"
#include "step_parts.hpp"

namespace fabricast {

namespace {

struct Ran {
  Program program;
  Timeline timeline;
  std::vector<ExchangeUse> exchanges;
};

/// Runs programs on one draw of the network.
class Draw {
 public:
  Draw(const World& world, std::uint64_t seed) : world_(world), seed_(seed) {}

  /// A step that follows others: with a pipeline what one more of them takes.
  TimedPasses steady(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const {
    if (step.layout.pipeline == 1) return once(step, passes, graph);
    constexpr int rounds = 3;
    const Ran fewer = run(step, passes, rounds - 1, graph);
    Ran more = run(step, passes, rounds, graph);
    TimedPasses t;
    t.seconds = more.timeline.seconds - fewer.timeline.seconds;
    t.stages = more.timeline.actors;
    for (std::size_t s = 0; s < t.stages.size(); ++s) {
      ActorTimes& stage = t.stages[s];
      const ActorTimes& before = fewer.timeline.actors[s];
      for (std::size_t p = 0; p < parts; ++p) stage.busy[p] -= before.busy[p], stage.exposed[p] -= before.exposed[p];
      stage.interference -= before.interference, stage.bubble -= before.bubble;
    }
    t.mean = mean_of(more.program, t.stages);
    t.exchanges = std::move(more.exchanges), t.program = std::move(more.program);
    for (ExchangeUse& use : t.exchanges) use.calls /= rounds, use.seconds /= rounds;
    return t;
  }

  TimedPasses once(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const {
    Ran ran = run(step, passes, 1, graph);
    TimedPasses t;
    t.seconds = ran.timeline.seconds, t.stages = std::move(ran.timeline.actors),
    t.mean = mean_of(ran.program, t.stages);
    t.exchanges = std::move(ran.exchanges), t.program = std::move(ran.program);
    return t;
  }

  TimedPasses decode(const InferenceStep& step) const { return steady(step, decode_passes(step), step.graph); }
  /// Prompts have lengths of their own: no CUDA graphs.
  TimedPasses prefill(const InferenceStep& step, std::int64_t prompts) const {
    return once(step, prefill_passes(step, prompts), false);
  }
  /// s from prompt to prompt where one follows the other, so many together.
  double prompt_interval(const InferenceStep& step, std::int64_t together) const {
    const std::int64_t prompts = together * step.layout.pipeline;
    return steady(step, prefill_passes(step, prompts), false).seconds / static_cast<double>(prompts);
  }

  Ran run(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds, bool graph,
          const Handover* handover = nullptr) const {
    return run(inference_program(step, passes, rounds, graph, handover), step.stack.interference.value);
  }

 private:
  Ran run(InferenceProgram built, double interference) const {
    stop_if_requested();
    Ran ran;
    ran.program = std::move(built.program);
    const auto traffic = make_flow_traffic(world_, ran.program, seed_);
    for (const auto& [activity, kind] : built.launches)
      ran.program.activities[activity].seconds = traffic->alone(kind).launch.value;
    ran.timeline = run_program(ran.program, *traffic, timeline_options(interference, ran.program, *traffic));
    ran.exchanges = uses_of(ran.program, ran.timeline, *traffic);
    return ran;
  }

  const World& world_;
  std::uint64_t seed_;
};

/// Of the step, as the model counts them.
double flops_per_gpu(const InferenceStep& step, bool prompts_only) {
  const std::int64_t tokens = prompts_only ? step.input : step.mean_context();
  const ModelFlops flops = model_flops(step.model, tokens);
  // Attention of the last token is over all others; of a prompt's over half of them, in the mean.
  const double prompt = flops.linear + flops.attention / 2 + flops.vocabulary / static_cast<double>(tokens);
  const double of_sequence =
      prompts_only ? prompt : (flops.linear + flops.attention + flops.vocabulary) / static_cast<double>(tokens);
  return of_sequence * step.batch * step.layout.data / static_cast<double>(step.layout.ranks());
}

double capacity_of(const World& world, const InferenceStep& step) {
  return static_cast<double>(world.scenario.node.spec.memory.value) * step.stack.memory.value;
}
MemoryUse memory_at(const World& world, const InferenceStep& step, int batch) {
  return peak_memory(step.model, memory_question(step, batch, world.scenario.node.spec.gpus));
}

/// Powers of two as far as memory goes, and the scenario's own batch.
std::vector<BatchRow> batch_rows(const World& world, const InferenceStep& step, const Draw& draw) {
  std::vector<int> batches;
  constexpr int most = 1 << 14;
  for (int b = 1; b <= most && memory_at(world, step, b).total() <= capacity_of(world, step); b *= 2)
    batches.push_back(b);
  if (std::find(batches.begin(), batches.end(), step.batch) == batches.end()) batches.push_back(step.batch);
  std::sort(batches.begin(), batches.end());
  std::vector<BatchRow> rows;
  for (const int b : batches) {
    InferenceStep at = step;
    at.batch = b;
    BatchRow row;
    row.batch = b, row.step = draw.decode(at).seconds;
    row.tokens_per_second = static_cast<double>(b) * step.layout.data / row.step;
    row.memory = memory_at(world, step, b).total();
    rows.push_back(row);
  }
  return rows;
}

/// A step with a chunk of a prompt that is half done.
double mixed_seconds(const InferenceStep& step, const Draw& draw) {
  std::vector<InferencePass> passes = decode_passes(step);
  InferencePass& first = passes.front();
  first.prompts = 1, first.queries = std::min(step.chunk, step.input);
  first.keys = std::min(step.input, (step.input + first.queries) / 2);
  return draw.steady(step, passes, false).seconds;
}

double request_of(const Serving& s, std::int64_t output) {
  return s.first_token + static_cast<double>(output - 1) * s.inter_token;
}

/// Prompts that a pass holds.
std::int64_t prompts_of_a_pass(const InferenceStep& step) { return std::max<std::int64_t>(1, step.chunk / step.input); }

/// Prompts and decoding take turns on the same GPUs. Of a cycle in which `batch` requests come and go: their prompts,
/// and `output` decode steps.
Serving serve_shared(const InferenceStep& step, double decode, const Draw& draw) {
  const double output = static_cast<double>(step.output);
  double batch = step.batch, cycle = 0;
  Serving s;
  if (step.chunked) {
    const std::int64_t chunks = (step.input + step.chunk - 1) / step.chunk;
    InferenceStep at = step;
    // A chunk a step brings no more sequences than that.
    at.batch = static_cast<int>(std::clamp<std::int64_t>(step.output / chunks, 1, step.batch));
    batch = at.batch;
    const double mixed = mixed_seconds(at, draw), n = static_cast<double>(chunks);
    cycle = batch * n * mixed + std::max(0.0, output - batch * n) * decode;
    s.first_token = decode / 2 + n * mixed, s.inter_token_worst = mixed;
    // A prompt of more chunks than tokens that follow it leaves steps without any.
    s.inter_token = std::min(cycle / output, mixed);
  } else {
    // Those together that come while a decode step runs.
    const std::int64_t together =
        std::clamp<std::int64_t>((step.batch + step.output - 1) / step.output, 1, prompts_of_a_pass(step));
    cycle = batch * draw.prompt_interval(step, together) + output * decode;
    // A prompt comes in the midst of a decode step.
    const double turn = draw.prefill(step, together).seconds;
    s.first_token = decode / 2 + turn, s.inter_token = cycle / output;
    s.inter_token_worst = std::max(decode + turn, s.inter_token);
  }
  s.tokens_per_second = batch * output * step.layout.data / cycle;
  s.request = request_of(s, step.output);
  return s;
}

/// When the last token of a decode step is there; hand-overs beside it may go on.
double decoded(const Ran& ran) {
  double end = 0;
  for (std::size_t i = 0; i < ran.program.activities.size(); ++i)
    if (ran.program.activities[i].part != Part::handover) end = std::max(end, ran.timeline.end[i]);
  return end;
}

DisaggregatedForecast disaggregate(const World& world, const InferenceStep& step, double decode, const Draw& draw) {
  const Scenario& s = world.scenario;
  const InferenceSpec& spec = s.workload.inference;
  const InferenceStep prompts = prefill_step(spec, s.node.spec, s.hardware);
  const Handover handover = handover_of(prompts, step);
  DisaggregatedForecast f;
  f.prompt = draw.prefill(prompts, 1);
  f.decode_alone = decode, f.bytes = handover.total;

  const std::vector<InferencePass> passes = decode_passes(step);
  const double alone = draw.run(step, passes, 1, step.graph).timeline.seconds;
  const Ran beside = draw.run(step, passes, 1, step.graph, &handover);
  for (std::size_t i = 0; i < beside.program.activities.size(); ++i)
    if (beside.program.activities[i].part == Part::handover)
      f.transfer = std::max(f.transfer, beside.timeline.end[i] - beside.timeline.start[i]);
  for (const ExchangeUse& use : beside.exchanges)
    if (use.kind.part == Part::handover) f.exchange = use;
  // Part of its time that a decode step has a hand-over beside it: each sequence is replaced after `output` steps.
  const double output = static_cast<double>(step.output), batch = step.batch;
  const double slower = std::max(0.0, decoded(beside) - alone) / std::min(f.transfer, alone);
  f.decode = decode + slower * std::min(decode, batch / output * f.transfer);

  // All but the last layer's cache goes while the prompt computes, if that takes long enough.
  const double layers = step.model.layers;
  const double early = f.transfer * (layers - 1) / layers,
               hidden = std::min(early, f.prompt.seconds * (layers - 1) / layers);
  f.exposed = f.transfer - (spec.disaggregated.stream ? hidden : 0);

  // A sender sends one request at a time, which may take longer than the prompt.
  const double replicas = std::min(prompts.layout.data, step.layout.data);
  const double interval = draw.prompt_interval(prompts, prompts_of_a_pass(prompts));
  f.prefill_rate = std::min(prompts.layout.data / interval, replicas / f.transfer);
  f.decode_rate = step.layout.data * batch / (output * f.decode);
  const double gpus = static_cast<double>(prompts.layout.ranks() + step.layout.ranks());
  const double of_prefill = f.prefill_rate / static_cast<double>(prompts.layout.ranks());
  const double of_decode = f.decode_rate / static_cast<double>(step.layout.ranks());
  f.balanced_gpus = gpus * of_decode / (of_prefill + of_decode);
  f.balanced_tokens = f.balanced_gpus * of_prefill * output;

  Serving& v = f.serving;
  v.tokens_per_second = std::min(f.prefill_rate, f.decode_rate) * output;
  v.first_token = f.prompt.seconds + f.exposed;
  v.inter_token = f.decode, v.inter_token_worst = decode + slower * std::min(decode, f.transfer);
  v.request = request_of(v, step.output);
  return f;
}

/// The same replicas on all GPUs, as many as they fill.
InferenceStep on_all_gpus(const World& world, InferenceStep step) {
  const std::int64_t gpus = std::int64_t{world.scenario.cluster.nodes} * world.scenario.node.spec.gpus;
  step.first_rank = 0;
  const std::int64_t replica = std::int64_t{step.layout.tensor} * step.layout.pipeline;
  std::int64_t data = gpus / replica;
  const std::int64_t sharing = std::int64_t{step.layout.expert} * step.layout.expert_tensor;
  while (data > 1 && step.layout.tensor * data % sharing != 0) --data;
  step.layout.data = static_cast<int>(data);
  return step;
}

}  // namespace

InferenceStep inference_of(const World& world) {
  const Scenario& s = world.scenario;
  return inference_step(s.workload.inference, s.node.spec, s.hardware);
}

InferenceForecast run_inference(const World& world, const RunOptions& options, bool batches) {
  const InferenceStep step = inference_of(world);
  const InferenceSpec& spec = world.scenario.workload.inference;
  const bool prompts_only = spec.phase == InferencePhase::prefill;
  InferenceForecast f;
  f.gpus = step.layout.ranks() + spec.disaggregated.prefill.gpus;
  f.draws = world.draws.count;
  const auto draws = static_cast<std::size_t>(f.draws);
  const auto step_at = [&](std::size_t draw) {
    const Draw d(world, world.draws.first_seed + draw);
    return prompts_only ? d.prefill(step, step.batch) : d.decode(step);
  };
  std::vector<double> seconds(draws);
  TaskProgress progress(options.progress, 2 * draws);
  in_parallel(draws, thread_count(options.threads), [&](std::size_t draw) {
    seconds[draw] = step_at(draw).seconds;
    progress.one_done();
  });
  const RankedDraws ranked(seconds);
  const std::size_t median = ranked.at(0.5);
  f.step = step_at(median), f.step_p5 = seconds[ranked.at(0.05)], f.step_p95 = seconds[ranked.at(0.95)];
  f.step_worst = seconds[ranked.at(1)];
  f.mfu = flops_per_gpu(step, prompts_only) /
          (f.step.seconds * step.kernels.peak[static_cast<std::size_t>(step.precision)]);
  for (const double s : seconds) f.fingerprint = fold(f.fingerprint, std::bit_cast<std::uint64_t>(s));
  f.draw_seconds = seconds;
  const Draw draw(world, world.draws.first_seed + median);
  const double tokens = static_cast<double>(step.batch) * static_cast<double>(prompts_only ? step.input : 1);
  f.tokens_per_second = tokens * step.layout.data / f.step.seconds;
  f.capacity = capacity_of(world, step), f.memory = memory_at(world, step, step.batch);
  if (batches && !prompts_only) f.batches = batch_rows(world, step, draw);
  const bool apart = spec.disaggregated.prefill.gpus > 0;
  if (spec.phase != InferencePhase::decode && !apart) f.prompt = draw.prefill(step, 1), f.prefill = f.prompt.seconds;
  if (spec.phase == InferencePhase::both) {
    const InferenceStep all = apart ? on_all_gpus(world, step) : step;
    f.shared = serve_shared(all, apart ? draw.decode(all).seconds : f.step.seconds, draw);
    f.tokens_per_second = f.shared->tokens_per_second;
    if (apart) {
      if (spec.disaggregated.transfer == TransferPath::host) {
        Scenario staged = world.scenario;
        staged.node.spec.gdr = Gdr::off;
        const auto without = build_world(std::move(staged), world.searches);
        without->beside = world.beside;
        f.disaggregated =
            disaggregate(*without, step, f.step.seconds, Draw(*without, without->draws.first_seed + median));
      } else {
        f.disaggregated = disaggregate(world, step, f.step.seconds, draw);
      }
      f.tokens_per_second = f.disaggregated->serving.tokens_per_second;
      f.prefill = f.disaggregated->prompt.seconds;
    }
  }
  for (const double x : {f.tokens_per_second, f.prefill, f.disaggregated ? f.disaggregated->transfer : 0})
    f.fingerprint = fold(f.fingerprint, std::bit_cast<std::uint64_t>(x));
  if (options.progress) options.progress(1);
  return f;
}

}  // namespace fabricast
