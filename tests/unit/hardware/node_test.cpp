#include "fabricast/hardware/node.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"

namespace fabricast {
namespace {

NodeSpec spec_of(std::string_view gpu) { return default_node(shipped_hardware(), gpu, {}); }
Node built(const NodeSpec& spec) { return build_node(spec, shipped_hardware()); }

std::string refusal(const NodeSpec& spec) {
  try {
    built(spec);
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    return d.path + ": " + d.message + (d.hint.empty() ? "" : " | " + d.hint);
  }
  return "built";
}

TEST_CASE("defaults follow the GPU, presets override them", "[hardware]") {
  const NodeSpec h100 = default_node(shipped_hardware(), "", "");
  CHECK(h100.gpu == "h100-sxm");
  CHECK(h100.gpus == 8);
  CHECK(h100.intranode == Intranode::nvswitch);
  CHECK(h100.nics.count == 8);
  CHECK(h100.nics.rate == BytesPerSecond{50e9});
  CHECK(spec_of("a100-sxm").cpu == CpuVendor::amd);
  CHECK(spec_of("gb200").cpu == CpuVendor::arm);
  CHECK(spec_of("gb200").sockets == 2);
  CHECK(spec_of("gh200").gpus == 1);
  const NodeSpec p5 = default_node(shipped_hardware(), {}, "p5");
  CHECK(p5.nics.count == 32);
  CHECK(p5.nics.link == LinkKind::efa);
  CHECK(p5.profile == "p5");
  // Another GPU than the preset's brings its own defaults.
  CHECK(default_node(shipped_hardware(), "l4", "p5").gpus == 4);
}

TEST_CASE("unknown GPUs and profiles", "[hardware]") {
  CHECK_THROWS_WITH(spec_of("h100-sxn"), Catch::Contains("unknown GPU 'h100-sxn'") && Catch::Contains("'h100-sxm'?"));
  CHECK_THROWS_WITH(default_node(shipped_hardware(), {}, "hgx-h10"), Catch::Contains("unknown profile 'hgx-h10'"));
}

TEST_CASE("ports of one card and EFA devices of a GPU are one NIC to NCCL", "[hardware]") {
  const Node p5 = built(default_node(shipped_hardware(), {}, "p5"));
  CHECK(p5.nics == 8);
  CHECK(p5.nic_line_rate.value == Approx(50e9));
  NodeSpec dual = spec_of("h100-sxm");
  dual.nics.count = 16, dual.nics.rate = BytesPerSecond{25e9};
  CHECK(built(dual).nics == 8);
  CHECK(built(dual).nic_line_rate.value == Approx(50e9));
  dual.nics.count = 12;
  CHECK(built(dual).nics == 12);
}

TEST_CASE("payload rate of a NIC", "[hardware]") {
  const Node node = built(spec_of("h100-sxm"));
  const double line = 50e9 * node.header_efficiency;
  CHECK(node.nic_rate(true).value == Approx(line * node.network.nic_efficiency.value));
  CHECK(node.nic_rate(false).value ==
        Approx(line * node.network.nic_efficiency.value * node.network.staged_efficiency.value));
  CHECK(node.nic_rate(false).value < node.nic_rate(true).value);
}

TEST_CASE("peer to peer over PCIe by NCCL's distance rule", "[hardware]") {
  NodeSpec spec = spec_of("a100-pcie");
  CHECK_FALSE(built(spec).peer_to_peer);  // eight GPUs across two sockets
  spec.gpus = 2;
  CHECK(built(spec).peer_to_peer);  // two GPUs of an AMD host
  spec.cpu = CpuVendor::intel;
  CHECK_FALSE(built(spec).peer_to_peer);
  spec.pcie_switches = 1;
  CHECK(built(spec).peer_to_peer);  // one switch
  NodeSpec gaming = spec_of("rtx4090");
  gaming.gpus = 2, gaming.pcie_switches = 1;
  CHECK_FALSE(built(gaming).peer_to_peer);  // the driver forbids it
  CHECK_FALSE(built(spec_of("h100-sxm")).peer_to_peer);
  CHECK(built(spec_of("h100-sxm")).nvlink);
}

TEST_CASE("the links of a node have the rates of their type", "[hardware]") {
  const Node node = built(spec_of("h100-sxm"));
  const Hardware& hardware = shipped_hardware();
  const LinkType &nvlink = hardware.links.find("nvlink4")->second, &pcie = hardware.links.find("pcie5")->second;
  int ports = 0;
  for (const NodeGraph::Link& l : node.graph.links) {
    if (l.link_class.kind == LinkKind::nvlink) {
      ++ports;
      CHECK(l.link_class.rate.value == Approx(450e9 * nvlink.efficiency.value));
    }
    if (l.link_class.kind == LinkKind::pcie) CHECK(l.link_class.rate.value == Approx(63e9 * pcie.efficiency.value));
  }
  CHECK(ports == 16);
  NodeSpec mesh = spec_of("v100-sxm");
  mesh.intranode = Intranode::nvlink_mesh, mesh.gpus = 4;
  const Node four = built(mesh);
  const auto route = four.graph.gpu_to_gpu(1, 3);
  REQUIRE(route.size() == 1);  // six links of 25 GB/s over three pairs
  CHECK(four.graph.links[route[0]].link_class.rate.value ==
        Approx(50e9 * hardware.links.find("nvlink2")->second.efficiency.value));
}

TEST_CASE("two GPUs of a mesh are some of a board of four; superchips come in pairs", "[hardware]") {
  const auto rate_between = [](const char* gpu) {
    NodeSpec spec = spec_of(gpu);
    spec.intranode = Intranode::nvlink_mesh, spec.gpus = 2;
    const Node two = built(spec);
    return two.graph.links[two.graph.gpu_to_gpu(0, 1).front()].link_class.rate.value;
  };
  const auto efficiency = [](const char* link) { return shipped_hardware().links.find(link)->second.efficiency.value; };
  CHECK(rate_between("a100-sxm") == Approx(4 * 25e9 * efficiency("nvlink3")));  // NV4, as nvidia-smi topo -m prints it
  CHECK(rate_between("v100-sxm") == Approx(2 * 25e9 * efficiency("nvlink2")));
  CHECK(rate_between("gh200") == Approx(18 * 25e9 * efficiency("nvlink4")));
}

TEST_CASE("impossible nodes are refused", "[hardware]") {
  NodeSpec spec = spec_of("l4");
  spec.intranode = Intranode::nvswitch;
  CHECK(refusal(spec) == "node.intranode: l4 has no NVLink | use pcie");
  spec = spec_of("h100-sxm"), spec.intranode = Intranode::none;
  CHECK(refusal(spec) == "node.intranode: 'none' connects no GPUs, but the node has 8 | use pcie");
  spec = spec_of("v100-sxm"), spec.intranode = Intranode::nvlink_mesh, spec.gpus = 16;
  CHECK(refusal(spec) == "node.gpus: 6 NVLinks cannot connect 15 other GPUs | use nvswitch");
  spec = spec_of("l4"), spec.intranode = Intranode::nvlink_pairs;
  CHECK(refusal(spec) == "node.intranode: there is no NVLink bridge for l4 | use pcie");
  spec = spec_of("h100-sxm"), spec.nics.link = LinkKind::pcie;
  CHECK(refusal(spec) ==
        "node.nics.link: 'pcie' is not a network between nodes | use infiniband, roce, efa, slingshot, gpudirect_tcpx "
        "or socket");
  CHECK(refusal(spec_of("h100-sxm")) == "built");
}

NodeSpec dgx1() { return default_node(shipped_hardware(), {}, "dgx-v100"); }

/// NVLinks between two GPUs by the rate of the link that joins them; 0: none does.
double nvlinks(const Node& node, int a, int b) {
  const LinkType& nvlink = shipped_hardware().links.find(node.gpu.nvlink)->second;
  double count = 0;
  for (const NodeGraph::Link& l : node.graph.links)
    if (l.from == node.graph.gpu(a) && l.to == node.graph.gpu(b) && l.link_class.kind == LinkKind::nvlink)
      count += l.link_class.rate.value / (nvlink.rate.value * nvlink.efficiency.value);
  return count;
}

TEST_CASE("eight V100 with six NVLinks each are connected as `nvidia-smi topo -m` shows a DGX-1", "[hardware]") {
  // NV1, NV2 or no NVLink, row by row [DGX-1].
  const std::vector<std::string> matrix = {"X112 2...", "1X21 .2..", "12X2 ..1.", "212X ...1",
                                           "2... X112", ".2.. 1X21", "..1. 12X2", "...1 212X"};
  const Node node = built(dgx1());
  for (int a = 0; a < 8; ++a) {
    double all = 0;
    for (int b = 0; b < 8; ++b) {
      const char c = matrix[static_cast<std::size_t>(a)][static_cast<std::size_t>(b < 4 ? b : b + 1)];
      CHECK(nvlinks(node, a, b) == Approx(c == '1' || c == '2' ? c - '0' : 0));
      all += nvlinks(node, a, b);
    }
    CHECK(all == Approx(6));
  }
}

TEST_CASE("GPUs of a DGX-1 without a direct link use one between them", "[hardware]") {
  const Node node = built(dgx1());
  CHECK(node.nvlink);
  CHECK_FALSE(node.all_nvlink);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      if (a == b) continue;
      const bool neighbours = nvlinks(node, a, b) > 0;
      CHECK(node.route(a, b) == (neighbours ? PeerPath::nvlink : PeerPath::nvlink_by_peer));
      CHECK(node.graph.gpu_to_gpu(a, b).size() == (neighbours ? 1 : 2));
      CHECK(node.graph.gpu_gpu_distance(a, b) == (neighbours ? PathType::NVL : PathType::NVB));
    }
  // Of two GPUs alone there is none between: 0 and 5 are at different sockets.
  const Node pair = restricted_to(node, {0, 5});
  CHECK(pair.route(0, 1) == PeerPath::host_memory);
  CHECK_FALSE(pair.nvlink);
  CHECK(restricted_to(node, {0, 1}).all_nvlink);
}

TEST_CASE("NVLink bridges connect pairs of cards", "[hardware]") {
  NodeSpec spec = spec_of("a100-pcie");
  spec.gpus = 4, spec.intranode = Intranode::nvlink_pairs;
  const Node node = built(spec);
  CHECK(nvlinks(node, 0, 1) == Approx(12));
  CHECK(node.route(0, 1) == PeerPath::nvlink);
  CHECK(node.route(1, 2) == PeerPath::host_memory);
  CHECK(node.nvlink);
  CHECK_FALSE(node.all_nvlink);
}

TEST_CASE("peer-to-peer access is decided per pair of GPUs", "[hardware]") {
  // Two GPUs on each of four switches: PIX there, PHB or SYS between.
  NodeSpec spec = spec_of("l40s");
  Node node = built(spec);
  CHECK(node.route(0, 1) == PeerPath::pcie);
  CHECK(node.route(1, 2) == PeerPath::host_memory);
  CHECK(node.route(0, 7) == PeerPath::host_memory);
  CHECK_FALSE(node.peer_to_peer);
  spec.peer_to_peer = PeerToPeer::off;
  CHECK(built(spec).route(0, 1) == PeerPath::host_memory);
  // GeForce cards: the usual driver forbids it.
  spec = spec_of("rtx4090"), spec.pcie_switches = 4;
  CHECK(built(spec).route(0, 1) == PeerPath::host_memory);
  spec.peer_to_peer = PeerToPeer::on;
  CHECK(built(spec).route(0, 1) == PeerPath::pcie);
}

}  // namespace
}  // namespace fabricast
