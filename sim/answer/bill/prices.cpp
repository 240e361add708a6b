// Reads Prices from a file with the reader of scenarios, so that errors have a line and a column.
//
// An entry matches a line by the keys that it gives, the most specific entry wins, and price and power are looked up
// separately: one entry may give the power of all switches, another the price of one kind.
#include "fabricast/bill/prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../../scenario/named_file.hpp"
#include "../../scenario/yaml_reader.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, PriceItem& item) {
  visit("item", item.item, "kind of thing");
  visit("name", item.name,
        "for a node its profile or its GPU; for a transceiver nic or switch; for a rack nodes, leaves or upper");
  visit("tier", item.tier, "tier of a switch, or the tier that a cable or transceiver goes up to: leaf, spine or core");
  visit("link", item.link, "kind of network, as in node.nics.link");
  visit("medium", item.medium, "medium of a cable or transceiver");
  visit("ports", item.ports, "ports of a switch, a NIC or a transceiver; 0: any", between(0, 4096));
  visit("rate", item.rate, "line rate of a port", line_rates);
  visit("up_to", item.up_to, "cables and transceivers up to this length class; 0: any", between(0, 1e5));
  visit("price", item.price, "price of one; below 0: none", between(0, 1e12));
  visit("per_metre", item.per_metre, "price of a metre of cable, added to its price", between(0, 1e9));
  visit("power", item.power, "power of one; overrides the built-in value", between(0.001, 1e9));
  visit("source", item.source, "source of the figures");
}

void visit_fields(FieldVisitor& visit, Prices& prices) {
  visit("prices", prices.version, "version of the format", between(1, 1));
  visit("label", prices.label, "description of the prices; shown with every cost");
  visit("date", prices.date, "date of the prices: YYYY-MM-DD");
  visit("currency", prices.currency, "e.g. USD");
  visit("missing", prices.missing, "items without a price: an error, or list them and leave them out of the sums");
  visit("years", prices.years, "years over which the purchase is spread", between(0.1, 100));
  visit("electricity", prices.electricity, "price of a kWh; required", between(0, 1000));
  visit("opex", prices.opex, "people, maintenance and space: cost per year as a fraction of the purchase",
        between(0, 10));
  visit("items", prices.items, "prices of things");
}

namespace {

// Rates are written in Gb/s and converted, so they are compared with a tolerance.
bool same(BytesPerSecond a, BytesPerSecond b) { return std::abs(a.value - b.value) <= 1e-6 * b.value; }

// The form only: the day is not checked against the month.
bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t i : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U})
    if (text[i] < '0' || text[i] > '9') return false;
  const int month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8));
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

template <class E>
void check_word(YamlReader& reader, const std::string& path, const std::string& word) {
  if (word.empty() || enum_from<E>(word)) return;
  reader.add({Diagnostic::Severity::error,
              {},
              path,
              fmt::format("unknown word '{}'", word),
              suggestion(word, EnumNames<E>::names)});
}

// Two entries of the same kind with equal keys would make the result depend on their order.
bool same_keys(const PriceItem& a, const PriceItem& b) {
  return a.item == b.item && a.name == b.name && a.tier == b.tier && a.link == b.link && a.medium == b.medium &&
         a.ports == b.ports && a.rate == b.rate && a.up_to == b.up_to;
}

