// Reads and validates measured cases, writes their scenarios, and forecasts them.
#include "fabricast/calibrate/cases.hpp"
#include "../../models/hardware/json_text.hpp"
#include "data_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/planner/nccl.hpp"
#include "fabricast/report/residual_rows.hpp"
#include "fabricast/report/unstated.hpp"
#include "fabricast/scenario/used_parameters.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

std::string text_of(const json& j) {
  if (j.is_string()) return j.get<std::string>();
  return j.is_null() ? std::string() : j.dump();
}

/// The message of the JSON library without its error number and position.
std::string plain(const json::exception& e) {
  std::string what = e.what();
  for (const std::string_view end : {std::string_view("] "), std::string_view(": ")})
    if (const auto at = what.find(end); at != std::string::npos) what = what.substr(at + end.size());
  return what;
}

/// Reads a value; errors name the key.
template <class T>
void take(const json& j, const char* key, T& target) {
  try {
    j.at(key).get_to(target);
  } catch (const json::type_error& e) { throw std::invalid_argument(fmt::format("'{}': {}", key, plain(e))); }
}

/// Reads a whole number that fits into T. The library would truncate others silently.
template <class T>
T whole(const json& j, const char* key) {
  const json& value = j.at(key);
  double number = 0;
  // Numbers such as 8.0 or 1e6 are whole, too.
  take(j, key, number);
  const auto most = static_cast<double>(std::numeric_limits<T>::max());
  // The largest integers have no exact double, and the next larger double would not fit.
  if (number != std::floor(number) || !(std::abs(number) < most))
    throw std::invalid_argument(fmt::format("'{}' must be a whole number, not {}", key, shown(value.dump(), 40)));
  return value.is_number_float() ? static_cast<T>(number) : value.get<T>();
}

/// Unknown keys are allowed as notes for readers, unless their names are so close to a known key that they are likely
/// typos.
void check_keys(const json& j) {
  constexpr std::array<std::string_view, 17> known = {
      "id",   "system",   "collective", "gpu", "intranode", "link", "nccl_version",        "nodes",    "gpus_per_node",
      "nics", "nic_gbps", "gdr",        "env", "harness",   "site", "nvlink_domain_nodes", "set_aside"};
  for (const auto& [key, value] : j.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (const auto slip = nearest(key, known); slip && !j.contains(*slip))
      throw std::invalid_argument(fmt::format("unknown key '{}', did you mean '{}'?", shown(key, 40), *slip));
  }
}

MeasuredCase read_case(const json& j) {
  if (j.is_object()) check_keys(j);
  MeasuredCase c;
  take(j, "id", c.id);
  take(j, "system", c.system);
  take(j, "collective", c.collective);
  take(j, "gpu", c.gpu);
  take(j, "intranode", c.intranode);
  c.link = text_of(j.at("link"));
  c.nccl_version = text_of(j.at("nccl_version"));
  c.nodes = whole<int>(j, "nodes");
  c.gpus_per_node = whole<int>(j, "gpus_per_node");
  // 0 means that the source states no number, as null does.
  if (!j.at("nics").is_null() && j.at("nics") != 0) c.nics = whole<int>(j, "nics");
  if (!j.at("nic_gbps").is_null() && j.at("nic_gbps") != 0) c.nic_gbps = j.at("nic_gbps").get<double>();
  if (j.contains("gdr") && !j.at("gdr").is_null()) c.gdr = j.at("gdr").get<bool>();
  for (const auto& [key, value] : j.at("env").items()) c.env[key] = text_of(value);
  for (const auto& [key, value] : j.at("harness").items()) c.harness[key] = text_of(value);
  // A system without a site is a site of its own.
  c.site = c.system;
  if (j.contains("site")) take(j, "site", c.site);
  if (j.contains("nvlink_domain_nodes")) c.nvlink_domain_nodes = whole<int>(j, "nvlink_domain_nodes");
  if (j.contains("set_aside")) take(j, "set_aside", c.set_aside);
  // The shipped cases mark their sources' confidence; a low one keeps a case out of fits.
  if (c.set_aside.empty() && j.value("confidence", "") == "low")
    c.set_aside = "its source does not state what was measured";
  for (const json& row : j.at("rows"))
    c.rows.push_back({whole<std::int64_t>(row, "bytes"), row.at("time_us").get<double>()});
  return c;
}

