// Translates a topology file to keys of a scenario, and compares the two.
//
// A topology file replaces the keys of a host's devices. A key that is stated in addition must agree with the file,
// since either could be meant.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {

namespace {

// Bridged cards count as a mesh: the search and the graph take single links from the layout.
Intranode intranode_of(const NodeLayout& layout) {
  if (layout.has_nvswitch()) return Intranode::nvswitch;
  const bool nvlink =
      std::any_of(layout.gpus.begin(), layout.gpus.end(), [](const auto& g) { return !g.nvlinks.empty(); });
  if (nvlink) return Intranode::nvlink_mesh;
  return layout.gpus.size() > 1 ? Intranode::pcie : Intranode::none;
}

double nvlinks(const NodeLayout::Gpu& gpu) {
  double count = 0;
  for (const NodeLayout::NvLinks& l : gpu.nvlinks) count += l.count;
  return count;
}

bool fits(const GpuKind& kind, const NodeLayout::Gpu& gpu) {
  // A card may be without its bridge, and a board may have fewer links than its GPUs.
  const double count = nvlinks(gpu);
  const int most = std::max(kind.nvlinks, kind.bridge_nvlinks);
  return kind.compute_capability == gpu.capability && (count == 0 || (most > 0 && count <= most)) &&
         (kind.c2c.empty() ? gpu.c2c == 0 : gpu.c2c > 0);
}

}  // namespace

std::vector<std::string_view> fitting_gpus(const Hardware& hardware, const NodeLayout& layout) {
  // Kinds with exactly the NVLinks of the file, if there are any; otherwise all that are possible.
  std::vector<std::string_view> exact, possible;
  for (const auto& [name, kind] : hardware.gpus) {
    if (!kind.like.empty() || !fits(kind, layout.gpus.front())) continue;
    possible.push_back(name);
    if (kind.nvlinks == nvlinks(layout.gpus.front())) exact.push_back(name);
  }
  return exact.empty() ? possible : exact;
}

void lay_topology_over(NodeSpec& spec, NodeLayout layout) {
  spec.gpus = static_cast<int>(layout.gpus.size());
  spec.intranode = intranode_of(layout);
  spec.nics.count = static_cast<int>(layout.nics.size());
  if (!layout.nics.empty()) spec.nics.rate = BytesPerSecond{layout.nics.front().rate * 1e9};
  // The CPU of the first GPU: NCCL's tuning knows one vendor per node.
  const auto gpu_hub = layout.socket_of(layout.gpus.front().hub);
  spec.cpu = layout.hubs[static_cast<std::size_t>(gpu_hub)].cpu;
  spec.sockets = layout.sockets();
  spec.pcie_switches = layout.switches();
  spec.layout = std::move(layout);
}

std::vector<Diagnostic> contradictions(const NodeSpec& spec, const Hardware& hardware) {
  std::vector<Diagnostic> faults;
  if (!spec.layout) return faults;
  NodeSpec stated = spec;
  lay_topology_over(stated, *spec.layout);
  const auto compare = [&](std::string_view key, const auto& given, const auto& in_file, auto show) {
    if (given == in_file) return;
    Diagnostic d;
    d.path = fmt::format("node.{}", key);
    d.message = fmt::format("{} contradicts the topology file, which has {}", show(given), show(in_file));
    d.hint = "remove the key";
    faults.push_back(std::move(d));
  };
  const auto number = [](int n) { return fmt::format("{}", n); };
  const auto word = [](auto e) { return std::string(name_of(e)); };
  compare("gpus", spec.gpus, stated.gpus, number);
  compare("intranode", spec.intranode, stated.intranode, word);
  compare("nics.count", spec.nics.count, stated.nics.count, number);
  if (stated.nics.count > 0)
    compare("nics.rate", spec.nics.rate.value, stated.nics.rate.value,
            [](double rate) { return to_text(BytesPerSecond{rate}); });
  compare("cpu", spec.cpu, stated.cpu, word);
  compare("sockets", spec.sockets, stated.sockets, number);
  compare("pcie_switches", spec.pcie_switches, stated.pcie_switches, number);
  if (spec.nics.numa != NicNuma::local) compare("nics.numa", spec.nics.numa, NicNuma::local, word);
  const auto kind = hardware.gpus.find(spec.gpu);
  if (kind != hardware.gpus.end() && !fits(kind->second, spec.layout->gpus.front())) {
    Diagnostic d;
    d.path = "node.gpu";
    d.message = fmt::format("{} has sm {}, {} NVLinks{}, but the topology file's GPUs have sm {}, {:g} NVLinks{}",
                            spec.gpu, kind->second.compute_capability, kind->second.nvlinks,
                            kind->second.c2c.empty() ? "" : " and C2C", spec.layout->gpus.front().capability,
                            nvlinks(spec.layout->gpus.front()), spec.layout->gpus.front().c2c > 0 ? " and C2C" : "");
    d.hint = fmt::format("use one of {}", join(fitting_gpus(hardware, *spec.layout), ", "));
    faults.push_back(std::move(d));
  }
  return faults;
}

}  // namespace fabricast
