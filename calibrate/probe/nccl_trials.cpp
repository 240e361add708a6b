// Timing is that of nccl-tests. After warm-up and a barrier of all ranks, twenty calls are issued back to back on the
// stream of each GPU. The time runs from the first launch until all streams are done, by the host's clock. A sample is
// a twentieth of it, averaged over the participating processes.
#include "nccl_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fabricast/collective/collective.hpp"

namespace fabricast {

namespace {

constexpr int iterations = 20;
constexpr std::size_t checked_bytes = 1 << 20;

/// Input data are small whole numbers with this period, so that sums are exact in any order.
constexpr int period = 7;
float given(int rank, std::size_t i) { return static_cast<float>((static_cast<std::size_t>(rank) + i) % period); }

/// One NCCL call: its size and the ranks that take part.
struct Call {
  std::string what;
  std::size_t bytes;
  int ranks, from, to;
  bool in_place;

  /// Floats of the whole buffer, and of the part of one rank.
  std::size_t whole() const { return bytes / sizeof(float); }
  std::size_t part() const { return whole() / static_cast<std::size_t>(ranks); }
  bool pair() const { return what == "send"; }
  bool concerns(int rank) const { return !pair() || rank == from || rank == to; }
  /// Whether a rank sends or receives only its part.
  bool gives_part() const { return what == "all_gather"; }
  bool gets_part() const { return what == "reduce_scatter"; }
};

/// Send and receive buffers of one GPU.
struct Buffers {
  GpuHandle first, second;
  /// In place, the part of a rank lies within the other buffer, at the position of the rank.
  float* to(const Call& call, int rank) const {
    if (!call.in_place) return static_cast<float*>(second.get());
    return static_cast<float*>(first.get()) + (call.gets_part() ? static_cast<std::size_t>(rank) * call.part() : 0);
  }
  float* from(const Call& call, int rank) const {
    return static_cast<float*>(first.get()) +
           (call.in_place && call.gives_part() ? static_cast<std::size_t>(rank) * call.part() : 0);
  }
};

/// The correct value at index `i` of a rank's result; nothing if the rank receives no result.
std::optional<float> expected(const Call& call, int rank, std::size_t i, const std::array<float, period>& sums) {
  const std::size_t part = call.part(), self = static_cast<std::size_t>(rank);
  if (call.what == "all_reduce") return sums[i % period];
  if (call.what == "reduce") return rank == 0 ? std::optional<float>(sums[i % period]) : std::nullopt;
  if (call.what == "reduce_scatter") return sums[(self * part + i) % period];
  if (call.what == "broadcast") return given(0, i);
  if (call.what == "all_gather") return given(static_cast<int>(i / part), i % part);
  if (call.what == "alltoall") return given(static_cast<int>(i / part), self * part + i % part);
  if (call.what == "sendrecv") return given((rank + call.ranks - 1) % call.ranks, i);
  return rank == call.to ? std::optional<float>(given(call.from, i)) : std::nullopt;
}

/// Buffers and communicators of this process.
struct Work {
  NcclCalls calls;
  GpuCalls gpu;
  std::shared_ptr<NcclGroup> group;
  std::vector<Buffers> buffers;

  int rank(std::size_t i) const { return group->place().first + static_cast<int>(i); }

  /// Issues the call on all GPUs of this process, as one group.
  void launch(const Call& call) const {
    check_nccl(calls, calls.group_start(), "ncclGroupStart");
    try {
      for (std::size_t i = 0; i < buffers.size(); ++i)
        if (call.concerns(rank(i))) launch_on(call, i);
    } catch (const ProbeFailure&) {
      calls.group_end();
      throw;
    }
    check_nccl(calls, calls.group_end(), "ncclGroupEnd of " + call.what);
  }