/// The first two or three numbers of a version; empty if it does not begin with at least two.
std::string version_digits(const std::string& text) {
  if (parse_nccl_version(text)) return usual_form(text);
  std::string digits = text.substr(0, text.find_first_not_of("0123456789."));
  while (digits.ends_with('.')) digits.pop_back();
  // "2.30.x (a commit)" is 2.30; a fourth number is dropped.
  std::size_t dots = 0, end = 0;
  while (end < digits.size() && (digits[end] != '.' || ++dots < 3)) ++end;
  digits.resize(end);
  return std::count(digits.begin(), digits.end(), '.') >= 1 ? digits : std::string();
}

/// Why a case is invalid; empty if it is valid.
std::string fault_of(const MeasuredCase& c) {
  if (c.nodes < 1 || c.gpus_per_node < 1) return "'nodes' and 'gpus_per_node' must be at least 1";
  for (const char* key : {"ranks_per_process", "threads"})
    if (const auto it = c.harness.find(key); it != c.harness.end() && small_number(it->second).value_or(0) < 1)
      return fmt::format("'harness.{}' must be a whole number above 0, not '{}'", key, shown(it->second, 40));
  if (c.rows.empty()) return "'rows' is empty";
  for (const MeasuredRow& row : c.rows) {
    if (row.bytes < 1) return fmt::format("'bytes' must be at least 1, not {}", row.bytes);
    if (!(row.time_us > 0)) return fmt::format("'time_us' must be above 0, not {:g}", row.time_us);
  }
  return {};
}

}  // namespace

int harness_number(const MeasuredCase& c, const char* key) {
  const auto it = c.harness.find(key);
  return it == c.harness.end() ? 1 : std::max(1, small_number(it->second).value_or(1));
}

std::vector<MeasuredCase> read_cases(const std::string& path) { return cases_of(read_file(path), path); }

std::vector<MeasuredCase> cases_of(const std::string& text, const std::string& path) {
  const auto fail = [&](const std::string& message, std::string hint = {}) {
    Diagnostic d;
    d.where = {path, 0, 0, 1};
    d.message = message;
    d.hint = std::move(hint);
    throw UserError({std::move(d)});
  };
  const json list = parse_json_text(text, path);
  if (!list.is_array())
    fail("this is not a list of measured cases", "expected: [{\"id\": ..., \"system\": ..., \"rows\": [...]}, ...]");
  std::vector<MeasuredCase> cases;
  for (const json& j : list) {
    const std::string name =
        j.is_object() && j.contains("id") ? text_of(j["id"]) : fmt::format("number {}", cases.size() + 1);
    try {
      cases.push_back(read_case(j));
    } catch (const json::exception& e) {
      fail(fmt::format("case {}: {}", name, plain(e)));
    } catch (const std::invalid_argument& e) { fail(fmt::format("case {}: {}", name, e.what())); }
    if (const std::string fault = fault_of(cases.back()); !fault.empty()) fail(fmt::format("case {}: {}", name, fault));
  }
  return cases;
}

std::string shipped_cases_path() { return shipped_data_path("cases.json"); }

