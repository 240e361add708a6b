// Shares by port against what can be said of them by hand. With packets: packets_test.cpp.
#include "fabricast/engine/port_shares.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

namespace fabricast {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Links of capacity 1. \param paths  by flow: its links, in order
PortShares shares(const std::vector<std::vector<std::uint32_t>>& paths, std::vector<double> cap = {}) {
  PortProblem problem;
  problem.capacity.assign(64, 1);
  problem.cap = cap.empty() ? std::vector<double>(paths.size(), unlimited) : std::move(cap);
  problem.first.push_back(0);
  for (const auto& path : paths) {
    problem.link.insert(problem.link.end(), path.begin(), path.end());
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
  }
  return share_by_port(problem);
}

TEST_CASE("a flow alone has its link", "[engine][port_shares]") {
  const PortShares s = shares({{0, 1, 2}});
  CHECK(s.settled);
  CHECK(s.rate[0] == Approx(1));
  CHECK(shares({{0, 1, 2}}, {0.3}).rate[0] == Approx(0.3));
}

TEST_CASE("an egress serves its ingress ports equally, not its flows", "[engine][port_shares]") {
  // Two flows come by link 2, one by link 3; all leave by link 4.
  const PortShares s = shares({{0, 2, 4}, {1, 2, 4}, {3, 4}});
  CHECK(s.settled);
  CHECK(s.rate[0] == Approx(0.25));
  CHECK(s.rate[1] == Approx(0.25));
  CHECK(s.rate[2] == Approx(0.5));
}

TEST_CASE("what a port does not use is left to the others", "[engine][port_shares]") {
  const PortShares s = shares({{0, 3}, {1, 3}, {2, 3}}, {0.1, unlimited, unlimited});
  CHECK(s.rate[0] == Approx(0.1));
  CHECK(s.rate[1] == Approx(0.45));
  CHECK(s.rate[2] == Approx(0.45));
}

TEST_CASE("a flow that shares a link with an incast of n waits as long as its flows", "[engine][port_shares]") {
  for (const std::uint32_t n : {2U, 4U, 7U, 28U}) {
    CAPTURE(n);
    // Hosts 1 to n send over their links to link 0. The bystander leaves host 1 for link 40, which nobody else uses.
    std::vector<std::vector<std::uint32_t>> paths;
    for (std::uint32_t host = 1; host <= n; ++host) paths.push_back({host, 0});
    paths.push_back({1, 40});
    const PortShares s = shares(paths);
    CHECK(s.settled);
    for (std::uint32_t f = 0; f < n; ++f) CHECK(s.rate[f] == Approx(1.0 / n).epsilon(2e-4));
    // Max-min would leave it 1 - 1 / n.
    CHECK(s.rate[n] == Approx(1.0 / n).epsilon(2e-4));
  }
}

TEST_CASE("bystanders of bystanders wait, too", "[engine][port_shares]") {
  // Four hosts to link 0; a flow shares link 1 with the first, another shares link 20 with that flow.
  const PortShares s = shares({{1, 0}, {2, 0}, {3, 0}, {4, 0}, {10, 20, 1, 30}, {10, 20, 31}, {11, 32}});
  CHECK(s.rate[4] <= 0.25 * (1 + 2e-4));
  CHECK(s.rate[5] <= s.rate[4] * (1 + 1e-3));
  CHECK(s.rate[6] == Approx(1));
}

TEST_CASE("no link carries more than it can", "[engine][port_shares]") {
  std::uint64_t state = 7;
  const auto below = [&](std::uint32_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state >> 33) % n;
  };
  for (int sample = 0; sample < 200; ++sample) {
    // Hosts 0 to 15, uplinks 16 to 31, downlinks 32 to 47, ports of receivers 48 to 63.
    std::vector<std::vector<std::uint32_t>> paths;
    for (std::uint32_t f = 0; f < 24; ++f) paths.push_back({below(16), 16 + below(16), 32 + below(16), 48 + below(16)});
    const PortShares s = shares(paths);
    if (!s.settled) continue;
    std::vector<double> load(64, 0);
    for (std::size_t f = 0; f < paths.size(); ++f)
      for (const std::uint32_t link : paths[f]) load[link] += s.rate[f];
    for (const double l : load) CHECK(l < 1 + 1e-3);
  }
}

}  // namespace
}  // namespace fabricast
