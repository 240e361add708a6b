// What variables leave of a host, and what NCCL's search makes of that [NCCL-env] [NCCL-search-3.4].
#include "fabricast/planner/node_use.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

struct Used {
  NodeSpec spec;
  NodeUse use;
  std::vector<Diagnostic> warnings;
  Node node() const { return build_node(spec, shipped_hardware(), 1, use); }
};

Used used(NodeSpec spec, const test::Variables& variables) {
  Used u;
  u.spec = std::move(spec);
  u.use = use_of_node(u.spec, test::nccl_settings(variables), u.warnings);
  return u;
}

Planner planner(const NodeSpec& spec, const test::Variables& variables) {
  return make_planner(used(spec, variables).node(), {0, 1}, 1, test::nccl_settings(variables));
}

const NodeSpec h100 = test::preset_spec("hgx-h100");
using Ports = std::vector<int>;

TEST_CASE("NCCL_IB_HCA picks NICs by name", "[planner]") {
  const auto ports = [](const char* names, int nics = 8) {
    return used(test::with_nics(h100, nics, 400), {{"NCCL_IB_HCA", names}}).use.ports;
  };
  CHECK(ports("mlx5_0,mlx5_3") == Ports{0, 3});
  CHECK(ports("mlx5_0:1,mlx5_3") == Ports{0, 3});
  CHECK(ports("mlx5") == Ports{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(ports("^mlx5_0,mlx5_1") == Ports{2, 3, 4, 5, 6, 7});
  // A name is a prefix, unless = stands before the list.
  CHECK(ports("mlx5_1", 16) == Ports{1, 10, 11, 12, 13, 14, 15});
  CHECK(ports("=mlx5_1", 16) == Ports{1});
  CHECK(ports("^=mlx5_1", 4) == Ports{0, 2, 3});
  // As many names as NICs are all of them, whatever the host calls them.
  CHECK(ports("ibp0,ibp1,ibp2,ibp3", 4).empty());
  CHECK(ports("mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11").empty());
  for (const char* bad : {"mlx5_8", "mlx5_0,mlx5_9", "ib0", "^mlx5", "mlx5_0:x", "mlx5_0:2"}) {
    INFO(bad);
    CHECK_THROWS_AS(ports(bad), UserError);
  }
  NodeSpec efa = h100;
  efa.nics.link = LinkKind::efa;
  CHECK(used(efa, {{"NCCL_IB_HCA", "mlx5_0"}}).warnings.size() == 1);
}

TEST_CASE("with half of the NICs NCCL uses each twice, and the fabric keeps its ports", "[planner]") {
  const test::Variables half = {{"NCCL_IB_HCA", "mlx5_0,mlx5_2,mlx5_4,mlx5_6"}};
  const Planner p = planner(h100, half);
  CHECK(p.comm.node.nics == 4);
  CHECK(p.comm.node.fabric_ports == 8);
  CHECK(p.comm.node.port_of_nic == Ports{0, 2, 4, 6});
  CHECK(p.comm.endpoint(1, 3, 8) == 8 + 6);
  // Rings as NCCL's search has them on eight GPUs with four NICs of 400 Gbit/s. There two GPUs share a switch and take
  // turns as heads of trees; here four GPUs are heads of all, and 8 x 48 do not fit in their 370.8 GB/s of NVLink.
  CHECK(p.graphs.ring.channels == 8);
  CHECK(p.graphs.ring.bw_inter == 24);
  CHECK(p.graphs.tree.bw_intra == 45);
  CHECK(p.graphs.tree.bw_inter == 24);
  CHECK(p.graphs.channels == 16);
  // GPUs without NIC go by a GPU that has one, so that GPUDirect RDMA stays.
  CHECK(p.graphs.ring.type_inter == PathType::PXN);
  CHECK(p.comm.gdr);
  for (const ChannelShape& shape : p.comm.rings) {
    const int port = p.comm.node.port_of_nic[static_cast<std::size_t>(shape.nic_in)];
    CHECK(shape.gpus.front() == port);  // GPU i and port i share a PCIe switch
  }
  CHECK(p.comm.heads.size() == 4);
  for (const int head : p.comm.heads) CHECK(head % 2 == 0);
  test::Variables direct = half;
  direct["NCCL_PXN_DISABLE"] = "1";
  const Planner without = planner(h100, direct);
  CHECK(without.graphs.ring.type_inter > PathType::PXN);
  CHECK_FALSE(without.comm.gdr);
  CHECK_FALSE(without.comm.pxn);
}

TEST_CASE("variables also apply to the host of a topology file", "[planner]") {
  NodeSpec spec = h100;
  lay_topology_over(spec, build_node(h100, shipped_hardware()).layout);
  const Planner half = planner(spec, {{"NCCL_IB_HCA", "mlx5_4,mlx5_6"}});
  CHECK(half.comm.node.port_of_nic == Ports{4, 6});
  CHECK(half.comm.node.fabric_ports == 8);
  for (const ChannelShape& shape : half.comm.rings)
    CHECK(shape.gpus.front() == half.comm.node.port_of_nic[static_cast<std::size_t>(shape.nic_in)]);
  const Planner apart = planner(spec, {{"NCCL_P2P_DISABLE", "1"}});
  CHECK_FALSE(apart.comm.node.nvlink);
  CHECK(apart.graphs.ring.type_intra >= PathType::PHB);
  CHECK(apart.graphs.nvls.channels == 0);
  CHECK(planner(spec, {}).comm.gdr);
  spec.layout->nics[3].gdr = false;
  CHECK_FALSE(planner(spec, {}).comm.gdr);
}

TEST_CASE("EFA supports GPUDirect RDMA from P4d on", "[planner]") {
  const auto gdr = [](const std::string& gpu, int gpus, Intranode intranode) {
    NodeSpec spec = h100;
    spec.gpu = gpu, spec.gpus = gpus, spec.intranode = intranode, spec.nics.link = LinkKind::efa;
    return planner(spec, {}).comm.gdr;
  };
  CHECK(gdr("h100-sxm", 8, Intranode::nvswitch));
  CHECK(gdr("a100-sxm", 8, Intranode::nvswitch));
  CHECK_FALSE(gdr("v100-sxm", 8, Intranode::nvlink_mesh));
  CHECK_FALSE(gdr("t4", 4, Intranode::pcie));
  CHECK_FALSE(gdr("l40s", 8, Intranode::pcie));
}

TEST_CASE("variables restrict the NICs of each host of an NVLink domain", "[planner]") {
  const NodeSpec gb200 = test::preset_spec("gb200-tray");
  const NodeUse use = used(gb200, {{"NCCL_IB_HCA", "mlx5_1,mlx5_3"}}).use;
  const Node domain = build_node(gb200, shipped_hardware(), 2, use);
  CHECK(domain.nics == 4);
  CHECK(domain.port_of_nic == Ports{1, 3, 5, 7});
  CHECK(domain.fabric_ports == 8);
  // Hosts share NVLink alone: the NICs of the other have no distance, and come last.
  CHECK(domain.graph.gpu_nic_distance(0, 2) == PathType::DIS);
  CHECK(domain.graph.nics_by_distance(0) == std::vector<int>{0, 1, 2, 3});
  CHECK(domain.graph.nics_by_distance(7) == std::vector<int>{3, 2, 1, 0});
}

TEST_CASE("ports of a card are merged into one NIC, or not", "[planner]") {
  const NodeSpec dual = test::with_nics(h100, 16, 200);
  const Planner merged = planner(dual, {});
  CHECK(merged.comm.node.nics == 8);
  CHECK(gigabytes_per_second(merged.comm.node.nic_line_rate) == Approx(50));
  for (const test::Variables& variables :
       {test::Variables{{"NCCL_NET_MERGE_LEVEL", "LOC"}}, test::Variables{{"NCCL_IB_MERGE_NICS", "0"}}}) {
    const Planner apart = planner(dual, variables);
    CHECK(apart.comm.node.nics == 16);
    CHECK(gigabytes_per_second(apart.comm.node.nic_line_rate) == Approx(25));
    CHECK(apart.graphs.ring.channels == 16);  // of 24 GB/s, and 32 in the end, as NCCL's search finds
    CHECK(apart.graphs.ring.bw_inter == 24);
    CHECK(apart.graphs.channels == 32);
  }
  const Node one_each = used(dual, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_2,mlx5_4,mlx5_6"}}).node();
  CHECK(one_each.port_of_nic == Ports{0, 1, 2, 3});
  CHECK(gigabytes_per_second(one_each.nic_line_rate) == Approx(25));
  CHECK_THROWS_WITH(used(dual, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1,mlx5_2"}}).node(), Catch::Contains("cards with one"));
}

TEST_CASE("without InfiniBand the same NICs carry TCP", "[planner]") {
  for (const test::Variables& variables :
       {test::Variables{{"NCCL_IB_DISABLE", "1"}}, test::Variables{{"NCCL_NET", "Socket"}}}) {
    NodeSpec spec = h100;
    spec.gdr = Gdr::on;
    const Planner p = planner(spec, variables);
    CHECK(p.comm.node.spec.nics.link == LinkKind::socket);
    CHECK_FALSE(p.comm.gdr);
    CHECK_FALSE(p.comm.pxn);
  }
  CHECK(used(h100, {{"NCCL_IB_DISABLE", "0"}, {"NCCL_NET", "IB"}}).spec.nics.link == LinkKind::infiniband);
  NodeSpec efa = h100;
  efa.nics.link = LinkKind::efa;  // by a plugin of its own
  CHECK(used(efa, {{"NCCL_IB_DISABLE", "1"}}).spec.nics.link == LinkKind::efa);
  CHECK_THROWS_WITH(used(h100, {{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "IB"}}), Catch::Contains("disables"));
  NodeSpec socket = h100;
  socket.nics.link = LinkKind::socket;
  CHECK_THROWS_WITH(used(socket, {{"NCCL_NET", "IB"}}), Catch::Contains("selects InfiniBand"));
}

TEST_CASE("sockets multiply the copying threads, up to 0.9 of the line rate", "[planner]") {
  NodeSpec spec = h100;
  spec.nics.link = LinkKind::socket;
  const auto network = [&](const char* threads, const char* sockets) {
    return used(spec, {{"NCCL_SOCKET_NTHREADS", threads}, {"NCCL_NSOCKS_PERTHREAD", sockets}}).node().network;
  };
  const Network one = used(spec, {}).node().network;
  CHECK(network("0", "4").thread_rate.value == Approx(one.thread_rate.value));  // one socket without helper threads
  CHECK(network("4", "1").thread_rate.value == Approx(4 * one.thread_rate.value));
  CHECK(network("4", "2").thread_rate.value == Approx(8 * one.thread_rate.value));
  CHECK(network("0", "4").nic_efficiency.value == Approx(one.nic_efficiency.value));
  CHECK(network("16", "4").nic_efficiency.value == Approx(0.9));
  CHECK(used(h100, {{"NCCL_SOCKET_NTHREADS", "4"}}).warnings.size() == 1);
}

TEST_CASE("the kernel keeps up with slow lines, and with fast ones less and less", "[planner]") {
  const auto efficiency = [](BytesPerSecond rate) {
    NodeSpec spec = h100;
    spec.nics.link = LinkKind::socket;
    spec.nics.rate = rate;
    return used(spec, {}).node().network.nic_efficiency.value;
  };
  const double measured = shipped_hardware().network("socket").nic_efficiency.value;
  CHECK(efficiency(BytesPerSecond{25e9}) == Approx(measured));
  CHECK(efficiency(BytesPerSecond{1.25e9}) > 0.93);
  // The time of a byte beyond that on the line is the same at any rate.
  const auto extra = [&](double rate) { return (1 / efficiency(BytesPerSecond{rate}) - 1) / rate; };
  CHECK(extra(12.5e9) == Approx(extra(25e9)));
  CHECK(extra(100e9) == Approx(extra(25e9)));
}

TEST_CASE("without peer-to-peer access GPUs use host memory", "[planner]") {
  for (const test::Variables& variables :
       {test::Variables{{"NCCL_P2P_DISABLE", "1"}}, test::Variables{{"NCCL_P2P_LEVEL", "LOC"}}}) {
    const Planner p = planner(h100, variables);
    CHECK_FALSE(p.comm.node.nvlink);
    CHECK_FALSE(p.comm.node.peer_to_peer);
    CHECK(p.graphs.nvls.channels == 0);
    CHECK(p.graphs.ring.type_intra >= PathType::PHB);
    CHECK(p.comm.node.route(0, 1) == PeerPath::host_memory);
  }
  for (const char* level : {"NVL", "PIX", "SYS"}) CHECK(planner(h100, {{"NCCL_P2P_LEVEL", level}}).comm.node.nvlink);
  // Over the root ports of a PCIe host only if it is asked for.
  const NodeSpec pcie = test::node_spec("a100-pcie");
  CHECK_FALSE(used(pcie, {}).node().peer_to_peer);
  CHECK_FALSE(used(pcie, {{"NCCL_P2P_DISABLE", "0"}}).node().peer_to_peer);
  CHECK(used(pcie, {{"NCCL_P2P_LEVEL", "SYS"}}).node().peer_to_peer);
  CHECK_FALSE(used(pcie, {{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_P2P_DISABLE", "1"}}).node().peer_to_peer);
}

TEST_CASE("the maximum peer distance depends on NCCL's version and the CPU", "[planner]") {
  const auto levels = [](const char* version, CpuVendor cpu) {
    NcclSettings s = test::nccl_settings();
    s.version = *parse_nccl_version(version);
    const PeerLevels found = peer_levels(s, cpu);
    return std::pair(found.of_two, found.of_more);
  };
  const auto both = [](PathType type) { return std::pair(type, type); };
  constexpr auto intel = CpuVendor::intel, amd = CpuVendor::amd, arm = CpuVendor::arm;
  CHECK(levels("2.6.4", intel) == both(PathType::SYS));
  CHECK(levels("2.8.4", intel) == both(PathType::PHB));
  CHECK(levels("2.9.9", intel) == both(PathType::PXB));
  CHECK(levels("2.28.3", intel) == both(PathType::PXB));
  CHECK(levels("2.22.3", amd) == both(PathType::SYS));
  CHECK(levels("2.23.4", amd) == std::pair(PathType::SYS, PathType::PXB));
  CHECK(levels("2.18.5", arm) == both(PathType::PXB));
}

TEST_CASE("without host memory there is no path left", "[planner]") {
  CHECK_NOTHROW(planner(h100, {{"NCCL_SHM_DISABLE", "1"}}));
  CHECK_THROWS_WITH(planner(h100, {{"NCCL_SHM_DISABLE", "1"}, {"NCCL_P2P_DISABLE", "1"}}),
                    Catch::Contains("leaves only the network between GPUs"));
  CHECK_NOTHROW(planner(test::with_gpus(h100, 1), {{"NCCL_SHM_DISABLE", "1"}, {"NCCL_P2P_DISABLE", "1"}}));
}

TEST_CASE("GPUs that only the network connects are separate nodes", "[planner]") {
  const auto split = [](NodeSpec spec, test::Variables variables) {
    variables.emplace("NCCL_SHM_DISABLE", "1");
    const Used u = used(spec, variables);
    return split_by_network(u.node(), test::nccl_settings(variables), u.use);
  };
  const Node alone = split(h100, {{"NCCL_P2P_DISABLE", "1"}});
  CHECK(alone.parts == 8);
  CHECK(alone.spec.gpus == 1);
  CHECK(alone.nics == 8);
  CHECK(alone.fabric_ports == 8);
  CHECK(split(h100, {}).parts == 1);
  // Peer to peer below one socket leaves a group at each.
  const Node sockets = split(test::node_spec("rtx6000d"), {{"NCCL_P2P_LEVEL", "PHB"}});
  CHECK(sockets.parts == 2);
  CHECK(sockets.spec.gpus == 4);
  CHECK(split(test::node_spec("rtx6000d"), {{"NCCL_P2P_LEVEL", "SYS"}}).parts == 1);
}

TEST_CASE("unified memory is no detour", "[planner]") {
  NodeSpec spec = test::node_spec("gb10");
  spec.gdr = Gdr::off;
  const Communicator comm = test::planner_of(spec, 2).comm;
  CHECK(comm.gdr);
  CHECK_FALSE(comm.gdr_by_cpu);
  for (const std::uint16_t l : comm.node.graph.gpu_to_nic(0, 0, comm.gdr))
    CHECK(comm.node.graph.links[l].link_class.kind != LinkKind::memory);
  NodeSpec apart = test::node_spec("a100-pcie");
  apart.gdr = Gdr::off;
  CHECK_FALSE(test::planner_of(apart, 2).comm.gdr);
}

TEST_CASE("bridges serve pairs, not rings", "[planner]") {
  NodeSpec spec = test::node_spec("a100-pcie");
  spec.gpus = 4, spec.intranode = Intranode::nvlink_pairs;
  const SearchGraph ring = planner(spec, {}).graphs.ring;
  CHECK(ring.type_intra >= PathType::PHB);
  // One pair alone is all NVLink.
  const Planner pair = planner(test::with_gpus(spec, 2), {});
  CHECK(pair.graphs.ring.type_intra == PathType::NVL);
  CHECK(pair.comm.node.all_nvlink);
}

TEST_CASE("GPUDirect RDMA for sent data", "[planner]") {
  CHECK(planner(h100, {}).comm.gdr_read);
  const Communicator staged = planner(h100, {{"NCCL_NET_GDR_READ", "0"}}).comm;
  CHECK(staged.gdr);
  CHECK_FALSE(staged.gdr_read);
  // Before Ampere not on PCIe alone.
  NodeSpec volta = test::node_spec("v100-sxm");
  CHECK(planner(volta, {}).comm.gdr_read);
  volta.intranode = Intranode::pcie;
  CHECK_FALSE(planner(volta, {}).comm.gdr_read);
  CHECK(planner(volta, {{"NCCL_NET_GDR_READ", "1"}}).comm.gdr_read);
  CHECK(planner(test::with_gpus(volta, 1), {}).comm.gdr_read);
}

TEST_CASE("NVLS and CollNet over several nodes need a head for each part", "[planner]") {
  constexpr auto gather = static_cast<std::size_t>(CollectiveOp::all_gather);
  const auto runs = [](const NodeSpec& spec, Algorithm a) {
    const Planner p = test::planner_of(spec, 4, {{"NCCL_COLLNET_ENABLE", "1"}});
    return p.costs.of[gather][static_cast<std::size_t>(a)][2].bandwidth > 0;
  };
  for (const Algorithm a : {Algorithm::nvls, Algorithm::collnetdirect}) {
    CHECK(runs(h100, a));
    CHECK_FALSE(runs(test::with_nics(h100, 4, 400), a));
  }
  // NVLS of other operations than all_reduce: 32 GPUs of a node.
  const auto inside = [](int gpus) {
    const Planner p = test::planner_of(test::with_gpus(test::preset_spec("gb200-tray"), gpus), 1);
    return p.costs.of[gather][static_cast<std::size_t>(Algorithm::nvls)][2].bandwidth > 0;
  };
  CHECK(inside(32));
  CHECK_FALSE(inside(36));
}

TEST_CASE("CollNet runs from its node threshold on", "[planner]") {
  constexpr auto all_reduce = static_cast<std::size_t>(CollectiveOp::all_reduce);
  constexpr auto chain = static_cast<std::size_t>(Algorithm::collnetchain);
  const auto runs = [](std::uint32_t nodes, test::Variables variables) {
    variables["NCCL_COLLNET_ENABLE"] = "1";
    return test::planner_of(h100, nodes, variables).costs.of[all_reduce][chain][2].bandwidth > 0;
  };
  CHECK(runs(2, {}));
  CHECK_FALSE(runs(2, {{"NCCL_COLLNET_NODE_THRESHOLD", "4"}}));
  CHECK(runs(4, {{"NCCL_COLLNET_NODE_THRESHOLD", "4"}}));
}

}  // namespace
}  // namespace fabricast
