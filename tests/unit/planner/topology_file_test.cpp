// Topology files of four machines, and what NCCL 2.30's own search made of them: graphs.json beside them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <nlohmann/json.hpp>

#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "support/clusters.hpp"

namespace fabricast {
namespace {

const std::string folder = FABRICAST_TEST_DATA "/nccl_topologies/";

NodeSpec spec_of(const std::string& machine, std::string_view gpu) {
  NodeSpec spec = test::node_spec(gpu);
  const std::string file = folder + machine + ".xml";
  lay_topology_over(spec, read_topology(read_file(file), file));
  return spec;
}

struct Machine {
  std::string name;
  std::string_view gpu;
};
const std::vector<Machine> machines = {
    {"dgxh100", "h100-sxm"}, {"dgxa100", "a100-sxm"}, {"pcie8_gen4", "l40s"}, {"gb200_1host", "gb200"}};

/// A channel as graphs.json writes it: "[net 0.3] 3 4 5 [net 0.2]".
std::string text_of(const ChannelShape& shape) {
  const std::string gpus = fmt::format("{}", fmt::join(shape.gpus, " "));
  if (shape.nic_in < 0) return gpus;
  return fmt::format("[net 0.{}] {} [net 0.{}]", shape.nic_in, gpus, shape.nic_out);
}

TEST_CASE("search on topology files gives NCCL's graphs, channel by channel", "[planner]") {
  const auto expected = nlohmann::json::parse(read_file(folder + "graphs.json"));
  for (const Machine& machine : machines) {
    const Node node = build_node(spec_of(machine.name, machine.gpu), shipped_hardware());
    for (const int nodes : {1, 2}) {
      const auto& machine_graphs = expected.at(machine.name).at(nodes == 1 ? "intra" : "inter");
      const auto begin = std::chrono::steady_clock::now();
      const SearchGraphs graphs = search_graphs(node, nodes, test::nccl_settings({}, {2, 30, 7}));
      const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      INFO(machine.name << ", " << nodes << " nodes");
#ifdef FABRICAST_TEST_SPEED
      CHECK(ms < 500);  // ten times what it takes on a quiet machine
#else
      (void)ms;
#endif
      CHECK(graphs.channels == machine_graphs.at("collChannels"));
      for (const auto& [name, graph] :
           {std::pair("ring", &graphs.ring), std::pair("tree", &graphs.tree), std::pair("nvls", &graphs.nvls)}) {
        INFO(name);
        if (!machine_graphs.contains(name)) {
          CHECK(graph->channels == 0);
          continue;
        }
        const auto& wanted = machine_graphs.at(name);
        CHECK(graph->channels == wanted.at("nCh"));
        CHECK(graph->bw_intra == Approx(wanted.at("bwIntra").get<double>()));
        CHECK(graph->bw_inter == Approx(wanted.at("bwInter").get<double>()));
        CHECK(name_of(graph->type_intra) == wanted.at("typeIntra").get<std::string>());
        CHECK(name_of(graph->type_inter) == wanted.at("typeInter").get<std::string>());
        CHECK(graph->cross_nic == wanted.at("crossNic"));
        CHECK(static_cast<int>(graph->same_channels) == wanted.at("same"));
        if (std::string_view(name) == "tree") CHECK(static_cast<int>(graph->pattern) == wanted.at("pattern"));
        std::vector<std::string> channels;
        for (const ChannelShape& shape : graph->shapes) channels.push_back(text_of(shape));
        CHECK(channels == wanted.at("channels").get<std::vector<std::string>>());
      }
    }
  }
}

TEST_CASE("a topology file defines the node", "[planner]") {
  const NodeSpec h100 = spec_of("dgxh100", "h100-sxm");
  CHECK((h100.gpus == 8 && h100.nics.count == 8 && h100.sockets == 2 && h100.pcie_switches == 8));
  CHECK(h100.nics.rate.value == 50e9);
  CHECK(h100.intranode == Intranode::nvswitch);
  CHECK(spec_of("dgxa100", "a100-sxm").cpu == CpuVendor::amd);
  CHECK(spec_of("pcie8_gen4", "l40s").intranode == Intranode::pcie);
  CHECK(spec_of("gb200_1host", "gb200").cpu == CpuVendor::arm);
  CHECK(contradictions(h100, shipped_hardware()).empty());
  NodeSpec other = h100;
  other.gpus = 4, other.gpu = "a100-sxm", other.nics.rate.value = 25e9;
  CHECK(contradictions(other, shipped_hardware()).size() == 3);
}

TEST_CASE("GPUs that match a topology file", "[planner]") {
  const auto kinds = [](const char* machine, const char* gpu) {
    return fitting_gpus(shipped_hardware(), *spec_of(machine, gpu).layout);
  };
  CHECK(kinds("dgxa100", "a100-sxm") == std::vector<std::string_view>{"a100-sxm"});
  CHECK(kinds("gb200_1host", "gb200") == std::vector<std::string_view>{"gb200"});
  CHECK(kinds("dgxh100", "h100-sxm") == std::vector<std::string_view>{"h100-sxm", "h20", "h200-sxm"});
}

TEST_CASE("graphs survive a round trip through a file", "[planner]") {
  for (const Machine& machine : machines) {
    const Node node = build_node(spec_of(machine.name, machine.gpu), shipped_hardware());
    for (const int nodes : {1, 2}) {
      NcclSettings settings = test::nccl_settings();
      const SearchGraphs found = search_graphs(node, nodes, settings);
      settings.given_graphs = read_graphs(write_graphs(found), "graphs.xml");
      check_graphs(*settings.given_graphs, node, nodes > 1);
      const SearchGraphs given = search_graphs(node, nodes, settings);
      CHECK(write_graphs(given) == write_graphs(found));
      CHECK(given.channels == found.channels);
      CHECK_THROWS_AS(check_graphs(found, node, nodes == 1), UserError);
    }
  }
}

TEST_CASE("a graph file overrides the search", "[planner]") {
  const Node node = build_node(test::preset_spec("hgx-h100"), shipped_hardware());
  NcclSettings settings = test::nccl_settings();
  SearchGraphs one = search_graphs(node, 2, settings);
  one.ring.shapes.resize(2), one.ring.channels = 2, one.ring.bw_intra = one.ring.bw_inter = 20;
  one.tree = one.nvls = {};
  settings.given_graphs = read_graphs(write_graphs(one), "graphs.xml");
  const SearchGraphs graphs = search_graphs(node, 2, settings);
  CHECK(graphs.ring.channels == 2);
  CHECK(graphs.ring.bw_intra == 20);
  CHECK(graphs.tree.channels == 2);  // searched, with as many channels as the ring
  CHECK(graphs.nvls.channels == 8);
  CHECK(graphs.channels == 4);
}

/// Neither crashes nor accepts silently what a plan would stumble over.
template <class Use>
void damage(const std::string& text, Use use) {
  const auto attempt = [&](const std::string& damaged) {
    try {
      use(damaged);
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics()) CHECK((d.where.line > 0 || !d.path.empty()));
    }
  };
  for (std::size_t length = 0; length < text.size(); length += 7) attempt(text.substr(0, length));
  const std::vector<std::string> values = {"",         "-1",  "0",     "99999999999999999999",
                                           "1e308",    "nan", "0x8",   "abc",
                                           "\xff\xfe", "<",   "&amp;", "18446744073709551615"};
  std::size_t turn = 0;
  for (std::size_t at = text.find("=\""); at != std::string::npos; at = text.find("=\"", at + 2)) {
    const std::size_t end = text.find('"', at + 2);
    attempt(text.substr(0, at + 2) + values[turn++ % values.size()] + text.substr(end));
  }
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    const std::size_t end = text.find('\n', at + 1);
    if (end == std::string::npos) break;
    attempt(text.substr(0, at) + text.substr(end));                               // a line is missing
    attempt(text.substr(0, end) + text.substr(at, end - at) + text.substr(end));  // a line is there twice
  }
}

