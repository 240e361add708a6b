// The libibverbs functions that the probe uses, as a table, so that a test can make each of them fail. They return what
// libibverbs returns.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <functional>

namespace fabricast {

struct VerbsCalls {
  std::function<ibv_device**(int*)> get_device_list;
  std::function<void(ibv_device**)> free_device_list;
  std::function<const char*(ibv_device*)> get_device_name;
  std::function<ibv_context*(ibv_device*)> open_device;
  std::function<int(ibv_context*)> close_device;
  std::function<int(ibv_context*, ibv_device_attr*)> query_device;
  std::function<int(ibv_context*, std::uint8_t, ibv_port_attr*)> query_port;
  std::function<int(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*)> query_gid;
  std::function<ibv_pd*(ibv_context*)> alloc_pd;
  std::function<int(ibv_pd*)> dealloc_pd;
  std::function<ibv_mr*(ibv_pd*, void*, std::size_t, int)> reg_mr;
  /// Like reg_mr, with an address for the remote side. Only this call accepts optional access flags such as relaxed
  /// ordering. Null if the library lacks it.
  std::function<ibv_mr*(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned)> reg_mr_iova2;
  /// Domain, offset, bytes, address, file descriptor, access.
  std::function<ibv_mr*(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int)> reg_dmabuf_mr;
  std::function<int(ibv_mr*)> dereg_mr;
  std::function<ibv_cq*(ibv_context*, int)> create_cq;
  std::function<int(ibv_cq*)> destroy_cq;
  std::function<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)> create_qp;
  std::function<int(ibv_qp*)> destroy_qp;
  std::function<int(ibv_qp*, ibv_qp_attr*, int)> modify_qp;
  std::function<int(ibv_qp*, ibv_send_wr*, ibv_send_wr**)> post_send;
  std::function<int(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**)> post_recv;
  std::function<int(ibv_cq*, int, ibv_wc*)> poll_cq;
};

/// The functions of the library.
const VerbsCalls& library_verbs();

}  // namespace fabricast
