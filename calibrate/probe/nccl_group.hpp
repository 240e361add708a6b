// A communicator over the GPUs of all ranks of the session: the part in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu.hpp"
#include "nccl_calls.hpp"

namespace fabricast {

/// Forced NCCL settings; empty and 0: NCCL's choice. Each setting has a communicator of its own.
struct NcclSetting {
  std::string algorithm, protocol;
  int channels = 0;
  bool operator==(const NcclSetting&) const = default;
};

/// The GPUs of this process among those of the session.
struct NcclPlace {
  std::vector<int> gpus;  ///< of this process, by CUDA's numbers
  int first = 0;          ///< NCCL's rank of the first GPU; the others follow
  int ranks = 0;          ///< NCCL ranks, that is GPUs, of all processes together
};

/// \throws ProbeFailure, with the call and the reason, unless `error` is 0
void check_nccl(const NcclCalls& calls, int error, std::string_view call);

/// Runs a call that may never return on a thread of its own, and calls `look` every millisecond meanwhile. NCCL waits
/// forever for a rank that has disappeared. If `look` throws, the thread may be left behind.
/// \pre `call` owns what it uses
/// \throws what `call` or `look` throws
void watch(const std::function<void()>& call, const std::function<void()>& look);

/// The communicators and streams of this process, one each per GPU.
class NcclGroup {
 public:
  /// Creates the communicators. All processes do so at the same time.
  /// \param id    unique ID from rank 0
  /// \param look  called while NCCL waits for other ranks; may throw to give up
  /// \throws ProbeFailure
  NcclGroup(const NcclCalls& calls, const GpuCalls& gpu, const NcclPlace& place, const NcclSetting& setting,
            const std::string& id, const std::function<void()>& look);
  ~NcclGroup() { break_up(); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  const NcclPlace& place() const { return place_; }
  void* communicator(std::size_t i) const { return communicators_[i]; }
  void* stream(std::size_t i) const { return streams_[i].get(); }
  /// Waits until everything launched is done.
  /// \throws ProbeFailure, also for an asynchronous NCCL error
  void finish(const std::function<void()>& look) const;
  /// Aborts the communicators and everything under way; later calls do nothing. Communicators always end this way,
  /// because aborting needs no other rank.
  void break_up();
  bool broken() const { return broken_; }

 private:
  // Copies, because a thread that was left behind may be the last owner of the group.
  NcclCalls calls_;
  GpuCalls gpu_;
  NcclPlace place_;
  std::vector<GpuHandle> streams_;
  std::vector<void*> communicators_;
  bool broken_ = false;
};

}  // namespace fabricast
