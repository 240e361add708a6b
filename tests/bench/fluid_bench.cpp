// The flow engine against SimGrid [SimGrid2014] and against a full filling at each event.
//
//     bench_fluid [--flows N] [--no-simgrid]
//
// Every row is a whole run; flows start at 0 but where the row says otherwise, and every end is an event of its own.
// Times take in building the network and starting the flows; of three runs the best counts, but SimGrid and the full
// filling run once. The full filling ("refill") is timed to the end up to 4,096 flows, where it is the oracle too;
// beyond, over 100 events with every second flow, about as many as there are on average.
// --flows sets the largest dense row (4,096; SimGrid takes over a minute for 16,384). The error of tolerance 1e-4 is
// against the exact run.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "fabricast/core/rng.hpp"
#include "support/flow_scene.hpp"
#include "support/fluid_reference.hpp"
#include "support/simgrid_flows.hpp"

namespace fabricast {
namespace {

constexpr std::size_t oracle_limit = 4096;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Run {
  std::vector<double> end;
  std::size_t events = 0;  ///< flows that end together count once
  double seconds = 0;
};

template <class Network>
Run run(Network network, const FlowScene& scene, std::size_t most_events = SIZE_MAX) {
  Run run;
  run.end.resize(scene.flows.size());
  const auto start = std::chrono::steady_clock::now();
  auto next = scene.flows.begin();
  double last = -1;
  while (run.events < most_events) {
    for (; next != scene.flows.end() && next->start <= network.now(); ++next)
      network.start(next->bytes, next->path, next->weight, next->cap);
    const bool all = next == scene.flows.end();
    if (const auto event = network.advance(all ? std::numeric_limits<double>::infinity() : next->start)) {
      run.events += event->time != last;
      last = run.end[event->flow.value] = event->time;
    } else if (all) {
      break;
    }
  }
  run.seconds = seconds_since(start);
  return run;
}

Run best_run(const FlowScene& scene, double tolerance) {
  Run best;
  for (int attempt = 0; attempt < 3; ++attempt)
    if (Run next = run(FluidNetwork(scene.capacity, {tolerance}), scene); attempt == 0 || next.seconds < best.seconds)
      best = std::move(next);
  return best;
}

/// Heap bytes of a network with all its flows.
double megabytes(const FlowScene& scene) {
  const std::size_t before = mallinfo2().uordblks;
  FluidNetwork network(scene.capacity);
  for (const SceneFlow& flow : scene.flows) network.start(flow.bytes, flow.path, flow.weight, flow.cap);
  network.advance();
  return static_cast<double>(mallinfo2().uordblks - before) * 1e-6;
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] / b[i] - 1));
  return worst;
}

double us_per_event(const Run& run) { return run.seconds * 1e6 / static_cast<double>(run.events); }

std::string cell(std::optional<double> value, int digits, char kind) {
  return value ? fmt::format(fmt::runtime(fmt::format("{{:.{}{}}}", digits, kind)), *value) : "-";
}

constexpr const char* layout = "{:<33}{:>6}{:>7}{:>9}{:>6} |{:>6}{:>9} |{:>8}{:>9} |{:>8}{:>9}{:>6}{:>6}\n";

void header() {
  fmt::print("# us: per event; err: worst relative difference of an end; gain: how many times faster\n");
  fmt::print(fmt::runtime(layout), "#", "", "", "exact", "", "", "refill", "", "tol 1e-4", "", "SimGrid", "", "tol");
  fmt::print(fmt::runtime(layout), "#", "flows", "events", "us", "MB", "gain", "err", "us", "err", "s", "err", "gain",
             "gain");
}

FlowScene every_second_flow(FlowScene scene) {
  for (std::size_t f = 0; 2 * f < scene.flows.size(); ++f) std::swap(scene.flows[f], scene.flows[2 * f]);
  scene.flows.resize(scene.flows.size() / 2);
  return scene;
}

