#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "calibrate/probe/nccl_trials.hpp"
#include "fake_nccl.hpp"
#include "support/probe_ranks.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;

/// Ranks with two GPUs each, and their calls; a test replaces some.
struct Cluster {
  FakeGpu gpus{2};
  FakeNccl nccl{gpus};
  std::vector<GpuCalls> cuda;
  std::vector<NcclCalls> calls;

  explicit Cluster(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      cuda.push_back(gpus.calls()), calls.push_back(nccl.calls());
      cuda.back().identify = [r](int gpu, GpuIdentity* out) {
        return *out = {"Fake", "0000:01:00.0", fmt::format("GPU-{}-{}", r, gpu), {1 << 30}, 90}, 0;
      };
    }
  }
  std::vector<RankEnd> probe(const ProbeSettings& settings, Seconds timeout = {5}) const {
    return run_ranks(
        static_cast<int>(calls.size()),
        [&](int r) {
          const auto at = static_cast<std::size_t>(r);
          return std::vector<ProbeBackendEntry>{
              {"nccl", [this, at] { return make_nccl_backend(calls[at], cuda[at]); }}};
        },
        [&](int, SessionOptions& o) {
          o.settings = settings, o.budget = {60}, o.timeout = timeout, o.repeats = {0.3, 3, 3};
        });
  }
};

ProbeSettings only(const std::vector<std::string>& collectives, Bytes size) {
  ProbeSettings settings;
  settings.collectives = collectives, settings.sizes = {size};
  return settings;
}

TEST_CASE("all collectives and pairs of GPUs in one process give correct results and times", "[probe]") {
  const Cluster cluster(1);
  const auto ends = cluster.probe(only({}, {1 << 20}));
  CHECK(ends[0].error.empty());
  const std::map<std::string, double> factors = {{"all_reduce", 1}, {"all_gather", 0.5}, {"reduce_scatter", 0.5},
                                                 {"broadcast", 1},  {"reduce", 1},       {"alltoall", 0.5},
                                                 {"sendrecv", 1},   {"send", 1}};
  std::map<std::string, int> count;
  for (const auto& [m, set] : ends[0].results) {
    INFO(m.key() << " " << set.error);
    CHECK(set.error.empty());
    ++count[m.what];
    CHECK(m.gpus == 2);
    CHECK(m.bus_factor == factors.at(m.what));
    CHECK_THAT(set.how, Contains("20 calls back to back, results checked"));
    // The fake performs several sends of one GPU one after the other.
    if (m.what == "alltoall" || m.what == "sendrecv") continue;
    const double once = FakeNccl::latency + (1 << 20) / FakeNccl::rate;
    CHECK(set.median.value == Approx(once).epsilon(0.01));
  }
  CHECK(count == std::map<std::string, int>{{"all_reduce", 2},
                                            {"all_gather", 2},
                                            {"reduce_scatter", 2},
                                            {"broadcast", 2},
                                            {"reduce", 2},
                                            {"alltoall", 1},
                                            {"sendrecv", 1},
                                            {"send", 2}});
  CHECK(cluster.nccl.communicators_made() == 2);
  CHECK(cluster.nccl.open_communicators() == 0);
  CHECK(cluster.gpus.open_objects() == 0);
}

TEST_CASE("ranks of several processes share one communicator", "[probe]") {
  const Cluster cluster(3);
  const auto ends = cluster.probe(only({"all_reduce", "alltoall", "reduce_scatter", "send"}, {1000}));
  int pairs = 0;
  for (const RankEnd& e : ends) CHECK(e.error.empty());
  for (const auto& [m, set] : ends[0].results) {
    INFO(m.key() << " " << set.error);
    CHECK(set.error.empty());
    pairs += m.what == "send";
    // Whole floats for each of six GPUs.
    CHECK(m.bytes.value == (m.what == "alltoall" || m.what == "reduce_scatter" ? 1008 : 1000));
    CHECK(m.gpus == (m.what == "send" ? 2 : 6));
    if (m.what == "all_reduce") CHECK(m.bus_factor == Approx(5.0 / 3));
  }
  // Within a rank both directions; between ranks only GPUs of the same number.
  CHECK(pairs == 3 * 2 + 3 * 2 * 2);
  CHECK(cluster.nccl.communicators_made() == 6);
  CHECK(cluster.nccl.open_communicators() == 0);
  CHECK(cluster.gpus.open_objects() == 0);
}

