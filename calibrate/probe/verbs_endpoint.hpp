// One side of RC queue pairs on one port: everything from the device to queue pairs that are ready to send.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "gpu.hpp"
#include "numa.hpp"
#include "verbs_calls.hpp"

namespace fabricast {

/// Which GID of a table to take: RoCE v2 over IPv4 before IPv6 before link-local addresses before RoCE v1.
/// \returns a place in `table`, or -1 if it is empty
int best_gid(const std::vector<ibv_gid_entry>& table);

/// A gid as 32 hexadecimal digits, and back.
std::string gid_text(const ibv_gid& gid);
ibv_gid gid_of(const std::string& text);

/// What the other side has to know.
struct VerbsPeer {
  std::vector<std::uint32_t> queue_pairs;
  std::uint32_t packet_number = 0, remote_key = 0;
  std::uint64_t address = 0;
  std::uint16_t lid = 0;
  int mtu = 0;    ///< ibv_mtu
  int reads = 0;  ///< RDMA reads it answers at a time
  int traffic_class = 0, service_level = 0;
  std::string gid;
  std::string memory;  ///< what it is, where, and how it is registered, for people
};

std::string peer_text(const VerbsPeer& peer);
/// \throws ProbeFailure if it is damaged
VerbsPeer peer_of(const std::string& text);

/// Where one side's buffer lies.
struct VerbsMemory {
  const GpuCalls& calls;
  std::string gpu;  ///< "gpu0"; empty: the host
  NumaPlace place{};
};

struct VerbsWishes {
  int gid = -1;  ///< index, or -1 for the best
  RdmaSettings rdma{};
  /// Writes arrive in their order whatever `rdma` says: for who looks at the last byte of a message.
  bool in_order = false;
};

class VerbsEndpoint {
 public:
  /// \param size  of the registered buffer  \throws ProbeFailure
  VerbsEndpoint(const VerbsCalls& calls, const std::string& port, const VerbsMemory& memory, int queue_pairs,
                std::size_t size, int depth, const VerbsWishes& wishes);

  const VerbsPeer& self() const { return self_; }
  /// \param first  whose traffic class and service level both sides take, as NCCL takes those of who connects
  void connect(const VerbsPeer& peer, const VerbsPeer& first);

  int queue_pairs() const { return static_cast<int>(qps_.size()); }
  /// Where the host can look into it: \pre it is the host's.
  char* memory() const { return memory_.get(); }
  /// Posts one signaled message from `offset` here; writes and reads go to, or come from, `remote_offset` there.
  void post(int queue_pair, ibv_wr_opcode opcode, std::size_t bytes, std::size_t offset, std::size_t remote_offset);
  void post_receive(int queue_pair, std::size_t bytes, std::size_t offset);

  struct Done {
    int sends = 0, receives = 0;
    std::vector<int> queue_pairs;  ///< of the sends
  };
  /// Does not wait.  \throws ProbeFailure if one went wrong
  Done poll();

 private:
  void open(const std::string& port);
  unsigned access() const;
  const char* register_call() const { return relaxed_ ? "ibv_reg_mr_iova2" : "ibv_reg_mr"; }
  ibv_mr* register_plainly(void* memory, std::size_t size);
  void register_host(const VerbsMemory& memory, std::size_t size);
  void register_gpu(const VerbsMemory& memory, std::size_t size);
  void choose_gid(int wanted);
  void modify(ibv_qp* qp, ibv_qp_attr& attributes, int mask, const char* state);

  template <class T>
  using Owned = std::unique_ptr<T, std::function<void(T*)>>;

  const VerbsCalls& calls_;
  std::shared_ptr<char> memory_;
  GpuHandle gpu_memory_;
  // In this order, so that each goes before what it stands on.
  Owned<ibv_context> context_;
  Owned<ibv_pd> pd_;
  Owned<ibv_cq> cq_;
  Owned<ibv_mr> mr_;
  std::vector<Owned<ibv_qp>> qps_;
  std::uint8_t port_ = 1;
  std::uint8_t gid_index_ = 0;
  bool ethernet_ = false, relaxed_ = false;
  int partition_ = 0;
  int reads_asked_ = 1;
  VerbsPeer self_, peer_;
};

}  // namespace fabricast
