// The user's prices, read from a file that the scenario names (docs/formats.md, prices). Nothing else here knows a price.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/bill/bill.hpp"

namespace fabricast {

/// What a thing costs. Keys that are not given match anything; of several items that match, the one with most keys
/// counts, of those the first.
struct PriceItem {
  Item item = Item::node;
  std::string name, tier, link, medium;  ///< empty: any
  int ports = 0;                         ///< 0: any
  BytesPerSecond rate{0};                ///< 0: any
  Metres up_to{0};                       ///< of cables and transceivers: of no longer class; 0: any
  double price = -1;                     ///< of one, in the file's currency; below 0: none
  double per_metre = 0;                  ///< of a cable, added
  Watts power{0};                        ///< of one; 0: what the hardware data say
  std::string source;
  bool matches(const BillLine& line) const;
  int keys() const;
};

/// What to do about things without a price.
enum class Missing { error, list };
template <>
struct EnumNames<Missing> {
  static constexpr std::array<std::string_view, 2> names{"error", "list"};
};

struct Prices {
  int version = 1;
  std::string label, date, currency;
  Missing missing = Missing::error;
  double years = 4;         ///< over which what is bought is paid
  double electricity = -1;  ///< of a kWh; below 0: none
  Ratio opex{0};            ///< of what was bought, in a year
  std::vector<PriceItem> items;
  std::string file;
  std::map<std::string, SourceSpan> places;

  /// The item for a line that has a price, or power; null: none.
  const PriceItem* price_of(const BillLine& line) const;
  const PriceItem* power_of(const BillLine& line) const;
};
void visit_fields(FieldVisitor& visit, PriceItem& item);
void visit_fields(FieldVisitor& visit, Prices& prices);

/// \throws UserError with every fault of the file at once
Prices parse_prices(const std::string& text, const std::string& path);
/// Those that a scenario names. \throws UserError at `prices` if there is no such file \pre it names some
Prices prices_of(const Scenario& scenario);

}  // namespace fabricast
