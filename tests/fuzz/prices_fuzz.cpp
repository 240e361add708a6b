// A file of prices.
#include "fabricast/bill/prices.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_prices(std::string_view bytes) {
  const std::string text(bytes);
  const auto prices = taken(text, [&] { return parse_prices(text, "file"); });
  if (!prices) return;
  require(!prices->currency.empty() && prices->electricity >= 0);
  for (const PriceItem& item : prices->items) require(item.price >= 0 || item.power.value > 0);
}

}  // namespace fabricast::fuzz
