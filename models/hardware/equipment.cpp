// Power and cages of hosts, switches, NICs, transceivers and cables, for the bill (docs/models/bill.md). Known products
// have an entry in equipment.json; all others follow a rule of watts per Gb/s. Every value comes with its source.
#include "fabricast/hardware/equipment.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "embedded_data.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

const json& equipment() {
  static const json data = json::parse(embedded_data("equipment.json"));
  return data;
}

BytesPerSecond rate_in(const json& j) {
  const auto rate = parse_rate(j.at("rate").get<std::string>());
  FABRICAST_CHECK(bool(rate), "equipment.json: " + rate.error);
  return rate.value;
}

Watts power_in(const json& j) {
  const auto power = parse_watts(j.at("power").get<std::string>());
  FABRICAST_CHECK(bool(power), "equipment.json: " + power.error);
  return power.value;
}

bool same(BytesPerSecond a, BytesPerSecond b) { return std::abs(a.value - b.value) <= 1e-9 * b.value; }

/// Power proportional to bandwidth, by a rule of equipment.json.
RatedPower by_rate(const char* rule, double bytes_per_second) {
  const json& j = equipment().at(rule);
  const double gbps = bytes_per_second * 8e-9;
  return {{j.at("watts_per_gbps").get<double>() * gbps}, j.at("source").get<std::string>()};
}

}  // namespace

RatedPower power_of_host(std::string_view gpu, int gpus, const GpuSheet& sheet, Watts limit) {
  // A power limit of the GPUs changes a host's power by as much.
  const double over = gpus * (limit.value - sheet.power.value);
  for (const json& j : equipment().at("nodes"))
    if (j.at("gpu").get<std::string>() == gpu && j.at("gpus").get<int>() == gpus)
      return {{power_in(j).value + over}, j.at("source").get<std::string>()};
  const json& other = equipment().at("other_node");
  return {{other.at("over_gpus").get<double>() * gpus * sheet.power.value + over},
          other.at("source").get<std::string>()};
}

RatedPower power_of_switch(int ports, BytesPerSecond rate) { return by_rate("other_switch", ports * rate.value); }

RatedPower power_of_nic(BytesPerSecond rate) { return by_rate("nic", rate.value); }

RatedPower power_of_transceiver(Medium medium, BytesPerSecond rate, int ports) {
  for (const json& j : equipment().at("transceivers"))
    if (j.at("medium").get<std::string>() == name_of(medium) && j.at("ports").get<int>() == ports &&
        same(rate_in(j), rate))
      return {power_in(j), j.at("source").get<std::string>()};
  return by_rate("other_transceiver", ports * rate.value);
}

RatedPower power_of_cable(Medium medium, BytesPerSecond rate) {
  // Both ends of a cable count: active copper has a retimer at each end, active optical cables a transceiver.
  if (medium == Medium::acc) return by_rate("copper_end", 2 * rate.value);
  if (medium == Medium::aoc) return by_rate("other_transceiver", 2 * rate.value);
  return {{0}, "passive"};
}

int ports_per_cage(LinkKind link, int ports, BytesPerSecond rate) {
  for (const json& j : equipment().at("switches"))
    if (j.at("link").get<std::string>() == name_of(link) && j.at("ports").get<int>() == ports && same(rate_in(j), rate))
      return j.at("ports_per_cage").get<int>();
  return 1;
}

}  // namespace fabricast
