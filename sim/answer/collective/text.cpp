// Text for people. As in nccl-tests, lines that start with # are context, and the table has a row of names and a row of
// units.
//
// This file holds all text of collectives: `run`, `explain` and the three of `inspect`. Columns that have nothing to
// say (intervals, samples, versions, measured rows) are left out of the table, so widths of names and units must be
// kept in step with those of the rows. Units are us and 10^9 B/s.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/planner/buffer_memory.hpp"
#include "fabricast/planner/regressions.hpp"
#include "fabricast/planner/symmetric.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/unstated.hpp"
#include "fabricast/report/versions.hpp"

namespace fabricast {

namespace {

/// A number in a fixed width. Large numbers lose decimals.
/// `inf` is the time of a collective whose links are down.
std::string fixed(double value, int width = 8) {
  if (!std::isfinite(value)) return fmt::format("{:>{}}", "inf", width);
  const int decimals = value >= 1000 ? (value >= 10000 ? 0 : 1) : 2;
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

std::vector<std::string> texts(const std::vector<NcclVersion>& versions) {
  std::vector<std::string> list;
  for (const NcclVersion& v : versions) list.push_back(to_text(v));
  return list;
}

// Who chose the algorithm that the row does not run.
constexpr std::array<std::string_view, 3> chooser_texts = {"NCCL", "OFI tuner", "tuner"};
constexpr std::array<std::string_view, 3> chooser_names = {"NCCL", "the OFI plugin's tuner", "the tuner's profile"};
std::string_view chooser_text(Chooser chooser) { return chooser_texts[static_cast<std::size_t>(chooser)]; }
std::string_view tuner_name(Chooser chooser) { return chooser_names[static_cast<std::size_t>(chooser)]; }

std::string gbps(double bytes_per_second) { return fixed(bytes_per_second * 1e-9); }

/// Variables of NCCL that the provider sets, not the user; empty if there are none.
/// Images of cloud providers set variables by nccl.conf or a plugin. A user who does not see them in the scenario
/// should see them here.
std::string provider_text(const World& world) {
  if (world.provider().variables.empty()) return {};
  std::string out = fmt::format("set by {}:", world.provider().from);
  for (const auto& [name, value] : world.provider().variables) out += fmt::format(" {}={}", name, value);
  return out + "\n";
}

/// The measured row nearest to a forecast row, described by its size and by what else differs.
std::string near_text(const Forecast& forecast, const World& world, const KnownNear& near) {
  std::string text = to_text(Bytes{near.bytes});
  if (near.op != forecast.op) text = fmt::format("{} {}", name_of(near.op), text);
  if (near.nodes != world.scenario().cluster.nodes) text += fmt::format(" on {} nodes", near.nodes);
  if (!near.same_plan) text += " by another algorithm or protocol";
  return text;
}

/// How measured rows have shifted the time of the explained size.
/// The breakdown below this line is of the simulated time, so both times are given.
std::string measured_text(const World& world, const Forecast& forecast) {
  const ForecastRow& row = forecast.rows.front();
  if (!row.near) return {};
  return fmt::format(
      "\nadjusted to measurements here: {:.2f} us ({:.2f} to {:.2f} us, 90 % interval), {:.2f} times the simulated "
      "time; "
      "nearest measured: {}\n",
      microseconds(row.time), microseconds(row.time / row.factor), microseconds(row.time * row.factor), row.level,
      near_text(forecast, world, *row.near));
}

/// How other values of unstated inputs would change the time, and which input to state first.
/// The input with the largest effect is named with how to find its value on a machine.
std::string unstated_text(const Forecast& forecast) {
  const UnstatedEffect* most = largest_effect(forecast);
  if (!most) return {};
  std::string out = "\nnot stated                     assumed    otherwise\n";
  for (const UnstatedEffect& effect : forecast.unstated) {
    std::vector<std::string> others;
    for (std::size_t k = 0; k < effect.ratios.size(); ++k)
      others.push_back(
          fmt::format("{}: {:+.0f} %", effect.input.others[k].value, 100 * (effect.ratios[k].front() - 1)));
    out += fmt::format("  {:<28} {:<10} {}\n", effect.input.key, effect.input.assumed, fmt::join(others, ", "));
  }
  return out + fmt::format("  state {} first: {}\n", most->input.key, most->input.how_to_tell);
}

}  // namespace

std::string forecast_text(const Forecast& forecast) {
  const World& world = forecast.world;
  const Scenario& s = world.scenario();
  const Communicator& comm = world.planner().comm;
  std::string out = heading_line(s.name);
  // Nodes are those that NCCL sees: hosts that share NVLink are one.
  out += fmt::format("# {}: {} ranks = {} x {} {}", name_of(forecast.op), forecast.ranks, counted(comm.nodes(), "node"),
                     comm.gpus(), comm.node.gpu.name);
  if (comm.nodes() > 1)
    out += fmt::format(", {} x {} {} per node{}, {} fabric, {} routing", comm.node.nics,
                       to_text(comm.node.nic_line_rate), name_of(comm.node.spec.nics.link),
                       comm.gdr ? "" : " without GDR", topologies()[s.fabric.kind].name, world.setup().policy->name);
  out += fmt::format("\n# NCCL {}, timed as by {}\n", to_text(comm.version), name_of(s.workload.harness.tool));
  if (const std::string set = provider_text(world); !set.empty()) out += "# " + set;
  out += beside_line(world);
  if (s.nccl.selection == Selection::best) out += "# the fastest algorithm and protocol for each size\n";
  const auto has_interval = [](const ForecastRow& row) { return row.factor > 1; };
  const bool intervals = std::any_of(forecast.rows.begin(), forecast.rows.end(), has_interval);
  // The hash of a launch is not part of the interval, but shown beside it.
  const bool samples = forecast.samples > 1;
  if (intervals)
    out += fmt::format("# 90 % interval{}: the measured {} is between time / factor and time x factor\n",
                       samples ? " of the median" : "", samples ? "median over launches" : "time");
  if (const std::string assumed = assumed_text(forecast); !assumed.empty())
    out += fmt::format("# not stated, so assumed: {} (the interval includes other values)\n", assumed);
  const auto has_near = [](const ForecastRow& row) { return row.near.has_value(); };
  const bool measured = std::any_of(forecast.rows.begin(), forecast.rows.end(), has_near);
  if (measured)
    out += "# times are adjusted to what was measured here; known: share of the variance that this removes\n";
  if (samples)
    out += fmt::format("# {} samples of the hash from seed {}: time is the median launch, p5 to worst the others\n",
                       forecast.samples, world.samples().first_seed);
  const bool versions = !forecast.versions.empty();
  if (versions)
    out += fmt::format("# NCCL's version may be {}: time is that of {}; low and high are over versions from {} on\n",
                       s.nccl.version, to_text(comm.version), fmt::join(texts(forecast.versions), ", "));
  for (const Chooser tuner : {Chooser::ofi_tuner, Chooser::tuner}) {
    const auto by_tuner = [&](const ForecastRow& row) { return row.plan.chooser == tuner; };
    if (std::any_of(forecast.rows.begin(), forecast.rows.end(), by_tuner))
      out += fmt::format("# ({}): chosen by {}, not by NCCL\n", chooser_text(tuner), tuner_name(tuner));
  }
  // The header follows the row format below, column by column.
  out += "#\n#        size  algo  proto  ch      time   algbw   busbw";
  if (intervals) out += " factor";
  if (measured) out += "  known";
  if (samples) out += "        p5       p95     worst";
  if (versions) out += "       low      high";
  out += "  bound by\n#         (B)                        (us)  (GB/s)  (GB/s)";
  // The interval has no unit, so the line of units needs filler only if further columns follow.
  if (intervals && (measured || samples || versions)) out += "       ";
  if (measured) out += "    (%)";
  if (samples) out += "      (us)      (us)      (us)";
  if (versions) out += "      (us)      (us)";
  out += "\n";
  for (const ForecastRow& row : forecast.rows) {
    out += fmt::format("{:>13} {:>5} {:>6} {:>3} {} {} {}", row.bytes, name_of(row.algorithm), name_of(row.protocol),
                       row.channels, fixed(microseconds(row.time), 9),
                       fixed(gigabytes_per_second(row.algorithm_bandwidth()), 7),
                       fixed(gigabytes_per_second(forecast.bus_bandwidth(row)), 7));
    if (intervals) out += fmt::format(" {:>6.2f}", row.factor);
    if (row.near) out += fmt::format(" {:>6.0f}", 100 * row.residual->stated);
    if (samples)
      out += fmt::format(" {} {} {}", fixed(microseconds(row.time_p5), 9), fixed(microseconds(row.time_p95), 9),
                         fixed(microseconds(row.time_worst), 9));
    if (versions)
      out += fmt::format(" {} {}", fixed(microseconds(fastest_version(row).time), 9),
                         fixed(microseconds(slowest_version(row).time), 9));
    out += "  " + row.result.bottleneck.name;
    // The choice that was replaced: by selection `best`, with its time, or because it has no schedule, without one.
    if (row.nccl && row.nccl->time > Seconds{})
      out += fmt::format("  ({}: {}/{}, {:.2f} us)", chooser_text(row.plan.chooser), name_of(row.nccl->algorithm),
                         name_of(row.nccl->protocol), microseconds(row.nccl->time));
    else if (row.nccl)
      out += fmt::format("  ({}: {})", chooser_text(row.plan.chooser), name_of(row.nccl->algorithm));
    else if (row.plan.chooser != Chooser::nccl)
      out += fmt::format("  ({})", chooser_text(row.plan.chooser));
    if (row.near) out += fmt::format("  (nearest measured: {})", near_text(forecast, world, *row.near));
    if (!row.result.affected_by.empty())
      out += fmt::format("  (affected by: {})", fmt::join(row.result.affected_by, ", "));
    out += "\n";
  }
  return out;
}

namespace {

/// NCCL's choice compared with the fastest that it considered.
std::string selection_text(const ForecastRow& row, const Forecast& weighed) {
  const auto selected = compare_selections(row, weighed);
  if (!selected) return {};
  const auto line = [](std::string_view name, const Choice& c) {
    return fmt::format("  {:<17} {:<26} {:>15.2f}\n", name,
                       fmt::format("{}/{}", name_of(c.algorithm), name_of(c.protocol)), microseconds(c.time));
  };
  std::string out = "\nselection                                        forecast (us)\n";
  out += line("nccl", selected->nccl) + line("best", selected->best);
  if (selected->cost() == Seconds{}) return out + "  NCCL picks the fastest\n";
  return out + fmt::format("  NCCL's choice is {:.2f} us, {:.1f} % slower than the fastest\n",
                           microseconds(selected->cost()), 100 * (selected->cost() / selected->best.time));
}

// Copy engines move data without thread blocks, so they have no protocol, channels or chunks to show.
std::string algorithm_text(const ForecastRow& row) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(row.algorithm);
  if (row.plan.threads == 0) return fmt::format("{}: {}, without thread blocks\n", algorithm.name, algorithm.summary);
  return fmt::format("{}/{} on {} of {} threads, {} per chunk in {}\n", name_of(row.algorithm), name_of(row.protocol),
                     counted(row.channels, "channel"), row.plan.threads, to_text(Bytes{row.plan.chunk}),
                     counted(row.plan.slices_per_chunk, "slice"));
}

/// What the tuner chose, and what NCCL's own estimates would choose.
/// Candidates are in the order of the chooser, so the lowest of NCCL's estimates has to be searched.
std::string tuner_text(const Plan& plan) {
  const Candidate& chosen = plan.candidates.front();
  const Candidate& least =
      *std::min_element(plan.candidates.begin(), plan.candidates.end(),
                        [](const Candidate& a, const Candidate& b) { return a.estimate_us < b.estimate_us; });
  const auto name = [](const Candidate& c) { return fmt::format("{}/{}", name_of(c.algorithm), name_of(c.protocol)); };
  return fmt::format("  (chosen by {}: {}; NCCL's estimate is lowest for {})\n", tuner_name(plan.chooser), name(chosen),
                     name(least));
}

/// The kernel that runs on symmetric memory, and the others that NCCL considered.
std::string kernels_text(const Plan& plan) {
  const SymmetricRun& run = plan.kernels.front();
  std::string out = fmt::format("{} on {} blocks of {} threads\n", name_of(run.kernel), run.blocks, plan.threads);
  out += "\nkernels on symmetric memory    blocks   estimate (us)\n";
  for (const SymmetricRun& k : plan.kernels)
    out += fmt::format("  {:<28} {:>6} {:>15.2f}{}\n", name_of(k.kernel), k.blocks, k.estimate_us,
                       &k == &run ? "  <- runs" : "");
  return out;
}

/// The effect of registered buffers or symmetric memory, if the scenario has them.
/// Buffers can be requested without effect: symmetric kernels exist for some operations and sizes only, and
/// registration only saves copies where NCCL makes some.
std::string buffers_text(const World& world, const ForecastRow& row) {
  const Planner& planner = world.planner();
  std::string out;
  const std::string why = planner.buffers == Buffers::symmetric && row.plan.kernels.empty()
                              ? without_symmetric(planner, row.plan.op, row.plan.bytes)
                              : std::string();
  if (!why.empty()) out += fmt::format("  (no kernel on symmetric memory: {})\n", why);
  if (planner.buffers != Buffers::plain && row.plan.kernels.empty())
    out +=
        row.plan.registered ? "  NCCL uses the registered buffers\n" : "  registered buffers make no difference here\n";
  return out;
}

/// How the switches reduce, or why they do not although CollNet is enabled.
/// SHARP has low-latency trees, which reduce small pieces, and streaming trees, which reduce long messages at line
/// rate. Which one serves a message depends on its length (docs/models/sharp.md), here that of a slice.
std::string switches_text(const Planner& planner, const Plan& plan) {
  const Communicator& comm = planner.comm;
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  const SharpService& sharp = comm.sharp;
  if (!sharp.available())
    return planner.settings.collnet_enable ? fmt::format("  (the switches do not reduce: {})\n", sharp.without) : "";
  if (!algorithm.network_trees) return {};
  const Stream stream = algorithm.stream(comm, plan, 0);
  const Bytes message{stream.loops > 0 ? stream.slice : stream.tail_slice};
  if (sharp.streams(static_cast<double>(message.value)))
    return fmt::format("  switches reduce on streaming trees, up to {} per message\n", to_text(message));
  return fmt::format("  switches reduce on low-latency trees, up to {} per message, {} pieces of {} at once\n",
                     to_text(message), SharpService::pieces_at_once, to_text(Bytes{SharpService::piece}));
}

}  // namespace

std::string explain_text(const Explanation& explanation) {
  const World& world = explanation.forecast.world;
  const auto& [forecast, weighed, what_ifs, advice] = explanation;
  const ForecastRow& row = forecast.rows.front();
  const CollectiveResult& r = row.result;
  const Communicator& comm = world.planner().comm;
  std::string out =
      fmt::format("{} of {} on {} ranks: {} us, {} GB/s bus bandwidth\n", name_of(forecast.op),
                  to_text(Bytes{row.bytes}), forecast.ranks, fmt::format("{:.2f}", microseconds(row.time)),
                  fmt::format("{:.2f}", gigabytes_per_second(forecast.bus_bandwidth(row))));
  out += measured_text(world, forecast);
  const bool best = world.scenario().nccl.selection == Selection::best;
  out += best ? fmt::format("\nthe fastest that NCCL {} can run is ", to_text(comm.version))
              : fmt::format("\nNCCL {} runs it as ", to_text(comm.version));
  out += row.plan.kernels.empty() ? algorithm_text(row) : kernels_text(row.plan);
  if (row.plan.chooser != Chooser::nccl) out += tuner_text(row.plan);
  if (const std::string set = provider_text(world); !set.empty()) out += "  " + set;
  out += buffers_text(world, row);
  out += switches_text(world.planner(), row.plan);
  if (row.plan.stands_in)
    out += fmt::format("  (NCCL would choose {}/{}, which is not simulated yet; its next choice replaces it)\n",
                       name_of(row.plan.candidates.front().algorithm), name_of(row.plan.candidates.front().protocol));

  // The four parts add up to one isolated call (docs/models/flow-engine.md). Where several calls overlap, the tool
  // prints less than that; where it adds its own cost, more.
  out += "\nwhere the time goes                     us      %\n";
  const double whole = (r.launch + r.makespan).value;
  const auto part = [&](std::string_view name, Seconds t) {
    out += fmt::format("  {:<30} {} {:>5.1f}\n", name, fixed(microseconds(t), 9), 100 * t.value / whole);
  };
  part("launch", r.launch);
  part("latency of hops and slices", r.latency);
  // A collective that waits for a fault to end spends that time before data flows at full rate.
  part(r.affected_by.empty() ? "filling the pipeline" : "filling, waiting for faults", r.fill);
  part("transfer", r.transfer);
  out += fmt::format("  {:<30} {}\n", "one isolated call", fixed(whole * 1e6, 9));
  if (std::abs(row.time.value - whole) > 1e-9 * whole)
    out += fmt::format("  {:<30} {}\n", fmt::format("as timed by {}", name_of(world.scenario().workload.harness.tool)),
                       fixed(microseconds(row.time), 9));

  const Bottleneck& b = r.bottleneck;
  out += fmt::format("\nbound by {}", b.name);
  // The bottleneck is a link with a capacity, shared by connections of channels; or a resource of a GPU or host (copy
  // threads, proxy thread) with a rate per channel; or latency, which has neither.
  if (b.capacity.value > 0) {
    out += fmt::format(": {} GB/s", gbps(b.capacity.value));
    if (b.alike > 1) out += fmt::format(", like {} other link{}", b.alike - 1, b.alike == 2 ? "" : "s");
    out += "\n  shared by";
    double total = 0;
    for (const Bottleneck::Sharer& sharer : b.sharers) total += sharer.connections;
    for (std::size_t i = 0; i < std::min<std::size_t>(b.sharers.size(), 8); ++i)
      out += fmt::format("{} channel {} ({:.4g})", i ? "," : "", b.sharers[i].channel, b.sharers[i].connections);
    if (b.sharers.size() > 8) out += fmt::format(" and {} more", b.sharers.size() - 8);
    out += fmt::format(": {:.4g} connections, {} GB/s of payload each", total, gbps(b.rate.value));
  } else if (b.rate.value > 0) {
    out += fmt::format(": {} GB/s of payload per channel", gbps(b.rate.value));
  }
  out += "\n";
  if (!r.affected_by.empty()) out += fmt::format("affected by faults: {}\n", fmt::join(r.affected_by, ", "));
  if (forecast.samples > 1)
    out += fmt::format("over {} samples: p5 {:.2f}, p95 {:.2f}, worst {:.2f} us\n", forecast.samples,
                       microseconds(row.time_p5), microseconds(row.time_p95), microseconds(row.time_worst));

  out += unstated_text(forecast);
  for (const VersionTime& v : row.by_version)
    out += fmt::format("from NCCL {:<6} on: {} us, {}/{} on {}\n", to_text(v.from), fixed(microseconds(v.time), 9),
                       name_of(v.algorithm), name_of(v.protocol), counted(v.channels, "channel"));

  // For copy engines and symmetric kernels the candidates are what NCCL would choose from without symmetric windows.
  if (!row.plan.candidates.empty())
    out += fmt::format("\n{:<33}estimate (us)   forecast (us)\n",
                       is_in_cost_model(row.plan.algorithm) ? "what NCCL considered" : "without symmetric windows");
  for (const Candidate& c : row.plan.candidates) {
    const ForecastRow* own = weighed.find(c.algorithm, c.protocol);
    const std::string simulated = own ? fmt::format("{:.2f}", microseconds(own->time)) : "-";
    out += fmt::format("  {:<30} {:>13.2f} {:>15}{}\n", fmt::format("{}/{}", name_of(c.algorithm), name_of(c.protocol)),
                       c.estimate_us, simulated,
                       c.algorithm == row.algorithm && c.protocol == row.protocol ? "  <- runs" : "");
  }
  out += selection_text(row, weighed);
  out += regressions_text(regressions_of(world.planner(), row.plan));
  const std::string advised = advice ? advice_text(*advice) : std::string();
  if (what_ifs.empty())
    return out + fmt::format("\nno change that was tried gains {:.0f} % or more\n", 100 * least_gain) + advised;
  out += "\nwhat would help                                forecast (us)  gain %\n";
  for (const WhatIf& w : what_ifs) {
    out += fmt::format("  {:<44} {:>13.2f}  {:>6.1f}\n   ", w.what, microseconds(w.times.front()), 100 * w.gain);
    for (const std::string& word : w.set) out += fmt::format(" --set '{}'", word);
    out += "\n";
  }
  return out + advised;
}

std::string inspect_fabric_text(const World& world) {
  const Communicator& comm = world.planner().comm;
  const Node& node = comm.node;
  // Where switch ports are slower than the NICs, the planner has NICs at the rate of the ports.
  const BytesPerSecond own = world.scenario().node.spec.nics.rate, runs = node.spec.nics.rate;
  const std::string slowed =
      runs < own ? fmt::format(" (a cable of {} runs at {}, the rate of the switch port)", to_text(own), to_text(runs))
                 : "";
  std::string out = fmt::format("node: {} GPUs {}, {}, {} NICs of {}{}, {} sockets, {} PCIe switches\n", comm.gpus(),
                                node.gpu.name, name_of(node.spec.intranode), node.nics, to_text(node.nic_line_rate),
                                slowed, node.spec.sockets, node.spec.pcie_switches);
  // Links are stored in pairs, one for each direction; both have the same class.
  for (std::uint16_t l = 0; l < node.graph.link_count(); l = static_cast<std::uint16_t>(l + 2))
    out += fmt::format("  {:<20} {:<16} {} GB/s\n", node.graph.link_name(l),
                       name_of(node.graph.links[l].link_class.kind), gbps(node.graph.links[l].link_class.rate.value));
  if (!world.fabric()) return out + "fabric: none, one node\n";
  const Fabric& f = *world.fabric();
  out +=
      fmt::format("fabric: {}, {} nodes, {} NIC ports, {} switches, {} cables\n",
                  topologies()[world.scenario().fabric.kind].name, f.nodes(), f.endpoints(), f.switches(), f.cables());
  for (const Tier t : {Tier::leaf, Tier::spine, Tier::core}) {
    if (f.switches_in(t) == 0) continue;
    out += fmt::format("  {:<6} {:>8} switches {:>8} cables below\n", name_of(t), f.switches_in(t), f.cables_below(t));
  }
  // The graph has one link for the parallel links of all planes.
  if (const Clos* clos = f.clos(); clos && clos->planes > 1)
    out += fmt::format("  {} such planes; links have the rate of all of them together\n", clos->planes);
  for (const LinkClass& c : f.classes())
    out += fmt::format("  links of {} GB/s payload, {}\n", gbps(c.rate.value), to_text(c.latency));
  out += "  e.g.";
  // Examples of names for `faults`: cables of NICs come first, then those between switches by tier.
  for (std::uint32_t l = 0; l < f.links() && l <= 4; l += 2) out += " " + f.name(LinkId(l));
  if (f.cables() > f.endpoints()) out += " " + f.name(LinkId(2 * f.endpoints()));
  if (f.switches_in(Tier::core) > 0 || f.metric()) out += " " + f.name(LinkId(f.links() - 2));
  return out + "\n";
}

std::string inspect_plan_text(const World& world, std::int64_t bytes) {
  const CollectiveOp op = world.scenario().workload.collective;
  const Plan plan = plan_workload(world, bytes);
  const SearchGraphs& g = world.planner().graphs;
  std::string out = fmt::format(
      "{} of {}: {}/{}{}\n", name_of(op), to_text(Bytes{bytes}), name_of(plan.algorithm), name_of(plan.protocol),
      plan.chooser == Chooser::nccl ? std::string() : fmt::format(", chosen by {}", tuner_name(plan.chooser)));
  out += fmt::format("  channels {} of {}, threads {}, chunk {} B in {}, {} slots\n", plan.open_channels(),
                     world.planner().comm.channels, plan.threads, plan.chunk, counted(plan.slices_per_chunk, "slice"),
                     plan.slots);
  const BufferMemory buffers = buffer_memory(buffered_connections(world.planner().comm, 0),
                                             buffer_sizes(world.planner().settings), world.planner().comm.gdr);
  out += fmt::format("  buffers of rings and trees on rank 0: {} of the GPU, {} of the host\n", to_text(buffers.gpu),
                     to_text(buffers.host));
  for (const SymmetricRun& k : plan.kernels)
    out += fmt::format("  kernel {} on {} blocks, NCCL's estimate {:.2f} us\n", name_of(k.kernel), k.blocks,
                       k.estimate_us);
  out += fmt::format("  bytes by channel: {}\n", fmt::join(plan.shares, " "));
  // As NCCL prints with NCCL_DEBUG_SUBSYS=GRAPH: channels, bandwidths inside and between nodes, path types, and the
  // GPUs of each channel in order [NCCL-log].
  const auto graph = [&](std::string_view name, const SearchGraph& s, bool tree = false) {
    if (s.channels == 0) return;
    out += fmt::format("{} graph: {} channels x {}/{} GB/s, {}/{}, crossNic {}{}\n", name, s.channels, s.bw_intra,
                       s.bw_inter, name_of(s.type_intra), name_of(s.type_inter), s.cross_nic,
                       tree ? fmt::format(", pattern {}", name_of(s.pattern)) : std::string());
    for (std::size_t c = 0; c < s.shapes.size(); ++c) {
      const ChannelShape& shape = s.shapes[c];
      out += fmt::format("  {:>2}:", c);
      if (shape.nic_in >= 0) out += fmt::format(" nic{} ->", shape.nic_in);
      out += fmt::format(" {}", fmt::join(shape.gpus, " "));
      if (shape.nic_out >= 0) out += fmt::format(" -> nic{}", shape.nic_out);
      out += "\n";
    }
  };
  graph("ring", g.ring);
  graph("tree", g.tree, true);
  graph("nvls", g.nvls);
  graph("collnetchain", g.collnet_chain);
  graph("collnetdirect", g.collnet_direct);
  out += "candidates, NCCL's estimate in us:";
  for (const Candidate& c : plan.candidates)
    out += fmt::format(" {}/{} {:.2f}", name_of(c.algorithm), name_of(c.protocol), c.estimate_us);
  return out + "\n";
}

// The schedule is the program that the engines and the proof of schedules read; its first steps are enough to see the
// pattern.
std::string inspect_schedule_text(const World& world, std::int64_t bytes, int channel, int rank) {
  const Communicator& comm = world.planner().comm;
  const Plan plan = plan_workload(world, bytes);
  if (channel < 0 || channel >= plan.channels)
    throw UserError(fmt::format("there is no channel {}", channel),
                    fmt::format("the plan uses {} channels", plan.channels));
  if (rank < 0 || rank >= comm.ranks())
    throw UserError(fmt::format("there is no rank {}", rank), fmt::format("there are {} ranks", comm.ranks()));
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  // Kernels on symmetric memory and copy engines have a time, but no steps.
  if (!algorithm.program)
    throw UserError::at("workload.buffers", fmt::format("{} have no schedule", algorithm.summary),
                        "`fabricast explain` shows the kernel; --set workload.buffers=plain shows a schedule");
  const Stream s = algorithm.stream(comm, plan, channel);
  std::string out = fmt::format("channel {} of {} {}/{}: {} loops", channel, name_of(plan.op), name_of(plan.algorithm),
                                name_of(plan.protocol), s.loops);
  out += fmt::format(" of {} sends x {} slices of {} B", s.sends, s.slices, s.slice);
  if (s.tail_slices > 0)
    out += fmt::format(", then {} sends x {} slices of {} B", s.sends, s.tail_slices, s.tail_slice);
  out += fmt::format("; {} slots\n", s.slots);
  const auto program = algorithm.program(comm, plan, channel);
  for (std::int32_t w = 0; w < program->workers(); ++w) {
    if (program->rank_of(w).value != static_cast<std::uint32_t>(rank)) continue;
    out += fmt::format("rank {}, worker {}: {} steps\n", rank, w, program->steps(w));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(program->steps(w), 40); ++i) {
      const Step step = program->step(w, i);
      out += fmt::format("  {:>4}:", i);
      // A step: byte ranges; ranks received from; `own` adds the rank's own data; `kept` adds what an earlier step
      // kept; ranks sent to; `final` writes the result.
      for (const ByteRange& r : step.ranges) out += fmt::format(" [{}, +{})", r.begin, r.size);
      for (const std::int32_t f : step.from) out += fmt::format(" from {}", program->rank_of(f).value);
      if (step.own) out += " own";
      if (step.kept) out += " kept";
      for (const std::int32_t t : step.to) out += fmt::format(" to {}", program->rank_of(t).value);
      if (step.result) out += " final";
      out += "\n";
    }
    if (program->steps(w) > 40) out += "  ...\n";
  }
  return out;
}

}  // namespace fabricast
