// Ways inside a node: what they cross with and without GPUDirect RDMA, near and far, and NCCL's name for it.
#include "fabricast/fabric/node_graph.hpp"

#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

std::vector<std::string> names(const NodeGraph& graph, const std::vector<std::uint16_t>& route) {
  std::vector<std::string> list;
  for (const std::uint16_t l : route) list.push_back(graph.link_name(l));
  return list;
}
using Names = std::vector<std::string>;

long crossings(const NodeGraph& graph, const std::vector<std::uint16_t>& route, LinkKind kind) {
  return std::count_if(route.begin(), route.end(),
                       [&](std::uint16_t l) { return graph.links[l].link_class.kind == kind; });
}

/// Two sockets, each with a PCIe switch for two GPUs and a NIC, and a third switch below the second.
NodeGraph by_hand() {
  NodeGraph g;
  g.gpus = 3, g.nics = 3;
  const LinkClass pcie{LinkKind::pcie, BytesPerSecond{50e9}, {}},
      upi{LinkKind::cpu_interconnect, BytesPerSecond{60e9}, {}}, dram{LinkKind::memory, BytesPerSecond{200e9}, {}};
  for (int i = 0; i < 3; ++i) g.add_vertex(NodeVertexKind::gpu, "gpu" + std::to_string(i));
  for (int i = 0; i < 3; ++i) g.add_vertex(NodeVertexKind::nic, "nic" + std::to_string(i));
  const auto cpu0 = g.add_vertex(NodeVertexKind::socket, "cpu0"), cpu1 = g.add_vertex(NodeVertexKind::socket, "cpu1"),
             dram0 = g.add_vertex(NodeVertexKind::memory, "dram0"),
             dram1 = g.add_vertex(NodeVertexKind::memory, "dram1"),
             sw0 = g.add_vertex(NodeVertexKind::pcie_switch, "pcie0"),
             sw1 = g.add_vertex(NodeVertexKind::pcie_switch, "pcie1"),
             sw2 = g.add_vertex(NodeVertexKind::pcie_switch, "pcie2");
  g.add_cable(cpu0, cpu1, upi);
  g.add_cable(cpu0, dram0, dram), g.add_cable(cpu1, dram1, dram);
  g.add_cable(cpu0, sw0, pcie), g.add_cable(cpu0, sw1, pcie), g.add_cable(sw1, sw2, pcie);
  g.add_cable(g.gpu(0), sw0, pcie), g.add_cable(g.nic(0), sw0, pcie);
  g.add_cable(g.gpu(1), sw1, pcie), g.add_cable(g.nic(1), sw2, pcie);
  g.add_cable(g.gpu(2), cpu1, pcie), g.add_cable(g.nic(2), cpu1, pcie);
  return g;
}

TEST_CASE("distances are NCCL's path types", "[fabric]") {
  const NodeGraph g = by_hand();
  CHECK(g.gpu_nic_distance(0, 0) == PathType::PIX);  // one switch
  CHECK(g.gpu_nic_distance(1, 1) == PathType::PXB);  // two switches
  CHECK(g.gpu_nic_distance(0, 1) == PathType::PHB);  // the root of one socket
  CHECK(g.gpu_nic_distance(2, 2) == PathType::PHB);
  CHECK(g.gpu_nic_distance(0, 2) == PathType::SYS);  // from socket to socket
  CHECK(g.gpu_nic_distance(2, 0) == PathType::SYS);
  CHECK(g.gpu_gpu_distance(0, 1) == PathType::PHB);
  CHECK(g.path_type({}) == PathType::DIS);
  CHECK(g.nics_by_distance(0) == std::vector<int>{0, 1, 2});
  CHECK(g.nics_by_distance(2) == std::vector<int>{2, 0, 1});
  CHECK(g.nearest_nic_distance(1) == PathType::PXB);
}