void row(std::string_view name, const FlowScene& scene, bool simgrid) {
  const Run exact = best_run(scene, 1e-12), loose = best_run(scene, 1e-4);
  const bool oracle = scene.flows.size() <= oracle_limit;
  const Run refill = oracle ? run(FluidReference(scene.capacity), scene)
                            : run(FluidReference(scene.capacity), every_second_flow(scene), 100);
  std::optional<double> refill_error, peer_seconds, peer_error, gain, loose_gain;
  if (oracle) refill_error = worst_difference(exact.end, refill.end);
  if (simgrid) {
    const SimGridRun peer = run_simgrid(scene);
    peer_seconds = peer.wall_seconds;
    peer_error = worst_difference(exact.end, peer.end);
    gain = peer.wall_seconds / exact.seconds, loose_gain = peer.wall_seconds / loose.seconds;
  }
  fmt::print(fmt::runtime(layout), name, scene.flows.size(), exact.events, cell(us_per_event(exact), 2, 'f'),
             cell(megabytes(scene), 1, 'f'), cell(us_per_event(refill) / us_per_event(exact), 0, 'f'),
             cell(refill_error, 1, 'e'), cell(us_per_event(loose), 2, 'f'),
             cell(worst_difference(loose.end, exact.end), 1, 'e'), cell(peer_seconds, 3, 'f'), cell(peer_error, 1, 'e'),
             cell(gain, 0, 'f'), cell(loose_gain, 0, 'f'));
  std::fflush(stdout);
}

FlowScene equal_sizes(FlowScene scene) {
  for (SceneFlow& flow : scene.flows) flow.bytes = 1e9;
  return scene;
}

FlowScene weights_and_caps(FlowScene scene) {
  Rng rng(5);
  for (SceneFlow& flow : scene.flows) {
    flow.weight = rng.uniform(0.5, 2);
    if (rng.below(2)) flow.cap = rng.uniform(0.5e9, 5e9);
  }
  return scene;
}

/// Steady traffic: starts spread evenly over `seconds`.
FlowScene arrivals(FlowScene scene, double seconds) {
  for (std::size_t f = 0; f < scene.flows.size(); ++f)
    scene.flows[f].start = seconds * static_cast<double>(f) / static_cast<double>(scene.flows.size());
  return scene;
}

FlowScene incast(FlowScene scene) {
  Rng rng(6);
  for (SceneFlow& flow : scene.flows)
    if (rng.below(8) == 0) flow.path.back().link = 1;
  return scene;
}

void table(std::uint32_t flows, bool simgrid) {
  header();
  for (const std::uint32_t n : {256U, 1024U, 4096U, 16384U})
    if (n <= flows) row("256 hosts, d-mod-k", permutations(256, n, Spine::by_destination, 1), simgrid);
  row("256 hosts, ECMP", permutations(256, 4096, Spine::at_random, 1), false);
  row("256 hosts, ECMP, equal sizes", equal_sizes(permutations(256, 4096, Spine::at_random, 1)), false);
  row("256 hosts, starts over 0.3 s", arrivals(permutations(256, 4096, Spine::by_destination, 1), 0.3), false);
  row("256 hosts, 1/8 into one host", incast(permutations(256, 4096, Spine::by_destination, 1)), false);
  row("1024 hosts, d-mod-k", permutations(1024, 4096, Spine::by_destination, 1), false);
  row("1024 hosts, d-mod-k", permutations(1024, 16384, Spine::by_destination, 1), false);
  row("1024 hosts, weights, half capped", weights_and_caps(permutations(1024, 16384, Spine::by_destination, 1)), false);
  row("parking lot, 4096 links, reach 2", parking_lot(4096, 16384, 2, 1), false);
  row("parking lot, 64 links, reach 8", parking_lot(64, 4096, 8, 1), false);
  row("one link", parking_lot(1, 16384, 1, 1), false);
}

}  // namespace
}  // namespace fabricast

int main(int argc, char** argv) {
  std::uint32_t flows = 4096;
  bool simgrid = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--no-simgrid") {
      simgrid = false;
    } else if (option == "--flows" && i + 1 < argc) {
      flows = static_cast<std::uint32_t>(std::stoul(argv[++i]));
    } else {
      fmt::print(stderr, "usage: bench_fluid [--flows N] [--no-simgrid]\n");
      return 2;
    }
  }
  fabricast::table(flows, simgrid);
}
