// The probe sets up queue pairs and memory as NCCL does.
#include <sched.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "calibrate/probe/verbs_endpoint.hpp"
#include "calibrate/probe/verbs_trials.hpp"
#include "fake_numa.hpp"
#include "fake_verbs.hpp"
#include "support/probe_ranks.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

using namespace test;

TEST_CASE("NCCL's RDMA variables are read as NCCL reads them", "[probe]") {
  const RdmaSettings none = rdma_settings_from({});
  CHECK(none.traffic_class == 0);
  CHECK(none.service_level == 0);
  CHECK(none.partition == 0);
  CHECK(none.relaxed_ordering == 2);
  const RdmaSettings set = rdma_settings_from(
      {{"NCCL_IB_TC", "0x6a"}, {"NCCL_IB_SL", "3"}, {"NCCL_IB_PKEY", "010"}, {"NCCL_IB_PCI_RELAXED_ORDERING", "0"}});
  CHECK(set.traffic_class == 106);
  CHECK(set.service_level == 3);
  CHECK(set.partition == 8);
  CHECK(set.relaxed_ordering == 0);
  const RdmaSettings defaults = rdma_settings_from({{"NCCL_IB_TC", "-1"}, {"NCCL_IB_SL", ""}});
  CHECK(defaults.traffic_class == 0);
  CHECK(defaults.service_level == 0);
  for (const char* bad : {"256", "-2", "x", "1x", "99999999999999999999", "\x1b[31m"}) {
    try {
      rdma_settings_from({{"NCCL_IB_TC", bad}});
      FAIL("taken: " << bad);
    } catch (const UserError& e) {
      CHECK(e.diagnostics().at(0).message == "NCCL_IB_TC is not a whole number between 0 and 255");
    }
  }
}

GpuCalls no_gpu() {
  GpuCalls calls;
  calls.missing = [] { return "none"; };
  return calls;
}

/// Records what the driver was asked for.
struct Asked {
  std::mutex mutex;
  std::vector<int> traffic_classes, service_levels, partitions;
  std::vector<unsigned> plain, wide;  // access of regions, by call

  VerbsCalls listen(VerbsCalls calls) {
    calls.modify_qp = [this, before = calls.modify_qp](ibv_qp* qp, ibv_qp_attr* a, int mask) {
      const std::lock_guard lock(mutex);
      if (mask & IBV_QP_PKEY_INDEX) partitions.push_back(a->pkey_index);
      if (mask & IBV_QP_AV) {
        traffic_classes.push_back(a->ah_attr.grh.traffic_class);
        service_levels.push_back(a->ah_attr.sl);
      }
      return before(qp, a, mask);
    };
    calls.reg_mr = [this, before = calls.reg_mr](ibv_pd* pd, void* m, std::size_t n, int access) {
      const std::lock_guard lock(mutex);
      plain.push_back(static_cast<unsigned>(access));
      return before(pd, m, n, access);
    };
    if (calls.reg_mr_iova2)
      calls.reg_mr_iova2 = [this, before = calls.reg_mr_iova2](ibv_pd* pd, void* m, std::size_t n, std::uint64_t at,
                                                               unsigned access) {
        const std::lock_guard lock(mutex);
        CHECK(at == reinterpret_cast<std::uint64_t>(m));
        wide.push_back(access);
        return before(pd, m, n, at, access);
      };
    return calls;
  }
};

/// Two ranks with settings of their own.
std::vector<RankEnd> probe_with(const VerbsCalls& calls, const std::vector<RdmaSettings>& rdma, const NumaCalls& numa,
                                const std::string& root = "/") {
  const GpuCalls gpu = no_gpu();
  return run_ranks(
      2,
      [&](int) {
        return std::vector<ProbeBackendEntry>{{"verbs", [&] { return make_verbs_backend(calls, gpu, root, numa); }}};
      },
      [&](int r, SessionOptions& o) {
        o.settings.rdma = rdma[static_cast<std::size_t>(r)];
        o.settings.sizes = {{8}}, o.settings.connections = {1};
        o.budget = {2}, o.timeout = {1}, o.repeats = {0.3, 3, 3};
      });
}

TEST_CASE("both sides use traffic class and service level of the first, and each its own partition", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  Asked asked;
  const VerbsCalls calls = asked.listen(fake.calls());
  const auto ends = probe_with(calls, {{106, 3, 1, 2}, {8, 5, 2, 2}}, one_node());
  CHECK(ends[0].outcome.failed == 0);
  // Rank 0 leads four of the six measurements: both latencies, and its own two bandwidths.
  CHECK(std::count(asked.traffic_classes.begin(), asked.traffic_classes.end(), 106) == 8);
  CHECK(std::count(asked.traffic_classes.begin(), asked.traffic_classes.end(), 8) == 4);
  CHECK(std::count(asked.service_levels.begin(), asked.service_levels.end(), 3) == 8);
  CHECK(std::count(asked.service_levels.begin(), asked.service_levels.end(), 5) == 4);
  CHECK(std::count(asked.partitions.begin(), asked.partitions.end(), 1) == 6);
  CHECK(std::count(asked.partitions.begin(), asked.partitions.end(), 2) == 6);
}

