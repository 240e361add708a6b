#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>

#include "calibrate/probe/verbs_endpoint.hpp"
#include "calibrate/probe/verbs_trials.hpp"
#include "fake_verbs.hpp"
#include "support/probe_ranks.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;

const GpuCalls& no_gpu() {
  static const GpuCalls calls = [] {
    GpuCalls c;
    c.missing = [] { return "no GPU in this test"; };
    return c;
  }();
  return calls;
}

/// Measures between two ranks with these calls.
std::vector<RankEnd> probe_with(const std::vector<VerbsCalls>& calls, const ProbeSettings& settings, Seconds budget,
                                const GpuCalls& gpu = no_gpu(), const std::string& root = "/",
                                const Repeats& repeats = {0.3, 3, 3}) {
  return run_ranks(
      2,
      [&](int r) {
        const VerbsCalls& own = calls[static_cast<std::size_t>(r) % calls.size()];
        return std::vector<ProbeBackendEntry>{{"verbs", [&] { return make_verbs_backend(own, gpu, root); }}};
      },
      [&](int, SessionOptions& o) { o.settings = settings, o.budget = budget, o.timeout = {1}, o.repeats = repeats; });
}

TEST_CASE("all four measurements find latency and rate of a link", "[probe]") {
  const FakeVerbs fake({10e-3}, {50e6});
  const std::vector<VerbsCalls> calls{fake.calls()};
  ProbeSettings settings;
  settings.sizes = {{8}, {20000}}, settings.connections = {1, 4};
  // Of ten samples, the best is on time even beside other tests.
  const auto ends = probe_with(calls, settings, {60}, no_gpu(), "/", {0, 10, 10});
  CHECK(ends[0].error.empty());
  CHECK(ends[1].error.empty());
  CHECK(ends[0].outcome.measured == 2 * 2 + 2 * 2 * 2 * 2);
  for (const auto& [m, set] : ends[0].results) {
    INFO(m.key() << " " << set.error << " " << set.median.value);
    CHECK(m.from_port == "fake0/1");
    const double message = static_cast<double>(m.bytes.value) / 50e6;
    // The fake is late when the machine that runs the test is busy, but never early.
    const double truth = m.stream ? message : 10e-3 + message;
    CHECK(set.median.value >= (m.stream ? 0.75 : 0.98) * truth);
    const double best = std::min_element(set.samples.begin(), set.samples.end())->value;
    // At 8 bytes the sender is the bottleneck.
    if (!m.stream || m.bytes.value == 20000) CHECK(best <= (m.stream ? 2 : 1.3) * truth);
  }
  CHECK(fake.open_objects() == 0);
}

struct Fault {
  std::string call;
  std::function<void(VerbsCalls&)> breaks;
  std::string reason;
};

TEST_CASE("without a usable device the backend states why", "[probe]") {
  const std::vector<Fault> faults = {
      {"none",
       [](VerbsCalls& c) {
         c.get_device_list = [](int* n) { return *n = 0, new ibv_device* [1] {}; };
         c.free_device_list = [](ibv_device** l) { delete[] l; };
       },
       "no RDMA device: ibv_get_device_list found none"},
      {"get_device_list", [](VerbsCalls& c) { c.get_device_list = [](int*) { return errno = ENOSYS, nullptr; }; },
       "no RDMA device: ibv_get_device_list: function not implemented (is the module ib_uverbs loaded?)"},
      {"open_device", [](VerbsCalls& c) { c.open_device = [](ibv_device*) { return errno = EACCES, nullptr; }; },
       "ibv_open_device: permission denied; does this user have access to /dev/infiniband/uverbs*?"},
      {"query_device", [](VerbsCalls& c) { c.query_device = [](ibv_context*, ibv_device_attr*) { return EIO; }; },
       "ibv_query_device: input/output error"},
      {"query_port",
       [](VerbsCalls& c) { c.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr*) { return EIO; }; },
       "ibv_query_port: input/output error"},
      {"down",
       [](VerbsCalls& c) {
         c.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr* a) { return a->state = IBV_PORT_DOWN, 0; };
       },
       "no RDMA port is active"},
  };
  for (const Fault& fault : faults) {
    const FakeVerbs fake({1e-6}, {1e9});
    VerbsCalls calls = fake.calls();
    fault.breaks(calls);
    INFO(fault.call);
    CHECK(make_verbs_backend(calls, no_gpu())->unavailable() == fault.reason);
    CHECK(fake.open_objects() == 0);
  }
  const FakeVerbs fake({1e-6}, {1e9});
  const VerbsCalls calls = fake.calls();
  CHECK(make_verbs_backend(calls, no_gpu())->unavailable().empty());
}

template <class T>
T* nothing(int error) {
  errno = error;
  return nullptr;
}

