// The least time of a collective by line rates:
//
//   t  >=  bytes that a unit must send or receive / line rate of its ports,     t  >=  1 us
//
// for two kinds of units, hosts joined by NVLink with their NICs, and GPUs with their NVLinks and PCIe. Of u equal
// units, each must move (S: size as nccl-tests counts it):
//
//   all_reduce                 2 (u - 1) / u S without reduction in a switch [Patarasuk2009]; S with it, its own data
//   all_gather, reduce_scatter, gather, scatter      (u - 1) / u S: what is not its own
//   broadcast, reduce, sendrecv                      S
//   alltoall                   (u - 1) / u S for each rank of the unit
#include "fabricast/calibrate/least_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

/// Part of the least time below which a row is impossible. Line rates hold exactly, so the margin is for the rest: the
/// clock of the host that measured, digits of printed times, and cards whose links run a few percent above their
/// nominal rate.
constexpr double impossible_below = 0.9;

/// No collective of several GPUs is shorter. A kernel has to start, and a store to another GPU needs about half a
/// microsecond before it is seen there, in each direction.
constexpr Seconds least_call{1e-6};

/// Equal parts of the job whose ports carry what they exchange.
struct Units {
  std::string what;      ///< for messages
  double count = 1;      ///< number of units; 1: nothing is exchanged
  double ranks = 1;      ///< of all units
  BytesPerSecond rate;   ///< of all ports of a unit, one direction
  bool reduces = false;  ///< whether switches between the units reduce
};

Bytes moved_by_unit(CollectiveOp op, Bytes size, const Units& units) {
  const double others = (units.count - 1) / units.count;
  const double bytes = static_cast<double>(size.value);
  const auto rounded = [](double value) { return Bytes{static_cast<std::int64_t>(value)}; };
  switch (op) {
    case CollectiveOp::all_reduce: return rounded(units.reduces ? bytes : 2 * others * bytes);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::gather:
    case CollectiveOp::scatter: return rounded(others * bytes);
    case CollectiveOp::alltoall: return rounded(others * bytes * units.ranks / units.count);
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
    case CollectiveOp::sendrecv: return size;
  }
  return {};
}

/// Hosts that NVLink joins, with all of their NICs.
Units units_of_hosts(const Scenario& scenario) {
  const NodeSpec& node = scenario.node.spec;
  const int nodes = scenario.cluster.nodes;
  const int domain = std::max(1, scenario.nvlink_domain.nodes);
  const int count = (nodes + domain - 1) / domain;
  const double hosts = static_cast<double>(nodes) / count;
  Units units{domain > 1 ? "NICs of an NVLink domain" : "NICs of a host",
              static_cast<double>(count),
              static_cast<double>(nodes) * node.gpus,
              {},
              false};
  units.rate = node.nics.rate * (hosts * node.nics.count);
  // Whether a job gets SHARP depends on its fabric; here it is enough that the network may have it.
  units.reduces = scenario.sharp.generation != SharpGeneration::none && node.nics.link == LinkKind::infiniband;
  return units;
}

BytesPerSecond line_rate(const Hardware& hardware, const std::string& link, int count) {
  const auto found = hardware.links.find(link);
  return found == hardware.links.end() ? BytesPerSecond{} : found->second.rate * static_cast<double>(count);
}

/// GPUs with all of their links, whichever the job uses.
Units units_of_gpus(const Scenario& scenario) {
  const Hardware& hardware = *scenario.hardware;
  const GpuKind& gpu = gpu_of(scenario);
  const double ranks = static_cast<double>(scenario.cluster.nodes) * scenario.node.spec.gpus;
  Units units{"links of a GPU", ranks, ranks, {}, false};
  switch (scenario.node.spec.intranode) {
    case Intranode::nvswitch:
    case Intranode::nvlink_mesh: units.rate = line_rate(hardware, gpu.nvlink, gpu.nvlinks); break;
    case Intranode::nvlink_pairs: units.rate = line_rate(hardware, gpu.bridge_nvlink, gpu.bridge_nvlinks); break;
    case Intranode::pcie:
    case Intranode::none: break;
  }
  const bool all_nvlink = units.rate.value > 0 && scenario.node.spec.intranode != Intranode::nvlink_pairs;
  // NICs are behind PCIe, or behind the CPU.
  if (!all_nvlink || scenario.cluster.nodes > 1)
    units.rate = units.rate + line_rate(hardware, gpu.pcie, 1) + line_rate(hardware, gpu.c2c, 1);
  // NVSwitches reduce from Hopper on (docs/models/nvls.md), and so may the switches of the network.
  constexpr int hopper = 90;
  const bool in_node = scenario.node.spec.intranode == Intranode::nvswitch && gpu.compute_capability >= hopper;
  units.reduces = in_node || (scenario.cluster.nodes > 1 && units_of_hosts(scenario).reduces);
  return units;
}

}  // namespace