std::string scenario_of(const MeasuredCase& c) {
  // On one node NCCL uses no NIC, and a link that is not stated leaves the default of the GPU's node.
  const bool network = c.nodes > 1 && !c.link.empty();
  std::string y = fmt::format("fabricast: 1\nname: {}\nnode:\n  gpu: {}\n  gpus: {}\n  intranode: {}\n", c.id, c.gpu,
                              c.gpus_per_node, c.intranode);
  // Not stated: one NIC per GPU of 400 Gb/s, the usual design of current nodes.
  if (network)
    y += fmt::format("  nics: {{count: {}, rate: {}Gbps, link: {}}}\n", c.nics.value_or(c.gpus_per_node),
                     c.nic_gbps.value_or(400), c.link);
  if (c.gdr) y += fmt::format("  gdr: {}\n", *c.gdr);
  y += fmt::format("cluster: {{nodes: {}}}\n", c.nodes);
  constexpr int trays = 18;  // nodes of a full NVL72 rack
  // Trays of one rack share an NVLink domain, whatever the job's network.
  if ((c.gpu == "gb200" || c.gpu == "gb300") && c.nodes > 1)
    y += fmt::format("nvlink_domain: {{nodes: {}}}\n", c.nvlink_domain_nodes.value_or(trays));
  if (network) {
    // With a NIC for each GPU, rail-optimized is the usual fabric. Adaptive routing, because rows hold the best of
    // repeats.
    const bool rails = c.nics && *c.nics >= c.gpus_per_node && c.gpus_per_node > 1;
    y += fmt::format("fabric: {{kind: {}}}\nrouting: {{kind: adaptive}}\n", rails ? "rail_optimized" : "fat_tree");
  }
  std::string env;
  // Other variables of the launch have no meaning in a scenario.
  for (const auto& [key, value] : c.env)
    if (key.starts_with("NCCL_")) env += fmt::format("{}{}: \"{}\"", env.empty() ? "" : ", ", key, value);
  const std::string version = version_digits(c.nccl_version);
  if (!env.empty() || !version.empty()) y += "nccl:\n";
  if (!version.empty()) y += fmt::format("  version: \"{}\"\n", version);
  if (!env.empty()) y += fmt::format("  env: {{{}}}\n", env);
  std::string harness, sizes;
  for (const auto& [key, value] : c.harness)
    harness += fmt::format("{}{}: {}", harness.empty() ? "" : ", ", key, value);
  for (const MeasuredRow& row : c.rows) sizes += fmt::format("{}{}B", sizes.empty() ? "" : ", ", row.bytes);
  return y + fmt::format("workload:\n  kind: collective\n  collective: {}\n  harness: {{{}}}\n  sizes: [{}]\n",
                         c.collective, harness, sizes);
}

namespace {

/// Errors point to the case, because the user has never seen the scenario that was generated from it.
Scenario read_scenario_of(const MeasuredCase& c) {
  try {
    return parse_scenario(scenario_of(c), c.id).scenario;
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& fault : faults) fault.where = {"case " + c.id, 0, 0, 1};
    throw UserError(std::move(faults));
  }
}

}  // namespace

CaseRunner::CaseRunner(const MeasuredCase& c) : case_(&c), scenario_(read_scenario_of(c)) {
  prefixes_ = used_parameters(scenario_);
  scenario_.hardware = {};  // each run sets its own
}

bool CaseRunner::uses(const std::string& parameter) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& p) { return parameter.starts_with(p); });
}

World CaseRunner::world_of(const Hardware& hardware, std::vector<Bytes> sizes) const {
  Scenario scenario = scenario_;
  scenario.hardware = hardware;
  scenario.workload.sizes = std::move(sizes);
  // Fits and validations need times alone.
  return build_world(std::move(scenario)).with_times_only();
}

ForecastOfCase CaseRunner::run(const Hardware& hardware, bool residuals) const {
  const auto world = world_of(hardware, scenario_.workload.sizes);
  Forecast forecast = run_forecast(world, one_thread);
  ForecastOfCase out;
  for (const ForecastRow& row : forecast.rows) {
    const std::vector<Candidate>& candidates = row.plan.candidates;
    // The first candidate is NCCL's choice; its estimate is in us.
    const double nccl = candidates.empty() ? 0 : std::max(0.0, candidates.front().estimate_us * 1e-6);
    out.rows.push_back({row.bytes, Seconds{case_->rows[out.rows.size()].time_us * 1e-6}, row.time, row.algorithm,
                        row.protocol, !row.plan.stands_in, 1, nccl});
  }
  if (residuals) {
    add_unstated(forecast, one_thread);
    out.residuals = residual_rows(forecast, one_thread);
  }
  return out;
}

std::vector<Seconds> CaseRunner::times(const Hardware& hardware, const std::vector<std::size_t>& rows) const {
  std::vector<Bytes> sizes;
  for (const std::size_t row : rows) sizes.push_back(scenario_.workload.sizes[row]);
  std::vector<Seconds> out;
  for (const ForecastRow& row : run_forecast(world_of(hardware, std::move(sizes)), one_thread).rows)
    out.push_back(row.time);
  return out;
}

}  // namespace fabricast
