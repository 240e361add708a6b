// Logs of perftest, OSU, p2pBandwidthLatencyTest, nvidia-smi and NCCL. The figures are invented.
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/file.hpp"
#include "support/import_text.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

const std::string rule(87, '-');

TEST_CASE("perftest: bandwidths in MiB/s and Gb/s, latencies, settings", "[import]") {
  const std::string head = rule +
                           "\n                    RDMA_Write BW Test\n"
                           " Dual-port       : OFF\t\tDevice         : mlx5_3\n"
                           " Number of qps   : 4\t\tTransport type : IB\n"
                           " Mtu             : 4096[B]\n Link type       : Ethernet\n" +
                           rule + "\n local address: LID 0000 QPN 0x0105 PSN 0xa1\n" + rule + "\n";
  // 65536 B at 0.38147 million messages a second are 25.0 GB/s = 200 Gb/s = 23841.86 MiB/s.
  Imported log = import_text_of(head +
                                " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
                                " 65536      5000             23900.10            23841.86\t\t   0.381470\n" +
                                rule + "\n");
  REQUIRE(log.tables.size() == 1);
  CHECK(log.problems.empty());
  CHECK(log.tables[0].operation == "ib_write_bw");
  CHECK(log.tables[0].iterations == 5000);
  CHECK(log.tables[0].details.at("device") == "mlx5_3");
  CHECK(log.tables[0].details.at("qps") == "4");
  CHECK(log.tables[0].details.at("link") == "Ethernet");
  CHECK(log.tables[0].rows[0].gigabytes_per_second.value() == Approx(25).epsilon(1e-5));
  CHECK(log.tables[0].rows[0].time_us == Approx(65536 / 25e3).epsilon(1e-5));
  const std::string gigabits = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
  log = import_text_of(head + gigabits +
                       "Conflicting CPU frequency values detected: 1000.0 != 3299.9. CPU Frequency is not max.\n"
                       " 65536      5000             200.40             200.00              0.381470\n"
                       " 65536      5000             200.40             250.00              0.381470\n"
                       " 65536      5000             inf                nan                 0.381470\n"
                       " 131072     5000             200.40\n");
  REQUIRE(log.tables.size() == 1);
  CHECK(log.tables[0].rows.size() == 1);
  CHECK(log.tables[0].rows[0].gigabytes_per_second.value() == Approx(25));
  REQUIRE(log.problems.size() == 3);
  CHECK(log.problems[0].message == "0.38147 million messages/s of 65536 bytes are 25 GB/s, not 31.25");
  CHECK(log.problems[1].message == "the bandwidth is not a number above 0");
  CHECK(log.problems[2].message == "truncated row");
  log = import_text_of(
      "                    Send Latency Test\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
      "percentile[usec]   99.9% percentile[usec]\n"
      " 2       1000          1.02           9.47         1.10                1.12            0.05            1.31     "
      "  "
      "     9.47\n"
      " 4       1000          1.02           9.47         0.90                1.12            0.05            1.31     "
      "  "
      "     9.47\n");
  REQUIRE(log.tables.size() == 1);
  CHECK(log.tables[0].operation == "ib_send_lat");
  CHECK(log.tables[0].rows.size() == 1);
  CHECK(log.tables[0].rows[0].time_us == 1.1);
  CHECK(log.problems.size() == 1);
}

