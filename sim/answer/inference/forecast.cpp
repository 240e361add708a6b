// The forecast of inference: runs a step on all samples of the network, then everything else on the median one
// (docs/models/inference.md).
//
// sample.cpp runs single passes on the network, pass_clock.cpp interpolates between them, and
// requests.cpp simulates requests with that clock. This file combines their results. The kernels and programs
// of passes are models/workload/inference.cpp.
#include "fabricast/report/inference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "../step/lost.hpp"
#include "../step/parts.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/report/samples.hpp"
#include "fabricast/report/serving_interval.hpp"
#include "fabricast/scenario/lossy.hpp"
#include "prefix.hpp"
#include "requests.hpp"
#include "sample.hpp"

namespace fabricast {

namespace {

/// FLOPs of the model per GPU and step, for MFU.
///     prefill  linear + attention / 2 + vocabulary / tokens                  per sequence
///     decode   (linear + attention + vocabulary) / context                    per sequence and step
///
/// model_flops counts a whole sequence of `tokens` tokens with attention over the full square. A decode step counts as
/// one token of each sequence; further tokens that speculation yields are not counted.
double flops_per_gpu(const InferenceStep& step, bool prompts_only) {
  const std::int64_t tokens = prompts_only ? step.input : step.mean_context();
  const ModelFlops flops = model_flops(step.model, tokens);
  // A decoded token attends to the whole context. The tokens of a prompt attend to half of it on average. The prompt
  // needs logits for its last token only.
  const double prompt = flops.linear + flops.attention / 2 + flops.vocabulary / static_cast<double>(tokens);
  const double of_sequence =
      prompts_only ? prompt : (flops.linear + flops.attention + flops.vocabulary) / static_cast<double>(tokens);
  return of_sequence * step.batch * step.layout.data / static_cast<double>(step.layout.ranks());
}

MemoryUse memory_at(const World& world, const InferenceStep& step, int batch) {
  return peak_memory(step.model, memory_question(step, batch, world.scenario().node.spec.gpus));
}

/// Decode steps with batches of all powers of two that fit in memory, and with the scenario's own batch.
std::vector<BatchRow> batch_rows(const World& world, const InferenceStep& step, const ServingSample& sample) {
  std::vector<int> batches;
  // A bound for small models, which memory would hardly limit.
  constexpr int most = 1 << 14;
  const Bytes capacity = memory_capacity(step, world.scenario().node.spec);
  for (int b = 1; b <= most && memory_at(world, step, b).total() <= fractional(capacity); b *= 2) batches.push_back(b);
  if (std::find(batches.begin(), batches.end(), step.batch) == batches.end()) batches.push_back(step.batch);
  std::sort(batches.begin(), batches.end());
  std::vector<BatchRow> rows;
  for (const int b : batches) {
    InferenceStep at = step;
    at.batch = b;
    BatchRow row;
    row.batch = b;
    row.step = sample.decode(at).time;
    // With speculation a step yields more than one token of each sequence on average [Leviathan2023].
    row.tokens_per_second = b * step.speculation.tokens_per_step() * step.layout.data / row.step.value;
    row.memory = whole_bytes(memory_at(world, step, b).total());
    rows.push_back(row);
  }
  return rows;
}

/// When the last token of a decode step is ready. Concurrent KV-cache transfers may take longer.
/// The program of an overlapped step contains the transfers as activities of their own. Decoding is done when its own
/// activities are.
Seconds decoded(const RanProgram& ran) {
  Seconds end;
  for (std::size_t i = 0; i < ran.program.activities.size(); ++i)
    if (ran.program.activities[i].part != Part::kv_transfer) end = std::max(end, ran.timeline.end[i]);
  return end;
}

/// Number of prompts in a pass.
std::int64_t prompts_of_a_pass(const InferenceStep& step) { return std::max<std::int64_t>(1, step.chunk / step.input); }

// Prompts and decoding on different GPUs, linked by the KV-cache transfer.
//
//     overlap    o = min(step, batch / output x transfer)        of a decode step with transfers, s
//     decode     step + o x (overlapped - alone) / min(transfer, alone)
//     exposed    T - min(T, p) (n - 1) / n                       T: transfer, p: prompt, sent in n pieces
//     prefill    min(replicas / interval of prompts, senders / T)                     requests/s
//     decoding   replicas x batch / (output x decode)                                 requests/s
//
// The two rates are bounds in steady state. The waits of requests come from serve_apart, which simulates the queues.
/// NICs that a GPU sends its cache by: those of the scenario, or the ones as near as its own.
int rails_of(const World& world) {
  const InferenceSpec& spec = world.scenario().workload.inference;
  if (spec.disaggregated.transfer == TransferPath::nvlink) return 1;
  if (spec.kv_cache.rails > 0) return spec.kv_cache.rails;
  const NodeGraph& graph = world.planner().comm.node.graph;
  const auto near = [&](int nic) { return graph.gpu_nic_distance(0, nic) == graph.nearest_nic_distance(0); };
  const std::vector<int> nics = graph.nics_by_distance(0);
  return std::clamp(static_cast<int>(std::count_if(nics.begin(), nics.end(), near)), 1, usual_rails);
}

DisaggregatedForecast disaggregate(const World& world, const InferenceStep& step, Seconds decode,
                                   const ServingSample& sample) {
  const Scenario& s = world.scenario();
  const InferenceSpec& spec = s.workload.inference;
  const InferenceStep prompts = prefill_step(spec, s.node.spec, s.nvlink_domain.nodes, s.hardware);
  KvTransfer kv_transfer = kv_transfer_of(prompts, step);
  if (kv_transfer.direct) kv_transfer.rails = rails_of(world);
  DisaggregatedForecast f;
  f.sent = kv_transfer;
  f.prompt = sample.prefill(prompts, 1);
  f.decode_alone = decode;
  f.bytes = kv_transfer.total;

  // One round of passes with and without one transfer. Only their difference is used, so a pipeline that is not in
  // steady state does not matter much.
  const std::vector<InferencePass> passes = decode_passes(step);
  const Seconds alone = sample.run(step, passes, 1, step.graph).timeline.time;
  const RanProgram overlapped = sample.run(step, passes, 1, step.graph, &kv_transfer);
  for (std::size_t i = 0; i < overlapped.program.activities.size(); ++i)
    if (overlapped.program.activities[i].part == Part::kv_transfer)
      f.transfer = std::max(f.transfer, overlapped.timeline.end[i] - overlapped.timeline.start[i]);
  // Several rails and sets of pairs run at once; the slowest stands for all.
  for (const CollectiveUse& use : overlapped.collectives)
    if (use.kind.part == Part::kv_transfer && use.time >= f.collective.time) f.collective = use;
  // Each sequence is replaced after `output` steps, so a step overlaps with batch / output transfers on average. It is
  // slower by `slower` of the overlapped time.
  const double output = static_cast<double>(step.output), batch = step.batch;
  const double slower = std::max(Seconds{}, decoded(overlapped) - alone) / std::min(f.transfer, alone);
  f.decode = decode + slower * std::min(decode, batch / output * f.transfer);

  // All pieces but the last can be sent while the prompt computes, if the computation takes long enough.
  const auto passes_of_prompt = static_cast<std::int64_t>(prefill_passes(prompts, 1).size());
  f.exposed = f.transfer - std::min(f.transfer, f.prompt.time) *
                               sent_early(spec.disaggregated.stream, step.model.layers, passes_of_prompt);

  // A sender handles one request at a time, so transfers limit the rate if they take longer than prompts.
  // Replica i of the prefill GPUs sends to replica i of the decode GPUs, so the smaller number of replicas determines
  // how many transfers run at once.
  const double replicas = std::min(prompts.layout.data, step.layout.data);
  const Seconds interval = sample.prompt_interval(prompts, prompts_of_a_pass(prompts));
  f.prefill_rate = std::min(prompts.layout.data / interval.value, replicas / f.transfer.value);
  f.decode_rate = step.layout.data * batch / (output * f.decode.value);
  const double gpus = static_cast<double>(prompts.layout.ranks() + step.layout.ranks());
  const double of_prefill = f.prefill_rate / static_cast<double>(prompts.layout.ranks());
  const double of_decode = f.decode_rate / static_cast<double>(step.layout.ranks());
  // With rates a and b of one GPU (requests/s), x prefill GPUs balance if x a = (gpus - x) b. The number may be
  // fractional: it shows the direction, and prompt_gpus of settings.cpp tries the whole numbers around it.
  f.balanced_gpus = gpus * of_decode / (of_prefill + of_decode);
  f.balanced_tokens = f.balanced_gpus * of_prefill * output;

  f.serving = serve_apart(world, prompts, {f.transfer, f.exposed}, step, f.decode / decode, sample);
  return f;
}

// By default the message of a decode step: one hidden vector of 16-bit numbers for each sequence of the batch.
Bytes message_of(const InferenceSpec& spec, const InferenceStep& step) {
  if (spec.message.value > 0) return spec.message;
  return Bytes{std::int64_t{2} * step.batch * step.model.hidden};
}

/// The step on all GPUs of the job, with as many of the same replicas as fit.
/// For comparison with disaggregated serving: what the same GPUs would do if prompts and decoding shared them.
InferenceStep on_all_gpus(const World& world, InferenceStep step) {
  const std::int64_t gpus = std::int64_t{world.scenario().cluster.nodes} * world.scenario().node.spec.gpus;
  step.first_rank = 0;
  const std::int64_t replica = std::int64_t{step.layout.tensor} * step.layout.pipeline;
  std::int64_t data = gpus / replica;
  const std::int64_t sharing = std::int64_t{step.layout.expert} * step.layout.expert_tensor;
  // A group that shares experts must consist of whole replicas. Leftover GPUs stay idle.
  while (data > 1 && step.layout.tensor * data % sharing != 0) --data;
  step.layout.data = static_cast<int>(data);
  return step;
}

/// Adds what the passes wait for timeouts of lost packets.
void add_timeouts(const World& world, std::uint64_t seed, int rounds, TimedPasses& t) {
  if (!is_lossy(world.scenario().fabric.congestion)) return;
  const LostPackets::Waits waited = LostPackets(world, t.program, seed).waits(seed);
  for (std::size_t part = 0; part < part_count; ++part) {
    t.time += waited[part] / rounds;
    for (ActorTimes& stage : t.stages) stage.exposed[part] += waited[part] / rounds;
  }
  t.mean = mean_of(t.program, t.stages);
}

}  // namespace

InferenceStep inference_of(const World& world) {
  const Scenario& s = world.scenario();
  InferenceStep step = inference_step(s.workload.inference, s.node.spec, s.nvlink_domain.nodes, s.hardware);
  // Under load, requests that do not fit in memory wait.
  if (s.workload.inference.phase == InferencePhase::both)
    step.batch = std::min(step.batch, largest_batch(step, s.node.spec));
  return step;
}

InferenceForecast run_inference(const World& world, const RunOptions& options, bool batches) {
  const InferenceStep step = inference_of(world);
  const InferenceSpec& spec = world.scenario().workload.inference;
  const bool prompts_only = spec.phase == InferencePhase::prefill, reduces = spec.phase == InferencePhase::all_reduce;
  InferenceForecast f;
  f.world = world;
  f.gpus = step.layout.ranks() + spec.disaggregated.prefill.gpus;
  f.samples = world.samples().count;
  const auto samples = static_cast<std::size_t>(f.samples);
  const auto step_at = [&](std::size_t sample) {
    const std::uint64_t seed = world.samples().first_seed + sample;
    const ServingSample d(world, seed);
    TimedPasses t = reduces        ? d.all_reduce(step, message_of(spec, step))
                    : prompts_only ? d.prefill(step, step.batch)
                                   : d.decode(step);
    add_timeouts(world, seed, reduces || prompts_only ? 1 : ServingSample::rounds_of(step), t);
    return t;
  };
  std::vector<Seconds> times(samples);
  // The other half of the progress is the load, batches and prompts after the samples.
  TaskProgress progress(options.progress, 2 * samples);
  in_parallel(samples, thread_count(options.threads), [&](std::size_t sample) {
    times[sample] = step_at(sample).time;
    progress.one_done();
  });
  const RankedSamples ranked(times);
  const std::size_t median = ranked.at(0.5);
  // Run again instead of kept: with its program and timeline a step is large, and only one is needed.
  f.step = step_at(median);
  f.step_p5 = times[ranked.at(0.05)];
  f.step_p95 = times[ranked.at(0.95)];
  f.step_worst = times[ranked.at(1)];
  if (reduces) f.message = message_of(spec, step);
  if (!reduces)
    f.mfu = flops_per_gpu(step, prompts_only) /
            (f.step.time.value * step.kernels.peak[static_cast<std::size_t>(step.linear.compute)]);
  for (const Seconds t : times) f.fingerprint = fold(f.fingerprint, std::bit_cast<std::uint64_t>(t.value));
  f.sample_times = times;
  f.factors = serving_factors(world, step, times);
  const ServingSample sample(world, world.samples().first_seed + median);
  // Prompt tokens for phase prefill, output tokens otherwise. Phase both replaces this rate by that of the simulated
  // load.
  const double tokens = static_cast<double>(step.batch) *
                        (prompts_only ? static_cast<double>(step.input) : step.speculation.tokens_per_step());
  if (!reduces) f.tokens_per_second = tokens * step.layout.data / f.step.time.value;
  f.near_the_limit = needs_more_memory(step, world.scenario().node.spec);
  f.capacity = memory_capacity(step, world.scenario().node.spec);
  f.memory = memory_at(world, step, step.batch);
  if (batches && !prompts_only && !reduces) f.batches = batch_rows(world, step, sample);
  const bool apart = spec.disaggregated.prefill.gpus > 0;
  if (spec.phase != InferencePhase::decode && !reduces && !apart) {
    f.prompt = sample.prefill(step, 1);
    f.prefill = f.prompt.time;
  }
  if (spec.phase != InferencePhase::decode && !reduces && !apart)
    f.prefix = prefix_forecast(world, step, f.prompt.time, sample);
  if (spec.phase == InferencePhase::both) {
    const InferenceStep all = apart ? on_all_gpus(world, step) : step;
    f.shared = serve_together(world, all, sample);
    f.tokens_per_second = f.shared->tokens_per_second;
    if (apart) {
      if (spec.disaggregated.transfer == TransferPath::host) {
        // A transfer through host memory is a transfer without GPUDirect RDMA.
        Scenario staged = world.scenario();
        staged.node.spec.gdr = Gdr::off;
        // Without GDR, NCCL may choose other algorithms and NICs share PCIe with the copies, so the world is built
        // again. The time of a decode step without transfers stays that of the scenario: only transfers go through host
        // memory.
        const World without = build_world(std::move(staged)).with_beside(world.beside());
        f.disaggregated =
            disaggregate(without, step, f.step.time, ServingSample(without, without.samples().first_seed + median));
      } else {
        f.disaggregated = disaggregate(world, step, f.step.time, sample);
      }
      f.tokens_per_second = f.disaggregated->serving.tokens_per_second;
      f.prefill = f.disaggregated->prompt.time;
      const Scenario& s = world.scenario();
      f.prefix =
          prefix_forecast(world, prefill_step(spec, s.node.spec, s.nvlink_domain.nodes, s.hardware), f.prefill, sample);
    }
  }
  for (const double x : {f.tokens_per_second, f.prefill.value, f.disaggregated ? f.disaggregated->transfer.value : 0})
    f.fingerprint = fold(f.fingerprint, std::bit_cast<std::uint64_t>(x));
  if (options.progress) options.progress(1);
  return f;
}

}  // namespace fabricast
