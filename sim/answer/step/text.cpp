// Text for people: the step, its breakdown, memory and collectives.
//
// Breakdown, collectives and GPUs are also used by the text of inference and by pages (parts.hpp), so that all of
// them group the time in the same way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/validated.hpp"
#include "parts.hpp"

namespace fabricast {

namespace {

std::string degrees(const TrainingStep& step) {
  const ParallelLayout& l = step.layout;
  std::string out;
  const auto add = [&](std::string_view name, int degree, std::string_view more = {}) {
    if (degree > 1) out += fmt::format("{}{} {}{}", out.empty() ? "" : " x ", name, degree, more);
  };
  add("tensor", l.tensor, step.sequence_parallel ? " (sequence)" : "");
  add("context", l.context);
  add("pipeline", l.pipeline,
      fmt::format(" ({}{})", name_of(step.schedule),
                  step.interleave > 1 ? fmt::format(", {} chunks", step.interleave) : std::string()));
  add("data", l.data, step.zero > 0 ? fmt::format(" (zero {})", step.zero) : std::string());
  if (l.expert > 1) out += fmt::format(", expert {}", l.expert);
  return out.empty() ? "one GPU" : out;
}

/// The memory of at most six stages, evenly spaced, and of the one that needs most.
std::string memory_lines(const StepMemory& memory) {
  // A job may have 64 stages. Stages in between are alike, or change steadily with the number of activations in flight.
  constexpr std::size_t most = 6;
  const std::size_t n = memory.stages.size();
  std::vector<bool> shown(n, n <= most);
  for (std::size_t i = 0; i < most; ++i) shown[i * (n - 1) / (most - 1)] = true;
  shown[static_cast<std::size_t>(memory.peak().stage)] = true;
  std::string out = fmt::format("#\n# memory per GPU, of {:.1f} GiB\n", gibibytes(memory.capacity));
  for (std::size_t s = 0; s < n; ++s)
    if (shown[s])
      out +=
          fmt::format("  {:>5.1f} %  {}\n", 100 * memory.stages[s].share(memory.capacity), to_text(memory.stages[s]));
  if (memory.fit() != MemoryFit::fits) out += fmt::format("  {}\n", name_of(memory.fit()));
  if (memory.fit() == MemoryFit::near_the_limit)
    out += fmt::format("  the estimate is uncertain by {:.0f} %: the step may run out of memory\n",
                       100 * memory_uncertainty);
  return out;
}

/// The faults that the step runs with, as the scenario names them.
std::string faults_text(const Scenario& s) {
  std::vector<std::string> faults;
  for (const FaultSpec& f : s.faults) {
    std::string text = f.target();
    if (f.rate.value < 1)
      text += f.rate.value > 0 ? fmt::format(" at {:.3g} % of its rate", 100 * f.rate.value) : " down";
    if (f.clock.value < 1) text += fmt::format(" at {:.3g} % of the clock", 100 * f.clock.value);
    faults.push_back(std::move(text));
  }
  return faults.empty() ? "" : fmt::format("# faults: {}\n", comment_text(fmt::format("{}", fmt::join(faults, ", "))));
}

/// Context lines: the workload, the GPUs and the layout.
std::string head_text(const World& world, const StepForecast& f) {
  const Scenario& s = world.scenario();
  std::string out = heading_line(s.name) + not_validated_text(world.scenario()) + beside_line(world);
  out += faults_text(s);
  const std::string gpus = gpus_text(world, f.gpus);
  if (f.tokens == 0)
    return out + fmt::format("# trace {}: {} activities of {} actors\n# {}\n",
                             s.workload.trace.path + s.workload.trace.file, f.program.activities.size(),
                             f.program.actors.size(), gpus);
  const TrainingStep step = step_of(world);
  const std::string further = step.mtp_layers > 0
                                  ? fmt::format(" and {:.4g} of multi-token prediction",
                                                static_cast<double>(step.mtp_layers * mtp_parameters(step.model)))
                                  : "";
  out += fmt::format("# training step: {}, {:.4g} parameters{}, {}\n", step.model.name,
                     static_cast<double>(count_parameters(step.model).total), further, gpus);
  return out + fmt::format("# {}; {} micro-batch{} of {} x {} tokens; {}, recompute {}; {}\n", degrees(step),
                           step.micro_batches(), step.micro_batches() == 1 ? "" : "es", step.micro_batch,
                           step.model.sequence, name_of(step.precision), to_text(step.recompute), step.stack.name);
}

}  // namespace

std::string gpus_text(const World& world, std::int64_t gpus) {
  const Scenario& s = world.scenario();
  const NodeSpec& node = s.node.spec;
  std::string out = fmt::format("{} GPUs = {} x {} {}", gpus, counted(s.cluster.nodes, "node"), node.gpus, node.gpu);
  if (s.cluster.nodes > 1)
    out += fmt::format(", {} x {} {} per node, {} fabric, {} routing", node.nics.count, to_text(node.nics.rate),
                       name_of(node.nics.link), topologies()[s.fabric.kind].name, world.setup().policy->name);
  return out;
}

// Computation, then exposed communication, then interference; with the bubble they add up to the step.
std::vector<StepLine> breakdown_lines(const ActorTimes& times) {
  std::vector<StepLine> lines;
  for (std::size_t p = 0; p < part_count; ++p)
    if (times.busy[p] > Seconds{}) lines.push_back({std::string(EnumNames<Part>::names[p]), times.busy[p]});
  for (std::size_t p = 0; p < part_count; ++p)
    if (times.exposed[p] > Seconds{})
      lines.push_back({fmt::format("exposed: {} parallelism", EnumNames<Part>::names[p]), times.exposed[p]});
  if (times.interference > Seconds{}) lines.push_back({"slower during communication", times.interference});
  return lines;
}

std::vector<StepLine> bubble_lines(const StepForecast& f) {
  const Seconds schedule = schedule_bubble(f);
  const Seconds slower = f.mean.bubble - schedule;
  std::vector<StepLine> lines;
  if (schedule > Seconds{}) lines.push_back({"bubble: the pipeline fills and drains", schedule});
  // Below that it is rounding error of a difference.
  if (slower > 1e-9 * f.time) lines.push_back({"bubble: waiting for the slowest stage", slower});
  return lines;
}

std::vector<CollectiveLine> collective_lines(const Program& program, const std::vector<CollectiveUse>& collectives) {
  // Stages call the same collectives on groups of their own, at other places of the network. One line shows the slowest
  // of them; calls and seconds are those of the stage that has most.
  std::map<std::tuple<Part, CollectiveOp, std::int64_t>, CollectiveLine> lines;
  for (const CollectiveUse& use : collectives) {
    CollectiveLine& line = lines[{use.kind.part, use.kind.op, use.kind.bytes}];
    line.calls = std::max(line.calls, use.calls);
    line.time = std::max(line.time, use.time);
    if (line.use == nullptr || use.alone.makespan > line.use->alone.makespan) line.use = &use;
    line.slowest = std::max(line.slowest, use.slowdown);
  }
  std::vector<CollectiveLine> list;
  for (auto& [key, line] : lines) {
    const CollectiveKind& kind = line.use->kind;
    line.bus_bandwidth = Bytes{kind.bytes} / line.use->alone.makespan *
                         bus_factor(kind.op, static_cast<std::int64_t>(program.groups[kind.groups].front().size()));
    list.push_back(line);
  }
  return list;
}

std::string collective_table(const Program& program, const std::vector<CollectiveUse>& collectives) {
  if (collectives.empty()) return {};
  std::string out =
      "#\n# collectives of a rank, on the stage where they are slowest; `shared`: slowdown by concurrent ones\n";
  out += "#    part             op        bytes   calls   alone us  busbw GB/s  shared  algo/proto        bound by\n";
  for (const CollectiveLine& line : collective_lines(program, collectives)) {
    const CollectiveUse& use = *line.use;
    out += fmt::format("{:>9} {:>14} {:>12} {:>7.6g} {:>10.1f} {:>11.2f} {:>7.2f}  {:<16}  {}\n",
                       name_of(use.kind.part), name_of(use.kind.op), use.kind.bytes, line.calls,
                       microseconds(use.alone.makespan), gigabytes_per_second(line.bus_bandwidth), line.slowest,
                       use.alone.algorithm + "/" + use.alone.protocol, use.alone.bottleneck);
  }
  return out;
}

// MFU is given twice: with attention over the full square, as [Narayanan2021] counts it, and with the causal half,
// which is what kernels compute.
std::string step_text(const StepForecast& f) {
  const World& world = f.world;
  std::string out = head_text(world, f);
  out += fmt::format("#\nstep            {:>10.4g} s", f.time.value);
  if (f.factor > 0)
    out += fmt::format("   90 % interval {:.4g} to {:.4g} s", f.time.value / f.factor, f.time.value * f.factor);
  if (f.samples > 1)
    out += fmt::format("   median of {} samples; p5 {:.4g}, p95 {:.4g}, worst {:.4g}", f.samples, f.time_p5.value,
                       f.time_p95.value, f.time_worst.value);
  out += '\n';
  if (f.tokens > 0) {
    const Precision precision = world.scenario().workload.training.precision;
    out += fmt::format("tokens          {:>10.4g} /s   {:.4g} /s per GPU\n", f.tokens_per_second(),
                       f.tokens_per_second() / static_cast<double>(f.gpus));
    out += fmt::format(
        "model FLOP/s    {:>10.4g} TFLOP/s per GPU   MFU {:.1f} % of {:.4g} ({}); {:.1f} % with causal attention\n",
        f.flops / f.time.value * 1e-12, 100 * f.mfu(), f.peak * 1e-12, name_of(precision), 100 * f.mfu_causal());
  }
  out += "#\n# where the time of a GPU goes, mean over all GPUs\n";
  std::vector<StepLine> lines = breakdown_lines(f.mean);
  for (StepLine& line : bubble_lines(f)) lines.push_back(std::move(line));
  for (const StepLine& line : lines)
    out += fmt::format("  {:<37} {:>10.4g} s {:>6.1f} %\n", line.what, line.time.value, 100 * (line.time / f.time));
  if (!f.memory.stages.empty()) out += memory_lines(f.memory);
  return out + collective_table(f.program, f.collectives);
}

}  // namespace fabricast
