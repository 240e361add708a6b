// What a log states against what the scenario says, before anything is timed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/check.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

constexpr std::size_t longest_name = 80;  ///< of a product, as shown

/// Whether a product's name may mean the scenario's kind of GPU.
bool may_be(const NamedGpu& product, const GpuKind& expected) {
  const GpuKind& kind = *product.kind;
  if (kind.name == expected.name || kind.like == expected.name || expected.like == kind.name) return true;
  return std::any_of(product.others.begin(), product.others.end(),
                     [&](std::string_view other) { return other == expected.name; });
}

void compare_gpu(const LogTable& table, const World& world, std::vector<Contradiction>& found) {
  const Hardware& hardware = world.scenario.hardware;
  const GpuKind& expected = hardware.gpus.at(world.scenario.node.spec.gpu);
  const std::string name = shown(table.gpu, longest_name);
  if (name.empty()) return;
  const auto product = find_gpu(hardware, table.gpu);
  if (product && !may_be(*product, expected))
    found.push_back(
        {table.line, "node.gpu", name, expected.name, fmt::format("--set node.gpu={}", product->kind->name)});
  if (product) return;
  if (const OtherAccelerator* other = find_other_accelerator(hardware, table.gpu))
    found.push_back({table.line, "node.gpu", fmt::format("{}, {}", name, other->what), expected.name, other->instead});
}

void compare_nodes(const LogTable& table, const World& world, std::vector<Contradiction>& found) {
  const int nodes = world.scenario.cluster.nodes;
  if (table.nodes == 0 || table.nodes == nodes) return;
  found.push_back({table.line, "cluster.nodes", std::to_string(table.nodes), std::to_string(nodes),
                   fmt::format("--set cluster.nodes={}, with as many GPUs each as the log has", table.nodes)});
}

/// Patches of one release are taken as the same: scenarios rarely tell them.
void compare_version(int line, const std::string& told, const World& world, std::vector<Contradiction>& found) {
  const Scenario& scenario = world.scenario;
  if (told.empty() || !scenario.nccl.version_given) return;
  const GpuKind& gpu = scenario.hardware.gpus.at(scenario.node.spec.gpu);
  const auto read = parse_nccl_versions(told, gpu.compute_capability);
  if (!read) return;
  const NcclVersions given = nccl_versions(scenario);
  const auto release = [](const NcclVersion& v) { return std::pair(v.major, v.minor); };
  if (release(read->first) >= release(given.first) && release(read->first) <= release(given.last)) return;
  found.push_back({line, "nccl.version", told, scenario.nccl.version, fmt::format("--set nccl.version={}", told)});
}

}  // namespace

std::vector<Contradiction> contradictions(const Imported& log, const World& world) {
  std::vector<Contradiction> all;
  for (const LogTable& table : log.tables) {
    compare_gpu(table, world, all), compare_nodes(table, world, all);
    compare_version(table.line, table.nccl_version, world, all);
  }
  compare_version(log.nccl.line, log.nccl.version, world, all);
  std::vector<Contradiction> once;
  for (Contradiction& c : all) {
    const auto same = [&](const Contradiction& o) { return o.key == c.key && o.log == c.log; };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(std::move(c));
  }
  return once;
}

std::string contradictions_text(const Scenario& scenario, const std::vector<Contradiction>& found) {
  std::string out =
      fmt::format("# fabricast {}   {}\nno verdict: the log is not of this scenario\n", version_text(), scenario.name);
  for (const Contradiction& c : found) {
    out += fmt::format("  {}: the log says {} (line {}), the scenario {}\n", c.key, c.log, c.line, c.scenario);
    if (!c.hint.empty()) out += fmt::format("    {}\n", c.hint);
  }
  return out;
}

std::string contradictions_json(const Scenario& scenario, const std::vector<Contradiction>& found) {
  using Json = nlohmann::ordered_json;
  Json j{{"fabricast", version_text()}, {"name", scenario.name}, {"healthy", nullptr}};
  for (const Contradiction& c : found)
    j["contradictions"].push_back(
        {{"key", c.key}, {"line", c.line}, {"log", c.log}, {"scenario", c.scenario}, {"hint", c.hint}});
  return j.dump(1) + "\n";
}

}  // namespace fabricast
