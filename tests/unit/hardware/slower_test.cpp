// Hosts that are slower than others of their kind: what a capped clock and a slow host add, in closed form.
#include <catch2/catch.hpp>

#include "fabricast/hardware/node.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

TEST_CASE("half the clock doubles times on SMs and does not affect links", "[hardware]") {
  NodeSpec spec = default_node(shipped_hardware(), {}, "hgx-h100");
  const Node usual = build_node(spec, shipped_hardware());
  spec.clock = Ratio{0.5};
  const Node capped = build_node(spec, shipped_hardware());
  const Architecture &a = usual.architecture, &b = capped.architecture;
  CHECK(b.launch.value == Approx(2 * a.launch.value));
  CHECK(b.slice.value == Approx(2 * a.slice.value));
  for (std::size_t p = 0; p < 3; ++p) {
    CHECK(b.hop[p].value == Approx(2 * a.hop[p].value));
    CHECK(b.rate[p].value == Approx(a.rate[p].value / 2));
  }
  CHECK(b.issue_gap.value == a.issue_gap.value);  // the host's
  CHECK(capped.nic_rate(true).value == usual.nic_rate(true).value);
  for (std::size_t l = 0; l < usual.graph.links.size(); ++l)
    CHECK(capped.graph.links[l].link_class.rate.value == usual.graph.links[l].link_class.rate.value);
}

TEST_CASE("a slow host delays every call and the next one", "[hardware]") {
  NodeSpec spec = default_node(shipped_hardware(), {}, "dgx-a100");
  const Node usual = build_node(spec, shipped_hardware());
  spec.call_delay = Seconds{15e-6};
  const Node slow = build_node(spec, shipped_hardware());
  CHECK(slow.architecture.launch.value == Approx(usual.architecture.launch.value + 15));
  CHECK(slow.architecture.issue_gap.value == Approx(usual.architecture.issue_gap.value + 15));
}

}  // namespace
}  // namespace fabricast