TEST_CASE("OSU: names of tests, latencies, rates, full statistics", "[import]") {
  Imported log = import_text_of(
      "# OSU MPI-CUDA Allreduce Latency Test v7.5\n# Datatype: MPI_INT.\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "4                      10.05              9.00             11.00        1000\n"
      "8                      12.05              9.00             11.00        1000\n"
      "16                       nan              9.00             11.00        1000\n"
      "32                     10.\n"
      "\n# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1048576             10485.76\n"
      "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0                       1.51\n8                      "
      " 1.55\n"
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.0\n# [ pairs: 2 ] [ window size: 64 ]\n"
      "# Size                  MB/s        Messages/s\n1024                 2048.00        2000000.00\n"
      "2048                 2048.00        2000000.00\n");
  REQUIRE(log.tables.size() == 4);
  CHECK(log.tables[0].operation == "osu_allreduce");
  CHECK(log.tables[0].details.at("type") == "MPI_INT");
  CHECK(log.tables[0].iterations == 1000);
  REQUIRE(log.tables[0].rows.size() == 1);
  CHECK(log.tables[0].rows[0].time_us == 10.05);
  CHECK(log.tables[1].operation == "osu_bw");
  CHECK(log.tables[1].rows[0].time_us == Approx(100));
  CHECK(log.tables[1].rows[0].gigabytes_per_second.value() == Approx(10.48576));
  CHECK(log.tables[2].operation == "osu_latency");
  CHECK(log.tables[2].rows.size() == 2);
  CHECK(log.tables[3].operation == "osu_mbw_mr");
  CHECK(log.tables[3].rows.size() == 1);
  REQUIRE(log.problems.size() == 4);
  CHECK(log.problems[0].line == 5);
  CHECK(log.problems[1].message == "the time is not a number above 0");
  CHECK(log.problems[2].message == "truncated row");
  CHECK(log.problems[3].message == "2e+06 messages/s of 2048 bytes are not 2048 MB/s");
}

TEST_CASE("p2pBandwidthLatencyTest: every matrix by its kind", "[import]") {
  const Imported log = import_text_of(
      "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0, NVIDIA H100, pciBusID: 19, pciDeviceID: 0\n"
      "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     0\n     1\t     0     1\n"
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 2000.00  30.50 \n     1  "
      "31.50 "
      "2001.00 \n"
      "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 2000.00  60.50 \n     1  -3.00 "
      "2001.00 \n"
      "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n     0   2.10  12.80 \n     1  12.70   2.00 "
      "\n\n   CPU     0      1 \n     0   2.11   5.90 \n     1   5.80\n");
  REQUIRE(log.peers.size() == 5);
  CHECK(log.peers[0].kind == "connectivity");
  CHECK(log.peers[0].values[1] == 0.0);
  CHECK(log.peers[1].kind == "unidirectional_bandwidth");
  CHECK_FALSE(log.peers[1].peer_to_peer);
  CHECK(log.peers[1].values[1] == 30.5);
  CHECK(log.peers[1].values[2] == 31.5);
  CHECK(log.peers[2].peer_to_peer);
  CHECK_FALSE(log.peers[2].values[2]);
  CHECK(log.peers[3].kind == "gpu_latency");
  CHECK(log.peers[3].values[1] == 12.8);
  CHECK(log.peers[4].kind == "cpu_latency");
  CHECK(log.peers[4].peer_to_peer);
  CHECK(log.peers[4].values[1] == 5.9);
  REQUIRE(log.problems.size() == 2);
  CHECK(log.problems[0].message == "'-3.00' is not a valid value");
  CHECK(log.problems[1].message == "the row has 1 values for 2 columns");
}

TEST_CASE("nvidia-smi topo -m: links, affinities, legend, with tabs or with blanks", "[import]") {
  const std::string tabs =
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
      "GPU0\t X \tNV18\tPIX\t0-51\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t52-103\t1\t\tN/A\nNIC0\tPIX\tSYS\t X \t\t\t\t\n\n"
      "Legend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: "
      "mlx5_2\n";
  std::string blanks;
  for (const char c : tabs) blanks += c == '\t' ? "    " : std::string(1, c);
  for (const std::string& text : {tabs, blanks}) {
    const Imported log = import_text_of(text);
    CHECK(log.problems.empty());
    REQUIRE(log.topo);
    CHECK(log.topo->devices == std::vector<std::string>{"GPU0", "GPU1", "NIC0"});
    CHECK(log.topo->link(0, 1) == "NV18");
    CHECK(log.topo->link(0, 2) == "PIX");
    CHECK(log.topo->link(2, 1) == "SYS");
    CHECK(log.topo->cpus[1] == "52-103");
    CHECK(log.topo->numa[1] == "1");
    CHECK(log.topo->cpus[2].empty());
    CHECK(log.topo->names.at("NIC0") == "mlx5_2");
  }
  const Imported old = import_text_of(
      "\tGPU0\tGPU1\tmlx5_bond_0\tCPU Affinity\nGPU0\t X \tNV2\tNODE\t0-9,20-29\nGPU1\tNV2\t X \tNODE\t0-9,20-29\n"
      "mlx5_bond_0\tNODE\tNODE\t X \t\n");
  CHECK(old.problems.empty());
  CHECK(old.topo.value().devices[2] == "mlx5_bond_0");
  CHECK(old.topo->cpus[0] == "0-9,20-29");
  CHECK(old.topo->numa[0].empty());
  std::string damaged = tabs;
  damaged.replace(damaged.find("SYS\t52"), 3, "S?S");
  const Imported log = import_text_of(damaged);
  CHECK(log.topo->link(1, 0).empty());
  CHECK(log.topo->link(0, 1) == "NV18");
  REQUIRE(log.problems.size() == 2);
  CHECK(log.problems[1].message == "'S?S' is not a link between GPU1 and NIC0");
  CHECK(log.problems[0].message == "the row of GPU1 is missing");
}

