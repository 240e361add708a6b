#include <catch2/catch.hpp>
#include <set>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr auto all_reduce = static_cast<std::size_t>(CollectiveOp::all_reduce);
constexpr auto all_gather = static_cast<std::size_t>(CollectiveOp::all_gather);

std::vector<std::string> refusals(const test::Variables& variables) {
  std::vector<std::string> messages;
  try {
    test::nccl_settings(variables);
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics()) messages.push_back(d.path + ": " + d.message + " | " + d.hint);
  }
  return messages;
}

TEST_CASE("NCCL versions", "[planner]") {
  CHECK(parse_nccl_version("2.18") == NcclVersion{2, 18});
  CHECK(*parse_nccl_version("2.18") > NcclVersion{2, 18, 5});  // its last patch
  CHECK(parse_nccl_version("2.21.5") == NcclVersion{2, 21, 5});
  for (const char* bad : {"", "2", "2.", "3.1", "2.x", "2.18.", "2.18.1.2", "2.-1", " 2.18", "2.99999999999"})
    CHECK_FALSE(parse_nccl_version(bad));
  // As releases, packages, NCCL's log and ncclGetVersion state it.
  for (const char* text :
       {"v2.24.3", "2.24.3-1", "v2.24.3-1", "2.24.3+cuda12.6", "2.24.3-1+cuda12.6", "22403", "2.24.3"}) {
    CHECK(parse_nccl_version(text) == NcclVersion{2, 24, 3});
    CHECK(usual_form(text) == "2.24.3");
  }
  CHECK(parse_nccl_version("2804") == NcclVersion{2, 8, 4});
  CHECK(usual_form("22400") == "2.24.0");
  CHECK(usual_form("v2.24") == "2.24");
  CHECK(usual_form("latest") == "latest");
  for (const char* bad : {"32403", "2024", "20803", "2904", "224031", "+22403", "2.24-1", "2.24.3-10", "2.24.3+cuda",
                          "2.24.3+rocm6", "vv2.24", "NCCL 2.24"})
    CHECK_FALSE(parse_nccl_version(bad));
  CHECK(to_text(NcclVersion{2, 18, 0}) == "2.18");
  CHECK(to_text(NcclVersion{2, 18}) == "2.18");
  CHECK(to_text(NcclVersion{2, 21, 5}) == "2.21.5");
  CHECK(NcclVersion{2, 9, 0} < NcclVersion{2, 18, 0});
}

TEST_CASE("the grammar of NCCL_ALGO and NCCL_PROTO", "[planner]") {
  const auto algorithms = [](const char* text) { return test::nccl_settings({{"NCCL_ALGO", text}}).algorithms.of; };
  using Row = std::array<bool, algorithm_count>;  // tree ring direct chain nvls nvlstree pat
  CHECK(algorithms("Ring,TREE")[all_reduce] == Row{1, 1, 0, 0, 0, 0, 0});
  CHECK(algorithms("^ring")[all_reduce] == Row{1, 0, 1, 1, 1, 1, 1});
  CHECK(algorithms("collnet")[all_reduce] == Row{0, 0, 1, 1, 0, 0, 0});
  CHECK(algorithms("allreduce:tree")[all_reduce] == Row{1, 0, 0, 0, 0, 0, 0});
  CHECK(algorithms("allreduce:tree")[all_gather] == Row{1, 1, 1, 1, 1, 1, 1});
  CHECK(algorithms("ring;AllReduce:tree,nvls;allgather:^pat")[all_reduce] == Row{1, 0, 0, 0, 1, 0, 0});
  CHECK(algorithms("ring;AllReduce:tree,nvls;allgather:^pat")[all_gather] == Row{1, 1, 1, 1, 1, 1, 0});

  using Switch = ProtocolSwitch;
  const auto protocols = [](const test::Variables& v) { return test::nccl_settings(v).protocols.of[all_reduce]; };
  CHECK(protocols({}) == std::array{Switch::on, Switch::automatic, Switch::on});
  CHECK(protocols({{"NCCL_PROTO", "LL,LL128"}}) == std::array{Switch::on, Switch::on, Switch::off});
  CHECK(protocols({{"NCCL_PROTO", "^LL128"}}) == std::array{Switch::on, Switch::off, Switch::on});
}

