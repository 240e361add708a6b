// The verbs backend: RDMA over reliable connections (RC), between every port of one rank and every port of another rank
// on the same kind of network. Buffers are in host memory, or in the GPU nearest to the port.
#ifdef FABRICAST_VERBS
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "fabricast/core/file.hpp"
#include "gpu.hpp"
#include "pairs.hpp"
#include "pci.hpp"
#include "verbs_endpoint.hpp"
#include "verbs_ports.hpp"
#include "verbs_trials.hpp"
#else
#include "fabricast/calibrate/probe.hpp"
#endif

namespace fabricast {

#ifndef FABRICAST_VERBS

namespace {

class NoVerbs : public ProbeBackend {
 public:
  std::string unavailable() override { return "fabricast was built without libibverbs (Debian: libibverbs-dev)"; }
  std::vector<ProbePort> ports() override { return {}; }
  std::vector<Measurement> plan(const ProbeSettings&, const std::vector<BackendFacts>&) override { return {}; }
  std::unique_ptr<ProbeTrial> prepare(const Measurement&, const ProbeSettings&, ProbeSide,
                                      const std::vector<PeerLink*>&) override {
    throw ProbeFailure(unavailable());
  }
};

}  // namespace

std::unique_ptr<ProbeBackend> verbs_probe() { return std::make_unique<NoVerbs>(); }

#else

namespace {

/// The lower of two port rates, or the known one; 0 if neither is known.
BytesPerSecond lesser_rate(BytesPerSecond a, BytesPerSecond b) {
  return a.value > 0 && b.value > 0 ? std::min(a, b) : std::max(a, b);
}

class Verbs : public ProbeBackend {
 public:
  Verbs(const VerbsCalls& calls, const GpuCalls& gpu, std::string root, const NumaCalls& numa)
      : calls_(calls), gpu_(gpu), root_(std::move(root)), numa_(numa) {}

  std::string unavailable() override {
    int count = 0;
    errno = 0;
    ibv_device** list = calls_.get_device_list(&count);
    if (!list)
      return "no RDMA device: ibv_get_device_list: " + system_reason(errno) + " (is the module ib_uverbs loaded?)";
    calls_.free_device_list(list);
    if (count == 0) return "no RDMA device: ibv_get_device_list found none";
    try {
      if (verbs_ports(calls_, root_).empty()) return "no RDMA port is active";
    } catch (const ProbeFailure& e) { return e.what(); }
    return {};
  }

  std::vector<ProbePort> ports() override {
    std::vector<ProbePort> ports = verbs_ports(calls_, root_);
    if (!gpu_unavailable(gpu_).empty()) return ports;
    std::vector<std::string> addresses;
    for (const GpuIdentity& gpu : gpu_identities(gpu_)) addresses.push_back(gpu.pci);
    for (ProbePort& port : ports) {
      const int nearest = nearest_pci(root_, port.name.substr(0, port.name.rfind('/')), addresses);
      if (nearest >= 0) port.gpu = fmt::format("gpu{}", nearest);
    }
    return ports;
  }

  std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) override {
    std::vector<Measurement> plan;
    for (std::size_t a = 0; a < facts.size(); ++a)
      for (std::size_t b = 0; b < facts.size(); ++b)
        for (const ProbePort& from : facts[a].ports)
          for (const ProbePort& to : facts[b].ports) {
            if (a == b || from.network != to.network) continue;
            Measurement base;
            base.backend = "verbs";
            base.from = static_cast<int>(a);
            base.to = static_cast<int>(b);
            base.from_port = from.name;
            base.to_port = to.name;
            for (const char* memory : {"host", "gpu"}) {
              if (memory == std::string_view("gpu") && (from.gpu.empty() || to.gpu.empty())) continue;
              if (!settings.memories.empty() &&
                  std::count(settings.memories.begin(), settings.memories.end(), memory) == 0)
                continue;
              base.memory = memory;
              add_kinds(plan, base, lesser_rate(from.rate, to.rate), settings);
            }
          }
    if (plan.empty() && settings.memories == std::vector<std::string>{"gpu"})
      throw ProbeFailure("no two ports with a GPU near them are on the same kind of network");
    return plan;
  }

  std::unique_ptr<ProbeTrial> prepare(const Measurement& m, const ProbeSettings& settings, ProbeSide side,
                                      const std::vector<PeerLink*>& links) override {
    const std::string& port = side == ProbeSide::first ? m.from_port : m.to_port;
    VerbsMemory memory{gpu_, {}, {&numa_, numa_node_of(root_, port.substr(0, port.rfind('/')))}};
    if (m.memory == "gpu") memory.gpu = gpu_near(port);
    return prepare_verbs_trial({calls_, memory, {settings.gid, settings.rdma}, side, *links.front()}, m);
  }

 private:
  static void add_kinds(std::vector<Measurement>& plan, const Measurement& base, BytesPerSecond rate,
                        const ProbeSettings& settings) {
    constexpr Bytes small[] = {{8}, {1 << 10}, {8 << 10}, {64 << 10}};
    constexpr Bytes large[] = {{4 << 10}, {64 << 10}, {1 << 20}};
    constexpr int queue_pairs[] = {1, 4};
    for (const char* what : {"write_latency", "send_latency"})
      // The receiver of a write polls memory, which the host cannot do in a GPU.
      if (base.from < base.to && (base.memory == "host" || what == std::string_view("send_latency")))
        add_pair(plan, base, {what, false, small, {}}, rate, settings);
    for (const char* what : {"write_bandwidth", "read_bandwidth"})
      add_pair(plan, base, {what, true, large, queue_pairs}, rate, settings);
  }

  std::string gpu_near(const std::string& name) {
    for (const ProbePort& port : ports())
      if (port.name == name && !port.gpu.empty()) return port.gpu;
    throw ProbeFailure(fmt::format("no GPU is near {}", name));
  }

  const VerbsCalls& calls_;
  const GpuCalls& gpu_;
  std::string root_;
  const NumaCalls& numa_;
};

}  // namespace

std::unique_ptr<ProbeBackend> make_verbs_backend(const VerbsCalls& calls, const GpuCalls& gpu, const std::string& root,
                                                 const NumaCalls& numa) {
  return std::make_unique<Verbs>(calls, gpu, root, numa);
}
std::unique_ptr<ProbeBackend> verbs_probe() { return make_verbs_backend(library_verbs(), library_gpu()); }

#endif

}  // namespace fabricast