TEST_CASE("with GPUDirect RDMA data stays on PCIe", "[fabric]") {
  const NodeGraph g = by_hand();
  CHECK(names(g, g.gpu_to_nic(0, 0, true)) == Names{"gpu0-pcie0", "pcie0-nic0"});
  CHECK(names(g, g.gpu_to_nic(0, 2, true)) == Names{"gpu0-pcie0", "pcie0-cpu0", "cpu0-cpu1", "cpu1-nic2"});
  CHECK(names(g, g.nic_to_gpu(0, 0, true)) == Names{"nic0-pcie0", "pcie0-gpu0"});
}

TEST_CASE("without it data goes to host memory and back", "[fabric]") {
  const NodeGraph g = by_hand();
  const auto out = g.gpu_to_nic(0, 0, false);
  CHECK(names(g, out) == Names{"gpu0-pcie0", "pcie0-cpu0", "cpu0-dram0", "dram0-cpu0", "cpu0-pcie0", "pcie0-nic0"});
  CHECK(names(g, g.nic_to_gpu(0, 0, false)) ==
        Names{"nic0-pcie0", "pcie0-cpu0", "cpu0-dram0", "dram0-cpu0", "cpu0-pcie0", "pcie0-gpu0"});
  // The link between switch and socket twice, and the memory written and read.
  CHECK(crossings(g, out, LinkKind::pcie) == crossings(g, g.gpu_to_nic(0, 0, true), LinkKind::pcie) + 2);
  CHECK(crossings(g, out, LinkKind::memory) == 2);
  CHECK(crossings(g, g.gpu_to_nic(0, 0, true), LinkKind::memory) == 0);
  // A NIC of the other socket: through the memory of the GPU's socket, then over the socket link once.
  const auto far = g.gpu_to_nic(2, 0, false);
  CHECK(names(g, far) == Names{"gpu2-cpu1", "cpu1-dram1", "dram1-cpu1", "cpu1-cpu0", "cpu0-pcie0", "pcie0-nic0"});
}

TEST_CASE("NVLink or nothing of it", "[fabric]") {
  NodeGraph g = by_hand();
  CHECK(names(g, g.gpu_to_gpu(0, 1)) == Names{"gpu0-pcie0", "pcie0-cpu0", "cpu0-pcie1", "pcie1-gpu1"});
  g.add_cable(g.gpu(0), g.gpu(1), {LinkKind::nvlink, BytesPerSecond{300e9}, {}});
  CHECK(names(g, g.gpu_to_gpu(0, 1)) == Names{"gpu0-gpu1"});
  CHECK(g.gpu_gpu_distance(0, 1) == PathType::NVL);
  CHECK(g.gpu_gpu_distance(0, 2) == PathType::SYS);  // not gpu0-gpu1-...
  CHECK(names(g, g.gpu_to_nic(0, 1, true)) ==
        Names{"gpu0-pcie0", "pcie0-cpu0", "cpu0-pcie1", "pcie1-pcie2", "pcie2-nic1"});
}

TEST_CASE("among ways of equal hops the fastest, then the lowest", "[fabric]") {
  NodeGraph g;
  g.gpus = 1, g.nics = 1;
  g.add_vertex(NodeVertexKind::gpu, "gpu0"), g.add_vertex(NodeVertexKind::nic, "nic0");
  const auto a = g.add_vertex(NodeVertexKind::pcie_switch, "a"), b = g.add_vertex(NodeVertexKind::pcie_switch, "b"),
             c = g.add_vertex(NodeVertexKind::pcie_switch, "c");
  const auto pcie = [](double rate) { return LinkClass{LinkKind::pcie, BytesPerSecond{rate}, {}}; };
  for (const auto& [hub, rate] : {std::pair{a, 10e9}, {b, 20e9}, {c, 20e9}}) {
    g.add_cable(g.gpu(0), hub, pcie(rate));
    g.add_cable(hub, g.nic(0), pcie(50e9));
  }
  CHECK(names(g, g.gpu_to_nic(0, 0, true)) == Names{"gpu0-b", "b-nic0"});
}