TEST_CASE("each forced setting of NCCL has a communicator of its own", "[probe]") {
  const Cluster cluster(1);
  ProbeSettings settings = only({"all_reduce", "sendrecv", "send"}, {1 << 10});
  settings.algorithms = {"ring", "tree"}, settings.protocols = {"ll", "simple"}, settings.channels = {2, 8};
  cluster.calls[0].set_variable("NCCL_ALGO", "nvls");
  const auto ends = cluster.probe(settings);
  CHECK(ends[0].outcome.measured == 16);
  CHECK(ends[0].outcome.failed == 0);
  CHECK(cluster.nccl.settings() == std::set<std::string>{"ring/ll/2", "ring/ll/8", "ring/simple/2", "ring/simple/8",
                                                         "tree/ll/2", "tree/ll/8", "tree/simple/2", "tree/simple/8"});
  CHECK(cluster.calls[0].variable("NCCL_ALGO") == "nvls");
  CHECK_FALSE(cluster.calls[0].variable("NCCL_PROTO"));
  for (const auto& [m, set] : ends[0].results) {
    CHECK(m.what == "all_reduce");
    CHECK_THAT(m.key(), Contains(m.algorithm + " " + m.protocol + fmt::format(" {} channels", m.channels)));
  }
  CHECK(cluster.nccl.open_communicators() == 0);
}

struct Fault {
  std::string call;
  std::function<void(NcclCalls&, GpuCalls&)> breaks;
  std::string reason;
  std::vector<std::string> concerned;  ///< measurements; empty: all
};

std::vector<Fault> faults() {
  const auto fails = [](const void*, void*, std::size_t, void*, void*) { return 1; };
  return {
      {"make_id",
       [](NcclCalls& c, GpuCalls&) { c.make_id = [](std::string*) { return 2; }; },
       "ncclGetUniqueId: result 2",
       {}},
      {"group_start",
       [](NcclCalls& c, GpuCalls&) { c.group_start = [] { return 3; }; },
       "ncclGroupStart: result 3",
       {}},
      {"init",
       [](NcclCalls& c, GpuCalls&) { c.init = [](void**, int, const std::string&, int, int) { return 5; }; },
       "ncclCommInitRank: result 5",
       {}},
      {"all_reduce", [=](NcclCalls& c, GpuCalls&) { c.all_reduce = fails; }, "ncclAllReduce: result 1", {"all_reduce"}},
      {"all_gather", [=](NcclCalls& c, GpuCalls&) { c.all_gather = fails; }, "ncclAllGather: result 1", {"all_gather"}},
      {"reduce_scatter",
       [=](NcclCalls& c, GpuCalls&) { c.reduce_scatter = fails; },
       "ncclReduceScatter: result 1",
       {"reduce_scatter"}},
      {"broadcast", [=](NcclCalls& c, GpuCalls&) { c.broadcast = fails; }, "ncclBroadcast: result 1", {"broadcast"}},
      {"reduce", [=](NcclCalls& c, GpuCalls&) { c.reduce = fails; }, "ncclReduce: result 1", {"reduce"}},
      {"send",
       [](NcclCalls& c, GpuCalls&) { c.send = [](const void*, std::size_t, int, void*, void*) { return 1; }; },
       "ncclSend: result 1",
       {"send", "sendrecv", "alltoall"}},
      {"receive",
       [](NcclCalls& c, GpuCalls&) { c.receive = [](void*, std::size_t, int, void*, void*) { return 1; }; },
       "ncclRecv: result 1",
       {"send", "sendrecv", "alltoall"}},
      {"a wrong sum",
       [](NcclCalls& c, GpuCalls&) {
         c.all_reduce = [sum = c.all_reduce](const void* from, void* to, std::size_t n, void* comm, void* stream) {
           const_cast<float*>(static_cast<const float*>(from))[5] += 1;
           return sum(from, to, n, comm, stream);
         };
       },
       "the result of all_reduce is wrong: GPU 0 of 2 has 13 at index 5 instead of 11",
       {"all_reduce"}},
      {"allocate",
       [](NcclCalls&, GpuCalls& g) { g.allocate = [](void**, std::size_t) { return 2; }; },
       "cudaMalloc: error 2",
       {}},
      {"copy",
       [](NcclCalls&, GpuCalls& g) { g.copy = [](void*, const void*, std::size_t, void*) { return 700; }; },
       "cudaMemcpyAsync: error 700",
       {}},
      {"query_stream",
       [](NcclCalls&, GpuCalls& g) { g.query_stream = [](void*) { return 719; }; },
       "cudaStreamQuery: error 719",
       {}},
      {"create_stream",
       [](NcclCalls&, GpuCalls& g) { g.create_stream = [](void**) { return 2; }; },
       "cudaStreamCreateWithFlags: error 2",
       {}},
      {"set_device",
       [](NcclCalls&, GpuCalls& g) { g.set_device = [](int) { return 101; }; },
       "cudaSetDevice: error 101",
       {}},
  };
}

