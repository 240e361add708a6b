#include "nccl_group.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <thread>

namespace fabricast {

namespace {

/// Sets NCCL_ALGO and NCCL_PROTO while a communicator is created, which is when NCCL reads them, and restores them
/// afterwards. The number of channels is set by the communicator's configuration instead, because NCCL reads
/// NCCL_MIN_NCHANNELS only once per process.
class Variables {
 public:
  Variables(const NcclCalls& calls, const NcclSetting& setting) : calls_(calls) {
    if (!setting.algorithm.empty()) set("NCCL_ALGO", setting.algorithm);
    if (!setting.protocol.empty()) set("NCCL_PROTO", setting.protocol);
  }
  ~Variables() {
    for (const auto& [name, value] : before_) calls_.set_variable(name, value);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  void set(const std::string& name, const std::string& value) {
    before_[name] = calls_.variable(name);
    calls_.set_variable(name, value);
  }
  const NcclCalls& calls_;
  std::map<std::string, std::optional<std::string>> before_;
};

/// Creates a communicator for each GPU of this process.
void join(const NcclCalls& calls, const GpuCalls& gpu, const NcclPlace& place, const std::string& id, int channels,
          std::vector<void*>& communicators) {
  check_nccl(calls, calls.group_start(), "ncclGroupStart");
  int error = 0;
  for (std::size_t i = 0; i < place.gpus.size() && error == 0; ++i) {
    if (const int fault = gpu.set_device(place.gpus[i])) {
      calls.group_end();
      check_gpu(gpu, fault, "cudaSetDevice");
    }
    error = calls.init(&communicators[i], place.ranks, id, place.first + static_cast<int>(i), channels);
  }
  const int end = calls.group_end();
  check_nccl(calls, error != 0 ? error : end, "ncclCommInitRank");
}

}  // namespace

void check_nccl(const NcclCalls& calls, int error, std::string_view call) {
  if (error != 0) throw ProbeFailure(fmt::format("{}: {}", call, calls.reason(error)));
}

void watch(const std::function<void()>& call, const std::function<void()>& look) {
  struct State {
    std::atomic<bool> done{false};
    std::exception_ptr fault;
  };
  const auto state = std::make_shared<State>();
  std::thread worker([state, call] {
    try {
      call();
    } catch (...) { state->fault = std::current_exception(); }
    state->done = true;
  });
  try {
    while (!state->done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      look();
    }
  } catch (...) {
    // The call may be about to return, so wait half a second before the thread is left behind.
    for (int i = 0; i < 500 && !state->done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (state->done)
      worker.join();
    else
      worker.detach();
    throw;
  }
  worker.join();
  if (state->fault) std::rethrow_exception(state->fault);
}

NcclGroup::NcclGroup(const NcclCalls& calls, const GpuCalls& gpu, const NcclPlace& place, const NcclSetting& setting,
                     const std::string& id, const std::function<void()>& look)
    : calls_(calls), gpu_(gpu), place_(place) {
  for (const int number : place.gpus) {
    check_gpu(gpu_, gpu_.set_device(number), "cudaSetDevice");
    streams_.push_back(gpu_stream(gpu_));
  }
  const auto made = std::make_shared<std::vector<void*>>(place.gpus.size(), nullptr);
  const Variables variables(calls, setting);
  try {
    watch([=, channels = setting.channels] { join(calls, gpu, place, id, channels, *made); }, look);
  } catch (const ProbeFailure&) {
    // Some GPUs may have a communicator already. If the thread was left behind, it still uses them.
    if (made.use_count() == 1)
      for (void* communicator : *made)
        if (communicator) calls_.abandon(communicator);
    throw;
  }
  communicators_ = *made;
}

void NcclGroup::break_up() {
  if (!broken_)
    for (void* communicator : communicators_) calls_.abandon(communicator);
  broken_ = true;
}

void NcclGroup::finish(const std::function<void()>& look) const {
  std::vector<void*> streams;
  for (const GpuHandle& stream : streams_) streams.push_back(stream.get());
  finish_streams(gpu_, streams, [&] {
    look();
    for (void* communicator : communicators_) {
      int state = 0;
      check_nccl(calls_, calls_.async_error(communicator, &state), "ncclCommGetAsyncError");
      check_nccl(calls_, state, "asynchronous NCCL error");
    }
  });
}

}  // namespace fabricast
