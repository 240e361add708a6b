// A step's timeline in the trace-event format, which ui.perfetto.dev and chrome://tracing open: a process per actor, a
// thread per stream, arrows from send to receive, and counters of the bandwidth of collectives.
//
// Only the median sample is written. A step of many micro-batches has millions of slices, which the viewer cannot open,
// so micro-batches in the middle are left out: they repeat the same pattern.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "fabricast/core/names.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::json;

/// Number of equal intervals of the step over which counters are averaged.
constexpr std::size_t counter_bins = 1000;

class TraceWriter {
 public:
  TraceWriter(const StepForecast& f, std::size_t most)
      : f_(f), program_(f.program), use_of_(program_.collectives.size()) {
    // Uses list only collectives that were called, and carry no index, so they are matched by what defines a kind.
    for (const CollectiveUse& use : f.collectives)
      for (std::size_t k = 0; k < program_.collectives.size(); ++k)
        if (program_.collectives[k].name == use.kind.name && program_.collectives[k].bytes == use.kind.bytes &&
            program_.collectives[k].groups == use.kind.groups && program_.collectives[k].op == use.kind.op)
          use_of_[k] = &use;
    choose(most);
    find_computing();
  }

  StepTrace write() {
    name_threads();
    for (std::uint32_t i = 0; i < program_.activities.size(); ++i)
      if (is_kept(i)) slices(i);
    counters();
    StepTrace trace;
    if (left_out_ > 0)
      trace.left_out = fmt::format("micro-batches {} to {}: {} slices", first_left_out_, last_left_out_, left_out_);
    // One event per line, so that files can be searched and compared by line.
    trace.json = "{\"displayTimeUnit\": \"ms\", \"otherData\": " +
                 Json({{"fabricast", "a step of a training or inference job"}, {"left_out", trace.left_out}}).dump() +
                 ",\n\"traceEvents\": [\n" + events_ + "\n]}\n";
    return trace;
  }

 private:
  bool is_kept(std::uint32_t i) const {
    const int m = program_.activities[i].micro_batch;
    return m < first_left_out_ || m > last_left_out_;
  }

  /// Leaves out whole micro-batches in the middle until at most `most` slices remain. The first and the last one stay.
  /// Activities without a micro-batch (optimizer, gradient reduction) always stay. The kept ends show how the pipeline
  /// fills and drains.
  void choose(std::size_t most) {
    int last = -1;
    for (const Activity& a : program_.activities) last = std::max(last, a.micro_batch);
    std::vector<std::size_t> slices(static_cast<std::size_t>(last + 1), 0);
    std::size_t all = 0;
    for (std::uint32_t i = 0; i < program_.activities.size(); ++i) {
      const std::size_t own = program_.places_of(i).size();
      all += own;
      if (const int m = program_.activities[i].micro_batch; m >= 0) slices[static_cast<std::size_t>(m)] += own;
    }
    first_left_out_ = last + 1;
    last_left_out_ = last;
    if (last < 2) return;
    // From the middle outwards.
    int low = (last + 1) / 2, high = low - 1;
    while (all > most && (low > 1 || high < last - 1)) {
      const bool down = low - 1 >= 1 && (last - high <= low || high + 1 > last - 1);
      const int next = down ? --low : ++high;
      all -= slices[static_cast<std::size_t>(next)];
      left_out_ += slices[static_cast<std::size_t>(next)];
    }
    if (low <= high) {
      first_left_out_ = low;
      last_left_out_ = high;
    }
  }

  /// Collects the intervals in which each actor computes, in ascending order.
  void find_computing() {
    computing_.resize(program_.actors.size());
    for (std::uint32_t i = 0; i < program_.activities.size(); ++i)
      if (const Place place = program_.places_of(i).front();
          !program_.activities[i].is_collective() && place.stream == 0)
        computing_[place.actor].push_back({f_.timeline.start[i], f_.timeline.end[i]});
    for (auto& list : computing_) std::sort(list.begin(), list.end());
  }

  /// How long an actor does not compute in an interval.
  /// Intervals of one actor do not overlap, so the covered parts can be summed. The search starts one interval earlier,
  /// which may reach into this one.
  Seconds exposed(std::uint32_t actor, Seconds from, Seconds to) const {
    const auto& list = computing_[actor];
    auto it = std::upper_bound(list.begin(), list.end(), std::pair(from, from));
    if (it != list.begin()) --it;
    Seconds covered;
    for (; it != list.end() && it->first < to; ++it)
      covered += std::max(Seconds{}, std::min(to, it->second) - std::max(from, it->first));
    return to - from - covered;
  }

  // Times of the format are microseconds.
  void event(const Json& e) {
    if (!events_.empty()) events_ += ",\n";
    events_ += e.dump();
  }

  void name_threads() {
    for (std::size_t a = 0; a < program_.actors.size(); ++a) {
      const Actor& actor = program_.actors[a];
      event({{"ph", "M"}, {"pid", a}, {"name", "process_name"}, {"args", {{"name", actor.name}}}});
      event({{"ph", "M"}, {"pid", a}, {"name", "process_sort_index"}, {"args", {{"sort_index", a}}}});
      for (std::size_t s = 0; s < actor.streams.size(); ++s)
        event({{"ph", "M"}, {"pid", a}, {"tid", s}, {"name", "thread_name"}, {"args", {{"name", actor.streams[s]}}}});
    }
    event({{"ph", "M"},
           {"pid", program_.actors.size()},
           {"name", "process_name"},
           {"args", {{"name", "collectives, GB/s of all GPUs"}}}});
  }

