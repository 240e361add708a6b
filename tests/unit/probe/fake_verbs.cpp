#include "fake_verbs.hpp"

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "calibrate/probe/clock.hpp"

namespace fabricast::test {

namespace {

struct Cq : ibv_cq {
  std::deque<ibv_wc> done;
};

struct Qp : ibv_qp {
  Cq* queue = nullptr;
  std::uint32_t peer = 0;
  bool ready = false;
  std::size_t most = 0, sent = 0;
  std::deque<ibv_recv_wr> receives;
  std::deque<ibv_sge> buffers;
};

double now() { return probe::steady_now().value; }

void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

}  // namespace

struct FakeVerbs::World {
  std::recursive_mutex mutex;
  double latency, rate, link_free = 0;
  std::multimap<double, std::function<void()>> events;
  std::map<std::uint32_t, Qp*> qps;
  std::uint32_t next_qp = 100;
  int open = 0;
  ibv_device device{};
  ibv_device* list[2] = {&device, nullptr};

  void advance() {
    while (!events.empty() && events.begin()->first <= now()) {
      const auto event = events.begin()->second;
      events.erase(events.begin());
      event();
    }
  }

  Qp* find(std::uint32_t number) {
    const auto found = qps.find(number);
    return found == qps.end() ? nullptr : found->second;
  }

  static void complete(Cq* queue, std::uint64_t id, ibv_wc_status status) {
    ibv_wc wc{};
    wc.wr_id = id, wc.status = status;
    queue->done.push_back(wc);
  }

  int post_send(Qp* qp, const ibv_send_wr& work) {
    if (!qp->ready) return EINVAL;
    if (++qp->sent > qp->most) return ENOMEM;
    const ibv_sge data = *work.sg_list;
    link_free = std::max(link_free, now()) + data.length / rate;
    const double there = link_free + latency;
    const std::uint32_t from = qp->qp_num, to = qp->peer;
    events.emplace(there, [this, to, work, data] {
      Qp* other = find(to);
      if (!other) return;
      if (work.opcode == IBV_WR_RDMA_WRITE) copy(work.wr.rdma.remote_addr, data.addr, data.length);
      if (work.opcode == IBV_WR_RDMA_READ) copy(data.addr, work.wr.rdma.remote_addr, data.length);
      if (work.opcode != IBV_WR_SEND) return;
      if (other->receives.empty()) return complete(other->queue, 1, IBV_WC_RNR_RETRY_EXC_ERR);
      copy(other->buffers.front().addr, data.addr, data.length);
      complete(other->queue, other->receives.front().wr_id, IBV_WC_SUCCESS);
      other->receives.pop_front(), other->buffers.pop_front();
    });
    events.emplace(there + latency, [this, from, to, id = work.wr_id] {
      if (Qp* self = find(from))
        --self->sent, complete(self->queue, id, find(to) ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
    });
    return 0;
  }
};

FakeVerbs::FakeVerbs(Seconds latency, BytesPerSecond rate) : world_(std::make_shared<World>()) {
  world_->latency = latency.value, world_->rate = rate.value;
}

int FakeVerbs::open_objects() const { return world_->open; }

VerbsCalls FakeVerbs::calls() const {
  const auto w = world_;
  const auto locked = [w](auto f) {
    const std::lock_guard lock(w->mutex);
    w->advance();
    return f();
  };
  const auto made = [w, locked](auto object) { return locked([&] { return ++w->open, object; }); };
  const auto gone = [w, locked](auto object) { return locked([&] { return --w->open, delete object, 0; }); };
  VerbsCalls c;
  c.get_device_list = [w](int* count) { return *count = 1, w->list; };
  c.free_device_list = [](ibv_device**) {};
  c.get_device_name = [](ibv_device*) { return "fake0"; };
  c.open_device = [made](ibv_device*) { return made(new ibv_context{}); };
  c.close_device = gone;
  c.query_device = [](ibv_context*, ibv_device_attr* a) {
    return a->phys_port_cnt = 1, a->max_qp_rd_atom = a->max_qp_init_rd_atom = 4, 0;
  };
  c.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr* a) {
    a->state = IBV_PORT_ACTIVE, a->link_layer = IBV_LINK_LAYER_ETHERNET, a->active_mtu = IBV_MTU_4096;
    return a->gid_tbl_len = 3, 0;
  };
  c.query_gid = [](ibv_context*, std::uint32_t, std::uint32_t index, ibv_gid_entry* e) {
    if (index == 1) return ENODATA;
    e->gid_index = index, e->gid_type = index == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
    return 0;
  };
  c.alloc_pd = [made](ibv_context*) { return made(new ibv_pd{}); };
  c.dealloc_pd = gone;
  c.reg_mr = [made](ibv_pd*, void*, std::size_t, int) { return made(new ibv_mr{}); };
  c.reg_mr_iova2 = [made](ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) { return made(new ibv_mr{}); };
  c.reg_dmabuf_mr = [made](ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) { return made(new ibv_mr{}); };
  c.dereg_mr = gone;
  c.create_cq = [made](ibv_context*, int) -> ibv_cq* { return made(new Cq{}); };
  c.destroy_cq = [gone](ibv_cq* cq) { return gone(static_cast<Cq*>(cq)); };
  c.create_qp = [w, locked](ibv_pd*, ibv_qp_init_attr* init) -> ibv_qp* {
    return locked([&] {
      Qp* qp = new Qp{};
      qp->queue = static_cast<Cq*>(init->send_cq), qp->qp_num = w->next_qp++, qp->most = init->cap.max_send_wr;
      return ++w->open, w->qps[qp->qp_num] = qp;
    });
  };
  c.destroy_qp = [w, locked, gone](ibv_qp* qp) {
    locked([&] { return w->qps.erase(qp->qp_num); });
    return gone(static_cast<Qp*>(qp));
  };
  c.modify_qp = [locked](ibv_qp* qp, ibv_qp_attr* a, int) {
    return locked([&] {
      if (a->qp_state == IBV_QPS_RTR) static_cast<Qp*>(qp)->peer = a->dest_qp_num;
      if (a->qp_state == IBV_QPS_RTS) static_cast<Qp*>(qp)->ready = true;
      return 0;
    });
  };
  c.post_send = [w, locked](ibv_qp* qp, ibv_send_wr* work, ibv_send_wr**) {
    return locked([&] { return w->post_send(static_cast<Qp*>(qp), *work); });
  };
  c.post_recv = [locked](ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr**) {
    return locked([&] {
      Qp* to = static_cast<Qp*>(qp);
      return to->receives.push_back(*work), to->buffers.push_back(*work->sg_list), 0;
    });
  };
  c.poll_cq = [locked](ibv_cq* cq, int most, ibv_wc* out) {
    return locked([&] {
      auto& done = static_cast<Cq*>(cq)->done;
      int count = 0;
      for (; count < most && !done.empty(); ++count) out[count] = done.front(), done.pop_front();
      return count;
    });
  };
  return c;
}

}  // namespace fabricast::test
