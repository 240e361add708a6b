#include <catch2/catch.hpp>
#include <map>

#include "calibrate/probe/cuda_trials.hpp"
#include "calibrate/probe/gpu.hpp"
#include "fake_gpu.hpp"
#include "support/probe_ranks.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;

RankEnd probe_with(const GpuCalls& calls, const std::vector<Bytes>& sizes) {
  SessionOptions options = options_of(0, 1, 0);
  options.settings.sizes = sizes, options.repeats = {0.3, 3, 3}, options.budget = {60};
  return run_rank({{"cuda", [&calls] { return make_cuda_backend(calls); }}}, options);
}

/// Seconds by measurement and ports.
std::map<std::string, double> medians(const RankEnd& end) {
  std::map<std::string, double> found;
  for (const auto& [m, set] : end.results) {
    INFO(m.key() << " " << set.error);
    CHECK(set.error.empty());
    CHECK(m.from == m.to);
    found[m.what + " " + m.from_port + " " + m.to_port] = set.median.value;
  }
  return found;
}

TEST_CASE("copies and launches take the time of the GPUs", "[probe]") {
  const FakeGpu fake(2);
  const GpuCalls calls = fake.calls();
  const RankEnd end = probe_with(calls, {{1 << 20}});
  CHECK(end.error.empty());
  // Three copies and two launches per GPU, two measurements per pair and direction, and the copy in host memory.
  CHECK(end.outcome.measured == 2 * 5 + 2 * 2 + 1);
  auto time = medians(end);
  constexpr double bytes = 1 << 20;
  CHECK(time["host_to_device host gpu1"] == Approx(bytes / FakeGpu::host_rate).epsilon(1e-3));
  CHECK(time["device_to_host gpu0 host"] == Approx(bytes / FakeGpu::host_rate).epsilon(1e-3));
  CHECK(time["device_to_device gpu0 gpu0"] ==
        Approx(FakeGpu::issue).epsilon(1e-2));  // the host is slower than the copy
  CHECK(time["peer_bandwidth gpu0 gpu1"] == Approx(bytes / FakeGpu::peer_rate).epsilon(1e-3));
  CHECK(time["peer_latency gpu1 gpu0"] == Approx(FakeGpu::begins + bytes / FakeGpu::peer_rate));
  CHECK(time["launch_latency host gpu0"] == Approx(FakeGpu::begins + FakeGpu::kernel));
  CHECK(time["launch_interval host gpu1"] == Approx(FakeGpu::issue).epsilon(1e-2));
  CHECK(time["host_copy host host"] == Approx(bytes / FakeGpu::memory_rate));
  for (const auto& [m, set] : end.results)
    CHECK(set.how == (m.what.starts_with("peer_") ? "direct" : m.what == "host_copy" ? "one thread, on one CPU" : ""));
  CHECK(fake.open_objects() == 0);
}

TEST_CASE("peers without direct access are measured through host memory", "[probe]") {
  const FakeGpu fake(2);
  fake.world->direct = false;
  const GpuCalls calls = fake.calls();
  const RankEnd end = probe_with(calls, {{1 << 20}});
  CHECK(medians(end)["peer_bandwidth gpu0 gpu1"] == Approx((1 << 20) / (FakeGpu::host_rate / 2)).epsilon(1e-3));
  for (const auto& [m, set] : end.results)
    if (m.what.starts_with("peer_")) CHECK(set.how == "through host memory");
}

TEST_CASE("requested sizes do not multiply measurements without a size", "[probe]") {
  const FakeGpu fake(1);
  const GpuCalls calls = fake.calls();
  const std::vector<BackendFacts> facts = {{"cuda", "", gpu_ports(calls)}, {"cuda", "no GPU", {}}};
  ProbeSettings settings;
  settings.sizes = {{8}, {1 << 10}};
  const auto plan = make_cuda_backend(calls)->plan(settings, facts);
  std::map<std::string, int> count;
  for (const Measurement& m : plan) {
    ++count[m.what];
    CHECK(m.from == 0);
    CHECK(m.estimate > Seconds{0.02});
  }
  CHECK(count == std::map<std::string, int>{{"device_to_device", 2},
                                            {"device_to_host", 2},
                                            {"host_copy", 2},
                                            {"host_to_device", 2},
                                            {"launch_interval", 1},
                                            {"launch_latency", 1}});
}

struct Fault {
  std::string call;
  std::function<void(GpuCalls&)> breaks;
  std::string reason;
  int concerned;  ///< failed measurements, out of 15
};