const std::string host = "node-a:4711:4720 [0] NCCL INFO ";

TEST_CASE("NCCL says what it set up", "[import]") {
  const Imported log = import_text_of(
      "node-a:4711:4711 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,mlx5_1\n" + host +
      "NCCL_CROSS_NIC set by environment to 2.\nNCCL version 2.21.5+cuda12.4\n" + host +
      "NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)\n" + host +
      "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>\n" + host + "Using network IB\n" +
      host + "NVLS multicast support is not available on dev 0\n" + host +
      "comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n" + host +
      "ncclCommInitRank comm 0x55 rank 0 nranks 16 cudaDev 0 busId 19000 commId 0x1 - Init COMPLETE\n" + host +
      "Channel 00/04 :    0   7   6   5   4   3   2   1   8  15  14  13  12  11  10   9\n" + host +
      "Trees [0] 1/-1/-1->0->8 [1] 1/8/-1->0->-1\n" + host +
      "16 coll channels, 4 collnet channels, 8 nvls channels, 32 p2p channels, 2 p2p channels per peer\n" + host +
      "Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA\n[1,7]<stdout>:node-a:1:2 [7] NCCL INFO Channel 00/0 "
      ": 7[7] -> 8[0] [send] via NET/IB/1(6)/GDRDMA comm 0x55 nRanks 16\n" +
      host + "Channel 01 : 0[19000] -> 1[3b000] via P2P/IPC/read\n" + host +
      "Channel 01 : 0[19000] -> 1[3b000] via P2P/IPC/read\n" + host + "Connected all rings, use ring PXN 1 GDR 0\n" +
      host + "AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n" + host +
      "8388608 Bytes -> Algo 1 proto 2 time 123.4\n" +
      "node-a:4711:4720 [0] misc/socket.cc:50 NCCL WARN Connect to 10.0.0.5 failed\n");
  CHECK(log.problems.empty());
  const NcclFacts& n = log.nccl;
  CHECK(n.version == "2.21.5");
  CHECK(n.env == std::map<std::string, std::string>{{"NCCL_IB_HCA", "mlx5_0,mlx5_1"}, {"NCCL_CROSS_NIC", "2"}});
  CHECK(n.plugins == std::vector<std::string>{"NCCL RDMA Plugin v8 (v8)"});
  REQUIRE(n.nics.size() == 2);
  CHECK(n.nics[1] == NcclNic{1, "mlx5_1:1", "RoCE"});
  CHECK(n.networks == std::vector<std::string>{"IB"});
  CHECK(n.nvls_multicast == false);
  REQUIRE(n.communicators.size() == 1);
  CHECK(n.largest() == NcclCommunicator{16, 2, 8});
  REQUIRE(n.rings.size() == 1);
  CHECK(n.rings[0].channels == 4);
  CHECK(n.rings[0].ranks[8] == 8);
  REQUIRE(n.trees.size() == 2);
  CHECK(n.trees[0] == NcclTreeNode{0, 0, 8, {1}});
  CHECK(n.trees[1] == NcclTreeNode{1, 0, -1, {1, 8}});
  CHECK(n.channels == 16);
  CHECK(n.collnet_channels == 4);
  CHECK(n.nvls_channels == 8);
  CHECK(n.p2p_channels == 32);
  REQUIRE(n.edges.size() == 3);
  CHECK(n.edges[0] == NcclEdge{0, 15, 0, true, "NET/IB/0/GDRDMA"});
  CHECK(n.edges[1] == NcclEdge{0, 7, 8, false, "NET/IB/1(6)/GDRDMA"});
  CHECK(n.edges[2] == NcclEdge{1, 0, 1, false, "P2P/IPC/read"});
  CHECK(n.pxn == true);
  CHECK(n.gdr == false);
  REQUIRE(n.choices.size() == 2);
  CHECK(n.choices[0] == NcclChoice{"all_reduce", 4096, "tree", "ll", 4});
  CHECK(n.choices[1] == NcclChoice{"", 8388608, "ring", "simple", 0});
  CHECK(n.warnings == std::vector<std::string>{"Connect to 10.0.0.5 failed"});
}

