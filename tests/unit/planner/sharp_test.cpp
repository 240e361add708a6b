// What a job gets of switches that reduce, by their generation [SHARP-manual].
#include "fabricast/planner/sharp.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "support/fabrics.hpp"
#include "support/reducing.hpp"

namespace fabricast {
namespace {

using Catch::Contains;

NodeSpec eight_nics(double gbps, LinkKind link = LinkKind::infiniband) {
  NodeSpec spec = test::with_nics(test::preset_spec("hgx-h100"), 8, gbps);
  spec.nics.link = link;
  return spec;
}

SharpService service_of(const SharpSpec& sharp, const NodeSpec& spec, std::string_view kind = "rail_optimized",
                        const test::Keys& keys = {}, std::uint32_t nodes = 4) {
  const Planner planner = test::planner_of(spec, nodes);
  const Fabric fabric =
      test::fabric_of(kind, test::demand_of(nodes, static_cast<std::uint32_t>(planner.comm.node.fabric_ports)), keys);
  return sharp_service(sharp, planner.comm, &fabric);
}

SharpSpec others(int trees, SharpGeneration generation = SharpGeneration::automatic) { return {generation, trees}; }

TEST_CASE("a job gets one tree per NIC of a node", "[planner]") {
  const SharpService service = service_of({}, eight_nics(400));
  CHECK(service.available());
  CHECK(service.trees.size() == 8);
  CHECK(service.share == 1);
  CHECK(service.without.empty());
}

TEST_CASE("HDR switches stream one tree at a time", "[planner]") {
  // Every rail has a leaf of its own and one tree on it.
  CHECK(service_of({}, eight_nics(200)).share == 1);
  CHECK(service_of(others(1), eight_nics(200)).share == Approx(1. / 2));
  CHECK(service_of(others(3), eight_nics(200)).share == Approx(1. / 4));
  // All trees of a job meet where all NICs are on one switch.
  CHECK(service_of({}, eight_nics(200), "single_switch").share == Approx(1. / 8));
  // From NDR on each port streams its own tree.
  CHECK(service_of({}, eight_nics(400), "single_switch").share == 1);
  CHECK(service_of(others(100), eight_nics(400), "single_switch").share == 1);
  // The generation given counts, not the rate.
  CHECK(service_of(others(1, SharpGeneration::v2), eight_nics(400)).share == Approx(1. / 2));
  CHECK(service_of(others(1, SharpGeneration::v3), eight_nics(200)).share == 1);
}

TEST_CASE("short messages use windows of eight pieces of 1 KiB, and stream from 16 KiB on", "[planner]") {
  const SharpService service = service_of({}, eight_nics(400));
  CHECK(service.windows(1) == 1. / 8);
  CHECK(service.windows(1024) == 1. / 8);
  CHECK(service.windows(1025) == 2. / 8);
  CHECK(service.waits(8192) == 0);
  CHECK(service.waits(8193) == 1);
  CHECK(service.waits(16383) == 1);
  CHECK_FALSE(service.streams(16383));
  CHECK(service.streams(16384));
  CHECK(service.windows(16384) == 0);
  CHECK(service.waits(16384) == 0);
  SharpSpec later;
  later.streaming_from = Bytes{100'000};
  CHECK(service_of(later, eight_nics(400)).waits(65'536) == 7);
}

TEST_CASE("trees are limited: 63 with HDR, 511 from NDR on", "[planner]") {
  CHECK(service_of(others(55), eight_nics(200)).available());
  const SharpService hdr = service_of(others(56), eight_nics(200));
  CHECK_FALSE(hdr.available());
  CHECK(hdr.without == "SHARP v2 has 63 trees: 56 are in use, and the job needs 8");
  CHECK(service_of(others(503), eight_nics(400)).available());
  CHECK(service_of(others(504), eight_nics(400)).without ==
        "SHARP v3 has 511 trees: 504 are in use, and the job needs 8");
  CHECK(service_of(others(504), eight_nics(800)).without ==
        "SHARP v4 has 511 trees: 504 are in use, and the job needs 8");
}

TEST_CASE("a job without trees gets a reason", "[planner]") {
  CHECK(service_of({}, eight_nics(400, LinkKind::roce)).without == "roce does not support SHARP");
  CHECK(service_of({}, eight_nics(56)).without == "the switches do not stream reductions");
  CHECK(service_of(others(0, SharpGeneration::none), eight_nics(400)).without ==
        "the switches do not stream reductions");
  CHECK(service_of({}, eight_nics(400), "rail_optimized", {}, 1).without == "there is only one node");
  try {
    service_of(others(0, SharpGeneration::v3), eight_nics(400, LinkKind::roce));
    FAIL("a generation on Ethernet was taken");
  } catch (const UserError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics().front().path == "sharp.generation");
    CHECK(e.diagnostics().front().message == "roce does not support SHARP");
  }
}

TEST_CASE("without trees CollNet is not chosen, with them it is among the candidates", "[planner]") {
  const auto has_collnet = [](const Planner& planner) {
    const Plan plan = plan_collective(planner, CollectiveOp::all_reduce, 1 << 28);
    return std::any_of(plan.candidates.begin(), plan.candidates.end(), [](const Candidate& c) {
      return c.algorithm == Algorithm::collnetdirect || c.algorithm == Algorithm::collnetchain;
    });
  };
  CHECK(has_collnet(test::reducing_planner(eight_nics(400), 4)));
  CHECK_FALSE(has_collnet(test::reducing_planner(eight_nics(400), 4, {}, others(504))));
  CHECK_FALSE(has_collnet(test::planner_of(eight_nics(400), 4)));
}

}  // namespace
}  // namespace fabricast