PathType distance(const NodeSpec& spec, int gpu, int nic) {
  return build_node(spec, shipped_hardware()).graph.gpu_nic_distance(gpu, nic);
}

TEST_CASE("distances in shipped nodes", "[fabric]") {
  const NodeSpec h100 = test::preset_spec("hgx-h100"), a100 = test::preset_spec("dgx-a100");
  for (int g = 0; g < 8; ++g) CHECK(distance(h100, g, g) == PathType::PIX);
  CHECK(distance(h100, 0, 1) == PathType::PHB);
  CHECK(distance(h100, 0, 4) == PathType::SYS);
  // Two GPUs and two NICs on a switch.
  CHECK(distance(a100, 0, 1) == PathType::PIX);
  CHECK(distance(a100, 0, 2) == PathType::PHB);
  CHECK(distance(a100, 0, 7) == PathType::SYS);
  // Root ports only.
  CHECK(distance(test::node_spec("a100-pcie"), 0, 0) == PathType::PHB);
  CHECK(distance(test::node_spec("a100-pcie"), 0, 7) == PathType::SYS);
  // Grace: over C2C, the CPU and PCIe.
  CHECK(distance(test::preset_spec("gb200-tray"), 0, 0) == PathType::P2C);
  const Node nvswitch = build_node(h100, shipped_hardware());
  CHECK(nvswitch.graph.gpu_gpu_distance(0, 7) == PathType::NVL);
  CHECK(names(nvswitch.graph, nvswitch.graph.gpu_to_gpu(0, 7)) == Names{"gpu0-nvswitch", "nvswitch-gpu7"});
}

TEST_CASE("a wrong binding crosses the sockets", "[fabric]") {
  for (const char* preset : {"hgx-h100", "dgx-a100"}) {
    NodeSpec spec = test::preset_spec(preset);
    spec.nics.numa = NicNuma::remote;
    const NodeGraph graph = build_node(spec, shipped_hardware()).graph;
    for (int g = 0; g < 8; ++g) {
      CHECK(graph.gpu_nic_distance(g, g) == PathType::SYS);
      CHECK(crossings(graph, graph.gpu_to_nic(g, g, true), LinkKind::cpu_interconnect) == 1);
      CHECK(crossings(graph, graph.gpu_to_nic(g, g, false), LinkKind::cpu_interconnect) == 1);
    }
  }
}

TEST_CASE("Access Control Services send what turns at a PCIe switch up to the root complex", "[fabric]") {
  const NodeGraph h100 = build_node(test::preset_spec("hgx-h100"), shipped_hardware()).graph;
  CHECK(names(h100, h100.by_root_complex(h100.gpu_to_nic(0, 0, true))) ==
        Names{"gpu0-pcie0", "pcie0-cpu0", "cpu0-pcie0", "pcie0-nic0"});
  // What goes by a root complex anyway, or over NVLink, stays.
  for (const auto& route : {h100.gpu_to_nic(0, 1, true), h100.gpu_to_nic(0, 0, false), h100.gpu_to_gpu(0, 7)})
    CHECK(h100.by_root_complex(route) == route);
}

TEST_CASE("staging in shipped nodes crosses PCIe twice more and uses memory twice", "[fabric]") {
  for (const char* preset : {"hgx-h100", "dgx-a100", "dgx-v100", "hgx-b200"}) {
    const NodeGraph graph = build_node(test::preset_spec(preset), shipped_hardware()).graph;
    for (int g = 0; g < graph.gpus; ++g) {
      const int nic = g * graph.nics / graph.gpus;
      const auto direct = graph.gpu_to_nic(g, nic, true), staged = graph.gpu_to_nic(g, nic, false);
      INFO(preset << ", gpu " << g);
      CHECK(crossings(graph, staged, LinkKind::pcie) == crossings(graph, direct, LinkKind::pcie) + 2);
      CHECK(crossings(graph, staged, LinkKind::memory) == 2);
      CHECK(crossings(graph, staged, LinkKind::nvlink) == 0);
    }
  }
}

}  // namespace
}  // namespace fabricast