TEST_CASE("older versions of NCCL say the same in other words", "[import]") {
  const Imported log = import_text_of(
      host + "NCCL version 2.4.8+cuda10.1\n" + host + "NET/IB : Using [0]mlx5_0:1/IB/SHARP ; OOB ib0:10.0.0.4<0>\n" +
      host + "Ring 00 :    0   1   2   3\n" + host + "Ring 00 : 3 -> 0 -> 1\n" + host +
      "Ring 00 : 0[0] -> 1[1] via P2P/IPC\n" + host + "Trees [0] -1->0->1/-1/-1 [1] 2->0->-1/-1/-1\n" + host +
      "Trees [0] 3/-1/-1->2->0|0->2->3/-1/-1\n");
  CHECK(log.problems.empty());
  CHECK(log.nccl.version == "2.4.8");
  CHECK(log.nccl.nics.at(0) == NcclNic{0, "mlx5_0:1", "IB"});
  CHECK(log.nccl.rings.at(0).ranks == std::vector<int>{0, 1, 2, 3});
  CHECK(log.nccl.edges.at(0) == NcclEdge{0, 0, 1, false, "P2P/IPC"});
  REQUIRE(log.nccl.trees.size() == 3);
  CHECK(log.nccl.trees[0] == NcclTreeNode{0, 0, -1, {1}});
  CHECK(log.nccl.trees[1] == NcclTreeNode{1, 0, 2, {}});
  CHECK(log.nccl.trees[2] == NcclTreeNode{0, 2, 0, {3}});
}

TEST_CASE("damaged lines of NCCL are problems of their lines", "[import]") {
  const Imported log =
      import_text_of(host + "Channel 00/0 : 0[0] -> \n" + host + "Trees [0] 1/-1/-1->0-\n" + host +
                     "Channel 00/04 :    0   x\n" + host + "AllReduce: 4096 Bytes -> Algo TR\n" + host +
                     "AllReduce: 4096 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={5..2}\n");
  CHECK(log.problems.size() == 5);
  CHECK(log.nccl.edges.empty());
  CHECK(log.nccl.trees.empty());
  CHECK(log.nccl.rings.empty());
  CHECK(log.nccl.choices.empty());
}

const std::string topology =
    "<system version=\"1\">\n  <cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
    "modelid=\"143\">\n"
    "    <pci busid=\"0000:19:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
    "      <gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"/>\n    </pci>\n  </cpu>\n</system>\n";

