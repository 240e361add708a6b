// The chunk engine: a simulation with SimGrid (simulation.cpp), in a process and a module of its own.
//
//   T = max over channels c of  end of the last worker of c,  s                                                     (1)
//
// It is for cross-checks on small systems. It folds nothing and assumes no shares, so its cost grows with ranks,
// channels and slices, and it does not split the time. It refuses what it cannot simulate, because a number that omits
// something would not be a check.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>

#include "../count/loads.hpp"
#include "../count/router_under_load.hpp"
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/protocol/costs.hpp"
#include "simulation.hpp"

namespace fabricast {

namespace {

/// The module, opened at the first simulation. It is next to the program (its run path) or where it was installed. Most
/// forecasts do not need it, and it takes long to load.
auto* module() {
  static const auto simulate = [] {
    void* library = dlopen(FABRICAST_CHUNK_MODULE, RTLD_NOW | RTLD_LOCAL);
    const std::string beside = library ? "" : dlerror();
    if (!library) library = dlopen(FABRICAST_MODULE_DIR "/" FABRICAST_CHUNK_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw UserError::at("network.engine", "cannot load the chunk engine: " + beside,
                          "use engine: flow, or install all of Fabricast");
    void* symbol = dlsym(library, "fabricast_chunk_simulate");
    FABRICAST_CHECK(symbol, "the module of the chunk engine has a different version");
    return reinterpret_cast<decltype(&fabricast_chunk_simulate)>(symbol);
  }();
  return simulate;
}

class ChunkEngine final : public NetworkEngine {
 public:
  ChunkEngine(const NetworkSetup& setup, std::uint64_t seed) : setup_(setup) {
    if (setup.segments.size() > 1)
      throw UserError::at("network.engine",
                          "the chunk engine does not support faults that begin or end during a collective",
                          "use engine: flow");
    if (setup.comm->qps_per_connection > 1)
      throw UserError::at("network.engine", "the chunk engine supports only one queue pair per connection",
                          "use engine: flow");
    if (setup.comm->nodes() > 1)
      router_ = setup.policy->make(*setup.policy_spec, *setup.fabric, setup.segments.front().links, seed);
    if (const std::int64_t n = setup.comm->ranks(); n > 4096)
      throw UserError::at("network.engine", fmt::format("{} ranks are too many for the chunk engine", n),
                          "use engine: flow");
  }

  CollectiveResult run(const Plan& plan) override {
    if (const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm); !algorithm.program)
      throw UserError::at("network.engine", fmt::format("{} have no slices to simulate", algorithm.summary),
                          "use engine: flow, or workload.buffers: registered");
    // Loads are counted only because this refuses a fabric that is cut, with a message.
    InsidePaths paths(*setup_.comm);
    const NetworkSegment& segment = setup_.segments.front();
    const std::unique_ptr<Router> own =
        router_ ? router_under_load(*setup_.comm, plan, *setup_.fabric, *router_, segment) : nullptr;
    const Router* router = own ? own.get() : router_.get();
    if (router) count_loads(*setup_.comm, plan, setup_.fabric, router, segment, paths);
    CollectiveResult result;
    // The module is opened before the fork, so that this process reports an error like any other.
    const std::vector<double> ends = in_a_child([&, simulate = module()] {
      std::vector<double> of_channels;
      simulate(setup_, plan, router, of_channels);
      return of_channels;
    });
    result.launch = Seconds{protocol_costs(*setup_.comm, plan).launch};
    for (const double end : ends) {
      result.makespan = std::max(result.makespan, Seconds{end});
      result.fingerprint = fold(result.fingerprint, std::bit_cast<std::uint64_t>(end));
    }
    // SimGrid reports neither the busiest station nor the bottleneck, so calls count as not overlapping.
    result.work = result.transfer = result.makespan;
    result.bottleneck.name = "not identified";
    return result;
  }

 private:
  /// Every simulation runs in a process of its own, because SimGrid has one Engine per process and keeps its clock.
  template <class F>
  static std::vector<double> in_a_child(F simulate) {
    int ends[2];
    FABRICAST_CHECK(pipe(ends) == 0, "cannot create a pipe");
    std::fflush(nullptr);  // SimGrid flushes in the child, which would write the caller's buffered output twice
    const pid_t child = fork();
    FABRICAST_CHECK(child >= 0, "cannot create a process");
    if (child == 0) {
      for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGPIPE}) std::signal(signal, SIG_DFL);
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child must not outlive the forecast
      close(ends[0]);
      int code = 1;
      try {
        const std::vector<double> values = simulate();
        const auto size = static_cast<ssize_t>(values.size() * sizeof(double));
        if (write(ends[1], values.data(), static_cast<std::size_t>(size)) == size) code = 0;
      } catch (const std::exception& e) { fmt::print(stderr, "chunk engine: {}\n", e.what()); }
      // Not exit: the child must not run the exit handlers of the parent.
      _exit(code);
    }
    close(ends[1]);
    std::vector<double> values;
    double value = 0;
    while (read(ends[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value)) values.push_back(value);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    // If Ctrl-C has ended the child, that is not a failure.
    stop_if_requested();
    FABRICAST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process of the chunk engine failed");
    return values;
  }

  const NetworkSetup& setup_;
  std::unique_ptr<Router> router_;
};

}  // namespace

std::unique_ptr<NetworkEngine> make_chunk_engine(const NetworkSetup& setup, std::uint64_t seed) {
  return std::make_unique<ChunkEngine>(setup, seed);
}

}  // namespace fabricast
