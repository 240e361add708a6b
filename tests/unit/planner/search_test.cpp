// Results of the graph search against those of NCCL's own search on topology files of the same machines [NCCL-search].
#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

struct Expected {
  int channels = 0;
  double bw_intra = 0, bw_inter = 0;  ///< 0: not stated
};
/// On PCIe nodes of two sockets NCCL's rings come back by the other NIC and its trees take 9 GB/s; the arithmetic here
/// knows neither.
constexpr int not_compared = -1;

struct Row {
  std::string_view machine;
  NodeSpec spec;
  std::int64_t nodes;
  Expected ring;
  int cross_nic;
  Expected tree;
  TreePattern pattern;
  Expected nvls;
  int collective_channels;
};

/// Hosts of one NVLink domain are one node to NCCL.
NodeSpec domain(NodeSpec spec, int hosts) {
  spec.gpus *= hosts, spec.nics.count *= hosts, spec.sockets *= hosts, spec.pcie_switches *= hosts;
  return spec;
}

NodeSpec pcie_node(int nics) {
  NodeSpec spec = test::with_nics(test::node_spec("a100-pcie"), nics, 200);
  spec.cpu = CpuVendor::intel;
  return spec;
}

void check_graph(const SearchGraph& graph, const Expected& expected) {
  CHECK(graph.channels == expected.channels);
  if (expected.bw_intra > 0) CHECK(graph.bw_intra == Approx(expected.bw_intra));
  if (expected.bw_inter > 0) CHECK(graph.bw_inter == Approx(expected.bw_inter));
}

TEST_CASE("channels and speeds of regular nodes are those of NCCL's search", "[planner]") {
  using test::node_spec, test::preset_spec, test::with_nics;
  constexpr auto balanced = TreePattern::balanced, plain = TreePattern::tree;
  const std::vector<Row> rows = {
      {"DGX A100", preset_spec("dgx-a100"), 1, {12, 20}, 0, {12, 20}, balanced, {}, 24},
      {"DGX A100", preset_spec("dgx-a100"), 2, {8, 24, 24}, 0, {8, 30, 24}, balanced, {}, 16},
      {"DGX H100", preset_spec("hgx-h100"), 1, {12, 30}, 0, {12, 30}, balanced, {8, 40, 60}, 24},
      {"DGX H100", preset_spec("hgx-h100"), 2, {8, 48, 48}, 2, {8, 48, 48}, plain, {8, 40, 48}, 16},
      {"DGX H200", preset_spec("hgx-h200"), 4, {8, 48, 48}, 2, {8, 48, 48}, plain, {8, 40, 48}, 16},
      {"H100, 8 x 200G",
       with_nics(node_spec("h100-sxm"), 8, 200),
       2,
       {8, 24, 24},
       0,
       {8, 48, 24},
       plain,
       {8, 24, 24},
       16},
      {"H100, 4 x 400G",
       with_nics(node_spec("h100-sxm"), 4, 400),
       2,
       {8, 24, 24},
       0,
       {8, 48, 24},
       balanced,
       {4, 48, 48},
       16},
      {"A100, 4 x 200G", with_nics(node_spec("a100-sxm"), 4, 200), 2, {4, 24, 24}, 0, {4, 48, 24}, balanced, {}, 8},
      {"A100, 4 x 100G", with_nics(node_spec("a100-sxm"), 4, 100), 2, {4, 12, 12}, 0, {4, 24, 12}, balanced, {}, 8},
      {"PCIe Gen4, 2 sockets", pcie_node(2), 1, {1, 20}, 0, {1, 20}, balanced, {}, 2},
      {"PCIe Gen4, 2 x 200G", pcie_node(2), 2, {2, 12}, not_compared, {2}, balanced, {}, 4},
      {"DGX B200", preset_spec("hgx-b200"), 1, {16, 45}, 0, {16, 45}, plain, {8, 80, 90}, 32},
      {"DGX B200", preset_spec("hgx-b200"), 2, {8, 48, 48}, 0, {8, 96, 48}, plain, {8, 48, 48}, 16},
      {"DGX B300", preset_spec("hgx-b300"), 1, {16, 45}, 0, {16, 45}, plain, {8, 80}, 32},
      {"DGX B300", preset_spec("hgx-b300"), 2, {16, 48, 48}, 2, {16, 48}, plain, {8, 80, 96}, 32},
      {"GB200 host", preset_spec("gb200-tray"), 1, {16, 45}, 0, {16, 45}, plain, {4, 90}, 32},
      {"GB200 host", preset_spec("gb200-tray"), 2, {8, 24, 24}, 0, {8, 48, 24}, balanced, {4, 48, 48}, 16},
      {"GB200 NVL72", domain(preset_spec("gb200-tray"), 18), 1, {16, 45}, 0, {16, 45}, plain, {32, 20, 40}, 32},
      {"GB200, 2 hosts",
       domain(preset_spec("gb200-tray"), 2),
       2,
       {8, 48, 48},
       0,
       {8, 96, 48},
       balanced,
       {8, 48, 48},
       16},
      {"GB200, 4 hosts",
       domain(preset_spec("gb200-tray"), 4),
       2,
       {16, 48, 48},
       0,
       {16, 48, 48},
       balanced,
       {16, 42, 48},
       32},
      {"GB200 NVL36",
       domain(preset_spec("gb200-tray"), 9),
       2,
       {16, 45.1, 45.1},
       0,
       {16, 45.1, 45.1},
       balanced,
       {32, 20, 40},
       32},
  };
  for (const Row& row : rows) {
    const Node node = build_node(row.spec, shipped_hardware());
    const SearchGraphs graphs = search_graphs(node, row.nodes, test::nccl_settings());
    INFO(row.machine << ", " << row.nodes << " nodes");
    {
      INFO("ring");
      check_graph(graphs.ring, row.ring);
      if (row.cross_nic != not_compared) CHECK(graphs.ring.cross_nic == row.cross_nic);
    }
    {
      INFO("tree");
      check_graph(graphs.tree, row.tree);
      if (row.nodes > 1) CHECK(graphs.tree.pattern == row.pattern);
    }
    {
      INFO("nvls");
      check_graph(graphs.nvls, row.nvls);
    }
    CHECK(graphs.channels == row.collective_channels);
  }
}