TEST_CASE("without a GPU the backend states why", "[probe]") {
  const std::vector<Fault> faults = {
      {"missing", [](GpuCalls& c) { c.missing = [] { return "not built in"; }; }, "not built in", 0},
      {"no driver", [](GpuCalls& c) { c.driver_version = [](int* v) { return *v = 0, 0; }; },
       "no CUDA driver: libcuda.so.1 is missing", 0},
      {"device_count", [](GpuCalls& c) { c.device_count = [](int*) { return 35; }; },
       "no GPU: cudaGetDeviceCount: error 35", 0},
      {"none", [](GpuCalls& c) { c.device_count = [](int* n) { return *n = 0, 0; }; },
       "no GPU: cudaGetDeviceCount found none", 0},
      {"identify", [](GpuCalls& c) { c.identify = [](int, GpuIdentity*) { return 101; }; },
       "no GPU: cudaGetDeviceProperties: error 101", 0},
  };
  for (const Fault& fault : faults) {
    const FakeGpu fake(2);
    GpuCalls calls = fake.calls();
    fault.breaks(calls);
    INFO(fault.call);
    CHECK_THAT(make_cuda_backend(calls)->unavailable(), Contains(fault.reason));
    CHECK_THAT(probe_with(calls, {{8}}).error, Contains("unavailable: no backend can measure here\n  cuda: "));
    CHECK_THAT(gpu_provenance(calls), Contains("unavailable"));
  }
  const FakeGpu fake(2);
  CHECK(make_cuda_backend(fake.calls())->unavailable().empty());
  CHECK_THAT(gpu_provenance(fake.calls()), Contains(R"("driver_cuda":"13.0")") && Contains("GPU-1") && Contains("9.0"));
}

TEST_CASE("a failing CUDA call fails only its measurements and leaks nothing", "[probe]") {
  const std::vector<Fault> faults = {
      {"set_device", [](GpuCalls& c) { c.set_device = [](int) { return 101; }; }, "cudaSetDevice: error 101", 14},
      {"allocate", [](GpuCalls& c) { c.allocate = [](void**, std::size_t) { return 2; }; }, "cudaMalloc: error 2", 10},
      {"allocate_host", [](GpuCalls& c) { c.allocate_host = [](void**, std::size_t) { return 2; }; },
       "cudaMallocHost: error 2", 5},
      {"fill", [](GpuCalls& c) { c.fill = [](void*, int, std::size_t) { return 1; }; }, "cudaMemset: error 1", 10},
      {"create_stream", [](GpuCalls& c) { c.create_stream = [](void**) { return 2; }; },
       "cudaStreamCreateWithFlags: error 2", 14},
      {"create_event", [](GpuCalls& c) { c.create_event = [](void**) { return 2; }; }, "cudaEventCreate: error 2", 8},
      {"record_event", [](GpuCalls& c) { c.record_event = [](void*, void*) { return 400; }; },
       "cudaEventRecord: error 400", 8},
      {"elapsed", [](GpuCalls& c) { c.elapsed = [](Seconds*, void*, void*) { return 600; }; },
       "cudaEventElapsedTime: error 600", 8},
      {"copy", [](GpuCalls& c) { c.copy = [](void*, const void*, std::size_t, void*) { return 700; }; },
       "cudaMemcpyAsync: error 700", 6},
      {"copy_peer",
       [](GpuCalls& c) { c.copy_peer = [](void*, int, const void*, int, std::size_t, void*) { return 217; }; },
       "cudaMemcpyPeerAsync: error 217", 4},
      {"can_access_peer", [](GpuCalls& c) { c.can_access_peer = [](int*, int, int) { return 101; }; },
       "cudaDeviceCanAccessPeer: error 101", 4},
      {"enable_peer_access", [](GpuCalls& c) { c.enable_peer_access = [](int) { return 217; }; },
       "cudaDeviceEnablePeerAccess: error 217", 4},
      {"query_stream", [](GpuCalls& c) { c.query_stream = [](void*) { return 719; }; }, "cudaStreamQuery: error 719",
       14},
      {"load_empty_kernel", [](GpuCalls& c) { c.load_empty_kernel = [](void**, void**) { return 222; }; },
       "cuModuleLoadData of an empty kernel: error 222", 4},
      {"launch", [](GpuCalls& c) { c.launch = [](void*, void*) { return 719; }; }, "cuLaunchKernel: error 719", 4},
  };
  for (const Fault& fault : faults) {
    const FakeGpu fake(2);
    GpuCalls calls = fake.calls();
    fault.breaks(calls);
    INFO(fault.call);
    const RankEnd end = probe_with(calls, {{64}});
    CHECK(end.error.empty());
    CHECK(end.outcome.failed == static_cast<std::size_t>(fault.concerned));
    CHECK(end.outcome.measured == static_cast<std::size_t>(15 - fault.concerned));
    for (const auto& [m, set] : end.results)
      if (!set.error.empty()) CHECK_THAT(set.error, Contains(fault.reason));
    CHECK(fake.open_objects() == 0);
  }
}

}  // namespace
}  // namespace fabricast