LeastTime least_time(const Scenario& scenario, Bytes bytes) {
  const CollectiveOp op = scenario.workload.collective;
  const Units gpus = units_of_gpus(scenario);
  if (!(gpus.count > 1)) return {};
  LeastTime least{least_call, "a call"};
  for (const Units& units : {gpus, units_of_hosts(scenario)}) {
    if (!(units.count > 1) || !(units.rate.value > 0)) continue;
    const Seconds time = moved_by_unit(op, bytes, units) / units.rate;
    if (time > least.time) least = {time, fmt::format("{}: {}", units.what, to_text(units.rate))};
  }
  return least;
}

std::vector<ImpossibleRow> impossible_rows(const std::vector<MeasuredSeries>& measured) {
  std::vector<ImpossibleRow> rows;
  for (const MeasuredSeries& series : measured) {
    if (series.live) continue;
    const Scenario& scenario = series.scenario;
    const std::int64_t ranks = std::int64_t{scenario.cluster.nodes} * scenario.node.spec.gpus;
    const std::vector<std::int64_t> sizes = scenario.sizes();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      LeastTime least = least_time(scenario, Bytes{sizes[i]});
      if (series.times[i] >= least.time * impossible_below) continue;
      const int line = i < series.lines.size() ? series.lines[i] : 0;
      rows.push_back(
          {scenario.workload.collective, sizes[i], ranks, series.times[i], std::move(least), series.from, line});
    }
  }
  return rows;
}

std::string impossible_text(const ImpossibleRow& row) {
  return fmt::format("{} of {} over {} ranks in {:.6g} us is faster than this hardware can be: at least {:.6g} us ({})",
                     name_of(row.op), to_text(Bytes{row.bytes}), row.ranks, microseconds(row.measured),
                     microseconds(row.least.time), row.least.limit);
}

std::string impossible_advice(const std::vector<ImpossibleRow>& rows) {
  double most = 1;
  for (const ImpossibleRow& row : rows) most = std::max(most, row.least.time / row.measured);
  // A unit explains the rows only if it moves all of them to their least times.
  std::string units;
  if (most < 8 / impossible_below) units = "are rates in Gb/s, not GB/s? ";
  units += most < 1e3 / impossible_below ? "are times in ms, not us? " : "are times in s, not us? ";
  return units + "another cluster, operation or number of ranks?";
}

void refuse_impossible(const std::vector<MeasuredSeries>& measured, const Scenario& scenario) {
  const std::vector<ImpossibleRow> rows = impossible_rows(measured);
  if (rows.empty()) return;
  std::vector<Diagnostic> faults;
  // All rows of a file have the same fault. A few show it.
  constexpr std::size_t most = 5;
  for (const ImpossibleRow& row : rows) {
    if (faults.size() == most) break;
    Diagnostic fault{Diagnostic::Severity::error, {}, {}, impossible_text(row), impossible_advice(rows)};
    if (row.line > 0) fault.where = {row.from, row.line, 1, 1};
    const bool of_scenario = row.from == fmt::format("measured.{}", name_of(row.op));
    if (of_scenario) fault.path = row.from;
    for (const auto& [size, text] : scenario.measured.texts[static_cast<std::size_t>(row.op)])
      if (const auto bytes = parse_bytes(size); of_scenario && bytes && bytes.value.value == row.bytes)
        fault.path += "." + size;
    if (!of_scenario && row.line == 0) fault.message = row.from + ": " + fault.message;
    faults.push_back(std::move(fault));
  }
  throw UserError(std::move(faults));
}

}  // namespace fabricast