 private:
  void launch_on(const Call& call, std::size_t i) const {
    const float* from = buffers[i].from(call, rank(i));
    float* to = buffers[i].to(call, rank(i));
    void *communicator = group->communicator(i), *stream = group->stream(i);
    const auto one = [&](const NcclCalls::Collective& f, std::size_t count, const char* name) {
      check_nccl(calls, f(from, to, count, communicator, stream), name);
    };
    const auto send = [&](std::size_t at, std::size_t count, int peer) {
      check_nccl(calls, calls.send(from + at, count, peer, communicator, stream), "ncclSend");
    };
    const auto receive = [&](std::size_t at, std::size_t count, int peer) {
      check_nccl(calls, calls.receive(to + at, count, peer, communicator, stream), "ncclRecv");
    };
    if (call.what == "all_reduce") return one(calls.all_reduce, call.whole(), "ncclAllReduce");
    if (call.what == "all_gather") return one(calls.all_gather, call.part(), "ncclAllGather");
    if (call.what == "reduce_scatter") return one(calls.reduce_scatter, call.part(), "ncclReduceScatter");
    if (call.what == "broadcast") return one(calls.broadcast, call.whole(), "ncclBroadcast");
    if (call.what == "reduce") return one(calls.reduce, call.whole(), "ncclReduce");
    if (call.what == "alltoall") {
      for (int peer = 0; peer < call.ranks; ++peer) {
        const std::size_t at = static_cast<std::size_t>(peer) * call.part();
        send(at, call.part(), peer);
        receive(at, call.part(), peer);
      }
    } else if (call.what == "sendrecv") {
      send(0, call.whole(), (rank(i) + 1) % call.ranks);
      receive(0, call.whole(), (rank(i) + call.ranks - 1) % call.ranks);
    } else {
      if (rank(i) == call.from) send(0, call.whole(), call.to);
      if (rank(i) == call.to) receive(0, call.whole(), call.from);
    }
  }
};

class NcclTrial : public ProbeTrial {
 public:
  NcclTrial(const NcclCalls& calls, const GpuCalls& gpu, const Measurement& m, const NcclPart& part,
            std::shared_ptr<NcclGroup> group, const std::vector<PeerLink*>& links, ProbeSide side, double timeout)
      : call_{m.what, static_cast<std::size_t>(m.bytes.value), part.place.ranks, part.from, part.to, m.in_place},
        gpu_(gpu),
        links_(links),
        first_(side == ProbeSide::first),
        timeout_(timeout),
        work_(std::make_shared<Work>(Work{calls, gpu, std::move(group), {}})) {
    unless_broken([&] { prepare(part); });
  }
  std::vector<Seconds> run(int repeats) override {
    std::vector<Seconds> samples;
    unless_broken([&] {
      for (int i = 0; i < repeats; ++i) {
        wait_for_all();
        samples.push_back(mean_over_all(take()));
      }
    });
    return first_ ? samples : std::vector<Seconds>();
  }
  std::string how() const override {
    return fmt::format("{} calls back to back{}", iterations, checked_ ? ", results checked" : "");
  }

 private:
  /// Aborts the communicators if `f` throws, because memory can be freed only when nothing is under way.
  template <class F>
  void unless_broken(F f) {
    try {
      f();
    } catch (...) {
      work_->group->break_up();
      throw;
    }
  }

  void prepare(const NcclPart& part) {
    for (std::size_t i = 0; i < part.place.gpus.size(); ++i) {
      takes_part_ = takes_part_ || call_.concerns(work_->rank(i));
      check_gpu(gpu_, gpu_.set_device(part.place.gpus[i]), "cudaSetDevice");
      const std::size_t bytes = std::max(call_.bytes, part.check ? check_call().bytes : 0);
      work_->buffers.push_back({gpu_memory(gpu_, bytes), gpu_memory(gpu_, bytes)});
      check_gpu(gpu_, gpu_.fill(work_->buffers.back().first.get(), 0, bytes), "cudaMemset");
    }
    if (!part.check) return;
    check(check_call());
    // The results count as checked once all ranks have found them right.
    wait_for_all();
  }

  std::function<void()> look() const {
    return [patience = std::make_shared<Patience>(links_, timeout_)] { patience->look(); };
  }

  Seconds take() const {
    if (!takes_part_) return {};
    const Seconds begin = gpu_.now();
    for (int i = 0; i < iterations; ++i) work_->launch(call_);
    work_->group->finish(look());
    return (gpu_.now() - begin) / iterations;
  }