  // Bytes that a rank of the collective sends at bus bandwidth, as nccl-tests counts them.
  double bus_bytes(std::uint32_t i) const {
    const CollectiveKind& kind = program_.collectives[program_.activities[i].collective];
    const auto ranks = static_cast<std::int64_t>(program_.groups[kind.groups].front().size());
    return program_.activities[i].calls * static_cast<double>(kind.bytes) * bus_factor(kind.op, ranks);
  }

  // An activity has a place on the stream of each actor that takes part. Collectives whose groups are inside one stage
  // have one place; a send between stages has two, with an arrow from the start of the send to the end of the receive.
  void slices(std::uint32_t i) {
    const Activity& a = program_.activities[i];
    const Seconds start = f_.timeline.start[i], end = f_.timeline.end[i];
    const auto places = program_.places_of(i);
    for (const Place& place : places) {
      Json e = {{"ph", "X"},
                {"pid", place.actor},
                {"tid", place.stream},
                {"ts", microseconds(start)},
                {"dur", microseconds(end - start)},
                {"name", program_.labels[a.label]},
                {"cat", name_of(a.part)}};
      Json& args = e["args"];
      args = Json::object();
      args["part"] = name_of(a.part);
      if (a.micro_batch >= 0) args["micro_batch"] = a.micro_batch;
      if (a.is_collective()) describe(i, place.actor, args);
      event(e);
    }
    if (!a.is_collective() || !program_.collectives[a.collective].one_way || places.size() != 2) return;
    const auto arrow = [&](const char* phase, const Place& place, Seconds at) {
      Json e = {{"ph", phase},
                {"id", i},
                {"pid", place.actor},
                {"tid", place.stream},
                {"ts", microseconds(at)},
                {"name", "send"},
                {"cat", name_of(a.part)}};
      // Binds the arrow to the enclosing slice; otherwise viewers attach it to the next one.
      if (*phase == 'f') e["bp"] = "e";
      event(e);
    };
    arrow("s", places[0], start);
    arrow("f", places[1], end);
  }

  void describe(std::uint32_t i, std::uint32_t actor, Json& args) const {
    const Activity& a = program_.activities[i];
    const CollectiveKind& kind = program_.collectives[a.collective];
    const Seconds start = f_.timeline.start[i], end = f_.timeline.end[i];
    args["collective"] = name_of(kind.op);
    args["bytes"] = kind.bytes;
    args["calls"] = a.calls;
    args["ranks"] = program_.groups[kind.groups].front().size();
    args["groups"] = program_.groups[kind.groups].size();
    args["exposed_us"] = microseconds(exposed(actor, start, end));
    if (end > start) args["busbw_gbps"] = bus_bytes(i) / (end - start).value * 1e-9;
    const CollectiveUse* use = use_of_[a.collective];
    if (!use) return;
    args["algorithm"] = use->alone.algorithm;
    args["protocol"] = use->alone.protocol;
    args["channels"] = use->alone.channels;
    args["bottleneck"] = use->alone.bottleneck;
    if (end > start) args["slowdown"] = (end - start) / (a.calls * use->alone.makespan);
  }

  /// Counters in GB/s that all ranks together send, for each kind of parallelism: means over equal intervals of the
  /// whole step. Micro-batches that are left out count as well.
  void counters() {
    const Seconds bin = f_.timeline.time / static_cast<double>(counter_bins);
    if (bin <= Seconds{}) return;
    std::array<std::vector<double>, part_count> rates;
    for (std::uint32_t i = 0; i < program_.activities.size(); ++i) {
      const Activity& a = program_.activities[i];
      const Seconds start = f_.timeline.start[i], end = f_.timeline.end[i];
      if (!a.is_collective() || end <= start) continue;
      const CollectiveKind& kind = program_.collectives[a.collective];
      const RankGroups& groups = program_.groups[kind.groups];
      // A rate is per rank, so it is multiplied by all ranks that send. Sends between stages have one sender per group.
      const double senders =
          static_cast<double>(groups.size()) * (kind.one_way ? 1.0 : static_cast<double>(groups.front().size()));
      const double rate = bus_bytes(i) * senders / (end - start).value * 1e-9;
      auto& list = rates[static_cast<std::size_t>(a.part)];
      list.resize(counter_bins);
      const auto first = std::min(counter_bins - 1, static_cast<std::size_t>(start / bin));
      for (std::size_t b = first; b < counter_bins && static_cast<double>(b) * bin < end; ++b) {
        const Seconds from = static_cast<double>(b) * bin;
        list[b] += rate * std::max(Seconds{}, std::min(end, from + bin) - std::max(start, from)) / bin;
      }
    }
    for (std::size_t p = 0; p < part_count; ++p)
      for (std::size_t b = 0; b <= rates[p].size() && !rates[p].empty(); ++b) {
        const double rate = b < rates[p].size() ? rates[p][b] : 0;
        // Equal neighbours share an event, which keeps files small; the last event sets the counter to zero.
        if (b > 0 && b < rates[p].size() && rate == rates[p][b - 1]) continue;
        event({{"ph", "C"},
               {"pid", program_.actors.size()},
               {"name", fmt::format("{} GB/s", EnumNames<Part>::names[p])},
               {"ts", microseconds(static_cast<double>(b) * bin)},
               {"args", {{"GB/s", rate}}}});
      }
  }

  const StepForecast& f_;
  const Program& program_;
  std::vector<const CollectiveUse*> use_of_;                         ///< by kind of collective; null: not called
  std::vector<std::vector<std::pair<Seconds, Seconds>>> computing_;  ///< by actor
  int first_left_out_ = 0, last_left_out_ = -1;
  std::size_t left_out_ = 0;
  std::string events_;
};

}  // namespace

StepTrace step_trace(const StepForecast& forecast, std::size_t most_slices) {
  return TraceWriter(forecast, most_slices).write();
}

}  // namespace fabricast
