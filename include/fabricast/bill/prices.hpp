// The user's prices, read from a YAML file that the scenario names (docs/formats.md, prices). Fabricast has no prices
// of its own.
//
// Amounts are in the currency of the file. Prices are immutable after reading; functions are safe to call concurrently.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/bill/bill.hpp"

namespace fabricast {

/// The price or the power of a kind of item. Keys that are not given match anything. If several items match a line of
/// the bill, the one with the most keys applies; among equal ones, the shorter `up_to`, and then the first. Price and power are looked up one by one,
/// among the items that give it, so one item may give the power of all switches and another the price of one kind.
struct PriceItem {
  Item item = Item::node;
  std::string name, tier, link, medium;  ///< as in BillLine; empty: any
  int ports = 0;                         ///< 0: any
  BytesPerSecond rate{0};                ///< 0: any
  /// Matches cables and transceivers of this length class and of shorter ones; 0: any. Of two items with as many keys the
  /// shorter class applies.
  Metres up_to{0};
  double price = -1;     ///< of one; below 0: none
  double per_metre = 0;  ///< of a cable, added to its price
  Watts power{0};        ///< of one; 0: the built-in value
  std::string source;    ///< of the figures
  /// Whether all given keys match a line of the bill. Rates are compared with a relative tolerance of 1e-6.
  bool matches(const BillLine& line) const;
  /// Number of keys that are given, without `item`.
  int keys() const;
};

/// How to treat things without a price.
enum class Missing {
  error,  ///< refuse
  list    ///< list them, and leave them out of the sums
};
template <>
struct EnumNames<Missing> {
  static constexpr std::array<std::string_view, 2> names{"error", "list"};
};

/// A file of prices.
struct Prices {
  int version = 1;                    ///< of the format
  std::string label, date, currency;  ///< the date as YYYY-MM-DD; all three are shown with every cost
  Missing missing = Missing::error;
  double years = 4;         ///< over which the purchase is spread
  double electricity = -1;  ///< price of a kWh; below 0: not given, which a file may not leave it
  Ratio opex{0};            ///< cost of operation per year, as a fraction of the purchase
  std::vector<PriceItem> items;
  std::string file;                          ///< it was read from, for messages
  std::map<std::string, SourceSpan> places;  ///< positions of the keys in the file

  /// The item that gives the price of a line, or its power; null if there is none. Linear in the items. The pointer is
  /// into `items`.
  const PriceItem* price_of(const BillLine& line) const;
  const PriceItem* power_of(const BillLine& line) const;
};
/// The keys of the file with their limits (core/fields.hpp).
void visit_fields(FieldVisitor& visit, PriceItem& item);
void visit_fields(FieldVisitor& visit, Prices& prices);

/// Reads prices from a text. Version, date, currency and electricity are required, and two items with the same keys are
/// refused. \param path  name of the file, for messages
/// \throws UserError with all errors of the file
Prices parse_prices(const std::string& text, const std::string& path);
/// Reads the prices that a scenario names, from a file of at most 4 MiB. A relative path is relative to the scenario's
/// file.
/// \pre the scenario names prices
/// \throws UserError at `prices` if the file cannot be read, and as `parse_prices`
Prices prices_of(const Scenario& scenario);

}  // namespace fabricast
