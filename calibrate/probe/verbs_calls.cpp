#include "verbs_calls.hpp"

namespace fabricast {

// Lambdas, because some of the functions are macros or inline.
const VerbsCalls& library_verbs() {
  static const VerbsCalls calls = {
      [](int* count) { return ibv_get_device_list(count); },
      [](ibv_device** list) { ibv_free_device_list(list); },
      [](ibv_device* device) { return ibv_get_device_name(device); },
      [](ibv_device* device) { return ibv_open_device(device); },
      [](ibv_context* context) { return ibv_close_device(context); },
      [](ibv_context* context, ibv_device_attr* attributes) { return ibv_query_device(context, attributes); },
      [](ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
        return ibv_query_port(context, port, attributes);
      },
      [](ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry) {
        return ibv_query_gid_ex(context, port, index, entry, 0);
      },
      [](ibv_context* context) { return ibv_alloc_pd(context); },
      [](ibv_pd* pd) { return ibv_dealloc_pd(pd); },
      [](ibv_pd* pd, void* memory, std::size_t size, int access) { return ibv_reg_mr(pd, memory, size, access); },
      [](ibv_pd* pd, void* memory, std::size_t size, std::uint64_t address, unsigned access) {
        return ibv_reg_mr_iova2(pd, memory, size, address, access);
      },
      [](ibv_pd* pd, std::uint64_t offset, std::size_t size, std::uint64_t address, int file, int access) {
        return ibv_reg_dmabuf_mr(pd, offset, size, address, file, access);
      },
      [](ibv_mr* mr) { return ibv_dereg_mr(mr); },
      [](ibv_context* context, int entries) { return ibv_create_cq(context, entries, nullptr, nullptr, 0); },
      [](ibv_cq* cq) { return ibv_destroy_cq(cq); },
      [](ibv_pd* pd, ibv_qp_init_attr* attributes) { return ibv_create_qp(pd, attributes); },
      [](ibv_qp* qp) { return ibv_destroy_qp(qp); },
      [](ibv_qp* qp, ibv_qp_attr* attributes, int mask) { return ibv_modify_qp(qp, attributes, mask); },
      [](ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad) { return ibv_post_send(qp, work, bad); },
      [](ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad) { return ibv_post_recv(qp, work, bad); },
      [](ibv_cq* cq, int most, ibv_wc* done) { return ibv_poll_cq(cq, most, done); },
  };
  return calls;
}

}  // namespace fabricast