TEST_CASE("NCCL's topology XML is handed to its reader, with the lines of the log", "[import]") {
  const Imported log = import_text_of("noise\n" + topology + host + "Using network Socket\n");
  REQUIRE(log.node);
  CHECK(log.node->gpus.size() == 1);
  CHECK(log.nccl.networks.size() == 1);
  std::string damaged = topology;
  damaged.replace(damaged.find("sm=\"90\""), 7, "sm=\"ab\"");
  const Imported bad = import_text_of("noise\n" + damaged);
  CHECK_FALSE(bad.node);
  REQUIRE_FALSE(bad.problems.empty());
  CHECK(bad.problems[0].line == 5);
  CHECK(import_text_of(topology.substr(0, 200)).problems.size() == 1);
  // What follows a topology that breaks off is read.
  for (const std::size_t cut : {topology.find("    <pci"), topology.find("  </cpu>")}) {
    const Imported broken = import_text_of(topology.substr(0, cut) + host + "Using network Socket\n");
    CHECK_FALSE(broken.node);
    REQUIRE(broken.problems.size() == 1);
    CHECK(broken.nccl.networks.size() == 1);
  }
  std::string wrapped = topology;
  wrapped.replace(wrapped.find(" sm="), 1, "\n");
  CHECK(import_text_of(wrapped).node);
}

TEST_CASE("numbers after a table are not taken for its rows", "[import]") {
  const std::string other = "2026 1 2 3\n7\n12 0.5\n";
  for (const std::string& table :
       {std::string("# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n8                       1.55\n\n"),
        std::string("P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     0\n     1\t     0     1\n"),
        std::string("# size count type redop root time algbw busbw #wrong\n1024 256 float sum -1 12.50 0.08 0.08 0\n"
                    "# Avg bus bandwidth    : 0.08\n"),
        std::string("                    Send Latency Test\n #bytes #iterations    t_min[usec]    t_max[usec]  "
                    "t_typical[usec]\n 2       1000          1.02           9.47         1.10\n") +
            rule + "\n"}) {
    INFO(table);
    const Imported log = import_text_of(table + other);
    CHECK(log.problems.empty());
    CHECK(log.tables.size() + log.peers.size() == 1);
    if (!log.tables.empty()) CHECK(log.tables[0].rows.size() == 1);
  }
}

TEST_CASE("text of no known format is passed over", "[import]") {
  const Imported log = import_text_of("1 2 3\n# a comment\nepoch 3: loss 0.12\n\n2026-01-02 03:04:05 step 7\n");
  CHECK(log.empty());
  CHECK(log.problems.empty());
  CHECK(log.lines == 5);
  CHECK(import_text_of("").empty());
}

// Written by real programs on a real GPU (tests/data/telemetry/README.md).
TEST_CASE("logs of NCCL 2.28.9 and nccl-tests 2.19.6 from a GPU", "[import]") {
  const auto read = [](const std::string& file) {
    return import_text_of(read_file(FABRICAST_SOURCE_DIR "/tests/data/telemetry/" + file));
  };
  for (const std::string name : {"all_reduce", "alltoall", "sendrecv"}) {
    INFO(name);
    const Imported text = read("nccl-tests/two-nodes-" + name + ".txt");
    const Imported json = read("nccl-tests/two-nodes-" + name + ".json");
    REQUIRE(text.tables.size() == 1);
    REQUIRE(json.tables.size() == 1);
    CHECK(text.problems.empty());
    CHECK(json.problems.empty());
    CHECK(text.tables[0].operation == name);
    CHECK(text.tables[0].ranks == 2);
    CHECK(text.tables[0].hosts == json.tables[0].hosts);
    REQUIRE(text.tables[0].rows.size() == json.tables[0].rows.size());
    // The text has two decimals.
    for (std::size_t i = 0; i < text.tables[0].rows.size(); ++i) {
      CHECK(text.tables[0].rows[i].bytes == json.tables[0].rows[i].bytes);
      CHECK(std::abs(text.tables[0].rows[i].time_us - json.tables[0].rows[i].time_us) < 0.0051);
    }
  }
  const Imported log = read("nccl-log/four-ranks.rank0.log");
  CHECK(log.problems.empty());
  CHECK(log.nccl.version == "2.28.9");
  CHECK(log.nccl.channels == 2);
  REQUIRE(log.nccl.communicators.size() == 2);
  CHECK(log.nccl.communicators[0].ranks == 4);
  CHECK(log.nccl.env.at("NCCL_HOSTID") == "node0");
  CHECK(log.nccl.networks == std::vector<std::string>{"Socket"});
  const Imported node = read("nccl-log/topology.xml");
  CHECK(node.problems.empty());
  REQUIRE(node.node.has_value());
}

}  // namespace
}  // namespace fabricast
