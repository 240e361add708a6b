// Results of the graph search against those of NCCL's own search on topology files of the same machines [NCCL-search].
#include <catch2/catch.hpp>
#include <set>

#include "fabricast/core/names.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "models/planner/search_store.hpp"
#include "support/clusters.hpp"

namespace fabricast {
namespace {

struct Expected {
  int channels = 0;
  double bw_intra = 0, bw_inter = 0;
};

struct Row {
  std::string_view machine;
  NodeSpec spec;
  int hosts;  ///< that share NVLink: one node to NCCL
  std::int64_t nodes;
  Expected ring;
  PathType ring_inter;
  int cross_nic;
  Expected tree;
  TreePattern pattern;
  Expected nvls;
  int collective_channels;
};

/// Two sockets, a switch with four GPUs and a NIC at each.
NodeSpec pcie_node() {
  NodeSpec spec = test::with_nics(test::node_spec("l40s"), 2, 200);
  spec.pcie_switches = 2;
  return spec;
}

/// Two GPUs and a NIC at each switch.
NodeSpec four_nics(NodeSpec spec, double gbps) {
  spec = test::with_nics(std::move(spec), 4, gbps);
  spec.pcie_switches = usual_switches(spec, shipped_hardware());
  return spec;
}

void check_graph(const SearchGraph& graph, const Expected& expected) {
  CHECK(graph.channels == expected.channels);
  if (expected.channels == 0) return;
  CHECK(graph.bw_intra == Approx(expected.bw_intra));
  CHECK(graph.bw_inter == Approx(expected.bw_inter));
}

TEST_CASE("the search reproduces NCCL's results on typical machines", "[planner]") {
  using test::node_spec, test::preset_spec, test::with_nics;
  constexpr auto balanced = TreePattern::balanced, plain = TreePattern::tree;
  constexpr auto PIX = PathType::PIX, PXN = PathType::PXN, P2C = PathType::P2C, SYS = PathType::SYS;
  const NodeSpec dgx_a100 = preset_spec("dgx-a100"), h100 = preset_spec("hgx-h100"), b200 = preset_spec("hgx-b200"),
                 b300 = preset_spec("hgx-b300"), gb200 = preset_spec("gb200-tray");
  // clang-format off
  const std::vector<Row> rows = {
      // Six directed rings of one link each use all links of a V100; twelve channels, as logs of such machines show.
      {"DGX-1", preset_spec("dgx-v100"), 1, 1, {6, 20, 20}, PIX, 0, {6, 20, 20}, balanced, {}, 12},
      {"DGX A100", dgx_a100, 1, 1, {12, 20, 20}, PIX, 0, {12, 20, 20}, balanced, {}, 24},
      {"DGX A100", dgx_a100, 1, 2, {8, 24, 24}, PIX, 0, {8, 30, 24}, balanced, {}, 16},
      {"DGX H100", h100, 1, 1, {12, 30, 30}, PIX, 0, {12, 30, 30}, balanced, {8, 40, 60}, 24},
      {"DGX H100", h100, 1, 2, {8, 48, 48}, PIX, 2, {8, 48, 48}, plain, {8, 40, 48}, 16},
      {"DGX H200", preset_spec("hgx-h200"), 1, 4, {8, 48, 48}, PIX, 2, {8, 48, 48}, plain, {8, 40, 48}, 16},
      {"H100, 8 x 200G", with_nics(h100, 8, 200), 1, 2, {8, 24, 24}, PXN, 0, {8, 48, 24}, plain, {8, 24, 24}, 16},
      {"H100, 4 x 400G", four_nics(h100, 400), 1, 2, {8, 24, 24}, PIX, 0, {8, 48, 24}, balanced, {4, 48, 48}, 16},
      {"A100, 4 x 200G", four_nics(dgx_a100, 200), 1, 2, {4, 24, 24}, PIX, 0, {4, 48, 24}, balanced, {}, 8},
      {"A100, 4 x 100G", four_nics(dgx_a100, 100), 1, 2, {4, 12, 12}, PIX, 0, {4, 24, 12}, balanced, {}, 8},
      {"PCIe Gen4, 2 sockets", pcie_node(), 1, 1, {1, 20, 20}, PIX, 0, {1, 20, 20}, balanced, {}, 2},
      {"PCIe Gen4, 2 x 200G", pcie_node(), 1, 2, {2, 12, 12}, SYS, 2, {2, 9, 9}, balanced, {}, 4},
      {"DGX B200", b200, 1, 1, {16, 45, 45}, PIX, 0, {16, 45, 45}, balanced, {8, 80, 90}, 32},
      {"DGX B200", b200, 1, 2, {8, 48, 48}, PXN, 0, {8, 96, 48}, plain, {8, 48, 48}, 16},
      {"DGX B300", b300, 1, 1, {16, 45, 45}, PIX, 0, {16, 45, 45}, balanced, {8, 80, 90}, 32},
      {"DGX B300", b300, 1, 2, {16, 48, 48}, PIX, 2, {16, 48, 48}, plain, {8, 80, 96}, 32},
      {"GB200 host", gb200, 1, 1, {16, 45, 45}, PIX, 0, {16, 50, 50}, plain, {4, 90, 90}, 32},
      {"GB200 host", gb200, 1, 2, {8, 24, 24}, P2C, 0, {8, 48, 24}, balanced, {4, 48, 48}, 16},
      {"GB200 NVL72", gb200, 18, 1, {16, 45, 45}, PIX, 0, {16, 45, 45}, balanced, {32, 20, 40}, 32},
      {"GB200, 2 hosts", gb200, 2, 2, {8, 48, 48}, P2C, 0, {8, 96, 48}, balanced, {8, 48, 48}, 16},
      {"GB200, 4 hosts", gb200, 4, 2, {16, 48, 48}, P2C, 0, {16, 48, 48}, balanced, {16, 42, 48}, 32},
      {"GB200 NVL36", gb200, 9, 2, {16, 45.1, 45.1}, P2C, 0, {16, 45.1, 45.1}, balanced, {32, 20, 40}, 32},
  };
  // clang-format on
  for (const Row& row : rows) {
    const Node node = build_node(row.spec, shipped_hardware(), row.hosts);
    const SearchGraphs graphs = search_graphs(node, row.nodes, test::nccl_settings());
    INFO(row.machine << ", " << row.nodes << " nodes");
    {
      INFO("ring");
      check_graph(graphs.ring, row.ring);
      CHECK(graphs.ring.cross_nic == row.cross_nic);
      CHECK(name_of(graphs.ring.type_inter) == name_of(row.ring_inter));
    }
    {
      INFO("tree");
      check_graph(graphs.tree, row.tree);
      CHECK(static_cast<int>(graphs.tree.pattern) == static_cast<int>(row.pattern));
    }
    {
      INFO("nvls");
      check_graph(graphs.nvls, row.nvls);
    }
    CHECK(graphs.channels == row.collective_channels);
  }
}

TEST_CASE("unmerged ports of a card carry one ring each", "[planner]") {
  // H100 with 8 dual-port cards of 2 x 200G: 16 x 24, crossNic 2; trees plain; NVLS one head per GPU.
  NodeSpec spec = test::preset_spec("hgx-h100");
  Node node = build_node(spec, shipped_hardware());
  NodeLayout layout = node.layout;
  std::vector<NodeLayout::Nic> ports;
  for (NodeLayout::Nic nic : layout.nics)
    for (nic.port = 1, nic.rate = 25; nic.port <= 2; ++nic.port) ports.push_back(nic);
  layout.nics = ports;
  lay_topology_over(spec, layout);
  node = build_node(spec, shipped_hardware());
  const SearchGraphs graphs = search_graphs(node, 2, test::nccl_settings());
  check_graph(graphs.ring, {16, 24, 24});
  CHECK(graphs.ring.cross_nic == 2);
  CHECK(graphs.tree.channels == 16);
  CHECK(graphs.tree.bw_inter == 24);
  CHECK(graphs.tree.pattern == TreePattern::tree);
  check_graph(graphs.nvls, {8, 24, 24});
  CHECK(graphs.channels == 32);
}

TEST_CASE("NCCL_CROSS_NIC decides whether rings may change NICs", "[planner]") {
  const Node node = build_node(test::preset_spec("hgx-h100"), shipped_hardware());
  const auto ring = [&](const char* value) {
    return search_graphs(node, 2, test::nccl_settings({{"NCCL_CROSS_NIC", value}})).ring;
  };
  // Never: by PXN eight rings of 48 would take 384 of the 370.8 GB/s of NVLink; eight of 45 take 360.
  const SearchGraph never = ring("0"), free = ring("1"), automatic = ring("2");
  check_graph(never, {8, 45, 45});
  CHECK(never.cross_nic == 0);
  CHECK(name_of(never.type_inter) == "PXN");
  for (const ChannelShape& shape : never.shapes) CHECK(shape.nic_in == shape.nic_out);
  check_graph(free, {8, 48, 48});
  CHECK(free.cross_nic == 1);
  CHECK(automatic.cross_nic == 2);
  for (std::size_t c = 0; c < 8; c += 2) {
    CHECK(automatic.shapes[c].nic_in == automatic.shapes[c + 1].nic_out);
    CHECK(automatic.shapes[c].nic_out == automatic.shapes[c + 1].nic_in);
  }
}

TEST_CASE("CollNet has graphs if it is enabled", "[planner]") {
  const Node node = build_node(test::preset_spec("hgx-h100"), shipped_hardware());
  CHECK(search_graphs(node, 2, test::nccl_settings()).collnet_direct.channels == 0);
  const SearchGraphs graphs = search_graphs(node, 2, test::nccl_settings({{"NCCL_COLLNET_ENABLE", "1"}}));
  // A head per NIC, which sends a seventh to every other GPU.
  CHECK(graphs.collnet_direct.channels == 8);
  for (int c = 0; c < 8; ++c) {
    const ChannelShape& shape = graphs.collnet_direct.shapes[static_cast<std::size_t>(c)];
    CHECK(shape.gpus.front() == c);
    CHECK(shape.gpus.size() == 8);
    CHECK((shape.nic_in == c && shape.nic_out == c));
  }
  CHECK(graphs.collnet_chain.channels == graphs.ring.channels);
}

std::vector<int> chain(std::initializer_list<int> gpus) { return gpus; }

TEST_CASE("rings of H100 nodes leave through the neighbour's NIC, in pairs", "[planner]") {
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

TEST_CASE("rings of A100 nodes leave through the NIC by which they entered", "[planner]") {
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
                                       pcie_node()};
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

TEST_CASE("limits of channels apply last", "[planner]") {
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

TEST_CASE("searches that remember others find the same as without", "[planner]") {
  NodeSpec far = test::preset_spec("hgx-h100");
  far.acs = true;
  NodeSpec staged = test::preset_spec("hgx-h100");
  staged.gdr = Gdr::off;
  const std::vector<NodeSpec> specs = {test::preset_spec("hgx-h100"),
                                       test::with_nics(test::preset_spec("hgx-h100"), 8, 200),
                                       test::with_nics(test::preset_spec("hgx-h100"), 2, 400),
                                       far,
                                       staged,
                                       test::preset_spec("dgx-a100"),
                                       test::preset_spec("gb200-tray"),
                                       pcie_node()};
  const std::vector<test::Variables> settings = {
      {}, {{"NCCL_CROSS_NIC", "0"}}, {{"NCCL_COLLNET_ENABLE", "1"}}, {{"NCCL_NVLS_ENABLE", "0"}}};
  const std::vector<NcclVersion> versions = {{2, 16, 2}, {2, 24, 3}, {2, 27, 3}, {2, 30, 7}};
  std::size_t distinct = 0;
  std::set<std::string> seen;
  std::vector<SearchGraphs> found;
  for (int round = 0; round < 2; ++round) {
    std::size_t at = 0;
    for (const NodeSpec& spec : specs)
      for (const test::Variables& variables : settings)
        for (const NcclVersion& version : versions)
          for (const std::int64_t nodes : {1, 2}) {
            const Node node = build_node(spec, shipped_hardware());
            const NcclSettings of = test::nccl_settings(variables, version);
            const SearchGraphs shared = search_graphs(node, nodes, of);
            if (round == 0) {
              SearchStore fresh(1);
              found.push_back(search_graphs_in(fresh, node, nodes, of));
            }
            const SearchGraphs& alone = found.at(at++);
            CHECK(write_graphs(shared) == write_graphs(alone));
            CHECK(shared.channels == alone.channels);
            distinct += seen.insert(write_graphs(alone)).second;
          }
  }
  CHECK(distinct > 15);
}

TEST_CASE("a store searches once, and forgets what was not asked for the longest", "[planner]") {
  SearchStore store(2);
  int searched = 0;
  const auto ask = [&](int gpus, SearchPattern pattern) {
    NcclSystem system;
    system.gpus = gpus;
    SearchRequest request;
    request.pattern = pattern;
    const int before = searched;
    const SearchGraph found = store.of(system, request, [&] {
      ++searched;
      SearchGraph graph;
      graph.channels = 10 * gpus + static_cast<int>(pattern);
      return graph;
    });
    CHECK(found.channels == 10 * gpus + static_cast<int>(pattern));
    return searched > before;
  };
  using enum SearchPattern;
  CHECK(ask(1, ring));
  CHECK(ask(1, tree));
  CHECK(ask(2, ring));
  CHECK_FALSE(ask(1, ring));
  CHECK_FALSE(ask(1, tree));
  CHECK(ask(3, ring));
  CHECK_FALSE(ask(1, ring));
  CHECK(ask(2, ring));
}

}  // namespace
}  // namespace fabricast
