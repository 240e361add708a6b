// The adapter for ASTRA-sim, without ASTRA-sim: when messages and collectives end, against the C library's own times.
#include "docs/examples/astra_sim/fabricast_astra.hh"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "support/scratch.hpp"

using namespace AstraSim;

namespace {

using Ranks = std::vector<std::uint32_t>;

/// A simulation of two hosts of eight GPUs.
struct Simulation {
  Simulation() {
    FabricastWorld::current() = &world;
    for (int rank = 0; rank < 16; ++rank) {
      networks.push_back(std::make_unique<FabricastNetwork>(rank, world));
      systems.emplace_back();
      systems.back().network = networks.back().get();
      systems.back().total_nodes = 16;
    }
  }
  std::string scenario() const {
    const std::string file = scratch / "two_hosts.yaml";
    std::ofstream(file)
        << "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nfabric: {kind: single_switch}\n"
           "nccl: {version: 2.27}\nworkload: {collective: all_reduce, sizes: [1MiB]}\n";
    return file;
  }
  /// Runs f at a time.
  void at(double ns, std::function<void()> f) {
    world.clock.schedule(
        ns,
        [](void* argument) {
          const std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(argument));
          (*call)();
        },
        new std::function<void()>(std::move(f)));
  }

  fabricast::Scratch scratch;
  FabricastWorld world{scenario()};
  std::vector<std::unique_ptr<FabricastNetwork>> networks;
  std::vector<Sys> systems;
};

/// Notes when, and how often, a handler is called.
struct Noted {
  explicit Noted(FabricastWorld& of) : world(of) {}
  static void handler(void* argument) {
    auto& note = *static_cast<Noted*>(argument);
    note.time = note.world.clock.now();
    ++note.calls;
  }
  FabricastWorld& world;
  double time = -1;
  int calls = 0;
};

constexpr std::uint64_t MiB = 1 << 20;

}  // namespace

TEST_CASE("a message arrives after the time of a send, whoever calls first", "[astra_sim]") {
  for (const double receive_at : {0.0, 10.0, 1e9}) {
    Simulation s;
    Noted sent(s.world), received(s.world);
    s.at(5, [&] { s.networks[0]->sim_send(nullptr, MiB, 0, 8, 7, nullptr, Noted::handler, &sent); });
    s.at(receive_at, [&] { s.networks[8]->sim_recv(nullptr, MiB, 0, 0, 7, nullptr, Noted::handler, &received); });
    s.world.clock.run();
    const double arrival = 5 + s.world.times.nanoseconds("send", MiB, {0, 8});
    CHECK(arrival > MiB / 50.0);  // a NIC carries 50 B/ns
    CHECK(sent.time == arrival);
    CHECK(received.time == std::max(arrival, receive_at));
    CHECK(sent.calls == 1);
    CHECK(received.calls == 1);
    CHECK(s.world.sent.empty());
    CHECK(s.world.awaited.empty());
  }
}

TEST_CASE("messages meet those of their own route only", "[astra_sim]") {
  Simulation s;
  std::vector<Noted> received(4, Noted(s.world));
  const auto receive = [&](std::size_t n, int at, int from, int tag, std::uint64_t bytes) {
    s.networks[static_cast<std::size_t>(at)]->sim_recv(nullptr, bytes, 0, from, tag, nullptr, Noted::handler,
                                                       &received[n]);
  };
  receive(0, 1, 0, 3, MiB);      // sent below
  receive(1, 1, 0, 4, MiB);      // another tag
  receive(2, 2, 0, 3, MiB);      // another rank
  receive(3, 1, 0, 3, 2 * MiB);  // another size
  Noted sent(s.world);
  s.networks[0]->sim_send(nullptr, MiB, 0, 1, 3, nullptr, Noted::handler, &sent);
  s.world.clock.run();
  CHECK(received[0].calls == 1);
  for (std::size_t n = 1; n < received.size(); ++n) CHECK(received[n].calls == 0);
}

TEST_CASE("a collective takes its time from the last rank that arrives", "[astra_sim]") {
  struct Case {
    ComType type;
    const char* name;
    std::uint64_t times;  // bytes as nccl-tests counts them, over those of a rank
  };
  for (const Case& c : {Case{ComType::All_Reduce, "all_reduce", 1}, Case{ComType::All_Gather, "all_gather", 4},
                        Case{ComType::Reduce_Scatter, "reduce_scatter", 1}, Case{ComType::All_to_All, "alltoall", 1}}) {
    Simulation s;
    const CommunicatorGroup group{{0, 1, 8, 9}}, other{{2, 3, 10, 11}};
    std::vector<BaseStream> streams(8);
    std::vector<std::unique_ptr<FabricastCollective>> calls;
    for (std::size_t i = 0; i < 8; ++i) {
      const CommunicatorGroup& own = i < 4 ? group : other;
      calls.push_back(std::make_unique<FabricastCollective>(c.type, MiB, &own));
      calls.back()->stream = &streams[i];
      streams[i].owner = &s.systems[static_cast<std::size_t>(own.involved_NPUs[i % 4])];
      streams[i].stream_id = 1;
      s.at(static_cast<double>(100 * i), [&calls, i] { calls[i]->run(EventType::StreamInit, nullptr); });
    }
    const double time = s.world.times.nanoseconds(c.name, c.times * MiB, Ranks{0, 1, 8, 9});
    std::vector<bool> before, after;
    s.at(300 + time - 2, [&] { before = {streams[0].finished, streams[3].finished}; });
    s.at(300 + time + 2, [&] { after = {streams[0].finished, streams[3].finished, streams[4].finished}; });
    s.world.clock.run();
    INFO(c.name);
    CHECK(time > 1000);
    CHECK(before == std::vector<bool>{false, false});
    CHECK(after == std::vector<bool>{true, true, false});
    for (const BaseStream& stream : streams) CHECK(stream.finished);
    CHECK(s.world.meetings.empty());
  }
}

TEST_CASE("a collective without a group is of all ranks, and what Fabricast refuses is an error", "[astra_sim]") {
  Simulation s;
  std::vector<BaseStream> streams(16);
  std::vector<std::unique_ptr<FabricastCollective>> calls;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    calls.push_back(std::make_unique<FabricastCollective>(ComType::All_Reduce, MiB, nullptr));
    calls.back()->stream = &streams[i];
    streams[i].owner = &s.systems[i];
    calls.back()->run(EventType::StreamInit, nullptr);
  }
  s.world.clock.run();
  Ranks all(16);
  for (std::uint32_t r = 0; r < 16; ++r) all[r] = r;
  CHECK(s.world.clock.now() == Approx(s.world.times.nanoseconds("all_reduce", MiB, all)).margin(1));
  CHECK_THROWS_WITH(s.world.times.nanoseconds("all_reduce", MiB, {0, 16}), Catch::Contains("there is no rank 16"));
  CHECK_THROWS_WITH(FabricastWorld("no/such/file.yaml"), Catch::Contains("no/such/file.yaml"));
}
