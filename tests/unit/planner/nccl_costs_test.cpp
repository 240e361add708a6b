// The cost model against NCCL's own: what its source computes at 26 tags, and what a running NCCL asked a tuner plugin
// (tests/data/nccl_costs/README.md). Neither uses Fabricast's code, formulas or constants.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

const std::string folder = FABRICAST_TEST_DATA "/nccl_costs/";

struct Communicator {
  int capability = 0, vendor = 0, gpus = 0;
  std::int64_t nodes = 0;
  SearchGraphs graphs;
};

/// The lines of a file, without comments.
std::vector<std::istringstream> lines_of(const std::string& name) {
  std::ifstream file(folder + name);
  REQUIRE(file);
  std::vector<std::istringstream> lines;
  for (std::string line; std::getline(file, line);)
    if (line.front() != '#') lines.emplace_back(line);
  return lines;
}

SearchGraph graph_of(std::istream& in) {
  constexpr std::array intra = {PathType::NVL, PathType::PIX};
  constexpr std::array inter = {PathType::PIX, PathType::PXB, PathType::PXN, PathType::PHB};
  SearchGraph g;
  std::size_t type_intra = 0, type_inter = 0;
  int same = 0, pattern = 0;
  in >> g.channels >> g.bw_intra >> g.bw_inter >> type_intra >> type_inter >> g.latency_inter >> same >> pattern;
  g.type_intra = intra.at(type_intra), g.type_inter = inter.at(type_inter);
  g.same_channels = same != 0;
  g.pattern = pattern == 1 ? TreePattern::balanced : pattern == 2 ? TreePattern::split : TreePattern::tree;
  return g;
}

std::map<int, Communicator> communicators() {
  std::map<int, Communicator> all;
  for (std::istringstream& in : lines_of("communicators.txt")) {
    int number = 0;
    Communicator c;
    in >> number >> c.capability >> c.vendor >> c.nodes >> c.gpus >> c.graphs.channels;
    c.graphs.ring = graph_of(in), c.graphs.tree = graph_of(in), c.graphs.nvls = graph_of(in);
    REQUIRE(in);
    all[number] = std::move(c);
  }
  return all;
}

CostTable table_of(const Communicator& c, const NcclVersion& version) {
  const char* preset = c.capability == 80 ? "hgx-a100" : c.capability == 90 ? "hgx-h100" : "hgx-b200";
  NodeSpec spec = test::with_gpus(test::preset_spec(preset), c.gpus);
  spec.cpu = c.vendor == 2 ? CpuVendor::amd : CpuVendor::intel;
  Node node = build_node(spec, shipped_hardware());
  node.nic_line_rate = BytesPerSecond{50e9};
  return nccl_cost_model(node, c.nodes, c.graphs, test::nccl_settings({}, version));
}

int usable(const CostTable& table) {
  int count = 0;
  for (const auto& op : table.of)
    for (const auto& algorithm : op)
      for (const AlgorithmCost& cost : algorithm) count += cost.bandwidth > 0;
  return count;
}

/// NCCL computes in single precision, and six digits of its numbers are kept.
bool close(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

TEST_CASE("costs are those that NCCL's source computes, version by version", "[planner]") {
  const std::map<int, Communicator> all = communicators();
  std::map<std::pair<std::string, int>, CostTable> tables;
  std::set<std::string> versions;
  int rows = 0, wrong = 0;
  for (std::istringstream& in : lines_of("costs.txt")) {
    std::string text;
    int number = 0, combinations = 0;
    std::size_t op = 0, algorithm = 0, protocol = 0;
    double bandwidth = 0, latency = 0;
    in >> text >> number >> combinations >> op >> algorithm >> protocol >> bandwidth >> latency;
    const NcclVersion version = *parse_nccl_version(text);
    auto found = tables.find({text, number});
    if (found == tables.end()) found = tables.emplace(std::pair(text, number), table_of(all.at(number), version)).first;
    const CostTable& table = found->second;
    const AlgorithmCost& cost = table.of.at(op).at(algorithm).at(protocol);
    bool right = usable(table) == combinations && close(cost.bandwidth, bandwidth) && close(cost.latency, latency);
    for (const std::int64_t bytes : {4096, 262144, 4194304, 268435456}) {
      double time = 0;
      in >> time;
      const double ours = table.time(static_cast<CollectiveOp>(op), static_cast<Algorithm>(algorithm),
                                     static_cast<Protocol>(protocol), bytes);
      right = right && close(ours, time);
    }
    REQUIRE(in);
    if (!right && ++wrong <= 5)
      WARN(in.str() << ": " << cost.bandwidth << " " << cost.latency << ", " << usable(table));
    versions.insert(text);
    ++rows;
  }
  CHECK(wrong == 0);
  CHECK(rows > 7000);
  CHECK(versions.size() == 26);
}

TEST_CASE("costs are those of NCCL 2.28.9 on an H100 with sockets", "[planner]") {
  // The graphs that NCCL dumped: one channel of 1.2 GB/s over a NIC of 10 Gb/s.
  SearchGraph ring;
  ring.channels = 1, ring.bw_intra = ring.bw_inter = 1.2;
  ring.type_intra = PathType::LOC, ring.type_inter = PathType::PHB;
  SearchGraph tree = ring;
  tree.bw_intra = 2.4, tree.pattern = TreePattern::tree;
  const NodeSpec spec = test::with_gpus(test::preset_spec("hgx-h100"), 1);
  const Planner planner = test::planner_of(spec, 2, {}, {2, 28, 9});
  std::ifstream file(folder + "one_h100_over_sockets.jsonl");
  CostTable table;
  int calls = 0;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json record = nlohmann::json::parse(line);
    if (record.contains("nodes")) {
      table = nccl_cost_model(planner.comm.node, record["nodes"], {ring, tree, {}, {}, {}, 2}, planner.settings);
      continue;
    }
    const CollectiveOp op = *enum_from<CollectiveOp>(record["collective"].get<std::string>());
    for (std::size_t a = 0; a < algorithm_count; ++a)
      for (std::size_t p = 0; p < 3; ++p) {
        INFO(record["collective"] << " " << record["bytes"] << " " << a << " " << p << " " << record["costs"]);
        const double ours = table.time(op, static_cast<Algorithm>(a), static_cast<Protocol>(p), record["bytes"]);
        CHECK(close(ours, record["costs"][a][p]));
      }
    ++calls;
  }
  CHECK(calls > 200);
}

}  // namespace
}  // namespace fabricast
