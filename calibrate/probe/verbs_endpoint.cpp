#include "verbs_endpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "fabricast/core/file.hpp"
#include "fabricast/core/quantity.hpp"
#include "verbs_device.hpp"

namespace fabricast {

using namespace probe;

int best_gid(const std::vector<ibv_gid_entry>& table) {
  const auto rank = [](const ibv_gid_entry& e) {
    if (e.gid_type != IBV_GID_TYPE_ROCE_V2) return e.gid_type == IBV_GID_TYPE_ROCE_V1 ? 1 : 4;
    constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(e.gid.raw, mapped, sizeof mapped) == 0) return 4;
    return e.gid.raw[0] == 0xfe && (e.gid.raw[1] & 0xc0) == 0x80 ? 2 : 3;
  };
  int best = -1;
  for (int i = 0; i < static_cast<int>(table.size()); ++i)
    if (best < 0 || rank(table[static_cast<std::size_t>(i)]) > rank(table[static_cast<std::size_t>(best)])) best = i;
  return best;
}

std::string gid_text(const ibv_gid& gid) {
  std::string text;
  for (const unsigned char b : gid.raw) text += fmt::format("{:02x}", b);
  return text;
}

ibv_gid gid_of(const std::string& text) {
  ibv_gid gid{};
  if (text.size() != 2 * sizeof gid.raw) throw ProbeFailure("the other rank sent a malformed GID");
  for (std::size_t i = 0; i < sizeof gid.raw; ++i)
    gid.raw[i] = static_cast<std::uint8_t>(std::strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16));
  return gid;
}

VerbsEndpoint::VerbsEndpoint(const VerbsCalls& calls, const std::string& port, const VerbsMemory& memory,
                             int queue_pairs, std::size_t size, int depth, const VerbsWishes& wishes)
    : calls_(calls),
      relaxed_(wishes.rdma.relaxed_ordering != 0 && calls.reg_mr_iova2 && !wishes.in_order),
      partition_(wishes.rdma.partition) {
  self_.traffic_class = wishes.rdma.traffic_class;
  self_.service_level = wishes.rdma.service_level;
  open(port);
  const ibv_port_attr attributes = query_port(calls_, context_.get(), port_);
  ethernet_ = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  self_.lid = attributes.lid;
  self_.mtu = attributes.active_mtu;
  const ibv_device_attr device = query_device(calls_, context_.get());
  self_.reads = std::clamp(device.max_qp_rd_atom, 1, 16);
  reads_asked_ = std::clamp(device.max_qp_init_rd_atom, 1, 16);
  choose_gid(wishes.gid);
  errno = 0;
  pd_ = {calls_.alloc_pd(context_.get()), [this](ibv_pd* p) { calls_.dealloc_pd(p); }};
  if (!pd_) verbs_failed("ibv_alloc_pd", errno);
  cq_ = {calls_.create_cq(context_.get(), 2 * depth * queue_pairs + 1), [this](ibv_cq* c) { calls_.destroy_cq(c); }};
  if (!cq_) verbs_failed("ibv_create_cq", errno);
  if (memory.gpu.empty())
    register_host(memory, size);
  else
    register_gpu(memory, size);
  if (relaxed_) self_.memory += ", relaxed ordering";
  self_.remote_key = mr_->rkey;
  self_.packet_number = static_cast<std::uint32_t>(getpid()) & 0xffffff;
  for (int i = 0; i < queue_pairs; ++i) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.qp_type = IBV_QPT_RC;
    init.cap.max_send_wr = init.cap.max_recv_wr = static_cast<std::uint32_t>(depth);
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    Owned<ibv_qp> qp(calls_.create_qp(pd_.get(), &init), [this](ibv_qp* q) { calls_.destroy_qp(q); });
    if (!qp) verbs_failed("ibv_create_qp", errno);
    self_.queue_pairs.push_back(qp->qp_num);
    qps_.push_back(std::move(qp));
  }
}

unsigned VerbsEndpoint::access() const {
  constexpr unsigned plain = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return relaxed_ ? plain | IBV_ACCESS_RELAXED_ORDERING : plain;
}

ibv_mr* VerbsEndpoint::register_plainly(void* memory, std::size_t size) {
  errno = 0;
  if (relaxed_) return calls_.reg_mr_iova2(pd_.get(), memory, size, reinterpret_cast<std::uint64_t>(memory), access());
  return calls_.reg_mr(pd_.get(), memory, size, static_cast<int>(access()));
}

