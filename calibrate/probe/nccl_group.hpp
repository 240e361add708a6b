// A communicator over the GPUs of all ranks of the session, and what of it is in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu.hpp"
#include "nccl_calls.hpp"

namespace fabricast {

/// What NCCL is held to; empty and 0: its own choice. A communicator of its own for each.
struct NcclSetting {
  std::string algorithm, protocol;
  int channels = 0;
  bool operator==(const NcclSetting&) const = default;
};

/// Where this process stands among the GPUs of the session.
struct NcclPlace {
  std::vector<int> gpus;  ///< of this process, by CUDA's numbers
  int first = 0;          ///< NCCL's rank of the first of them; the others follow
  int ranks = 0;          ///< of all processes together
};

/// \throws ProbeFailure with the call and the reason unless `error` is 0
void check_nccl(const NcclCalls& calls, int error, std::string_view call);

/// Runs on a thread of its own what may never come back, as NCCL waits without end for a rank that is gone, and calls
/// `look` meanwhile. If that throws the thread is left behind, so `call` must own what it uses.
/// \throws ProbeFailure as `call` does
void watch(const std::function<void()>& call, const std::function<void()>& look);

class NcclGroup {
 public:
  /// All processes at the same time.  \throws ProbeFailure
  NcclGroup(const NcclCalls& calls, const GpuCalls& gpu, const NcclPlace& place, const NcclSetting& setting,
            const std::string& id, const std::function<void()>& look);
  ~NcclGroup() { break_up(); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  const NcclPlace& place() const { return place_; }
  void* communicator(std::size_t i) const { return communicators_[i]; }
  void* stream(std::size_t i) const { return streams_[i].get(); }
  /// Waits until what was launched is done.  \throws ProbeFailure
  void finish(const std::function<void()>& look) const;
  /// Ends what is under way; later calls do nothing. Needs no other rank, so communicators never end in another way.
  void break_up();
  bool broken() const { return broken_; }

 private:
  // Copies, as a thread that was left behind may be the last to hold the group.
  NcclCalls calls_;
  GpuCalls gpu_;
  NcclPlace place_;
  std::vector<GpuHandle> streams_;
  std::vector<void*> communicators_;
  bool broken_ = false;
};

}  // namespace fabricast
