// OpenMetrics 1.0: families with type, unit and help, then samples, and a last line.
#include "metrics.hpp"

#include <fmt/format.h>

#include <iterator>

#include "../live/names.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast::live {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// One size of a communicator with all that is known of it.
struct Measured {
  std::string labels;
  std::int64_t calls = 0;
  double bandwidth = 0;
  std::optional<Expected> expected;
};

void family(std::string& out, std::string_view name, std::string_view type, std::string_view unit,
            std::string_view help) {
  out += fmt::format("# TYPE {} {}\n", name, type);
  if (!unit.empty()) out += fmt::format("# UNIT {} {}\n", name, unit);
  out += fmt::format("# HELP {} {}\n", name, help);
}

std::vector<Measured> measured_in(const WatchInterval& interval, const ExpectedOf& expected) {
  std::vector<Measured> all;
  for (const WatchedCommunicator& c : interval.communicators)
    for (const WatchedSize& s : c.sizes) {
      const double time = s.median_us() * 1e-6;
      if (s.calls + s.calls_before == 0 || !(time > 0)) continue;
      Measured m;
      m.labels = fmt::format(R"(communicator="{}",name="{}",ranks="{}",nodes="{}",operation="{}",bytes="{}")",
                             escaped(c.id), escaped(c.name), c.ranks, c.nodes, name_of(s.op), s.bytes);
      m.calls = s.calls + s.calls_before;
      m.bandwidth = static_cast<double>(s.bytes) / time * bus_factor(s.op, c.ranks);
      if (expected) m.expected = expected(s.op, s.bytes, c.ranks, c.nodes);
      all.push_back(std::move(m));
    }
  return all;
}

}  // namespace

std::string open_metrics(const WatchInterval& interval, const std::vector<JobFinding>& findings,
                         const WatchCounts& counts, const ExpectedOf& expected) {
  const std::vector<Measured> all = measured_in(interval, expected);
  std::string out;
  const auto samples = [&](std::string_view name, auto value) {
    for (const Measured& m : all)
      if (const std::optional<double> v = value(m)) out += fmt::format("{}{{{}}} {:.6g}\n", name, m.labels, *v);
  };
  const auto with = [](auto of) {
    return [of](const Measured& m) { return m.expected ? std::optional<double>(of(m, *m.expected)) : std::nullopt; };
  };
  constexpr std::string_view rate = "bytes_per_second";
  family(out, "fabricast_calls", "gauge", "", "Calls in the last interval that all ranks recorded.");
  samples("fabricast_calls", [](const Measured& m) { return std::optional(static_cast<double>(m.calls)); });
  family(out, "fabricast_busbw_bytes_per_second", "gauge", rate, "Bus bandwidth of the median call.");
  samples("fabricast_busbw_bytes_per_second", [](const Measured& m) { return std::optional(m.bandwidth); });
  family(out, "fabricast_busbw_expected_bytes_per_second", "gauge", rate, "Forecast for a healthy cluster.");
  samples("fabricast_busbw_expected_bytes_per_second",
          with([](const Measured&, const Expected& e) { return e.bandwidth; }));
  family(out, "fabricast_busbw_floor_bytes_per_second", "gauge", rate,
         "Floor of a healthy cluster, as `fabricast gate` computes it.");
  samples("fabricast_busbw_floor_bytes_per_second", with([](const Measured&, const Expected& e) { return e.floor; }));
  family(out, "fabricast_busbw_ratio", "gauge", "", "Measured divided by expected bus bandwidth.");
  samples("fabricast_busbw_ratio",
          with([](const Measured& m, const Expected& e) { return m.bandwidth / e.bandwidth; }));
  family(out, "fabricast_busbw_ratio_low", "gauge", "", "Lower end of the 90 % interval of healthy clusters.");
  samples("fabricast_busbw_ratio_low", with([](const Measured&, const Expected& e) { return 1 / e.factor; }));
  family(out, "fabricast_busbw_ratio_high", "gauge", "", "Upper end of the 90 % interval of healthy clusters.");
  samples("fabricast_busbw_ratio_high", with([](const Measured&, const Expected& e) { return e.factor; }));
  family(out, "fabricast_busbw_below_floor", "gauge", "", "1 if the bus bandwidth is below the floor.");
  samples("fabricast_busbw_below_floor",
          with([](const Measured& m, const Expected& e) { return m.bandwidth < e.floor ? 1.0 : 0.0; }));
  family(out, "fabricast_finding", "gauge", "", "1 for each rank, host or communicator that slows down the job.");
  for (const JobFinding& f : findings)
    out +=
        fmt::format("fabricast_finding{{kind=\"{}\",part=\"{}\",place=\"{}\",communicators=\"{}\",detail=\"{}\"}} 1\n",
                    f.kind, f.part, escaped(f.place), f.communicators.size(), escaped(f.detail));
  const auto counter = [&](std::string_view name, std::string_view help, std::int64_t value) {
    family(out, name, "counter", "", help);
    out += fmt::format("{}_total {}\n", name, value);
  };
  counter("fabricast_records", "Collectives that were read, one per rank and call.", counts.records);
  counter("fabricast_calls_matched", "Calls that all ranks recorded.", counts.calls);
  counter("fabricast_calls_in_part", "Calls that only some ranks recorded.", counts.parts);
  counter("fabricast_records_left_out", "Records without a usable time.", counts.left_out);
  counter("fabricast_problems", "Lines that could not be read.", counts.problems);
  return out + "# EOF\n";
}

}  // namespace fabricast::live
