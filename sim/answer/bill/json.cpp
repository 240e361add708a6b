// The bill as JSON. The format is a contract: docs/formats.md, bill.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../../scenario/effective.hpp"
#include "../common/json_parts.hpp"
#include "fabricast/bill/cost.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

// Fields that do not apply to an item are left out. `metres` is the total length of all cables of the line.
Json line_json(const BillLine& l, const Cost::Line* priced) {
  Json j;
  j["item"] = name_of(l.item);
  j["what"] = l.what();
  if (l.tier) j["tier"] = name_of(*l.tier);
  if (!l.name.empty()) j["name"] = l.name;
  j["count"] = l.count;
  if (l.ports > 0) j["ports"] = l.ports;
  if (l.rate.value > 0) j["rate_gbps"] = digits(l.rate.value * 8e-9);
  if (l.item == Item::switch_box) j["link"] = name_of(l.link);
  if (l.item == Item::cable || l.item == Item::transceiver) {
    j["medium"] = name_of(l.medium);
    j["up_to_m"] = digits(l.up_to.value);
  }
  if (l.metres.value > 0) j["metres"] = digits(l.metres.value);
  if (l.item != Item::rack) {
    j["power_w"] = digits(l.each.power.value);
    j["power_source"] = l.each.source;
  }
  if (!priced) return j;
  // null: not priced.
  j["price"] = priced->unit ? Json(digits(*priced->unit)) : Json();
  j["price_source"] = priced->source;
  return j;
}

Json cost_json(const Prices& prices, const Cost& cost, const std::vector<Work>& work) {
  Json j;
  j["currency"] = prices.currency;
  j["date"] = prices.date;
  j["label"] = prices.label;
  j["bought"] = digits(cost.bought);
  j["per_gpu"] = digits(cost.per_gpu());
  j["network_share"] = digits(cost.network_share());
  j["not_priced"] = cost.not_priced;
  j["per_hour"] = digits(cost.per_hour);
  j["energy_per_hour"] = digits(cost.energy_per_hour);
  j["job_share"] = digits(cost.job_share);
  Json list = Json::array();
  for (const Work& w : work) {
    Json one{{"what", w.what}, {"time_s", digits(w.time)}, {"cost", digits(cost.of_time(w.time))}};
    if (w.tokens > 0) {
      one["tokens"] = digits(w.tokens);
      one["cost_per_million_tokens"] = digits(cost.of_time(w.time) / w.tokens * 1e6);
    }
    list.push_back(std::move(one));
  }
  j["work"] = std::move(list);
  return j;
}

}  // namespace

std::string bill_json(const Bill& bill, const Prices* prices, const Cost* cost, const std::vector<Work>& work) {
  const World& world = bill.world;
  Json j;
  j["fabricast"] = version_text();
  j["scenario"] = effective_json(world.scenario());
  Json& b = j["bill"];
  b["nodes"] = bill.nodes;
  b["spare_nodes"] = bill.spare_nodes;
  b["gpus"] = bill.gpus;
  b["planes"] = bill.planes;
  Json lines = Json::array(), tiers = Json::array();
  for (std::size_t i = 0; i < bill.lines.size(); ++i)
    lines.push_back(line_json(bill.lines[i], cost ? &cost->lines[i] : nullptr));
  for (const PortUse& use : bill.tiers)
    tiers.push_back({{"tier", name_of(use.tier)},
                     {"switches", use.switches},
                     {"ports", use.ports},
                     {"down", use.down},
                     {"up", use.up},
                     {"free", use.free()},
                     {"cables", bill.cables(use.tier)}});
  b["lines"] = std::move(lines);
  b["tiers"] = std::move(tiers);
  b["equipment_w"] = digits(bill.equipment_watts());
  b["network_w"] = digits(bill.network_watts());
  b["building_w"] = digits(bill.mean_watts());
  b["pue"] = digits(bill.pue);
  b["load"] = digits(bill.load);
  b["notes"] = bill.notes;
  if (prices && cost) j["cost"] = cost_json(*prices, *cost, work);
  return j.dump(2) + "\n";
}

}  // namespace fabricast
