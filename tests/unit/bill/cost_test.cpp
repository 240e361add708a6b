// Prices: what matches, what is refused, and what follows from them.
#include <catch2/catch.hpp>

#include "fabricast/bill/cost.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

const std::string head = "prices: 1\ndate: 2026-01-31\ncurrency: EUR\nelectricity: 0.2\nyears: 4\n";

Prices prices_with(const std::string& rest) { return parse_prices(head + rest, "p.yaml"); }

std::string faults_of(const std::string& text) {
  try {
    (void)parse_prices(text, "p.yaml");
  } catch (const UserError& e) {
    std::string all;
    for (const Diagnostic& d : e.diagnostics()) all += render(d);
    return all;
  }
  return {};
}

Bill small_bill() {
  return bill_of(
      test::world_of("node: {profile: hgx-h100}\ncluster: {nodes: 2, size: 4}\nworkload: {}\n"
                     "fabric: {kind: fat_tree, switch: {ports: 64}}\n"));
}

TEST_CASE("the matching item with the most keys applies, among equal ones the first", "[prices]") {
  BillLine line;
  line.item = Item::switch_box, line.ports = 64, line.rate = BytesPerSecond{50e9}, line.tier = Tier::leaf;
  const Prices prices = prices_with(R"(items:
  - {item: switch, price: 1}
  - {item: switch, ports: 64, price: 2}
  - {item: switch, rate: 400Gbps, price: 3}
  - {item: switch, ports: 32, rate: 400Gbps, tier: leaf, price: 4}
  - {item: switch, ports: 64, tier: spine, price: 5}
  - {item: switch, ports: 64, rate: 400Gbps, tier: leaf, power: 900W}
)");
  REQUIRE(prices.price_of(line));
  CHECK(prices.price_of(line)->price == 2);
  CHECK(prices.power_of(line)->power.value == 900);
  line.tier = Tier::spine;
  CHECK(prices.price_of(line)->price == 5);
  line.ports = 128, line.rate = BytesPerSecond{100e9};
  CHECK(prices.price_of(line)->price == 1);
  CHECK_FALSE(prices.power_of(line));
}

TEST_CASE("cables match by medium, rate and length class, and may have a price per metre", "[prices]") {
  Bill bill = small_bill();
  bill.lines.clear();
  BillLine cable;
  cable.item = Item::cable, cable.count = 10, cable.metres = Metres{50}, cable.medium = Medium::multimode;
  cable.rate = BytesPerSecond{50e9}, cable.up_to = Metres{50};
  bill.lines.push_back(cable);
  const Prices prices = prices_with(R"(items:
  - {item: cable, medium: multimode, price: 20, per_metre: 3}
  - {item: cable, medium: multimode, up_to: 10m, price: 7}
)");
  CHECK(cost_of(bill, prices).bought == Approx(10 * 20 + 50 * 3));
  bill.lines.front().up_to = Metres{10};
  CHECK(cost_of(bill, prices).bought == Approx(10 * 7));
  // The shortest class that is long enough, in whatever order the file has them.
  const Prices by_length = prices_with(R"(items:
  - {item: cable, medium: multimode, up_to: 100m, price: 90}
  - {item: cable, medium: multimode, up_to: 30m, price: 30}
  - {item: cable, medium: multimode, up_to: 50m, price: 50}
)");
  for (const auto& [length, price] : {std::pair{10.0, 30}, {30.0, 30}, {50.0, 50}, {70.0, 90}}) {
    bill.lines.front().up_to = Metres{length};
    CHECK(cost_of(bill, by_length).bought == Approx(10 * price));
  }
}

