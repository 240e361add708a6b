// `fabric.congestion.reordering: sent_again`: what NICs that keep order lose where packets are spread.
#include "fabricast/scenario/reordering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "fabricast/planner/planner.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/report/what_if.hpp"
#include "support/packet_table.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::world_of;

/// Ranks at two leaves in turn: every message of a ring crosses a spine.
std::string spread_ring(const std::string& congestion, const std::string& routing = "spray",
                        const std::string& link = "roce") {
  return fmt::format(
      "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 400Gbps, link: {}}}}}\n"
      "cluster: {{nodes: 8, size: 8, placement: [0, 4, 1, 5, 2, 6, 3, 7]}}\n"
      "fabric: {{kind: leaf_spine, leaves: 2, spines: 4, nodes_per_leaf: 4, switch: {{rate: 400Gbps}}, congestion: "
      "{{{}}}}}\n"
      "routing: {{kind: {}}}\nnccl: {{version: \"2.27\", env: {{NCCL_ALGO: Ring, NCCL_PROTO: Simple}}}}\n"
      "workload: {{collective: all_reduce, sizes: [1GiB], harness: {{tool: isolated}}}}\n",
      link, congestion, routing);
}

Seconds time(const std::string& text) { return run_forecast(world_of(text)).rows.front().time; }

TEST_CASE("NICs that accept any order, and paths that keep it, lose nothing", "[reordering]") {
  const Seconds spread = time(spread_ring("control: ideal"));
  CHECK(time(spread_ring("reordering: accepted")) == spread);
  CHECK(time(spread_ring("reordering: sent_again", "static")) == time(spread_ring("control: ideal", "static")));
  CHECK(time(spread_ring("reordering: sent_again", "adaptive, by: flowlet, seeds: 2")) ==
        time(spread_ring("control: ideal", "adaptive, by: flowlet, seeds: 2")));
  CHECK_FALSE(world_of(spread_ring("reordering: sent_again", "static")).warnings().empty());
}

TEST_CASE("full links carry the goodput of NICs that keep order", "[reordering]") {
  for (const char* how : {"selective_repeat", "go_back_n"}) {
    CAPTURE(how);
    const std::string keys = fmt::format("reordering: sent_again, retransmission: {}", how);
    const World world = world_of(spread_ring(keys));
    const std::optional<Reordered> r = reordered(world.scenario(), world.setup());
    REQUIRE(r);
    CHECK(r->selective == (std::string(how) == "selective_repeat"));
    const Forecast alone = run_forecast(world_of(spread_ring("control: ideal"))), kept = run_forecast(world);
    // A ring of 1 GiB is nearly all transfer, at the rate of the links.
    CHECK(kept.rows.front().time / alone.rows.front().time == Approx(1 / goodput_of(*r)).epsilon(0.1));
  }
}

TEST_CASE("links with room to spare lose nothing", "[reordering]") {
  // Two hosts at leaves of four: their packets meet nobody.
  const auto pair = [](const std::string& congestion) {
    return fmt::format(
        "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 400Gbps, link: roce}}}}\n"
        "cluster: {{nodes: 2, size: 8, placement: [0, 4]}}\n"
        "fabric: {{kind: leaf_spine, leaves: 2, spines: 4, nodes_per_leaf: 4, switch: {{rate: 400Gbps}}, "
        "congestion: {{{}}}}}\nrouting: {{kind: spray}}\nnccl: {{version: \"2.27\"}}\n"
        "workload: {{collective: all_reduce, sizes: [1GiB]}}\n",
        congestion);
  };
  CHECK(time(pair("reordering: sent_again, retransmission: go_back_n")) == time(pair("control: ideal")));
}

TEST_CASE("NICs that keep order send as much in runs of packets", "[reordering]") {
  // Packets of a round trip on four links of 500 ns each way at 400 Gb/s.
  const double packet = 4160 / 50e9, window = (8 * 500e-9 + 4 * (packet + 64 / 50e9)) / packet;
  std::map<std::string, int> compared;
  for (const test::PacketRow& row : test::packet_table(FABRICAST_TEST_DATA, "reorder/roce")) {
    // Full links alone: all eight hosts of a leaf send over eight spines.
    if (row.at("senders") != "8" || row.at("spines") != "8" || row.at("latency_ns") != "500") continue;
    CAPTURE(row);
    const std::string& nic = row.at("nic");
    const double sent = test::number(row, "sent") / test::number(row, "packets");
    ++compared[nic];
    if (nic == "any_order") CHECK(sent == Approx(1).margin(1e-9));
    if (nic == "selective_repeat") CHECK(1 / goodput_of(Reordered{0.5, true, window}) == Approx(sent).epsilon(0.15));
    if (nic == "go_back_n") {
      CHECK(1 / goodput_of(Reordered{0.5, false, window}) > 0.9 * sent);
      CHECK(1 / goodput_of(Reordered{0.5, false, window}) < 2 * sent);
    }
  }
  for (const char* nic : {"any_order", "selective_repeat", "go_back_n"}) CHECK(compared[nic] >= 15);
}

TEST_CASE("other networks accept any order", "[reordering]") {
  CHECK_THROWS_AS(world_of(spread_ring("reordering: sent_again", "spray", "slingshot")), UserError);
  CHECK_NOTHROW(world_of(spread_ring("reordering: sent_again", "spray", "infiniband")));
}

TEST_CASE("advice where packets overtake others", "[reordering]") {
  const Forecast f = run_forecast(world_of(spread_ring("reordering: sent_again, retransmission: go_back_n")));
  const std::vector<WhatIf> found = what_would_help(f, run_candidates(f), {});
  for (const char* word :
       {"fabric.congestion.reordering=accepted", "fabric.congestion.retransmission=selective_repeat"}) {
    CAPTURE(word);
    CHECK(std::any_of(found.begin(), found.end(), [&](const WhatIf& w) { return w.set.front() == word; }));
  }
}

}  // namespace
}  // namespace fabricast
