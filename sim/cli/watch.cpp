// `fabricast-watch`: follows the telemetry of a job and serves OpenMetrics. A program of its own: the command itself
// neither listens nor links a server.
#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <tuple>

#include "../../calibrate/watch/follower.hpp"
#include "../../calibrate/watch/metrics.hpp"
#include "door_options.hpp"
#include "exit_code.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/core/text.hpp"
#include "measured_site.hpp"
#include "options.hpp"
#include "watch_expected.hpp"

namespace fabricast {

namespace {

/// Text that one thread replaces and others serve.
class ServedText {
 public:
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  std::string get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

struct Address {
  std::string host;
  int port = 0;
};

/// `127.0.0.1:9835`, `[::1]:9835`, `:9835` or `9835`.
Address address_of(const std::string& text) {
  const auto refuse = [&] {
    return UserError(fmt::format("--listen '{}' is not an address", shown(text, 60)),
                     "write HOST:PORT, e.g. 127.0.0.1:9835");
  };
  const std::size_t colon = text.rfind(':');
  Address address{"127.0.0.1", 0};
  const auto port = small_number(colon == std::string::npos ? text : text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) throw refuse();
  address.port = *port;
  if (colon != std::string::npos && colon > 0) address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

void report(const std::vector<JobFinding>& found) {
  for (const JobFinding& f : found)
    fmt::print(stderr, "{}: {} {}: {} ({})\n", f.kind, f.part, f.place, f.detail,
               counted(f.communicators.size(), "communicator"));
}

void limit(httplib::Server& server) {
  constexpr int seconds = 5;
  server.set_read_timeout(seconds);
  server.set_write_timeout(seconds);
  server.set_keep_alive_max_count(100);
  server.set_keep_alive_timeout(seconds);
  // Requests have no body.
  server.set_payload_max_length(0);
  constexpr std::size_t threads = 4;
  server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
}

/// The findings of the last half with those of this one, which say more of the same parts.
std::vector<JobFinding> of_interval(const std::vector<JobFinding>& last, std::vector<JobFinding> found) {
  const std::size_t fresh = found.size();
  for (const JobFinding& f : last) {
    const auto same = [&](const JobFinding& g) {
      return std::tie(f.kind, f.part, f.place) == std::tie(g.kind, g.part, g.place);
    };
    if (std::none_of(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(fresh), same)) found.push_back(f);
  }
  return found;
}

void serve(const Address& at, const ServedText& page, const std::function<void()>& half,
           std::chrono::milliseconds every) {
  httplib::Server server;
  limit(server);
  server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(page.get(), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  });
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("fabricast-watch: metrics are at /metrics\n", "text/plain");
  });
  const int port = at.port == 0 ? server.bind_to_any_port(at.host) : at.port;
  if (port < 0 || (at.port != 0 && !server.bind_to_port(at.host, at.port)))
    throw Unavailable(fmt::format("cannot listen on {}:{}", at.host, at.port));
  fmt::print("http://{}:{}/metrics\n", at.host.find(':') == std::string::npos ? at.host : "[" + at.host + "]", port);
  std::fflush(stdout);
  std::thread listening([&] { server.listen_after_bind(); });
  auto next = std::chrono::steady_clock::now();
  while (!stop_requested && (server.is_running() || std::chrono::steady_clock::now() < next + every)) {
    if (std::chrono::steady_clock::now() >= next) {
      half();
      next += every;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  server.stop();
  listening.join();
}

int watch(const std::vector<std::string>& arguments) {
  Options options = watch_options();
  if (!options.parse(arguments)) return 0;
  const Address address = address_of(options.text("listen", "127.0.0.1:9835"));
  const std::chrono::seconds every{options.integer("interval", 30, 1, 86400)};
  live::ExpectedOf expected;
  std::optional<World> world;
  std::optional<MeasuredSite> site;
  if (options.has("scenario")) {
    world.emplace(load_world(options, Beside::left_out, "scenario"));
    if (world->scenario().workload.kind != WorkloadKind::collective)
      throw UserError("fabricast watch: the workload of the scenario is not a collective",
                      "e.g. --set 'workload={collective: all_reduce}'");
    site.emplace(site_of(options, *world, {}));
    constexpr double probability = 1e-3;
    expected = expectations(*world, *site, probability);
  } else if (options.has("measured") || options.has("set")) {
    throw UserError("--measured and --set need --scenario");
  }
  live::Collector collector;
  live::Follower follower(options.list("FILE-OR-DIRECTORY..."), collector);
  ServedText page;
  std::size_t findings_seen = 0;
  std::vector<JobFinding> last;
  const auto half = [&] {
    follower.poll();
    std::vector<JobFinding> found = findings(collector.interval());
    page.set(live::open_metrics(collector.interval(), of_interval(last, found), collector.counts(), expected));
    report(found);
    findings_seen += found.size();
    last = std::move(found);
    collector.end_half();
  };
  if (options.has("once")) {
    half();
    emit("-", page.get());
    return findings_seen > 0 ? 1 : 0;
  }
  // A fault begins at any time, so only of halves a whole one ends within an interval of it.
  serve(address, page, half, std::chrono::milliseconds(every) / 2);
  return 0;
}

}  // namespace

}  // namespace fabricast

int main(int argc, char** argv) {
  return fabricast::exit_code_of([&] { return fabricast::watch({argv + 1, argv + argc}); });
}