TEST_CASE("memory is registered with relaxed ordering where NCCL does so", "[probe]") {
  const unsigned relaxed = IBV_ACCESS_RELAXED_ORDERING;
  const auto regions = [&](int setting, bool has_call) {
    const FakeVerbs fake({1e-6}, {1e9});
    VerbsCalls plain = fake.calls();
    if (!has_call) plain.reg_mr_iova2 = nullptr;
    Asked asked;
    const VerbsCalls calls = asked.listen(plain);
    const auto ends = probe_with(calls, {{0, 0, 0, setting}, {0, 0, 0, setting}}, one_node());
    CHECK(ends[0].outcome.failed == 0);
    for (const unsigned access : asked.plain) CHECK((access & relaxed) == 0);
    for (const unsigned access : asked.wide) CHECK((access & relaxed) == relaxed);
    return std::pair(asked.plain.size(), asked.wide.size());
  };
  // One of the six measurements, write_latency, is always in order.
  CHECK(regions(2, true) == std::pair<std::size_t, std::size_t>(2, 10));
  CHECK(regions(1, true) == std::pair<std::size_t, std::size_t>(2, 10));
  CHECK(regions(0, true) == std::pair<std::size_t, std::size_t>(12, 0));
  CHECK(regions(2, false) == std::pair<std::size_t, std::size_t>(12, 0));
}

/// A sysfs tree in which fake0 is on this NUMA node.
struct Placed {
  explicit Placed(const std::string& node) {
    const auto folder = scratch.path / "sys/class/infiniband/fake0/device";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "numa_node") << node << "\n";
  }
  std::string root() const { return scratch.path.string(); }
  Scratch scratch;
};

TEST_CASE("threads and buffers are bound to the NUMA node of the port, and released", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  const VerbsCalls calls = fake.calls();
  const Placed tree("1");
  FakeNuma fake_numa;
  const NumaCalls numa = fake_numa.calls();
  std::string expected;
  SECTION("bound") { expected = "host on NUMA node 1"; }
  SECTION("no memory there") {
    fake_numa.no_memory = "mbind: out of memory";
    expected = "host, not bound: mbind: out of memory";
  }
  const auto ends = probe_with(calls, {{0, 0, 0, 0}, {0, 0, 0, 0}}, numa, tree.root());
  CHECK(ends[0].outcome.measured == 6);
  for (const auto& [m, set] : ends[0].results) CHECK(set.how == expected + " -> " + expected);
  CHECK(fake_numa.threads == std::vector<int>(12, 1));
  CHECK(fake_numa.memories == std::vector<int>(fake_numa.no_memory.empty() ? 12 : 0, 1));
  CHECK(fake_numa.bound.empty());
  CHECK(fake_numa.held == 0);
}

TEST_CASE("a measurement that cannot be bound is made, and states why", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  const VerbsCalls calls = fake.calls();
  const auto how = [&](const std::string& node, const std::string& missing, const std::string& no_thread) {
    FakeNuma fake_numa;
    fake_numa.missing = missing;
    fake_numa.no_thread = no_thread;
    const NumaCalls numa = fake_numa.calls();
    const Placed tree(node);
    const auto ends = probe_with(calls, {{0, 0, 0, 0}, {0, 0, 0, 0}}, numa, tree.root());
    CHECK(ends[0].outcome.measured == 6);
    const std::string text = ends[0].results.at(0).second.how;
    return text.substr(0, text.find(" ->"));
  };
  CHECK(how("-1", "", "") == "host, not bound: the port's NUMA node is unknown");
  CHECK(how("1", "no hwloc", "") == "host, not bound: no hwloc");
  CHECK(how("1", "", "the thread's CPUs are on other nodes") ==
        "host on NUMA node 1, not bound: the thread's CPUs are on other nodes");
}

TEST_CASE("hwloc binds a thread to a NUMA node, and restores its CPUs", "[probe]") {
  const NumaCalls& numa = library_numa();
  if (!numa.missing().empty()) return;
  CHECK(numa.nodes() >= 1);
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  {
    const NumaBinding bound = numa.bind_thread(0);
    CHECK(bound.reason == "");
    const NumaMemory memory = numa.allocate(8192, 0);
    // A container may forbid mbind; then there is a reason instead of memory.
    CHECK(memory.reason.empty() == static_cast<bool>(memory.memory));
    if (memory.memory) memory.memory.get()[8191] = 1;
  }
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
  CHECK(numa.bind_thread(12345).reason == "this process may not use the node");
}

}  // namespace
}  // namespace fabricast
