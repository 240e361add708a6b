#include "fake_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <vector>

namespace fabricast::test {

namespace {

using Stream = FakeGpu::Stream;

/// A collective call of a rank, or a send to or receive from a peer.
struct Posted {
  std::string what;
  int rank = 0, peer = -1;
  const float* from = nullptr;
  float* to = nullptr;
  std::size_t count = 0;
  Stream* stream = nullptr;
};

struct Ranks {
  int size = 0, joined = 0;
  std::vector<Posted> waiting;
};

struct Communicator {
  std::shared_ptr<Ranks> ranks;
  int rank = 0;
};

struct Init {
  void** out;
  int size;
  std::string id;
  int rank;
};

/// Calls of this thread between the start and the end of a group.
thread_local int depth = 0;
thread_local std::vector<Init> inits;

}  // namespace

struct FakeNccl::World {
  std::shared_ptr<FakeGpu::World> gpu;
  std::condition_variable_any all_here;
  std::map<std::string, std::shared_ptr<Ranks>> meetings;
  int ids = 0, open = 0, made = 0;
  std::set<std::string> settings;

  int join(const Init& init) {
    std::unique_lock lock(gpu->mutex);
    auto& ranks = meetings[init.id];
    if (!ranks) ranks = std::make_shared<Ranks>();
    ranks->size = init.size, ++ranks->joined;
    *init.out = new Communicator{ranks, init.rank};
    return ++open, ++made, 0;
  }
  int await(const Init& init) {
    std::unique_lock lock(gpu->mutex);
    const auto ranks = meetings[init.id];
    all_here.notify_all();
    if (all_here.wait_for(lock, std::chrono::seconds(4), [&] { return ranks->joined >= ranks->size; })) return 0;
    delete static_cast<Communicator*>(*init.out);
    return --open, *init.out = nullptr, 6;
  }

  int post(void* communicator, Posted p) {
    const std::lock_guard lock(gpu->mutex);
    Communicator* c = static_cast<Communicator*>(communicator);
    p.rank = c->rank, ++p.stream->pending;
    gpu->clock += FakeGpu::issue;
    c->ranks->waiting.push_back(p);
    run(*c->ranks);
    return 0;
  }

  void run(Ranks& ranks) {
    while (run_pair(ranks.waiting) || run_collective(ranks)) {}
  }

