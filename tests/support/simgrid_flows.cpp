#include "simgrid_flows.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace fabricast {

namespace {

namespace sg = simgrid::s4u;

/// One route per pair of hosts that send. Routes of no latency share alike; any other latency would weigh in.
std::vector<sg::Host*> make_platform(const FlowScene& scene) {
  sg::NetZone* zone = sg::create_full_zone("zone");
  std::vector<sg::Host*> hosts;
  for (std::uint32_t h = 0; h < scene.hosts; ++h) {
    hosts.push_back(zone->create_host("host" + std::to_string(h), 1e9));
    hosts.back()->seal();
  }
  std::vector<sg::Link*> links;
  for (const double rate : scene.capacity) {
    links.push_back(zone->create_link("link" + std::to_string(links.size()), rate));
    links.back()->set_latency(0);
    links.back()->seal();
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> routed;
  for (const SceneFlow& flow : scene.flows) {
    if (!routed.emplace(flow.from, flow.to).second) continue;
    std::vector<sg::LinkInRoute> route;
    for (const std::uint32_t link : flow.path) route.emplace_back(links[link]);
    zone->add_route(hosts[flow.from]->get_netpoint(), hosts[flow.to]->get_netpoint(), nullptr, nullptr, route, false);
  }
  zone->seal();
  return hosts;
}

SimGridRun run_here(const FlowScene& scene) {
  // Pure max-min: by default crosstraffic takes 5 %, and the TCP window caps fast flows.
  std::vector<std::string> words = {"fabricast", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                                    "--cfg=network/TCP-gamma:0", "--log=root.thresh:error"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  sg::Engine engine(&count, arguments.data());
  const std::vector<sg::Host*> hosts = make_platform(scene);

  SimGridRun run;
  sg::Actor::create("sender", hosts[0], [&] {
    std::vector<sg::CommPtr> messages;
    for (const SceneFlow& flow : scene.flows)
      messages.push_back(
          sg::Comm::sendto_async(hosts[flow.from], hosts[flow.to], static_cast<std::uint64_t>(flow.bytes)));
    for (const sg::CommPtr& message : messages) message->wait();  // in order: wait_any is quadratic
    for (const sg::CommPtr& message : messages) run.end.push_back(message->get_finish_time());
  });
  const auto start = std::chrono::steady_clock::now();
  engine.run();
  run.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

[[noreturn]] void child(const FlowScene& scene, std::FILE* out) {
  bool done = false;
  try {
    const SimGridRun run = run_here(scene);
    done = std::fwrite(&run.wall_seconds, sizeof(double), 1, out) == 1 &&
           std::fwrite(run.end.data(), sizeof(double), run.end.size(), out) == run.end.size() && std::fflush(out) == 0;
  } catch (const std::exception&) {}
  _exit(done ? 0 : 1);
}

}  // namespace

SimGridRun run_simgrid(const FlowScene& scene) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe for SimGrid");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process for SimGrid");
  if (pid == 0) {
    close(ends[0]);
    child(scene, fdopen(ends[1], "wb"));
  }
  close(ends[1]);
  std::FILE* in = fdopen(ends[0], "rb");
  SimGridRun run;
  run.end.resize(scene.flows.size());
  const bool read = std::fread(&run.wall_seconds, sizeof(double), 1, in) == 1 &&
                    std::fread(run.end.data(), sizeof(double), run.end.size(), in) == run.end.size();
  std::fclose(in);
  int status = 0;
  waitpid(pid, &status, 0);
  if (!read || status != 0) throw std::runtime_error("SimGrid failed");
  return run;
}

}  // namespace fabricast