// What the fields by themselves cannot say: required keys, words, and combinations. All faults are collected.
void check(YamlReader& reader, const Prices& prices) {
  const auto refuse = [&](std::string path, std::string message, std::string hint = {}) {
    reader.add({Diagnostic::Severity::error, {}, std::move(path), std::move(message), std::move(hint)});
  };
  if (!reader.given("prices")) refuse("prices", "the version of the format is missing", "start with `prices: 1`");
  if (!reader.given("date") || !is_date(prices.date))
    refuse("date", reader.given("date") ? fmt::format("'{}' is not a date", prices.date) : "the date is missing",
           "write the date of the prices as YYYY-MM-DD");
  if (prices.currency.empty()) refuse("currency", "the currency is missing", "e.g. currency: USD");
  if (!reader.given("electricity"))
    refuse("electricity", "the price of a kWh is missing", "e.g. electricity: 0.10; 0 ignores the cost of energy");
  for (std::size_t i = 0; i < prices.items.size(); ++i) {
    const PriceItem& item = prices.items[i];
    const std::string path = fmt::format("items[{}]", i);
    if (!reader.given(path + ".item")) refuse(path, "`item` is missing", "e.g. item: switch");
    if (!reader.given(path + ".price") && !reader.given(path + ".power"))
      refuse(path, "has neither `price` nor `power`");
    if (item.per_metre > 0 && item.item != Item::cable) refuse(path + ".per_metre", "applies only to cables");
    for (std::size_t k = 0; k < i; ++k)
      if (same_keys(item, prices.items[k]) && (item.price >= 0) == (prices.items[k].price >= 0))
        refuse(path, fmt::format("has the same keys as items[{}]", k), "remove one of them");
    check_word<Tier>(reader, path + ".tier", item.tier);
    check_word<LinkKind>(reader, path + ".link", item.link);
    check_word<Medium>(reader, path + ".medium", item.medium);
  }
}

/// Whether an item says more of a line that both match: more keys, or as many and a shorter length class.
bool is_closer(const PriceItem& a, const PriceItem& b) {
  return a.keys() != b.keys() ? a.keys() > b.keys() : a.up_to.value > 0 && b.up_to.value > 0 && a.up_to < b.up_to;
}

/// The closest matching item, the first of several; null if none matches. \param has  whether an item gives the wanted
/// figure
template <class Has>
const PriceItem* best_of(const Prices& prices, const BillLine& line, Has has) {
  const PriceItem* best = nullptr;
  for (const PriceItem& item : prices.items)
    if (has(item) && item.matches(line) && (!best || is_closer(item, *best))) best = &item;
  return best;
}

}  // namespace

// Not given means any. `up_to` is a limit: an entry for 50 m also prices cables of 30 m, unless one for 30 m does.
bool PriceItem::matches(const BillLine& line) const {
  const bool length = item == Item::cable || item == Item::transceiver;
  return item == line.item && (name.empty() || name == line.name) &&
         (tier.empty() || (line.tier && tier == name_of(*line.tier))) && (link.empty() || link == name_of(line.link)) &&
         (medium.empty() || (length && medium == name_of(line.medium))) && (ports == 0 || ports == line.ports) &&
         (rate.value <= 0 || same(rate, line.rate)) && (up_to.value <= 0 || (length && line.up_to <= up_to));
}

int PriceItem::keys() const {
  return int{!name.empty()} + int{!tier.empty()} + int{!link.empty()} + int{!medium.empty()} + int{ports > 0} +
         int{rate.value > 0} + int{up_to.value > 0};
}

const PriceItem* Prices::price_of(const BillLine& line) const {
  return best_of(*this, line, [](const PriceItem& item) { return item.price >= 0; });
}

const PriceItem* Prices::power_of(const BillLine& line) const {
  return best_of(*this, line, [](const PriceItem& item) { return item.power.value > 0; });
}

Prices parse_prices(const std::string& text, const std::string& path) {
  YamlReader reader(parse_yaml(text, path, "start with `prices: 1`"), path, {});
  Prices prices;
  visit_fields(reader, prices);
  reader.finish();
  check(reader, prices);
  if (reader.failed()) throw UserError(reader.take_diagnostics());
  prices.file = path;
  prices.places = reader.places();
  return prices;
}

Prices prices_of(const Scenario& scenario) {
  const std::string path = beside(scenario.file, scenario.prices);
  return parse_prices(read_named("prices", path, std::size_t{4} << 20), path);
}

}  // namespace fabricast