  static void take(std::vector<Posted>& waiting, std::size_t i, std::vector<Posted>& to) {
    to.push_back(waiting[i]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
  }

  bool run_pair(std::vector<Posted>& waiting) {
    for (std::size_t i = 0; i < waiting.size(); ++i)
      for (std::size_t j = 0; waiting[i].what == "send" && j < waiting.size(); ++j)
        if (waiting[j].what == "receive" && waiting[j].rank == waiting[i].peer && waiting[j].peer == waiting[i].rank) {
          std::vector<Posted> both;
          take(waiting, std::max(i, j), both), take(waiting, std::min(i, j), both);
          const Posted& send = both[both[0].what == "send" ? 0 : 1];
          const Posted& receive = both[both[0].what == "send" ? 1 : 0];
          std::memmove(receive.to, send.from, send.count * sizeof(float));
          finish(both, send.count);
          return true;
        }
    return false;
  }

  bool run_collective(Ranks& ranks) {
    // The first pending collective of each rank.
    std::vector<std::size_t> first;
    for (int r = 0; r < ranks.size; ++r)
      for (std::size_t i = 0; i < ranks.waiting.size(); ++i)
        if (ranks.waiting[i].rank == r && ranks.waiting[i].peer < 0) {
          first.push_back(i);
          break;
        }
    if (first.empty() || static_cast<int>(first.size()) < ranks.size) return false;
    std::vector<Posted> all;
    for (const std::size_t i : first) all.push_back(ranks.waiting[i]);
    std::sort(first.begin(), first.end(), std::greater<>());
    std::vector<Posted> gone;
    for (const std::size_t i : first) take(ranks.waiting, i, gone);
    const bool parts = all[0].what == "all_gather" || all[0].what == "reduce_scatter";
    move_data(all);
    finish(all, all[0].count * (parts ? all.size() : 1));
    return true;
  }

  static void move_data(const std::vector<Posted>& all) {
    const std::size_t n = all.size(), count = all[0].count;
    const std::string& what = all[0].what;
    std::vector<std::vector<float>> given;
    for (const Posted& p : all) given.emplace_back(p.from, p.from + count * (what == "reduce_scatter" ? n : 1));
    std::vector<float> sum(given[0].size());
    for (const auto& g : given)
      for (std::size_t i = 0; i < g.size(); ++i) sum[i] += g[i];
    for (std::size_t r = 0; r < n; ++r) {
      float* to = all[r].to;
      if (what == "all_reduce" || (what == "reduce" && r == 0)) std::copy(sum.begin(), sum.end(), to);
      if (what == "broadcast") std::copy(given[0].begin(), given[0].end(), to);
      if (what == "reduce_scatter") std::copy_n(sum.data() + r * count, count, to);
      for (std::size_t q = 0; what == "all_gather" && q < n; ++q)
        std::copy(given[q].begin(), given[q].end(), to + q * count);
    }
  }

  void finish(const std::vector<Posted>& all, std::size_t floats) {
    double start = gpu->clock;
    for (const Posted& p : all) start = std::max(start, p.stream->end);
    const double end = start + latency + static_cast<double>(floats * sizeof(float)) / rate;
    for (const Posted& p : all) p.stream->end = end, --p.stream->pending;
  }
};

FakeNccl::FakeNccl(const FakeGpu& gpu) : world(std::make_shared<World>()) {
  world->gpu = gpu.world;
  gpu.world->moves_data = true;
}

int FakeNccl::open_communicators() const { return world->open; }
int FakeNccl::communicators_made() const { return world->made; }
std::set<std::string> FakeNccl::settings() const { return world->settings; }

NcclCalls FakeNccl::calls() const {
  const auto w = world;
  const auto variables = std::make_shared<std::map<std::string, std::string>>();
  const auto collective = [w](const char* what) {
    return [w, what](const void* from, void* to, std::size_t count, void* communicator, void* stream) {
      return w->post(communicator, {what, 0, -1, static_cast<const float*>(from), static_cast<float*>(to), count,
                                    static_cast<Stream*>(stream)});
    };
  };
  NcclCalls c;
  c.missing = [] { return std::string(); };
  c.reason = [](int error) { return "result " + std::to_string(error); };
  c.version = [](int* version) { return *version = 22809, 0; };
  c.make_id = [w](std::string* id) {
    const std::lock_guard lock(w->gpu->mutex);
    return *id = std::to_string(++w->ids), id->resize(128), 0;
  };
  c.init = [w, variables](void** out, int size, const std::string& id, int rank, int channels) {
    const std::lock_guard lock(w->gpu->mutex);
    const auto value = [&](const char* name) { return variables->count(name) > 0 ? variables->at(name) : ""; };
    w->settings.insert(fmt::format("{}/{}/{}", value("NCCL_ALGO"), value("NCCL_PROTO"), channels));
    return inits.push_back({out, size, id, rank}), 0;
  };
  c.abandon = [w](void* communicator) {
    const std::lock_guard lock(w->gpu->mutex);
    Communicator* gone = static_cast<Communicator*>(communicator);
    // Drops operations that will never finish.
    std::erase_if(gone->ranks->waiting, [&](const Posted& p) {
      if (p.rank == gone->rank) --p.stream->pending;
      return p.rank == gone->rank;
    });
    return --w->open, delete gone, 0;
  };
  c.async_error = [](void*, int* state) { return *state = 0, 0; };
  c.group_start = [] { return ++depth, 0; };
  c.group_end = [w] {
    if (--depth > 0) return 0;
    int error = 0;
    for (const Init& i : inits) w->join(i);
    for (const Init& i : inits) error = std::max(error, w->await(i));
    return inits.clear(), error;
  };
  c.all_reduce = collective("all_reduce"), c.all_gather = collective("all_gather");
  c.reduce_scatter = collective("reduce_scatter"), c.broadcast = collective("broadcast");
  c.reduce = collective("reduce");
  c.send = [w](const void* from, std::size_t count, int peer, void* communicator, void* stream) {
    return w->post(communicator,
                   {"send", 0, peer, static_cast<const float*>(from), nullptr, count, static_cast<Stream*>(stream)});
  };
  c.receive = [w](void* to, std::size_t count, int peer, void* communicator, void* stream) {
    return w->post(communicator,
                   {"receive", 0, peer, nullptr, static_cast<float*>(to), count, static_cast<Stream*>(stream)});
  };
  c.variable = [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables->find(name);
    return found == variables->end() ? std::nullopt : std::optional(found->second);
  };
  c.set_variable = [variables](const std::string& name, const std::optional<std::string>& value) {
    if (value)
      (*variables)[name] = *value;
    else
      variables->erase(name);
  };
  return c;
}

}  // namespace fabricast::test