void VerbsEndpoint::register_host(const VerbsMemory& memory, std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t whole = (size + page - 1) / page * page;
  self_.memory = "host";
  if (memory.place.binds()) {
    NumaMemory near = memory.place.calls->allocate(whole, memory.place.node);
    memory_ = std::move(near.memory);
    self_.memory += memory_ ? fmt::format(" on NUMA node {}", memory.place.node) : ", not bound: " + near.reason;
  }
  if (!memory_) memory_ = {static_cast<char*>(std::aligned_alloc(page, whole)), std::free};
  if (!memory_) throw ProbeFailure("cannot allocate the buffer");
  std::memset(memory_.get(), 0, whole);
  mr_ = {register_plainly(memory_.get(), whole), [this](ibv_mr* m) { calls_.dereg_mr(m); }};
  if (!mr_) verbs_failed(register_call(), errno, "the locked-memory limit (ulimit -l) may be too low");
  self_.address = reinterpret_cast<std::uint64_t>(memory_.get());
}

void VerbsEndpoint::register_gpu(const VerbsMemory& memory, std::size_t size) {
  // Exported memory must begin and end at a page boundary, as allocations in multiples of this size do.
  constexpr std::size_t block = 2 << 20;
  const std::size_t whole = (size + block - 1) / block * block;
  check_gpu(memory.calls, memory.calls.set_device(gpu_number(memory.gpu)), "cudaSetDevice");
  gpu_memory_ = gpu_memory(memory.calls, whole);
  check_gpu(memory.calls, memory.calls.fill(gpu_memory_.get(), 0, whole), "cudaMemset");
  self_.address = reinterpret_cast<std::uint64_t>(gpu_memory_.get());
  const auto release = [this](ibv_mr* m) { calls_.dereg_mr(m); };

  std::string by_dma_buf;
  int file = -1;
  if (const int error = memory.calls.export_dma_buf(&file, gpu_memory_.get(), whole)) {
    by_dma_buf = "cuMemGetHandleForAddressRange: " + memory.calls.reason(error);
  } else {
    errno = 0;
    mr_ = {calls_.reg_dmabuf_mr(pd_.get(), 0, whole, self_.address, file, static_cast<int>(access())), release};
    by_dma_buf = "ibv_reg_dmabuf_mr: " + system_reason(errno);
    close(file);
  }
  self_.memory = memory.gpu + " by DMA-BUF";
  if (mr_) return;
  mr_ = {register_plainly(gpu_memory_.get(), whole), release};
  self_.memory = memory.gpu + " by nvidia-peermem";
  if (!mr_)
    throw ProbeFailure(
        fmt::format("cannot register memory of {}. By DMA-BUF: {}. By nvidia-peermem: {}: {} (is the module "
                    "nvidia_peermem loaded?)",
                    memory.gpu, by_dma_buf, register_call(), system_reason(errno)));
}

void VerbsEndpoint::open(const std::string& port) {
  const std::size_t slash = port.rfind('/');
  const auto number = parse_integer(slash == std::string::npos ? "" : port.substr(slash + 1));
  const DeviceList devices(calls_);
  for (int i = 0; number && i < devices.count(); ++i)
    if (port.substr(0, slash) == calls_.get_device_name(devices[i])) {
      port_ = static_cast<std::uint8_t>(number.value);
      context_ = open_device(calls_, devices[i]);
      return;
    }
  throw ProbeFailure(fmt::format("there is no port {}", port));
}

void VerbsEndpoint::choose_gid(int wanted) {
  std::vector<ibv_gid_entry> table;
  const int length = query_port(calls_, context_.get(), port_).gid_tbl_len;
  for (int i = 0; i < length; ++i) {
    if (wanted >= 0 && i != wanted) continue;
    ibv_gid_entry entry{};
    // Empty entries return ENODATA.
    if (calls_.query_gid(context_.get(), port_, static_cast<std::uint32_t>(i), &entry) == 0) table.push_back(entry);
  }
  const int best = best_gid(table);
  if (best < 0 && (ethernet_ || wanted >= 0))
    throw ProbeFailure(wanted >= 0 ? fmt::format("there is no GID at index {}", wanted)
                                   : "the port has no GID (does its interface have an address?)");
  if (best < 0) return;
  gid_index_ = static_cast<std::uint8_t>(table[static_cast<std::size_t>(best)].gid_index);
  self_.gid = gid_text(table[static_cast<std::size_t>(best)].gid);
}

