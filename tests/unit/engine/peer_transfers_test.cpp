// Sends and receives of one rank against closed forms: a single message, and each of the limits.
#include <catch2/catch.hpp>

#include "sim/engine/time/peer_transfers.hpp"

using namespace fabricast;

namespace {

constexpr auto self = PeerPart::Route::self, inside = PeerPart::Route::inside, network = PeerPart::Route::network;

/// All costs differ, so that none can be mistaken for another.
PeerTransfers collective(std::vector<std::vector<PeerPart>> channels) {
  PeerTransfers x;
  x.channels = std::move(channels);
  x.chunk = 1000, x.slots = 8;
  x.overhead = 2, x.network_overhead = 0.5, x.copy = 0.003, x.receive = 0.4;
  x.link = 0.001, x.hop_inside = 1.5;
  x.nic = 0.002, x.message = 0.7, x.first_message = 0.3, x.hop_network = 5;
  return x;
}

/// Takes time only for the costs that the test sets.
PeerTransfers free_collective(std::vector<std::vector<PeerPart>> channels) {
  PeerTransfers x;
  x.channels = std::move(channels);
  x.chunk = 1000;
  return x;
}

std::vector<PeerPart> parts(std::size_t count, const PeerPart& part) { return std::vector<PeerPart>(count, part); }

/// A chunk of `bytes` from start to end over the network, in collective `exchange`.
double network_chunk(double bytes) {
  return (2.5 + 0.003 * bytes) + 0.7 + 0.002 * bytes + 5 + (2.5 + 0.003 * 0.4 * bytes);
}

}  // namespace

TEST_CASE("a single message takes the sum of its stages") {
  CHECK(peer_makespan(collective({{{network, 1, 600}}})) == Approx(network_chunk(600) + 0.3));
  CHECK(peer_makespan(collective({{{inside, 1, 600}}})) == Approx((2 + 1.8) + 1.5 + (2 + 0.72)));
  CHECK(peer_makespan(collective({{{self, 1, 600}}})) == Approx(2 + 1.8));
  CHECK(peer_makespan(collective({{{network, 1, 0}}})) == Approx(network_chunk(0) + 0.3));
  // The link inside counts if it is slower than the copy, which runs at the same time.
  PeerTransfers slow = collective({{{inside, 1, 600}}});
  slow.link = 0.02;
  CHECK(peer_makespan(slow) == Approx(12 + 1.5 + (2 + 0.72)));
}

TEST_CASE("with one slot every chunk waits for a round trip") {
  for (const std::int64_t chunks : {2, 7, 100, 10001}) {
    PeerTransfers x = collective({{{network, chunks, 1000}}});
    x.slots = 1;
    const auto n = static_cast<double>(chunks);
    CHECK(peer_makespan(x) == Approx(n * network_chunk(1000) + (n - 1) * 5 + 0.3));
    x = collective({{{inside, chunks, 1000}}});
    x.slots = 1;
    CHECK(peer_makespan(x) == Approx(n * (5 + 1.5 + 3.2) + (n - 1) * 1.5));
  }
}

TEST_CASE("NIC, proxy thread, link and threads each serve one chunk at a time") {
  // Three channels of four parts of ten chunks.
  const auto of = [](PeerPart::Route route) {
    return free_collective({parts(4, {route, 10, 1000}), parts(4, {route, 10, 1000}), parts(4, {route, 10, 1000})});
  };
  PeerTransfers x = of(network);
  x.nic = 0.01;
  CHECK(peer_makespan(x) == Approx(120 * 1000 * 0.01));
  x = of(network);
  x.message = 3, x.first_message = 1;
  CHECK(peer_makespan(x) == Approx(120 * 3 + 12 * 1));
  x = of(inside);
  x.link = 0.01;
  CHECK(peer_makespan(x) == Approx(120 * 1000 * 0.01));
  // Each channel has its own threads, which its parts share.
  x = of(self);
  x.copy = 0.01;
  CHECK(peer_makespan(x) == Approx(40 * 1000 * 0.01));
}

TEST_CASE("proxy threads send concurrently") {
  PeerPart first{network, 1, 1000, 0}, second{network, 1, 1000, 0};
  PeerTransfers x = free_collective({{first}, {second}});
  x.message = 3, x.first_message = 1;
  CHECK(peer_makespan(x) == Approx(8));
  CHECK(busiest_proxy(x) == Approx(8));
  x.channels[1].front().proxy = 5;
  CHECK(peer_makespan(x) == Approx(4));
  CHECK(busiest_proxy(x) == Approx(4));
}

TEST_CASE("the busiest proxy thread visits every chunk and moves every byte that leaves the node") {
  // Two messages of three chunks, the last of 400 B. Messages inside the node are not its.
  const PeerTransfers x = [] {
    PeerTransfers e = collective({{{network, 3, 400}, {inside, 50, 1000}}, {{network, 3, 400}, {self, 50, 1000}}});
    e.thread = 0.004;
    return e;
  }();
  CHECK(busiest_proxy(x) == Approx(2 * (0.3 + 3 * 0.7 + 2400 * 0.004)));
  CHECK(busiest_proxy(collective({{{inside, 3, 400}}})) == 0);
}

TEST_CASE("a channel works on eight parts concurrently") {
  PeerTransfers x = free_collective({parts(8, {inside, 1, 1000})});
  x.hop_inside = 7;
  CHECK(peer_makespan(x) == Approx(7));
  x.channels = {parts(9, {inside, 1, 1000})};
  CHECK(peer_makespan(x) == Approx(14));
  x.channels = {parts(17, {inside, 1, 1000})};
  CHECK(peer_makespan(x) == Approx(21));
}

TEST_CASE("peers of a root do not share their threads") {
  // Eight concurrent parts share the threads of the root, but not those of a peer.
  PeerTransfers x = free_collective({parts(8, {inside, 1, 1000})});
  x.copy = 0.01;
  CHECK(peer_makespan(x) == Approx(80 + 80));
  x.receiver_alone = true;
  CHECK(peer_makespan(x) == Approx(80 + 10));
  x.sender_alone = true, x.receiver_alone = false;
  CHECK(peer_makespan(x) == Approx(10 + 80));
}

TEST_CASE("slots in flight bound the rate over a long distance") {
  // Four chunks per round of 2 x 50 s: a window, and the NIC is idle most of the time.
  PeerTransfers x = free_collective({{{network, 400, 1000}}});
  x.slots = 4, x.hop_network = 50;
  CHECK(peer_makespan(x) == Approx(100 * 50 + 99 * 50));
}

TEST_CASE("a link to the GPUs of the node and to the NIC is shared while both are busy") {
  PeerTransfers x = free_collective({{{inside, 1, 1000}}, {{network, 1, 1000}}});
  x.link = x.nic = 0.01, x.link_shared = x.nic_shared = 0.01;
  CHECK(peer_makespan(x) == Approx(20));
  // The shorter one has half of the link and is done at 10; the other then has all of it for its second half.
  x.channels = {{{inside, 1, 1000}}, {{network, 1, 500}}};
  CHECK(peer_makespan(x) == Approx(15));
  x.channels = {{{inside, 1, 500}}, {{network, 1, 1000}}};
  CHECK(peer_makespan(x) == Approx(15));
  x.channels = {{{network, 1, 1000}}};
  CHECK(peer_makespan(x) == Approx(10));
}