  /// A barrier, so that no rank waits for another while time is taken.
  void wait_for_all() {
    if (!first_) {
      links_[0]->tell("here");
      links_[0]->hear();
      return;
    }
    for (PeerLink* link : links_) link->hear();
    for (PeerLink* link : links_) link->tell("go");
  }

  /// The mean over participating processes, on the first side.
  Seconds mean_over_all(Seconds own) {
    if (!first_) return links_[0]->tell(fmt::format("{:.17g}", own.value)), own;
    Seconds sum = own;
    int count = takes_part_ ? 1 : 0;
    for (PeerLink* link : links_)
      if (const double time = std::stod(link->hear()); time > 0) sum += Seconds{time}, ++count;
    return sum / std::max(count, 1);
  }

  /// The same call with the size that is checked, rounded up so that every GPU has data.
  Call check_call() const {
    Call call = call_;
    call.bytes =
        static_cast<std::size_t>(nccl_bytes(call.what, {static_cast<std::int64_t>(checked_bytes)}, call.ranks).value);
    return call;
  }

  void check(const Call& call) {
    checked_ = true;
    if (!takes_part_) return;
    for (std::size_t i = 0; i < work_->buffers.size(); ++i) fill(call, i);
    // The first call connects the GPUs and may block.
    watch([work = work_, call] { work->launch(call); }, look());
    work_->group->finish(look());
    for (std::size_t i = 0; i < work_->buffers.size(); ++i)
      if (call.concerns(work_->rank(i))) compare(call, i);
  }

  void copy(void* to, const void* from, std::size_t bytes, std::size_t i) const {
    check_gpu(gpu_, gpu_.copy(to, from, bytes, work_->group->stream(i)), "cudaMemcpyAsync");
    finish_streams(gpu_, {work_->group->stream(i)}, look());
  }

  void fill(const Call& call, std::size_t i) const {
    const int rank = work_->rank(i);
    std::vector<float> data(call.gives_part() ? call.part() : call.whole());
    for (std::size_t k = 0; k < data.size(); ++k) data[k] = given(rank, k);
    copy(work_->buffers[i].from(call, rank), data.data(), data.size() * sizeof(float), i);
  }

  void compare(const Call& call, std::size_t i) const {
    const int rank = work_->rank(i);
    std::array<float, period> sums{};
    for (std::size_t k = 0; k < period; ++k)
      for (int r = 0; r < call.ranks; ++r) sums[k] += given(r, k);
    std::vector<float> data(call.gets_part() ? call.part() : call.whole());
    copy(data.data(), work_->buffers[i].to(call, rank), data.size() * sizeof(float), i);
    for (std::size_t k = 0; k < data.size(); ++k)
      if (const auto right = expected(call, rank, k, sums); right && *right != data[k])
        throw ProbeFailure(fmt::format("the result of {} is wrong: GPU {} of {} has {} at index {} instead of {}",
                                       call.what, rank, call.ranks, data[k], k, *right));
  }

  Call call_;
  const GpuCalls& gpu_;
  std::vector<PeerLink*> links_;
  bool first_;
  double timeout_;
  std::shared_ptr<Work> work_;
  bool takes_part_ = false, checked_ = false;
};

}  // namespace

Bytes nccl_bytes(std::string_view collective, Bytes bytes, int ranks) {
  const bool parts = collective == "all_gather" || collective == "reduce_scatter" || collective == "alltoall";
  const std::int64_t unit = static_cast<std::int64_t>(sizeof(float)) * (parts ? ranks : 1);
  return {std::max<std::int64_t>(1, (bytes.value + unit - 1) / unit) * unit};
}

std::unique_ptr<ProbeTrial> prepare_nccl_trial(const NcclCalls& calls, const GpuCalls& gpu, const Measurement& m,
                                               const NcclPart& part, std::shared_ptr<NcclGroup> group,
                                               const std::vector<PeerLink*>& links, ProbeSide side, double timeout) {
  return std::make_unique<NcclTrial>(calls, gpu, m, part, std::move(group), links, side, timeout);
}

}  // namespace fabricast