TEST_CASE("a missing price is an error that names the item, or the item is listed", "[prices]") {
  const Bill bill = small_bill();
  try {
    (void)cost_of(bill, prices_with("items: [{item: node, price: 100}, {item: rack, price: 1}]\n"));
    FAIL("no error");
  } catch (const UserError& e) {
    std::string all;
    for (const Diagnostic& d : e.diagnostics()) all += d.message + " " + d.hint + "\n";
    INFO(all);
    CHECK_THAT(all, Catch::Contains("no price for 1 x leaf switch 64 x 400Gbps"));
    CHECK_THAT(all, Catch::Contains("{item: nic, ports: 1, rate: 400Gbps, price: ...}"));
    CHECK_THAT(all, Catch::Contains("missing: list"));
  }
  const Cost cost = cost_of(bill, prices_with("missing: list\nitems: [{item: node, price: 100}]\n"));
  CHECK(cost.bought == 400);
  CHECK(cost.not_priced == static_cast<int>(bill.lines.size()) - 1);
  CHECK(cost.network == 0);
}

TEST_CASE("an hour costs a fraction of the purchase, opex and energy; a job pays for its share", "[prices]") {
  const Bill bill = small_bill();
  const Prices prices =
      prices_with("opex: 10%\nmissing: list\nitems: [{item: node, price: 87660}, {item: switch, price: 87660}]\n");
  const Cost cost = cost_of(bill, prices);
  const double bought = 5 * 87660.0;
  CHECK(cost.bought == Approx(bought));
  CHECK(cost.network_share() == Approx(1. / 5));
  CHECK(cost.per_gpu() == Approx(bought / 32));
  const double energy = bill.equipment_watts() * 1.3 / 1000 * .2;
  CHECK(cost.energy_per_hour == Approx(energy));
  CHECK(cost.per_hour == Approx(bought / 4 / 8766 + bought * .1 / 8766 + energy));
  // Two of four hosts, half an hour.
  CHECK(cost.of_time(Seconds{1800}) == Approx(cost.per_hour / 4));
}

TEST_CASE("powers in the prices override the built-in ones", "[prices]") {
  const auto world = test::world_of("node: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload: {}\n");
  const Prices prices = prices_with("items: [{item: switch, power: 1234W, source: a meter}]\n");
  for (const BillLine& l : bill_of(world, &prices).lines)
    if (l.item == Item::switch_box) {
      CHECK(l.each.power.value == 1234);
      CHECK(l.each.source == "prices: a meter");
    }
}

TEST_CASE("invalid prices are reported with their position", "[prices]") {
  CHECK_THAT(faults_of("prices: 1\ncurrency: EUR\nitems: []\n"), Catch::Contains("the date is missing"));
  CHECK_THAT(faults_of(head + "items: [{item: switch}]\n"), Catch::Contains("has neither `price` nor `power`"));
  CHECK_THAT(faults_of(head + "items: [{price: 3}]\n"), Catch::Contains("`item` is missing"));
  CHECK_THAT(faults_of(head + "items: [{item: swich, price: 3}]\n"), Catch::Contains("did you mean 'switch'?"));
  CHECK_THAT(faults_of(head + "items:\n  - {item: cable, medium: fiber, price: 3}\n"),
             Catch::Contains("p.yaml:7:27") && Catch::Contains("unknown word 'fiber'"));
  CHECK_THAT(faults_of(head + "items: [{item: nic, price: -3}]\n"), Catch::Contains("out of range"));
  CHECK_THAT(faults_of(head + "items: [{item: nic, price: nan}]\n"), Catch::Contains("price"));
  CHECK_THAT(faults_of(head + "items:\n  - {item: nic, price: 3}\n  - {item: nic, price: 4}\n"),
             Catch::Contains("has the same keys as items[0]"));
  CHECK_THAT(faults_of(head + "items: [{item: nic, prize: 3}]\n"), Catch::Contains("did you mean 'price'?"));
  CHECK_THAT(faults_of("prices: 1\ndate: 2026-13-01\ncurrency: EUR\nelectricity: 1\n"),
             Catch::Contains("is not a date"));
}

}  // namespace
}  // namespace fabricast