std::vector<int> chain(std::initializer_list<int> gpus) { return gpus; }

TEST_CASE("rings of H100 nodes leave by the neighbour's NIC, in pairs", "[planner]") {
  const Node node = build_node(test::preset_spec("hgx-h100"), shipped_hardware());
  const SearchGraphs graphs = search_graphs(node, 2, test::nccl_settings());
  const auto& rings = graphs.ring.shapes;
  REQUIRE(rings.size() == 8);
  CHECK(rings[0].gpus == chain({0, 7, 6, 5, 4, 3, 2, 1}));
  CHECK(std::pair(rings[0].nic_in, rings[0].nic_out) == std::pair(0, 1));
  CHECK(rings[1].gpus == chain({1, 2, 3, 4, 5, 6, 7, 0}));
  CHECK(std::pair(rings[1].nic_in, rings[1].nic_out) == std::pair(1, 0));
  CHECK(rings[2].gpus == chain({2, 1, 0, 7, 6, 5, 4, 3}));
  CHECK(std::pair(rings[2].nic_in, rings[2].nic_out) == std::pair(2, 3));
  for (int c = 0; c < 8; ++c) {
    const ChannelShape& tree = graphs.tree.shapes[static_cast<std::size_t>(c)];
    CHECK(tree.nic_in == c);
    for (int i = 0; i < 8; ++i) CHECK(tree.gpus[static_cast<std::size_t>(i)] == (c + i) % 8);
  }
}

TEST_CASE("rings of A100 nodes come back by the NIC they entered", "[planner]") {
  const Node node = build_node(test::preset_spec("dgx-a100"), shipped_hardware());
  const SearchGraphs graphs = search_graphs(node, 2, test::nccl_settings());
  const auto& rings = graphs.ring.shapes;
  REQUIRE(rings.size() == 8);
  CHECK(rings[0].gpus == chain({0, 7, 6, 5, 4, 3, 2, 1}));
  CHECK(rings[1].gpus == chain({1, 2, 3, 4, 5, 6, 7, 0}));
  for (int c = 0; c < 8; ++c) {
    CHECK(rings[static_cast<std::size_t>(c)].nic_in == c);
    CHECK(rings[static_cast<std::size_t>(c)].nic_out == c);
  }
}

TEST_CASE("every GPU is on every channel once", "[planner]") {
  const std::vector<NodeSpec> specs = {test::preset_spec("hgx-h100"),
                                       test::preset_spec("dgx-v100"),
                                       test::preset_spec("gb200-tray"),
                                       test::with_gpus(test::preset_spec("hgx-h100"), 5),
                                       test::with_gpus(test::preset_spec("hgx-h100"), 1),
                                       pcie_node(2)};
  for (const NodeSpec& spec : specs)
    for (const std::int64_t nodes : {1, 2, 3}) {
      const Node node = build_node(spec, shipped_hardware());
      const SearchGraphs graphs = search_graphs(node, nodes, test::nccl_settings());
      INFO(spec.gpu << " x " << spec.gpus << ", " << nodes << " nodes");
      for (const auto* graph : {&graphs.ring, &graphs.tree}) {
        CHECK(graph->shapes.size() == static_cast<std::size_t>(graph->channels));
        for (const ChannelShape& shape : graph->shapes) {
          std::vector<int> sorted = shape.gpus;
          std::sort(sorted.begin(), sorted.end());
          REQUIRE(sorted.size() == static_cast<std::size_t>(spec.gpus));
          for (int g = 0; g < spec.gpus; ++g) CHECK(sorted[static_cast<std::size_t>(g)] == g);
          if (nodes > 1) {
            CHECK((shape.nic_in >= 0 && shape.nic_in < node.nics));
            CHECK((shape.nic_out >= 0 && shape.nic_out < node.nics));
          }
        }
      }
    }
}

TEST_CASE("limits of channels are NCCL's last word", "[planner]") {
  const Node node = build_node(test::preset_spec("hgx-h100"), shipped_hardware());
  const auto channels = [&](const test::Variables& variables) {
    return search_graphs(node, 2, test::nccl_settings(variables)).channels;
  };
  CHECK(channels({}) == 16);
  CHECK(channels({{"NCCL_MAX_NCHANNELS", "4"}}) == 4);
  CHECK(channels({{"NCCL_MIN_NCHANNELS", "32"}}) == 32);
  CHECK(channels({{"NCCL_MAX_NRINGS", "2"}}) == 2);
  CHECK(channels({{"NCCL_MAX_CTAS", "8"}, {"NCCL_MAX_NCHANNELS", "12"}}) == 8);
  CHECK(channels({{"NCCL_MIN_CTAS", "20"}, {"NCCL_MIN_NCHANNELS", "24"}}) == 24);
}

}  // namespace
}  // namespace fabricast
