// The bill as a table and as CSV.
//
// With prices, the columns of the source of powers give way to price and sum. Amounts are rounded for reading; JSON and
// CSV have ten digits.
#include <fmt/format.h>

#include <cmath>

#include "fabricast/bill/cost.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

/// 12345678 -> 12,345,678.
std::string grouped(double value, int decimals = 0) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const std::size_t point = text.find('.');
  std::size_t at = point == std::string::npos ? text.size() : point;
  const std::size_t first = text.front() == '-' ? 1 : 0;
  while (at > first + 3) text.insert(at -= 3, ",");
  return text;
}

std::string grouped(std::int64_t value) { return grouped(static_cast<double>(value)); }

std::string power(double watts) {
  if (watts >= 1e6) return fmt::format("{:.4g} MW", watts * 1e-6);
  return watts >= 1e3 ? fmt::format("{:.4g} kW", watts * 1e-3) : fmt::format("{:.4g} W", watts);
}

/// An amount of money; small amounts have three significant digits.
std::string amount(double value) {
  if (value >= 1000 || value == 0) return grouped(value);
  return value >= 1 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

std::string text_of(const BillLine& line, const Cost::Line* priced) {
  std::string what = line.what();
  if (line.metres.value > 0)
    what += fmt::format(", mean {:.1f} m", line.metres.value / static_cast<double>(line.count));
  std::string out = fmt::format("  {:<62} {:>12}", what, grouped(line.count));
  out += line.item == Item::rack ? fmt::format(" {:>9} {:>9}", "", "")
                                 : fmt::format(" {:>9} {:>9}", power(line.each.power.value), power(line.watts()));
  if (!priced) return out + (line.item == Item::rack ? "" : "  " + line.each.source) + "\n";
  if (!priced->unit) return out + fmt::format(" {:>12} {:>16}\n", "not priced", "");
  return out + fmt::format(" {:>12} {:>16}\n", amount(*priced->unit),
                           grouped(*priced->unit * static_cast<double>(line.count)));
}

// Free ports show whether the fabric can grow without another switch.
std::string text_of_ports(const Bill& bill) {
  if (bill.tiers.empty()) return {};
  std::string out =
      fmt::format("\nports{:<9} {:>9} {:>12} {:>12} {:>12} {:>12}\n", "", "switches", "ports", "down", "up", "free");
  for (const PortUse& use : bill.tiers)
    out += fmt::format("  {:<12} {:>9} {:>12} {:>12} {:>12} {:>12}\n", name_of(use.tier), grouped(use.switches),
                       grouped(use.ports), grouped(use.down), grouped(use.up), grouped(use.free()));
  return out;
}

std::string text_of_cost(const Bill& bill, const Prices& prices, const Cost& cost, const std::vector<Work>& work) {
  const std::string& money = prices.currency;
  std::string out = fmt::format("\ncost in {}, prices of {}{}\n", money, prices.date,
                                prices.label.empty() ? "" : ": " + prices.label);
  const auto say = [&](std::string_view what, const std::string& value, const std::string& how = {}) {
    out += fmt::format("  {:<40} {:>18}  {}\n", what, value, how);
  };
  // Sums that lack a price are lower bounds.
  const std::string least =
      cost.not_priced > 0
          ? fmt::format("too low: {} not priced",
                        cost.not_priced == 1 ? "one line is" : fmt::format("{} lines are", cost.not_priced))
          : std::string();
  say("purchase", grouped(cost.bought), least);
  say("purchase per GPU", grouped(cost.per_gpu()));
  say("network share of the purchase", fmt::format("{:.1f} %", cost.network_share() * 100));
  say("per hour", amount(cost.per_hour),
      fmt::format("over {:g} years, opex {:g} % per year, energy {}", prices.years, prices.opex.value * 100,
                  amount(cost.energy_per_hour)));
  say("per GPU hour", amount(cost.per_hour / static_cast<double>(cost.gpus)));
  if (!work.empty() && bill.job_share < 1)
    out +=
        fmt::format("  the job uses {:.1f} % of the hosts and bears this share of their cost\n", bill.job_share * 100);
  for (const Work& w : work) {
    say("per " + w.what, amount(cost.of_time(w.time)), fmt::format("{:.4g} ms", milliseconds(w.time)));
    if (w.tokens > 0)
      say("per million tokens", amount(cost.of_time(w.time) / w.tokens * 1e6),
          fmt::format("{} tokens per {}", grouped(std::round(w.tokens)), w.what));
  }
  return out;
}

}  // namespace

std::string bill_text(const Bill& bill, const Prices* prices, const Cost* cost, const std::vector<Work>& work) {
  const World& world = bill.world;
  const Scenario& s = world.scenario();
  std::string out = fmt::format(
      "{}: {} host{}{}, {} GPUs, {}\n\n", s.name.empty() ? s.file : s.name, grouped(bill.nodes),
      bill.nodes == 1 ? "" : "s",
      bill.spare_nodes > 0 ? fmt::format(" and {} on standby", grouped(bill.spare_nodes)) : "", grouped(bill.gpus),
      bill.tiers.empty() ? "no fabric"
      : bill.planes > 1  ? fmt::format("{} in {} planes", topologies()[s.fabric.kind].name, bill.planes)
                         : std::string(topologies()[s.fabric.kind].name));
  out += fmt::format("{:<64} {:>12} {:>9} {:>9}", "item", "count", "each", "power");
  out += cost ? fmt::format(" {:>12} {:>16}\n", "price", "sum") : "  power from\n";
  for (std::size_t i = 0; i < bill.lines.size(); ++i) out += text_of(bill.lines[i], cost ? &cost->lines[i] : nullptr);
  out += text_of_ports(bill);
  const double watts = bill.equipment_watts(), gpus = static_cast<double>(bill.gpus);
  out += fmt::format("\npower at full load {}, {} per GPU; network {} ({:.1f} %)\n", power(watts), power(watts / gpus),
                     power(bill.network_watts()), bill.network_watts() / watts * 100);
  out += fmt::format("mean power of the building {}: load {:g} %, PUE {:g}\n", power(bill.mean_watts()),
                     bill.load * 100, bill.pue);
  for (const std::string& note : bill.notes) out += fmt::format("note: {}\n", note);
  if (prices && cost) out += text_of_cost(bill, *prices, *cost, work);
  return out;
}

std::string bill_csv(const Bill& bill, const Cost* cost) {
  std::string out =
      "item,tier,name,link,medium,ports,rate_gbps,up_to_m,count,metres,power_w,power_source,price,price_source\n";
  for (std::size_t i = 0; i < bill.lines.size(); ++i) {
    const BillLine& l = bill.lines[i];
    const bool length = l.item == Item::cable || l.item == Item::transceiver;
    const auto some = [](bool there, const std::string& text) { return there ? text : std::string(); };
    const Cost::Line* priced = cost ? &cost->lines[i] : nullptr;
    out += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", name_of(l.item), l.tier ? name_of(*l.tier) : "", l.name,
        l.item == Item::switch_box ? name_of(l.link) : "", length ? name_of(l.medium) : "",
        some(l.ports > 0, std::to_string(l.ports)), some(l.rate.value > 0, to_text(rounded(l.rate.value * 8e-9, 10))),
        some(length, to_text(l.up_to.value)), l.count, some(l.metres.value > 0, to_text(rounded(l.metres.value, 10))),
        to_text(rounded(l.each.power.value, 10)), double_quoted(l.each.source),
        priced && priced->unit ? to_text(rounded(*priced->unit, 10)) : "", double_quoted(priced ? priced->source : ""));
  }
  return out;
}

}  // namespace fabricast
