// Communicators of some of a node's GPUs.
#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

Node node_of(std::string_view gpu, int hosts = 1) {
  return build_node(test::node_spec(gpu), shipped_hardware(), hosts);
}
Planner two_nodes(const Node& whole, const std::vector<int>& gpus) {
  const Node part = restricted_to(whole, gpus);
  const auto hosts = static_cast<std::uint32_t>(part.hosts);
  std::vector<std::uint32_t> placement(2 * hosts);
  for (std::uint32_t h = 0; h < placement.size(); ++h) placement[h] = h;
  return make_planner(part, placement, hosts, test::nccl_settings());
}

TEST_CASE("a single GPU of a node uses its own NIC", "[planner]") {
  const Node whole = node_of(GENERATE("h100-sxm", "a100-sxm", "b200"));
  for (int g = 0; g < whole.spec.gpus; ++g) {
    const Planner planner = two_nodes(whole, {g});
    const Planner all = two_nodes(whole, {0, 1, 2, 3, 4, 5, 6, 7});
    CAPTURE(whole.spec.gpu, g);
    CHECK(planner.comm.ranks() == 2);
    CHECK(planner.comm.nic_of_gpu == std::vector<int>{all.comm.nic_of_gpu[static_cast<std::size_t>(g)]});
    CHECK(planner.comm.to_nic <= PathType::PXB);
    CHECK(planner.comm.gdr);
    for (const ChannelShape& ring : planner.comm.rings) {
      CHECK(ring.gpus == std::vector<int>{0});
      CHECK(whole.graph.gpu_nic_distance(g, ring.nic_out) == planner.comm.to_nic);
    }
    CHECK(planner.comm.heads.size() <= 1);
  }
}

TEST_CASE("a restriction to all GPUs leaves the node unchanged", "[planner]") {
  const Node whole = node_of("h100-sxm");
  const Planner part = two_nodes(whole, {0, 1, 2, 3, 4, 5, 6, 7});
  const Planner own = make_planner(whole, {0, 1}, 1, test::nccl_settings());
  CHECK(part.comm.channels == own.comm.channels);
  CHECK(part.comm.nic_of_gpu == own.comm.nic_of_gpu);
  for (std::size_t c = 0; c < own.comm.rings.size(); ++c) CHECK(part.comm.rings[c].gpus == own.comm.rings[c].gpus);
}

TEST_CASE("GPUs and links keep their names and numbers", "[hardware]") {
  const Node whole = node_of("h100-sxm");
  const Node part = restricted_to(whole, {5, 2});
  CHECK(part.spec.gpus == 2);
  CHECK(part.nics == whole.nics);
  CHECK(part.graph.vertices[part.graph.gpu(0)].name == "gpu5");
  CHECK(part.graph.vertices[part.graph.gpu(1)].name == "gpu2");
  for (std::uint16_t l = 0; l < whole.graph.links.size(); ++l)
    CHECK(part.graph.link_name(l) == whole.graph.link_name(l));
  CHECK(part.graph.gpu_to_gpu(0, 1) == whole.graph.gpu_to_gpu(5, 2));
  CHECK(part.graph.gpu_to_nic(0, 5, true) == whole.graph.gpu_to_nic(5, 5, true));
  CHECK(part.layout.gpus[1].device == 2);
}

TEST_CASE("only links between the remaining GPUs of a mesh stay", "[hardware]") {
  NodeSpec spec = test::node_spec("v100-sxm");
  spec.gpus = 4, spec.intranode = Intranode::nvlink_mesh;
  const Node part = restricted_to(build_node(spec, shipped_hardware()), {1, 3});
  REQUIRE(part.layout.gpus[0].nvlinks.size() == 1);
  CHECK(part.layout.gpus[0].nvlinks[0].peer == 1);
  CHECK(part.layout.gpus[0].nvlinks[0].count == Approx(2));
}

TEST_CASE("hosts of an NVLink domain without a GPU of the group are removed", "[hardware]") {
  const Node whole = node_of("gb200", 4);
  const Node part = restricted_to(whole, {4, 5, 12, 13});
  CHECK(part.hosts == 2);
  CHECK(hosts_of(whole, {4, 5, 12, 13}) == std::vector<int>{1, 3});
  CHECK(part.nics == whole.nics / 2);
  CHECK(part.port_of_nic == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(part.graph.vertices[part.graph.nic(4)].name == "nic12");
  CHECK(part.graph.number(2) == 4);
}

TEST_CASE("GPUs below one PCIe switch copy directly even if others of the node do not", "[hardware]") {
  NodeSpec spec = test::node_spec("a100-pcie");
  spec.gpus = 4, spec.intranode = Intranode::pcie, spec.pcie_switches = 2;
  const Node whole = build_node(spec, shipped_hardware());
  CHECK_FALSE(whole.peer_to_peer);
  CHECK(restricted_to(whole, {0, 1}).peer_to_peer);
  CHECK_FALSE(restricted_to(whole, {0, 1, 2}).peer_to_peer);
  // NCCL lets two GPUs of an AMD host copy across its root ports.
  CHECK(restricted_to(whole, {1, 2}).peer_to_peer);
}

}  // namespace
}  // namespace fabricast