TEST_CASE("damaged topology files do not crash", "[planner]") {
  for (const Machine& machine : machines) {
    const std::string text = read_file(folder + machine.name + ".xml");
    damage(text, [&](const std::string& damaged) {
      NodeSpec spec = test::node_spec(machine.gpu);
      lay_topology_over(spec, read_topology(damaged, "damaged.xml"));
      if (!contradictions(spec, shipped_hardware()).empty()) return;
      build_node(spec, shipped_hardware());
    });
  }
}

TEST_CASE("plans of damaged topology files are complete", "[planner]") {
  // One machine, and every line missing in turn: what is still a node has graphs with every GPU.
  const std::string text = read_file(folder + "gb200_1host.xml");
  int nodes = 0;
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    const std::size_t end = text.find('\n', at + 1);
    if (end == std::string::npos) break;
    NodeSpec spec = test::node_spec("gb200");
    try {
      lay_topology_over(spec, read_topology(text.substr(0, at) + text.substr(end), "damaged.xml"));
    } catch (const UserError&) { continue; }
    if (!contradictions(spec, shipped_hardware()).empty()) continue;
    const Node node = build_node(spec, shipped_hardware());
    for (const int n : {1, 2}) {
      if (n == 2 && node.nics == 0) continue;
      for (const ChannelShape& shape : search_graphs(node, n, test::nccl_settings()).ring.shapes)
        CHECK(shape.gpus.size() == static_cast<std::size_t>(node.spec.gpus));
    }
    ++nodes;
  }
  CHECK(nodes > 0);
}

TEST_CASE("damaged graph files do not crash", "[planner]") {
  const Node node = build_node(spec_of("gb200_1host", "gb200"), shipped_hardware());
  damage(write_graphs(search_graphs(node, 2, test::nccl_settings())), [&](const std::string& damaged) {
    NcclSettings settings = test::nccl_settings();
    settings.given_graphs = read_graphs(damaged, "damaged.xml");
    check_graphs(*settings.given_graphs, node, true);
  });
}

}  // namespace
}  // namespace fabricast