TEST_CASE("numeric values of NCCL's variables", "[planner]") {
  const NcclSettings s = test::nccl_settings({{"NCCL_IB_QPS_PER_CONNECTION", "4"},
                                              {"NCCL_IB_SPLIT_DATA_ON_QPS", "1"},
                                              {"NCCL_CROSS_NIC", "1"},
                                              {"NCCL_BUFFSIZE", "8388608"},
                                              {"NCCL_NTHREADS", "256"},
                                              {"NCCL_MIN_NCHANNELS", "4"},
                                              {"NCCL_MAX_NCHANNELS", "8"},
                                              {"NCCL_NVLS_ENABLE", "0"},
                                              {"NCCL_NET_OVERHEAD", "2500"},
                                              {"NCCL_NET_GDR_LEVEL", "PHB"}});
  CHECK(s.qps_per_connection == 4);
  CHECK(s.split_data_on_qps);
  CHECK(s.cross_nic == 1);
  CHECK(s.buffer_size == Bytes{8388608});
  CHECK(s.threads == 256);
  CHECK(s.min_channels == 4);
  CHECK(s.max_channels == 8);
  CHECK(s.nvls_enable == 0);
  CHECK(s.net_overhead_us == Approx(2.5));
  CHECK(s.gdr_level == PathType::PHB);

  const NcclSettings defaults = test::nccl_settings();
  CHECK(defaults.qps_per_connection == 1);
  CHECK_FALSE(defaults.split_data_on_qps);
  CHECK(defaults.cross_nic == 2);
  CHECK_FALSE(defaults.buffer_size);
  const Communicator comm = test::planner_of(test::preset_spec("hgx-h100"), 2,
                                             {{"NCCL_IB_QPS_PER_CONNECTION", "8"}, {"NCCL_IB_SPLIT_DATA_ON_QPS", "1"}})
                                .comm;
  CHECK(comm.qps_per_connection == 8);
  CHECK(comm.split_data_on_qps);
}

TEST_CASE("NCCL_CROSS_NIC 0 keeps rings on the NIC through which they enter", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2, {{"NCCL_CROSS_NIC", "0"}});
  CHECK(p.comm.cross_nic == 0);
  for (const ChannelShape& shape : p.comm.rings) CHECK(shape.nic_in == shape.nic_out);
}