TEST_CASE("a failing NCCL call fails only its measurements and leaks nothing", "[probe]") {
  for (const Fault& fault : faults()) {
    Cluster cluster(1);
    fault.breaks(cluster.calls[0], cluster.cuda[0]);
    INFO(fault.call);
    const auto ends = cluster.probe(only({}, {64}));
    CHECK(ends[0].error.empty());
    CHECK(ends[0].results.size() == 14);
    const std::set<std::string> concerned(fault.concerned.begin(), fault.concerned.end());
    for (const auto& [m, set] : ends[0].results) {
      INFO(m.key());
      if (concerned.empty() || concerned.count(m.what) > 0)
        CHECK_THAT(set.error, Contains(fault.reason));
      else
        CHECK(set.error == "");
    }
    CHECK(cluster.nccl.open_communicators() == 0);
    CHECK(cluster.gpus.open_objects() == 0);
  }
}

TEST_CASE("a failure of one rank ends the measurement on all ranks, and the next one is made", "[probe]") {
  Cluster cluster(2);
  // The first call fails on rank 1.
  cluster.calls[1].all_reduce = [count = std::make_shared<int>(0), call = cluster.calls[1].all_reduce](
                                    const void* from, void* to, std::size_t n, void* comm, void* stream) {
    return ++*count == 1 ? 1 : call(from, to, n, comm, stream);
  };
  const auto ends = cluster.probe(only({"all_reduce"}, {64}), {2});
  for (const RankEnd& e : ends) CHECK(e.error.empty());
  REQUIRE(ends[0].results.size() == 2);
  CHECK_THAT(ends[0].results[0].second.error, Contains("rank 1: ncclAllReduce: result 1"));
  CHECK(ends[0].results[1].second.error == "");
  CHECK(cluster.nccl.communicators_made() == 8);
  CHECK(cluster.nccl.open_communicators() == 0);
  CHECK(cluster.gpus.open_objects() == 0);
}

