// One side of a set of RC queue pairs on one port, with the device, the registered buffer and the completion queue.
// Functions throw ProbeFailure. An endpoint is used by one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe.hpp"
#include "gpu.hpp"
#include "numa.hpp"
#include "verbs_calls.hpp"

namespace fabricast {

/// The best GID of a table: RoCE v2 over IPv4, else IPv6, else link-local, else RoCE v1.
/// \returns an index into `table`, or -1 if it is empty
int best_gid(const std::vector<ibv_gid_entry>& table);

/// A GID as 32 hexadecimal digits, and back.
std::string gid_text(const ibv_gid& gid);
ibv_gid gid_of(const std::string& text);

/// What the other side needs to know to connect.
struct VerbsPeer {
  std::vector<std::uint32_t> queue_pairs;
  std::uint32_t packet_number = 0, remote_key = 0;
  std::uint64_t address = 0;  ///< of the buffer
  std::uint16_t lid = 0;
  int mtu = 0;    ///< ibv_mtu
  int reads = 0;  ///< RDMA reads that it serves concurrently
  int traffic_class = 0, service_level = 0;
  std::string gid;
  std::string memory;  ///< what it is, where, and how it is registered, as text for `how`
};

/// As JSON.
std::string peer_text(const VerbsPeer& peer);
/// \throws ProbeFailure if the text is malformed
VerbsPeer peer_of(const std::string& text);

/// Where the buffer of one side is allocated.
struct VerbsMemory {
  const GpuCalls& calls;
  std::string gpu;    ///< "gpu0"; empty: host memory
  NumaPlace place{};  ///< for host memory
};

/// Settings of an endpoint.
struct VerbsWishes {
  int gid = -1;  ///< index into the GID table; -1: the best
  RdmaSettings rdma{};
  /// Keeps PCIe writes in order whatever `rdma` states, for a receiver that polls the last byte of a message.
  bool in_order = false;
};

class VerbsEndpoint {
 public:
  /// Opens the port, registers a buffer and creates the queue pairs.
  /// \param size   of the buffer in bytes
  /// \param depth  messages in flight per queue pair
  VerbsEndpoint(const VerbsCalls& calls, const std::string& port, const VerbsMemory& memory, int queue_pairs,
                std::size_t size, int depth, const VerbsWishes& wishes);

  const VerbsPeer& self() const { return self_; }
  /// Brings the queue pairs to the state ready to send.
  /// \param first  the side whose traffic class and service level both sides use; in NCCL it is the side that connects
  void connect(const VerbsPeer& peer, const VerbsPeer& first);

  int queue_pairs() const { return static_cast<int>(qps_.size()); }
  /// The buffer.
  /// \pre it is in host memory
  char* memory() const { return memory_.get(); }
  /// Posts one signaled message at `offset` of the own buffer. Writes go to `remote_offset` of the peer's buffer, and
  /// reads come from there.
  void post(int queue_pair, ibv_wr_opcode opcode, std::size_t bytes, std::size_t offset, std::size_t remote_offset);
  void post_receive(int queue_pair, std::size_t bytes, std::size_t offset);

  /// Completions.
  struct Done {
    int sends = 0, receives = 0;
    std::vector<int> queue_pairs;  ///< of the sends
  };
  /// Polls for up to 32 completions; does not wait.
  /// \throws ProbeFailure if one has an error
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
  // In this order, so that each is destroyed before what it depends on.
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
