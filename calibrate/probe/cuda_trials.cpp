// Two clocks are used. Copies in a window are timed by events on the GPU, which leave out the latency between host and
// GPU. Launches and single copies include this latency, and copies in host memory involve no GPU: they are timed by the
// host's clock.
#include "cuda_trials.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu.hpp"

namespace fabricast {

namespace {

constexpr Seconds shortest_window{0.01};
constexpr int most_in_window = 1 << 14;
constexpr double patience_s = 30;

std::size_t size_of(const Measurement& m) { return static_cast<std::size_t>(std::max<std::int64_t>(m.bytes.value, 1)); }

/// Runs one operation at a time, or operations back to back in windows of at least 10 ms.
class GpuTrial : public ProbeTrial {
 public:
  GpuTrial(const GpuCalls& calls, bool windows) : calls_(calls), windows_(windows) {}
  std::vector<Seconds> run(int repeats) override {
    std::vector<Seconds> samples;
    while (static_cast<int>(samples.size()) < repeats) {
      const Seconds time = take(count_);
      if (windows_ && time < shortest_window && count_ < most_in_window) {
        // At most tenfold, because the first operation is slow to start and would make the window too short.
        const double more = 1.2 * (shortest_window / std::max(time, Seconds{1e-9}));
        count_ = std::min(most_in_window, static_cast<int>(std::ceil(count_ * std::clamp(more, 1.2, 10.0))));
        continue;
      }
      samples.push_back(time / count_);
    }
    return samples;
  }

 protected:
  /// Time of `count` operations back to back.
  virtual Seconds take(int count) = 0;
  void finish(void* stream) {
    Patience patience({}, patience_s);
    finish_streams(calls_, {stream}, [&] { patience.look(); });
  }
  const GpuCalls& calls_;

 private:
  bool windows_;
  int count_ = 1;
};

/// Memory of a port, filled with ones: of a GPU, or page-locked on the host.
GpuHandle memory_at(const GpuCalls& calls, const std::string& port, std::size_t bytes) {
  if (!port.starts_with("gpu")) {
    GpuHandle memory = pinned_memory(calls, bytes);
    std::memset(memory.get(), 1, bytes);
    return memory;
  }
  check_gpu(calls, calls.set_device(gpu_number(port)), "cudaSetDevice");
  GpuHandle memory = gpu_memory(calls, bytes);
  check_gpu(calls, calls.fill(memory.get(), 1, bytes), "cudaMemset");
  return memory;
}

class Copies : public GpuTrial {
 public:
  Copies(const GpuCalls& calls, const Measurement& m)
      : GpuTrial(calls, m.stream),
        bytes_(size_of(m)),
        by_events_(m.stream),
        peers_(m.from_port != m.to_port && m.from_port.starts_with("gpu") && m.to_port.starts_with("gpu")),
        from_gpu_(m.from_port.starts_with("gpu") ? gpu_number(m.from_port) : gpu_number(m.to_port)),
        to_gpu_(peers_ ? gpu_number(m.to_port) : from_gpu_) {
    if (peers_) meet();
    to_ = memory_at(calls_, m.to_port, bytes_);
    from_ = memory_at(calls_, m.from_port, bytes_);
    check_gpu(calls_, calls_.set_device(from_gpu_), "cudaSetDevice");
    stream_ = gpu_stream(calls_);
    if (by_events_) {
      begin_ = gpu_event(calls_);
      end_ = gpu_event(calls_);
    }
  }
  std::string how() const override { return peers_ ? direct_ ? "direct" : "through host memory" : ""; }

 private:
  /// Enables peer access in both directions, because the copy engine may be at either end.
  void meet() {
    int there = 0, back = 0;
    check_gpu(calls_, calls_.can_access_peer(&there, from_gpu_, to_gpu_), "cudaDeviceCanAccessPeer");
    check_gpu(calls_, calls_.can_access_peer(&back, to_gpu_, from_gpu_), "cudaDeviceCanAccessPeer");
    direct_ = there != 0 && back != 0;
    if (!direct_) return;
    for (const auto& [gpu, peer] : {std::pair(from_gpu_, to_gpu_), std::pair(to_gpu_, from_gpu_)}) {
      check_gpu(calls_, calls_.set_device(gpu), "cudaSetDevice");
      check_gpu(calls_, calls_.enable_peer_access(peer), "cudaDeviceEnablePeerAccess");
    }
  }