TEST_CASE("a collective that hangs or fails asynchronously is aborted", "[probe]") {
  for (const int state : {0, 3}) {
    Cluster cluster(2);
    // The check of the results still succeeds, with one call on each of its two GPUs.
    cluster.calls[1].all_reduce = [count = std::make_shared<int>(0), call = cluster.calls[1].all_reduce](
                                      const void* from, void* to, std::size_t n, void* comm, void* stream) {
      return ++*count > 2 ? 0 : call(from, to, n, comm, stream);
    };
    cluster.calls[0].async_error = [state](void*, int* out) { return *out = state, 0; };
    const auto ends = cluster.probe(only({"all_reduce"}, {64}), {1});
    REQUIRE(ends[0].results.size() == 2);
    const std::string& error = ends[0].results[0].second.error;
    // Without an error, either rank may be the first to time out.
    if (state == 3) CHECK_THAT(error, Contains("rank 0: asynchronous NCCL error: result 3"));
    if (state == 0) CHECK_THAT(error, Contains("no progress for 1 s") || Contains("rank 1: the connection"));
    CHECK(cluster.nccl.open_communicators() == 0);
    CHECK(cluster.gpus.open_objects() == 0);
  }
}

TEST_CASE("a rank that does not join a communicator does not block the others forever", "[probe]") {
  Cluster cluster(2);
  cluster.calls[1].init = [](void**, int, const std::string&, int, int) { return 5; };
  const auto ends = cluster.probe(only({"all_reduce"}, {64}), {1});
  for (const RankEnd& e : ends) CHECK(e.error.empty());
  REQUIRE(ends[0].results.size() == 2);
  CHECK_THAT(ends[0].results[0].second.error, Contains("rank 1: ncclCommInitRank: result 5"));
  CHECK_THAT(ends[0].results[1].second.error, Contains("the creation of an earlier communicator never finished"));
}

TEST_CASE("without NCCL, or if two ranks share a GPU, the backend states why", "[probe]") {
  Cluster cluster(2);
  cluster.cuda[1].identify = cluster.cuda[0].identify;
  CHECK_THAT(cluster.probe(only({}, {64}))[0].error,
             Contains("nccl: ranks 0 and 1 share GPU GPU-0-0: start one rank per host"));
  // NCCL does not compare GPUs of ranks with different NCCL_HOSTID.
  for (std::size_t r = 0; r < 2; ++r) cluster.calls[r].set_variable("NCCL_HOSTID", "node" + std::to_string(r));
  CHECK(cluster.probe(only({}, {64}))[0].error.empty());
  for (std::size_t r = 0; r < 2; ++r) cluster.calls[r].set_variable("NCCL_HOSTID", "node");
  CHECK_THAT(cluster.probe(only({}, {64}))[0].error, Contains("share GPU GPU-0-0 of host node"));
  NcclCalls calls = cluster.calls[0];
  const GpuCalls& gpu = cluster.cuda[0];
  CHECK(make_nccl_backend(calls, gpu)->unavailable().empty());
  calls.version = [](int*) { return 3; };
  CHECK(make_nccl_backend(calls, gpu)->unavailable() == "ncclGetVersion: result 3");
  calls.missing = [] { return "not here"; };
  CHECK(make_nccl_backend(calls, gpu)->unavailable() == "not here");
  CHECK(nccl_version_text(22809) == "2.28.9");
  CHECK(nccl_version_text(2708) == "2.7.8");
}

TEST_CASE("the call tables of the libraries are complete, or state what is missing", "[probe]") {
  const GpuCalls& gpu = library_gpu();
  if (gpu.missing().empty()) {
    CHECK(gpu.reason(2) == "out of memory (cudaErrorMemoryAllocation)");
    CHECK(gpu.reason(GpuCalls::not_ready) == "device not ready (cudaErrorNotReady)");
    int version = 0;
    CHECK(gpu.runtime_version(&version) == 0);
    CHECK(version >= 11000);
    CHECK(gpu.device_count);
    CHECK(gpu.export_dma_buf);
  }
  const NcclCalls& nccl = library_nccl();
  if (nccl.missing().empty()) {
    CHECK_THAT(nccl.reason(5), Contains("invalid usage"));
    int version = 0;
    CHECK(nccl.version(&version) == 0);
    CHECK(version > 21000);
    CHECK(nccl.receive);
    CHECK(nccl.async_error);
  }
}

}  // namespace
}  // namespace fabricast