std::function<void(VerbsCalls&)> no_modify(ibv_qp_state state) {
  return [state](VerbsCalls& c) {
    c.modify_qp = [before = c.modify_qp, state](ibv_qp* qp, ibv_qp_attr* a, int mask) {
      return a->qp_state == state ? ETIMEDOUT : before(qp, a, mask);
    };
  };
}

std::function<void(VerbsCalls&)> bad_completion(ibv_wc_status status) {
  return [status](VerbsCalls& c) {
    c.poll_cq = [before = c.poll_cq, status](ibv_cq* cq, int most, ibv_wc* out) {
      const int count = before(cq, most, out);
      for (int i = 0; i < count; ++i) out[i].status = status;
      return count;
    };
  };
}

TEST_CASE("a failing call on either side fails only its measurement and leaks nothing", "[probe]") {
  const std::vector<Fault> faults = {
      {"alloc_pd", [](VerbsCalls& c) { c.alloc_pd = [](ibv_context*) { return nothing<ibv_pd>(ENOMEM); }; },
       "ibv_alloc_pd: cannot allocate memory"},
      {"reg_mr",
       [](VerbsCalls& c) { c.reg_mr = [](ibv_pd*, void*, std::size_t, int) { return nothing<ibv_mr>(ENOMEM); }; },
       "ibv_reg_mr: cannot allocate memory; the locked-memory limit (ulimit -l) may be too low"},
      {"reg_mr_iova2",
       [](VerbsCalls& c) {
         c.reg_mr_iova2 = [](ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) { return nothing<ibv_mr>(ENOMEM); };
       },
       "ibv_reg_mr_iova2: cannot allocate memory; the locked-memory limit (ulimit -l) may be too low"},
      {"create_cq", [](VerbsCalls& c) { c.create_cq = [](ibv_context*, int) { return nothing<ibv_cq>(EINVAL); }; },
       "ibv_create_cq: invalid argument"},
      {"create_qp",
       [](VerbsCalls& c) { c.create_qp = [](ibv_pd*, ibv_qp_init_attr*) { return nothing<ibv_qp>(EINVAL); }; },
       "ibv_create_qp: invalid argument"},
      {"INIT", no_modify(IBV_QPS_INIT), "ibv_modify_qp to INIT: connection timed out"},
      {"RTR", no_modify(IBV_QPS_RTR), "ibv_modify_qp to RTR: connection timed out"},
      {"RTS", no_modify(IBV_QPS_RTS), "ibv_modify_qp to RTS: connection timed out"},
      {"query_gid",
       [](VerbsCalls& c) {
         c.query_gid = [](ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*) { return ENODATA; };
       },
       "the port has no GID (does its interface have an address?)"},
      {"post_send", [](VerbsCalls& c) { c.post_send = [](ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return ENOMEM; }; },
       "ibv_post_send: cannot allocate memory"},
      {"post_recv", [](VerbsCalls& c) { c.post_recv = [](ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) { return ENOMEM; }; },
       "ibv_post_recv: cannot allocate memory"},
      {"poll_cq", [](VerbsCalls& c) { c.poll_cq = [](ibv_cq*, int, ibv_wc*) { return -1; }; }, "ibv_poll_cq failed"},
      {"status", bad_completion(IBV_WC_RETRY_EXC_ERR), "a message did not arrive: transport retry counter exceeded"},
  };
  ProbeSettings settings;
  settings.sizes = {{8}}, settings.connections = {1};
  for (const Fault& fault : faults)
    for (const std::size_t broken : {0u, 1u}) {
      const FakeVerbs fake({1e-6}, {1e9});
      std::vector<VerbsCalls> calls{fake.calls(), fake.calls()};
      fault.breaks(calls[broken]);
      const auto ends = probe_with(calls, settings, {0.5});
      INFO(fault.call << " at rank " << broken);
      CHECK(ends[0].error.empty());
      CHECK(ends[1].error.empty());
      CHECK(ends[0].outcome.failed >= 1);
      int with_reason = 0;
      for (const auto& [m, set] : ends[0].results)
        if (!set.error.empty()) {
          CHECK_THAT(set.error, Contains(fault.reason));
          ++with_reason;
        }
      CHECK(with_reason >= 1);
      CHECK(fake.open_objects() == 0);
    }
}

TEST_CASE("a lost message is an error after the timeout", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  std::vector<VerbsCalls> calls{fake.calls(), fake.calls()};
  // Messages are posted and lost.
  calls[1].post_send = [](ibv_qp*, ibv_send_wr*, ibv_send_wr**) { return 0; };
  ProbeSettings settings;
  settings.sizes = {{8}}, settings.connections = {1};
  const auto ends = probe_with(calls, settings, {6});
  CHECK(ends[0].error.empty());
  int lost = 0;
  for (const auto& [m, set] : ends[0].results) lost += set.error.find("no progress for 1 s") != std::string::npos;
  CHECK(lost >= 3);
}