void VerbsEndpoint::modify(ibv_qp* qp, ibv_qp_attr& attributes, int mask, const char* state) {
  if (const int error = calls_.modify_qp(qp, &attributes, mask))
    verbs_failed(fmt::format("ibv_modify_qp to {}", state), error);
}

void VerbsEndpoint::connect(const VerbsPeer& peer, const VerbsPeer& first) {
  peer_ = peer;
  if (peer.queue_pairs.size() != qps_.size())
    throw ProbeFailure("the other rank has a different number of queue pairs");
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = port_;
    a.pkey_index = static_cast<std::uint16_t>(partition_);
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    modify(qps_[i].get(), a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
    a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = static_cast<ibv_mtu>(std::min(self_.mtu, peer.mtu));
    a.dest_qp_num = peer.queue_pairs[i];
    a.rq_psn = peer.packet_number;
    a.max_dest_rd_atomic = static_cast<std::uint8_t>(self_.reads);
    a.min_rnr_timer = 12;
    a.ah_attr.port_num = port_;
    a.ah_attr.dlid = peer.lid;
    a.ah_attr.sl = static_cast<std::uint8_t>(first.service_level);
    if (ethernet_) {
      a.ah_attr.is_global = 1;
      a.ah_attr.grh.dgid = gid_of(peer.gid);
      a.ah_attr.grh.sgid_index = gid_index_;
      a.ah_attr.grh.hop_limit = 64;
      a.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(first.traffic_class);
    }
    modify(qps_[i].get(), a,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           "RTR");
    a = {};
    // A packet is retransmitted after 4.096 us * 2^18 = 1.1 s, up to three times. A link of 100 Mb/s with 4 MiB in
    // flight needs a third of this time.
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 18;
    a.retry_cnt = 3;
    a.rnr_retry = 7;
    a.sq_psn = self_.packet_number;
    a.max_rd_atomic = static_cast<std::uint8_t>(std::min(reads_asked_, peer.reads));
    modify(
        qps_[i].get(), a,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
        "RTS");
  }
}

void VerbsEndpoint::post(int queue_pair, ibv_wr_opcode opcode, std::size_t bytes, std::size_t offset,
                         std::size_t remote_offset) {
  ibv_sge part{self_.address + offset, static_cast<std::uint32_t>(bytes), mr_->lkey};
  ibv_send_wr work{}, *bad = nullptr;
  work.wr_id = static_cast<std::uint64_t>(queue_pair) << 1;
  work.sg_list = &part;
  work.num_sge = 1;
  work.opcode = opcode;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = peer_.address + remote_offset;
  work.wr.rdma.rkey = peer_.remote_key;
  if (const int error = calls_.post_send(qps_[static_cast<std::size_t>(queue_pair)].get(), &work, &bad))
    verbs_failed("ibv_post_send", error);
}

void VerbsEndpoint::post_receive(int queue_pair, std::size_t bytes, std::size_t offset) {
  ibv_sge part{self_.address + offset, static_cast<std::uint32_t>(bytes), mr_->lkey};
  ibv_recv_wr work{}, *bad = nullptr;
  work.wr_id = (static_cast<std::uint64_t>(queue_pair) << 1) | 1;
  work.sg_list = &part;
  work.num_sge = 1;
  if (const int error = calls_.post_recv(qps_[static_cast<std::size_t>(queue_pair)].get(), &work, &bad))
    verbs_failed("ibv_post_recv", error);
}

VerbsEndpoint::Done VerbsEndpoint::poll() {
  ibv_wc found[32];
  const int count = calls_.poll_cq(cq_.get(), 32, found);
  if (count < 0) throw ProbeFailure("ibv_poll_cq failed");
  Done done;
  for (int i = 0; i < count; ++i) {
    if (found[i].status != IBV_WC_SUCCESS)
      throw ProbeFailure(fmt::format("a message did not arrive: {}", ibv_wc_status_str(found[i].status)));
    if (found[i].wr_id & 1)
      ++done.receives;
    else {
      ++done.sends;
      done.queue_pairs.push_back(static_cast<int>(found[i].wr_id >> 1));
    }
  }
  return done;
}

}  // namespace fabricast
