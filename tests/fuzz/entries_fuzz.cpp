// An entry of a scenario with a grammar of its own: hosts by number, a measured size, a condition. The first byte says which.
#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/plan/condition.hpp"
#include "fabricast/scenario/jobs.hpp"
#include "fabricast/scenario/measured.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

namespace {

void look_at_hosts(std::string_view text) {
  const auto hosts = taken(text, [&] { return parse_hosts({std::string(text)}, "taken"); });
  if (!hosts) return;
  for (std::size_t i = 1; i < hosts->size(); ++i) require((*hosts)[i - 1] < (*hosts)[i]);
  if (hosts->empty() || hosts->size() > 1000) return;
  std::vector<std::string> ranges;
  for (const std::string& range : split(hosts_text(*hosts), ',')) ranges.emplace_back(trimmed(range));
  require(parse_hosts(ranges, "taken") == *hosts);
}

/// `SIZE=AMOUNT`, as `measured:` has it.
void look_at_measured(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return;
  MeasuredSection section;
  section.texts[0] = {{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))}};
  const auto values = taken(text, [&] { return measured_values(section, static_cast<CollectiveOp>(0)); });
  if (!values) return;
  for (const MeasuredValue& v : *values)
    require(v.bytes.value > 0 && (v.time.value > 0) != (v.bus_bandwidth.value > 0));
}

void look_at_condition(std::string_view text) {
  const auto condition = taken(text, [&] { return parse_condition(std::string(text), "keep"); });
  if (condition) require(!condition->left.empty() && !condition->right.empty() && condition->text == text);
}

}  // namespace

void read_entries(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'n': return look_at_hosts(text);
    case '=': return look_at_measured(text);
    case 'c': return look_at_condition(text);
    default: return;
  }
}

}  // namespace fabricast::fuzz