TEST_CASE("a stream of messages far apart leaves the CPU to others", "[probe]") {
  using Clock = std::chrono::steady_clock;
  constexpr auto far_apart = std::chrono::milliseconds(2);
  constexpr double nap_s = 50e-6;
  struct Waiting {
    bool reads = false;
    Clock::time_point since;
    int looks = 0;
  };
  static thread_local Waiting waiting;
  const FakeVerbs fake({1e-6}, {100e6});  // 1 MiB takes 10 ms
  std::vector<VerbsCalls> calls{fake.calls()};
  int most = 0;
  double longest = 0;  // s, with the most looks
  std::mutex mutex;
  calls[0].post_send = [plain = calls[0].post_send](ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad) {
    waiting = {work->opcode == IBV_WR_RDMA_READ, Clock::now(), 0};
    return plain(qp, work, bad);
  };
  calls[0].poll_cq = [&, plain = calls[0].poll_cq](ibv_cq* cq, int limit, ibv_wc* out) {
    const int count = plain(cq, limit, out);
    const auto time = Clock::now() - waiting.since - far_apart;
    if (count > 0) {
      waiting = {waiting.reads, Clock::now(), 0};
    } else if (waiting.reads && time > Clock::duration::zero()) {
      const std::lock_guard lock(mutex);
      if (++waiting.looks > most) most = waiting.looks, longest = std::chrono::duration<double>(time).count();
    }
    return count;
  };
  ProbeSettings settings;
  settings.sizes = {{1 << 20}}, settings.connections = {1};
  const auto ends = probe_with(calls, settings, {6});
  CHECK(ends[0].error.empty());
  CHECK(most > 0);
  CHECK(most <= longest / nap_s + 1);
}

ibv_gid_entry gid(std::uint32_t index, std::uint32_t type, const std::string& text) {
  ibv_gid_entry e{};
  e.gid_index = index, e.gid_type = type, e.gid = gid_of(text);
  return e;
}

TEST_CASE("the best GID is RoCE v2 over IPv4", "[probe]") {
  const std::string link_local = "fe800000000000000000000000000001", ipv6 = "fd000000000000000000000000000001",
                    ipv4 = "00000000000000000000ffff0a000001";
  const auto v1 = gid(0, IBV_GID_TYPE_ROCE_V1, ipv4), local = gid(1, IBV_GID_TYPE_ROCE_V2, link_local);
  const auto wide = gid(2, IBV_GID_TYPE_ROCE_V2, ipv6), best = gid(3, IBV_GID_TYPE_ROCE_V2, ipv4);
  CHECK(best_gid({v1, local, wide, best}) == 3);
  CHECK(best_gid({best, wide, local, v1}) == 0);
  CHECK(best_gid({v1, local, wide}) == 2);
  CHECK(best_gid({v1, local}) == 1);
  CHECK(best_gid({v1}) == 0);
  CHECK(best_gid({}) == -1);
  CHECK(gid_text(best.gid) == ipv4);
  CHECK_THROWS_AS(gid_of("12"), ProbeFailure);
}

TEST_CASE("a requested GID must exist", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  const VerbsCalls calls = fake.calls();
  CHECK_NOTHROW(VerbsEndpoint(calls, "fake0/1", {no_gpu(), {}}, 1, 64, 2, {2}));
  CHECK_THROWS_WITH(VerbsEndpoint(calls, "fake0/1", {no_gpu(), {}}, 1, 64, 2, {1}), "there is no GID at index 1");
  CHECK_THROWS_WITH(VerbsEndpoint(calls, "other/1", {no_gpu(), {}}, 1, 64, 2, {}), "there is no port other/1");
}

TEST_CASE("ports are paired within the same network", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  const VerbsCalls calls = fake.calls();
  const auto backend = make_verbs_backend(calls, no_gpu());
  const std::vector<BackendFacts> facts = {{"verbs", "", {{"a/1", "roce", {1e9}}, {"b/1", "infiniband", {1e9}}}},
                                           {"verbs", "", {{"a/1", "roce", {1e9}}, {"b/1", "infiniband", {1e9}}}}};
  ProbeSettings settings;
  settings.sizes = {{8}}, settings.connections = {1};
  const auto plan = backend->plan(settings, facts);
  CHECK(plan.size() == 2 * (2 + 4));  // per network two latencies, and two bandwidths in each direction
  for (const Measurement& m : plan) CHECK(m.from_port == m.to_port);
}

}  // namespace
}  // namespace fabricast
