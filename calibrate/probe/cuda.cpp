// Measurements of the GPUs of one process: copies from, to, between and within them, kernel launches, and copies in
// host memory.
#include <algorithm>
#include <span>

#include "cuda_trials.hpp"
#include "gpu.hpp"

namespace fabricast {

namespace {

/// A kind of measurement. The rate is only assumed, for the estimate.
struct CudaKind {
  std::string_view what;
  const char* memory;
  bool stream;
  BytesPerSecond rate;
  std::span<const Bytes> sizes;
};

constexpr Bytes none[] = {{0}}, small[] = {{8}, {64 << 10}}, large[] = {{1 << 20}, {64 << 20}}, huge[] = {{256 << 20}},
                sweep[] = {{4 << 10}, {64 << 10}, {1 << 20}, {16 << 20}, {256 << 20}};
constexpr CudaKind host_to_device{"host_to_device", "host", true, {25e9}, sweep},
    device_to_host{"device_to_host", "gpu", true, {25e9}, sweep},
    device_to_device{"device_to_device", "gpu", true, {1e12}, large},
    peer_bandwidth{"peer_bandwidth", "gpu", true, {50e9}, large},
    peer_latency{"peer_latency", "gpu", false, {50e9}, small},
    launch_latency{"launch_latency", "gpu", false, {1e9}, none},
    launch_interval{"launch_interval", "gpu", false, {1e9}, none}, host_copy{"host_copy", "host", true, {1e10}, huge};

class Cuda : public ProbeBackend {
 public:
  explicit Cuda(const GpuCalls& calls) : calls_(calls) {}
  std::string unavailable() override { return gpu_unavailable(calls_); }
  std::vector<ProbePort> ports() override { return gpu_ports(calls_); }

  std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) override {
    std::vector<Measurement> plan;
    for (int rank = 0; rank < static_cast<int>(facts.size()); ++rank) {
      const auto add = [&](const CudaKind& kind, const std::string& from, const std::string& to) {
        add_kind(plan, kind, rank, from, to, settings);
      };
      const std::vector<ProbePort>& gpus = facts[static_cast<std::size_t>(rank)].ports;
      if (!gpus.empty()) add(host_copy, "host", "host");
      for (const ProbePort& gpu : gpus) {
        add(host_to_device, "host", gpu.name);
        add(device_to_host, gpu.name, "host");
        add(device_to_device, gpu.name, gpu.name);
        add(launch_latency, "host", gpu.name);
        add(launch_interval, "host", gpu.name);
        for (const ProbePort& peer : gpus)
          if (&peer != &gpu) {
            add(peer_bandwidth, gpu.name, peer.name);
            add(peer_latency, gpu.name, peer.name);
          }
      }
    }
    return plan;
  }

  std::unique_ptr<ProbeTrial> prepare(const Measurement& m, const ProbeSettings&, ProbeSide,
                                      const std::vector<PeerLink*>&) override {
    return prepare_cuda_trial(calls_, m);
  }

 private:
  static void add_kind(std::vector<Measurement>& plan, const CudaKind& kind, int rank, const std::string& from,
                       const std::string& to, const ProbeSettings& settings) {
    const bool sized = kind.sizes.front() > Bytes{0};
    const std::span<const Bytes> sizes = sized && !settings.sizes.empty() ? settings.sizes : kind.sizes;
    for (const Bytes size : sizes) {
      Measurement m;
      m.backend = "cuda";
      m.what = kind.what;
      m.memory = kind.memory;
      m.stream = kind.stream;
      m.from = m.to = rank;
      m.from_port = from;
      m.to_port = to;
      m.bytes = size;
      // Assumed work: ten windows of a stream, or two hundred operations.
      const Seconds message = Seconds{5e-6} + size / kind.rate;
      const double messages = kind.stream ? 10 + Seconds{0.15} / message : 200;
      m.estimate = Seconds{0.02} + message * messages;
      m.traffic = {static_cast<std::int64_t>(messages * static_cast<double>(size.value))};
      plan.push_back(m);
    }
  }

  const GpuCalls& calls_;
};

}  // namespace

std::unique_ptr<ProbeBackend> make_cuda_backend(const GpuCalls& calls) { return std::make_unique<Cuda>(calls); }
std::unique_ptr<ProbeBackend> cuda_probe() { return make_cuda_backend(library_gpu()); }

}  // namespace fabricast