TEST_CASE("values that NCCL would refuse", "[planner]") {
  const std::vector<std::pair<test::Variables, std::string>> cases = {
      {{{"NCCL_ALGO", "rong"}}, "nccl.env.NCCL_ALGO: 'rong' is not an algorithm | did you mean 'ring'?"},
      {{{"NCCL_ALGO", "alreduce:ring"}},
       "nccl.env.NCCL_ALGO: 'alreduce' is not an NCCL function | did you mean 'allreduce'?"},
      {{{"NCCL_ALGO", "ring;tree"}},
       "nccl.env.NCCL_ALGO: only the first list may omit its function | write e.g. ring;allreduce:tree"},
      {{{"NCCL_PROTO", "LL12"}}, "nccl.env.NCCL_PROTO: 'll12' is not a protocol | did you mean 'll128'?"},
      {{{"NCCL_NTHREADS", "100"}}, "nccl.env.NCCL_NTHREADS: must be a multiple of 32 | "},
      {{{"NCCL_NTHREADS", "1024"}}, "nccl.env.NCCL_NTHREADS: must be between 64 and 512 | "},
      {{{"NCCL_NTHREADS", "many"}}, "nccl.env.NCCL_NTHREADS: 'many' is not a whole number | "},
      {{{"NCCL_MAX_NCHANNELS", "65"}}, "nccl.env.NCCL_MAX_NCHANNELS: must be between 1 and 64 | "},
      {{{"NCCL_MIN_NCHANNELS", "9"}, {"NCCL_MAX_NCHANNELS", "8"}},
       "nccl.env.NCCL_MIN_NCHANNELS: the minimum of 9 channels exceeds the maximum of 8 | "},
      {{{"NCCL_IB_QPS_PER_CONNECTION", "0"}}, "nccl.env.NCCL_IB_QPS_PER_CONNECTION: must be between 1 and 128 | "},
      {{{"NCCL_CROSS_NIC", "3"}}, "nccl.env.NCCL_CROSS_NIC: must be between 0 and 2 | "},
      {{{"NCCL_NET_GDR_LEVEL", "FAR"}},
       "nccl.env.NCCL_NET_GDR_LEVEL: 'FAR' is not a distance | use LOC, NVL, PIX, PXB, P2C, PXN, PHB or SYS"},
      {{{"NCCL_BUFFSIZE", "4MiB"}}, "nccl.env.NCCL_BUFFSIZE: '4MiB' is not a whole number | "},
      {{{"OMP_NUM_THREADS", "1"}}, "nccl.env.OMP_NUM_THREADS: is not an NCCL variable | names start with NCCL_"},
  };
  for (const auto& [variables, message] : cases) CHECK(refusals(variables) == std::vector{message});
  // All at once.
  CHECK(refusals({{"NCCL_ALGO", "rong"}, {"NCCL_CROSS_NIC", "3"}}).size() == 2);
}

TEST_CASE("variables without effect are named", "[planner]") {
  std::vector<Diagnostic> warnings;
  parse_nccl_environment({2, 28, 0},
                         {{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_QPS_PER_CONECTION", "4"}, {"NCCL_ALGO", "ring"}}, warnings);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].path == "nccl.env.NCCL_DEBUG");
  CHECK(warnings[0].severity == Diagnostic::Severity::warning);
  CHECK(warnings[1].hint == "did you mean 'NCCL_IB_QPS_PER_CONNECTION'?");
}

TEST_CASE("names that leave nothing fall back to rings with NVLSTree, else to rings and trees", "[planner]") {
  NodeSpec mesh = test::preset_spec("hgx-h100");  // four GPUs without an NVSwitch: no NVLS
  mesh.gpus = 4, mesh.nics.count = 4, mesh.intranode = Intranode::nvlink_mesh;
  const auto algorithms = [&](const char* names) {
    const Planner p = test::planner_of(mesh, 4, {{"NCCL_ALGO", names}});
    const Plan plan = plan_collective(p, CollectiveOp::all_reduce, 1024);
    std::set<Algorithm> found;
    for (const Candidate& c : plan.candidates) found.insert(c.algorithm);
    return found;
  };
  CHECK(algorithms("NVLSTree") == std::set{Algorithm::ring});
  CHECK(algorithms("NVLS") == std::set{Algorithm::ring, Algorithm::tree});
  CHECK(algorithms("CollNetChain,CollNetDirect") == std::set{Algorithm::ring, Algorithm::tree});
  CHECK(algorithms("NVLSTree,Tree") == std::set{Algorithm::tree});
}

TEST_CASE("a choice that leaves nothing falls back to NCCL's own", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2, {{"NCCL_ALGO", "PAT"}});
  CHECK(p.costs.fell_back[all_reduce]);
  CHECK(plan_collective(p, CollectiveOp::all_reduce, 1024).algorithm == Algorithm::tree);
  CHECK_FALSE(test::planner_of(test::preset_spec("hgx-h100"), 2, {{"NCCL_ALGO", "Ring"}}).costs.fell_back[all_reduce]);
}

}  // namespace
}  // namespace fabricast
