// Text for people: steps, requests, batches and KV-cache transfers.
//
// As in all text output, lines that start with # are context. Every time and rate has the factor of its 90 % interval,
// because nearly all costs of serving software are fitted from published results or guessed.
#include <fmt/format.h>

#include <algorithm>

#include "../step/parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/validated.hpp"
#include "parts.hpp"

namespace fabricast {

namespace {

// Degrees of 1 are omitted. Experts are named apart, since their ranks are those of tensor x data and add no GPUs.
std::string degrees(const ParallelLayout& l) {
  std::string out;
  const auto add = [&](std::string_view name, int degree) {
    if (degree > 1) out += fmt::format("{}{} {}", out.empty() ? "" : " x ", name, degree);
  };
  add("tensor", l.tensor);
  add("pipeline", l.pipeline);
  if (out.empty()) out = "one GPU";
  if (l.expert > 1) out += fmt::format(", expert {}", l.expert);
  return out + (l.data > 1 ? fmt::format(", {} replicas", l.data) : std::string());
}

std::string ms(Seconds t) { return fmt::format("{:.4g} ms", milliseconds(t)); }

std::string waits_line(std::string_view what, std::string_view unit, double scale, const WaitTimes& w, double factor) {
  return fmt::format("  {:<24} {:>4} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g}   factor {:.2f}\n", what, unit,
                     scale * w.mean.value, scale * w.p50.value, scale * w.p90.value, scale * w.p99.value, factor);
}

/// Throughput, and waiting times of requests.
std::string serving_text(std::string_view what, const Serving& s, const ServingFactors& factors, double gpus) {
  std::string out = fmt::format("#\n# {}: {} requests\n", what, s.requests);
  out += fmt::format("  throughput      {:>12.4g}   tokens/s, {:.4g} per GPU; {:.4g} requests/s   factor {:.2f}\n",
                     s.tokens_per_second, s.tokens_per_second / gpus, s.requests_per_second, factors.step);
  out += fmt::format("  concurrency     {:>12.4g}   sequences that a replica decodes, mean\n", s.sequences);
  out += fmt::format("  {:<29} {:>10} {:>10} {:>10} {:>10}\n", "", "mean", "p50", "p90", "p99");
  out += waits_line("time to first token", "ms", 1e3, s.first_token, factors.wait);
  if (s.queue_grows)
    out += "    overloaded: more requests arrive than are served, so this time grows with the number of requests\n";
  out += waits_line("time per output token", "ms", 1e3, s.inter_token, factors.step);
  out += waits_line("whole request", "s", 1, s.request, factors.step);
  return out + fmt::format("  longest gap     {:>12}   between two tokens of a request\n", ms(s.inter_token_worst));
}

std::string_view stream_text(KvStream stream) {
  switch (stream) {
    case KvStream::layers: return "layer by layer";
    case KvStream::chunks: return "chunk by chunk";
    default: return "after the prompt";
  }
}

/// A prompt whose prefix is loaded, next to one that is computed.
std::string prefix_text(const InferenceSpec& spec, const PrefixForecast& p) {
  std::string out =
      fmt::format("#\n# one prompt with {} tokens in {}: {:.4g} GB\n", p.tokens,
                  spec.kv_cache.tier == CacheTier::ssd ? "drives" : "host memory", fractional(p.bytes) * 1e-9);
  out += fmt::format("  load            {:>12}   {:.4g} GB/s, bound by {}\n", ms(p.load),
                     gigabytes_per_second(p.bytes / p.load), p.bottleneck);
  out += fmt::format("  rest of prompt  {:>12}\n", ms(p.rest));
  return out + fmt::format("  first token     {:>12}   {} if all is computed: {:.3g} times as fast\n",
                           ms(p.first_token()), ms(p.computed), p.computed / p.first_token());
}

// The two rates show which half has too few GPUs; `balanced` shows what another division of the same GPUs would give.
std::string disaggregated_text(const InferenceSpec& spec, const DisaggregatedForecast& d) {
  std::string out =
      fmt::format("#\n# KV-cache transfer of a request: {:.4g} GB by {}, {}, {}, bound by {}\n",
                  fractional(d.bytes) * 1e-9, name_of(spec.disaggregated.transfer), name_of(spec.kv_cache.library),
                  stream_text(spec.disaggregated.stream), d.collective.alone.bottleneck);
  out += fmt::format("  transfer        {:>12}   {:.4g} GB/s; {:.1f} % hidden behind the prompt, {} exposed\n",
                     ms(d.transfer), gigabytes_per_second(d.bytes / d.transfer), 100 * (1 - d.exposed / d.transfer),
                     ms(d.exposed));
  if (d.sent.direct)
    out += fmt::format("  descriptors     {:>12}   of {} for each of {} pairs of GPUs, {} NIC{} each; posted in {}\n",
                       d.sent.descriptors.count, to_text(d.sent.descriptors.bytes), d.bytes.value / d.sent.bytes,
                       d.sent.rails, d.sent.rails > 1 ? "s" : "", ms(d.sent.posting));
  out += fmt::format("  decode step     {:>12}   {} without transfers\n", ms(d.decode), ms(d.decode_alone));
  out += fmt::format("  rates           {:>12.4g}   requests/s of prefill, {:.4g} of decoding: limited by {}\n",
                     d.prefill_rate, d.decode_rate, d.prefill_rate < d.decode_rate ? "prefill" : "decoding");
  out += fmt::format("  balanced        {:>12.4g}   tokens/s, with {:.1f} prefill GPUs\n", d.balanced_tokens,
                     d.balanced_gpus);
  return out;
}

}  // namespace

std::vector<InferenceLine> inference_lines(const ActorTimes& t) {
  const auto busy = [&](Part p) { return t.busy[static_cast<std::size_t>(p)]; };
  const auto exposed = [&](Part p) { return t.exposed[static_cast<std::size_t>(p)]; };
  std::vector<InferenceLine> lines;
  const auto add = [&](std::string_view what, Seconds time, bool is_exposed = false) {
    // Below that, differences of times leave rounding errors.
    if (time > Seconds{1e-12}) lines.push_back({std::string(what), time, is_exposed});
  };
  // Computation first, in the order in which a layer runs it. Communication of inference is exposed except where passes
  // are split in halves. The fixed cost per call (`collective` of the stack) is part of it: a faster network does not
  // shorten that part, but fewer calls do.
  for (const Part p : {Part::gemms, Part::attention, Part::elementwise, Part::vocabulary}) add(name_of(p), busy(p));
  add("host", busy(Part::host));
  for (const Part p : {Part::tensor, Part::expert, Part::pipeline}) add(name_of(p), busy(p) + exposed(p), true);
  add("interference", t.interference);
  add("bubble", t.bubble);
  return lines;
}

namespace {

// Precisions of GEMMs and of weights in memory differ for weight-only quantization; routed experts may have their own.
std::string numbers_of(const InferenceStep& step) {
  const auto words = [](const GemmPrecision& p) {
    return p.weights == format_of(p.compute)
               ? std::string(name_of(p.compute))
               : fmt::format("{} with weights in {}", name_of(p.compute), name_of(p.weights));
  };
  std::string out = words(step.linear);
  if (step.model.experts > 0 && step.experts != step.linear) out += ", experts " + words(step.experts);
  if (step.offload_weights > 0) out += fmt::format(", {:.3g} % of weights in host memory", 100 * step.offload_weights);
  return out;
}

// Engines have an all-reduce kernel of their own for small messages inside an NVLink domain [VLLM-all-reduce]. It has
// no plan of NCCL, so there is no table of collectives to show for it.
std::string all_reduce_text(const InferenceStep& step, const InferenceForecast& f) {
  const int ranks = step.layout.tensor;
  std::string out = fmt::format("#\nall-reduce      {:>9.4g} us   factor {:.2f}   of {} among {} GPUs\n",
                                microseconds(f.step.time), f.factors.step, to_text(f.message), ranks);
  if (!runs_own(step.own_all_reduce, ranks, f.message))
    return out + collective_table(f.step.program, f.step.collectives);
  const bool once = one_shot(step.own_all_reduce, ranks, f.message) <= two_shot(step.own_all_reduce, ranks, f.message);
  return out + fmt::format("kernel          {:>12}   the engine's own, {}\n", once ? "one-shot" : "two-shot",
                           step.graph ? "in a CUDA graph" : "launched by the host");
}

}  // namespace

std::string own_all_reduces_text(const OwnAllReduces& own) {
  return fmt::format("{:.4g} all-reduces by the engine's kernel, {:.4g} us each", own.calls,
                     microseconds(own.time) / own.calls);
}

std::string inference_text(const InferenceForecast& f) {
  const World& world = f.world;
  const Scenario& s = world.scenario();
  const InferenceSpec& spec = s.workload.inference;
  const InferenceStep step = inference_of(world);
  const double gpus = static_cast<double>(f.gpus);
  std::string out = heading_line(s.name) + not_validated_text(world.scenario()) + beside_line(world);
  out += fmt::format("# inference, {}: {}, {:.4g} parameters, {}\n", name_of(spec.phase), step.model.name,
                     static_cast<double>(count_parameters(step.model).total), gpus_text(world, f.gpus));
  out += fmt::format("# {}; batch {} per replica, {} + {} tokens; {}, cache {}; {}, {}{}\n", degrees(step.layout),
                     step.batch, step.input, step.output, numbers_of(step), name_of(step.cache), step.stack.name,
                     name_of(spec.launch), step.overlap ? ", two overlapped halves" : "");
  if (spec.disaggregated.prefill.gpus > 0) {
    const InferenceStep prompts = prefill_step(spec, s.node.spec, s.nvlink_domain.nodes, s.hardware);
    out += fmt::format("# {} prefill GPUs: {}\n", spec.disaggregated.prefill.gpus, degrees(prompts.layout));
  }
  if (spec.phase == InferencePhase::all_reduce) return out + all_reduce_text(step, f);
  const bool prompts_only = spec.phase == InferencePhase::prefill;
  out += "# 90 % interval of a measured value: forecast / factor to forecast x factor\n";
  out += fmt::format("#\n{:<15} {:>12}", prompts_only ? "prompts" : "decode step", ms(f.step.time));
  out += fmt::format("   90 % interval {} to {}   MFU {:.1f} %", ms(f.step.time / f.factors.step),
                     ms(f.step.time * f.factors.step), 100 * f.mfu);
  if (f.samples > 1)
    out += fmt::format("   median of {} samples; p5 {}, p95 {}, worst {}", f.samples, ms(f.step_p5), ms(f.step_p95),
                       ms(f.step_worst));
  out += fmt::format("\ntokens          {:>12.4g} /s   {:.4g} /s per GPU{}\n", f.tokens_per_second,
                     f.tokens_per_second / gpus, prompts_only ? ", of prompts" : "");
  if (f.prefill > Seconds{}) out += fmt::format("one prompt      {:>12}\n", ms(f.prefill));
  std::string memory = to_text(f.memory);
  // The capacity goes after the first number of the text, which is the total.
  memory.insert(memory.find(" GiB"), fmt::format(" of {:.1f}", gibibytes(f.capacity)));
  out += fmt::format("memory          {}\n", memory);
  if (f.near_the_limit) out += "#   near the limit: the engine must be configured to use more memory than by default\n";
  if (f.disaggregated)
    out += serving_text("requests, disaggregated prefill", f.disaggregated->serving, f.factors, gpus);
  if (f.shared)
    out += serving_text(f.disaggregated ? "requests, with prefill and decode on all GPUs" : "requests", *f.shared,
                        f.factors, gpus);
  if (f.disaggregated) out += disaggregated_text(spec, *f.disaggregated);
  if (f.prefix) out += prefix_text(spec, *f.prefix);
  out += "#\n# where the time of a GPU goes, mean over all GPUs\n";
  for (const InferenceLine& line : inference_lines(f.step.mean)) {
    const std::string what = line.exposed                  ? fmt::format("exposed: {} parallelism", line.what)
                             : line.what == "interference" ? "slower during communication"
                             : line.what == "bubble"       ? "bubble: waiting for other stages"
                                                           : line.what;
    out += fmt::format("  {:<36} {:>10} {:>6.1f} %\n", what, ms(line.time), 100 * (line.time / f.step.time));
  }
  if (!f.batches.empty()) {
    out += "#\n# decoding by batch per replica\n#   batch      step ms    tokens/s   per GPU   memory GiB\n";
    // With disaggregated prefill, tokens per GPU here are those of the decode GPUs alone, and not comparable with the
    // line `tokens`.
    const double decoding = static_cast<double>(step.layout.ranks());
    for (const BatchRow& row : f.batches)
      out += fmt::format("{:>9} {:>12.4g} {:>11.4g} {:>9.4g} {:>12.1f}{}\n", row.batch, milliseconds(row.step),
                         row.tokens_per_second, row.tokens_per_second / decoding, gibibytes(row.memory),
                         row.batch == step.batch ? "  <" : "");
  }
  out += collective_table(f.step.program, f.step.collectives);
  if (f.step.own.calls > 0) out += fmt::format("# not by NCCL: {}\n", own_all_reduces_text(f.step.own));
  return out;
}

}  // namespace fabricast