  Seconds take(int count) override {
    const Seconds begin = calls_.now();
    if (by_events_) check_gpu(calls_, calls_.record_event(begin_.get(), stream_.get()), "cudaEventRecord");
    for (int i = 0; i < count; ++i)
      if (peers_)
        check_gpu(calls_, calls_.copy_peer(to_.get(), to_gpu_, from_.get(), from_gpu_, bytes_, stream_.get()),
                  "cudaMemcpyPeerAsync");
      else
        check_gpu(calls_, calls_.copy(to_.get(), from_.get(), bytes_, stream_.get()), "cudaMemcpyAsync");
    if (by_events_) check_gpu(calls_, calls_.record_event(end_.get(), stream_.get()), "cudaEventRecord");
    finish(stream_.get());
    if (!by_events_) return calls_.now() - begin;
    Seconds time;
    check_gpu(calls_, calls_.elapsed(&time, begin_.get(), end_.get()), "cudaEventElapsedTime");
    return time;
  }

  std::size_t bytes_;
  bool by_events_, peers_, direct_ = false;
  int from_gpu_, to_gpu_;
  GpuHandle to_, from_, stream_, begin_, end_;
};

/// Launches of an empty kernel.
class Launches : public GpuTrial {
 public:
  Launches(const GpuCalls& calls, const Measurement& m) : GpuTrial(calls, m.what == "launch_interval") {
    check_gpu(calls_, calls_.set_device(gpu_number(m.to_port)), "cudaSetDevice");
    stream_ = gpu_stream(calls_);
    void* module = nullptr;
    const int error = calls_.load_empty_kernel(&module, &kernel_);
    module_ = {module, [&calls](void* h) { calls.unload_module(h); }};
    check_gpu(calls_, error, "cuModuleLoadData of an empty kernel");
  }

 private:
  Seconds take(int count) override {
    const Seconds begin = calls_.now();
    for (int i = 0; i < count; ++i) check_gpu(calls_, calls_.launch(kernel_, stream_.get()), "cuLaunchKernel");
    finish(stream_.get());
    return calls_.now() - begin;
  }

  GpuHandle stream_, module_;
  void* kernel_ = nullptr;
};

/// Pins this thread to its current CPU.
class OnOneCpu {
 public:
  OnOneCpu() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(std::max(sched_getcpu(), 0)), &one);
    pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OnOneCpu() {
    if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;
  bool pinned() const { return pinned_; }

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

/// memcpy between page-locked buffers by one thread.
class HostCopies : public GpuTrial {
 public:
  HostCopies(const GpuCalls& calls, const Measurement& m)
      : GpuTrial(calls, true),
        bytes_(size_of(m)),
        from_(memory_at(calls, "host", bytes_)),
        to_(memory_at(calls, "host", bytes_)) {}
  std::string how() const override { return cpu_.pinned() ? "one thread, on one CPU" : "one thread"; }

 private:
  Seconds take(int count) override {
    const Seconds begin = calls_.now();
    for (int i = 0; i < count; ++i) calls_.copy_host(to_.get(), from_.get(), bytes_);
    return calls_.now() - begin;
  }

  OnOneCpu cpu_;
  std::size_t bytes_;
  GpuHandle from_, to_;
};

}  // namespace

std::unique_ptr<ProbeTrial> prepare_cuda_trial(const GpuCalls& calls, const Measurement& m) {
  if (m.what == "host_copy") return std::make_unique<HostCopies>(calls, m);
  if (m.what.starts_with("launch_")) return std::make_unique<Launches>(calls, m);
  return std::make_unique<Copies>(calls, m);
}

}  // namespace fabricast
