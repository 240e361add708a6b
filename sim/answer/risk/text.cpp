// The report as text: a summary, the most expensive events, the worst single failures, the month, and changes that
// would help.
//
// Three rankings answer three questions: by hours per month (what to fix), by slowdown of a single failure (what to
// fear), and of losses by kind and by component (where the month goes).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/risk/risk.hpp"

namespace fabricast {

namespace {

using namespace literals;

constexpr std::size_t most_rows = 12;

/// A time from microseconds to hours.
std::string time_text(Seconds t) {
  if (!std::isfinite(t.value)) return "never";
  return t >= 10000.0_s ? fmt::format("{:.1f} h", t.value / 3600) : short_text(t);
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string what_of(const RiskClass& c) {
  std::string text(name_of(c.component));
  std::replace(text.begin(), text.end(), '_', ' ');
  switch (c.mishap) {
    case Mishap::down: text += c.left > 0 ? fmt::format(" down, {:.0f} % left", 100 * c.left) : " down"; break;
    case Mishap::degraded: text += fmt::format(" at {:.0f} %", 100 * c.left); break;
    case Mishap::flap: text += " flaps"; break;
    case Mishap::long_flap: text += " flaps for too long"; break;
    case Mishap::slow: text += " computes more slowly"; break;
    case Mishap::storm: text += " pauses its switch"; break;
  }
  return c.role == Role::partly ? text + ", partly used" : text;
}

std::string effect_of(const RiskClass& c) {
  if (c.stops) return "stops";
  if (c.mishap == Mishap::flap || c.mishap == Mishap::storm) return "stalls " + time_text(c.lasts);
  return c.slowdown <= 1 && c.worst <= 1 ? "none" : fmt::format("x {:.4g}", c.slowdown);
}

std::string example_of(const RiskClass& c) {
  return c.example.empty() ? std::string() : fmt::format("{} x {}", c.example, c.count);
}

/// `4,096`
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

/// The result in two sentences, for readers who stop here.
std::string summary(const Risk& risk) {
  const MonthForecast& m = risk.month;
  // Work is measured at the pace of the median launch. Where launches differ, the faster ones can gain more than failures
  // cost.
  const std::string_view is =
      m.goodput_p95 > 1 ? "of a month's work at the median pace is done" : "of a month is useful work";
  std::string text = fmt::format("{} {} (90 % interval {} to {})", percent(m.goodput), is, percent(m.goodput_p5),
                                 percent(m.goodput_p95));
  const auto stopping = std::max_element(
      risk.classes.begin(), risk.classes.end(),
      [](const RiskClass& a, const RiskClass& b) { return (a.stops ? a.per_month : 0) < (b.stops ? b.per_month : 0); });
  if (m.stops > 0 && stopping != risk.classes.end())
    text += fmt::format("; the job stops {:.3g} times, most often because of \"{}\"", m.stops, what_of(*stopping));
  if (!m.lost.empty())
    text += fmt::format("; the largest loss is \"{}\", {:.3g} h", m.lost.front().cause, m.lost.front().hours);
  text += ".";
  if (const RiskClass* worst = risk.worst_survived())
    text += fmt::format(
        " The worst single failure that the job survives is \"{}\"{}: the {} then takes {:.3g} times as long.",
        what_of(*worst), worst->example.empty() ? "" : fmt::format(" ({})", worst->example), risk.of, worst->worst);
  return text;
}

/// Breaks text into comment lines of at most 118 columns.
std::string comment(const std::string& text) {
  std::string out, line = "#";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line.size() + 1 + word.size() > 118) {
      out += line + "\n";
      line = "#";
    }
    line += " " + word;
    begin = end + 1;
  }
  return out + line + "\n";
}

std::string costs(const Risk& risk) {
  std::string out = "#\n# most expensive events\n";
  out += fmt::format("{:>10} {:>12} {:>9} {:>14}  {}\n", "h/month", "times/month", "count", "effect",
                     "event: worst element of the sample");
  std::size_t shown = 0;
  for (const RiskClass& c : risk.classes) {
    if (c.hours < 0.005 || shown == most_rows) break;
    out += fmt::format("{:>10.2f} {:>12.3g} {:>9} {:>14}  {}{}\n", c.hours, c.per_month, grouped(c.count), effect_of(c),
                       what_of(c), c.example.empty() ? "" : ": " + c.example);
    ++shown;
  }
  return out;
}

// Failures that stop the job come first, as nothing is worse. Flaps are left out: they stall, but have no lasting
// slowdown.
std::string survived(const Risk& risk) {
  std::vector<const RiskClass*> worst;
  for (const RiskClass& c : risk.classes)
    if (c.role != Role::idle && c.mishap != Mishap::flap && c.mishap != Mishap::long_flap) worst.push_back(&c);
  std::stable_sort(worst.begin(), worst.end(), [](const RiskClass* a, const RiskClass* b) {
    return std::pair(!a->stops, -a->worst) < std::pair(!b->stops, -b->worst);
  });
  std::string out = "#\n# single failures, the worst first\n";
  out += fmt::format("{:>10} {:>10} {:>12} {:>10}  {}\n", "mean", "worst", "times/month", "simulated",
                     "event: worst element of the sample");
  // Forecasts cannot resolve smaller slowdowns.
  constexpr double least = 1.005;
  std::size_t harmless = 0;
  for (const RiskClass* c : worst) {
    if (!c->stops && c->worst < least && ++harmless) continue;
    const std::string mean = c->stops ? "stops" : fmt::format("x {:.4g}", c->slowdown);
    out +=
        fmt::format("{:>10} {:>10} {:>12.3g} {:>10}  {}{}\n", mean, c->stops ? "" : fmt::format("x {:.4g}", c->worst),
                    c->per_month, c->simulated, what_of(*c), c->example.empty() ? "" : ": " + example_of(*c));
  }
  if (harmless > 0)
    out += fmt::format("# {} other class{} of failures slow{} the job by less than {:.1f} %\n", harmless,
                       harmless == 1 ? "" : "es", harmless == 1 ? "s" : "", 100 * (least - 1));
  return out;
}

std::string month(const Risk& risk) {
  const MonthForecast& m = risk.month;
  std::string out = fmt::format("#\n# {} sampled months of 30 days, seed {}\n", grouped(risk.samples), risk.seed);
  out += fmt::format("goodput          {}   +- {:.2g} points; p5 {}, p95 {}\n", percent(m.goodput), 100 * m.error,
                     percent(m.goodput_p5), percent(m.goodput_p95));
  out += fmt::format("stops            {:.3g} per month\n", m.stops);
  out += fmt::format("{:<16} {}   p5 {}, p95 {}, worst {}; healthy {}\n", risk.of.size() > 16 ? "time" : risk.of,
                     time_text(m.time), time_text(m.time_p5), time_text(m.time_p95), time_text(m.time_worst),
                     time_text(risk.time));
  out += "#\n# lost time in the month by kind, h\n";
  for (const auto* list : {&m.lost_by_kind, &m.lost}) {
    for (const LostTime& l : *list)
      if (std::abs(l.hours) >= 0.05) out += fmt::format("{:>10.1f}  {}\n", l.hours, l.cause);
    if (list == &m.lost_by_kind) out += "# lost time by failed component, h\n";
  }
  return out;
}

std::string saving(const Risk& risk) {
  const CheckpointPlan& c = risk.checkpoint;
  std::string out;
  if (c.bytes > Bytes{})
    out = fmt::format(
        "#\n# checkpoints of {:.4g} TB every {} (optimal: {}); each pauses the step for {}, is durable {} later, and "
        "is read in {}\n",
        fractional(c.bytes) / 1e12, time_text(c.every), time_text(c.best), time_text(c.pause), time_text(c.durable),
        time_text(c.load));
  return out + fmt::format("# mean time between stops {}; the transport survives outages of {}; {} spare hosts\n",
                           time_text(c.between_stops), time_text(risk.window), grouped(risk.spares));
}

}  // namespace

std::string risk_text(const Risk& risk) {
  const World& world = risk.world;
  const Scenario& s = world.scenario();
  std::string out = heading_line(s.name.empty() ? "risk" : "risk of " + s.name);
  out += fmt::format("# {} on {} GPUs = {} node{} x {}: {} healthy", risk.of,
                     grouped(std::int64_t{s.cluster.nodes} * s.node.spec.gpus), grouped(s.cluster.nodes),
                     s.cluster.nodes == 1 ? "" : "s", s.node.spec.gpus, time_text(risk.time));
  if (risk.network_samples > 1)
    out += fmt::format(", median of {} samples; p5 {}, p95 {}, worst {}", risk.network_samples, time_text(risk.time_p5),
                       time_text(risk.time_p95), time_text(risk.time_worst));
  out += "\n#\n" + comment(summary(risk));
  out += costs(risk) + survived(risk) + month(risk) + saving(risk);
  if (risk.helps.empty()) return out;
  out += "#\n# what would help: goodput with the change\n";
  for (const RiskWhatIf& w : risk.helps)
    out += fmt::format("{:>10}  {}   --set {}\n", percent(w.goodput), w.what, fmt::join(w.set, " --set "));
  return out;
}

}  // namespace fabricast
