// Properties of SimGrid on which the chunk engine relies. If one changes in a later version, a test fails.
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/log.h>

#include <catch2/catch.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

namespace {

struct Transfer {
  int from, to;
};

/// Ends of concurrent 1 GB transfers over one 10 GB/s link, with a further link of its own latency for each. There is
/// one engine per process, so each run forks.
std::vector<double> ends(const std::vector<std::string>& config, const std::vector<double>& latency,
                         const std::vector<Transfer>& transfers) {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int argc = 1;
    std::string name = "facts";
    std::vector<char*> argv{name.data(), nullptr};
    xbt_log_control_set("root.thresh:critical");
    sg::Engine engine(&argc, argv.data());
    engine.set_config("network/model:CM02");
    for (const std::string& c : config) engine.set_config(c);
    auto* zone = sg::create_full_zone("zone");
    std::vector<sg::Host*> hosts;
    for (std::size_t h = 0; h < 2 * latency.size(); ++h)
      hosts.push_back(zone->create_host("host" + std::to_string(h), 1e9));
    auto* shared = zone->create_link("shared", 1e10)->set_latency(0)->seal();
    for (std::size_t i = 0; i < latency.size(); ++i) {
      auto* own = zone->create_link("own" + std::to_string(i), 1e12)->set_latency(latency[i])->seal();
      for (std::size_t j = 0; j < latency.size(); ++j)
        zone->add_route(hosts[2 * i]->get_netpoint(), hosts[2 * j + 1]->get_netpoint(), nullptr, nullptr,
                        {sg::LinkInRoute(own), sg::LinkInRoute(shared)}, true);
    }
    zone->seal();
    std::vector<double> end(transfers.size(), 0);
    for (std::size_t t = 0; t < transfers.size(); ++t)
      sg::Actor::create("transfer", hosts[0], [&, t] {
        sg::Comm::sendto_init(hosts[static_cast<std::size_t>(transfers[t].from)],
                              hosts[static_cast<std::size_t>(transfers[t].to)])
            ->set_payload_size(1000000000)
            ->wait();
        end[t] = sg::Engine::get_clock();
      });
    engine.run();
    const auto bytes = end.size() * sizeof(double);
    _exit(write(pipe_ends[1], end.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::vector<double> end(transfers.size(), 0);
  const auto bytes = end.size() * sizeof(double);
  const auto got = read(pipe_ends[0], end.data(), bytes);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(got == static_cast<ssize_t>(bytes));
  return end;
}

const std::vector<std::string> plain = {"network/TCP-gamma:0", "network/crosstraffic:0"};

}  // namespace

TEST_CASE("without latency a link is shared equally") {
  const auto end = ends(plain, {0, 0}, {{0, 1}, {2, 3}});
  CHECK(end[0] == Approx(0.2).epsilon(1e-6));
  CHECK(end[1] == Approx(0.2).epsilon(1e-6));
}

TEST_CASE("routes with more latency get less of a link") {
  const auto end = ends(plain, {1e-3, 3e-3}, {{0, 1}, {2, 3}});
  // Shares 3 : 1, until the first is done.
  CHECK(end[0] == Approx(1e-3 + 1 / 7.5).epsilon(1e-2));
  CHECK(end[1] > 0.19);
}

TEST_CASE("by default TCP-gamma caps a fast link with latency") {
  const auto end = ends({"network/crosstraffic:0"}, {5e-3}, {{0, 1}});
  // 4 MiB in flight over a round trip of 10 ms: 0.42 GB/s of 10.
  CHECK(end[0] > 2);
  CHECK(ends(plain, {5e-3}, {{0, 1}})[0] == Approx(0.105).epsilon(1e-3));
}

TEST_CASE("by default acknowledgements take 5 % of the reverse path") {
  const auto both = ends({"network/TCP-gamma:0"}, {0}, {{0, 1}, {1, 0}});
  const auto off = ends(plain, {0}, {{0, 1}, {1, 0}});
  CHECK(off[0] == Approx(0.2).epsilon(1e-6));
  CHECK(both[0] == Approx(0.2 * 1.05).epsilon(1e-3));
}
