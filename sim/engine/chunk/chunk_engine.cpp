// The chunk engine: a simulation by SimGrid (simulation.cpp), in a process and a module of its own.
//
//   T = max over channels c of  end of the last worker of c,  s                                                     (1)
//
// For cross-checks on small systems: it folds nothing and assumes no shares, so its cost grows with ranks, channels and
// slices, and it tells no parts of the time. What it can not simulate it refuses, as a number that leaves something out
// would be no check.
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
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/protocol/costs.hpp"
#include "simulation.hpp"

namespace fabricast {

namespace {

/// The module, opened when the first simulation asks for it: beside the program (its run path), or where it was
/// installed.
auto* module() {
  static const auto simulate = [] {
    void* library = dlopen(FABRICAST_CHUNK_MODULE, RTLD_NOW | RTLD_LOCAL);
    const std::string beside = library ? "" : dlerror();
    if (!library) library = dlopen(FABRICAST_MODULE_DIR "/" FABRICAST_CHUNK_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw UserError::at("network.engine", "the chunk engine cannot be opened: " + beside,
                          "use engine: flow, or install all of Fabricast");
    void* symbol = dlsym(library, "fabricast_chunk_simulate");
    FABRICAST_CHECK(symbol, "the chunk engine's module is of another version");
    return reinterpret_cast<decltype(&fabricast_chunk_simulate)>(symbol);
  }();
  return simulate;
}

class ChunkEngine final : public NetworkEngine {
 public:
  ChunkEngine(const NetworkSetup& setup, std::uint64_t seed) : setup_(setup) {
    if (setup.segments.size() > 1)
      throw UserError::at("network.engine", "the chunk engine takes no faults that begin or end on the way",
                          "use engine: flow");
    if (setup.comm->qps_per_connection > 1)
      throw UserError::at("network.engine", "the chunk engine takes one queue pair per connection", "use engine: flow");
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
    // Loads are counted for their checks only: a cut fabric is refused here, with a message.
    InsidePaths paths(*setup_.comm);
    if (router_) count_loads(*setup_.comm, plan, setup_.fabric, router_.get(), setup_.segments.front(), paths);
    CollectiveResult result;
    // The module is opened before the fork: an error is then told by this process, as any other.
    const std::vector<double> ends = in_a_child([&, simulate = module()] {
      std::vector<double> of_channels;
      simulate(setup_, plan, router_.get(), of_channels);
      return of_channels;
    });
    result.launch = Seconds{protocol_costs(*setup_.comm, plan).launch};
    for (const double end : ends) {
      result.makespan = std::max(result.makespan, Seconds{end});
      result.fingerprint = fold(result.fingerprint, std::bit_cast<std::uint64_t>(end));
    }
    // SimGrid tells neither which station is busiest nor what binds: calls count as not overlapping.
    result.work = result.transfer = result.makespan;
    result.bottleneck.name = "not told apart";
    return result;
  }

 private:
  /// SimGrid has one Engine per process and keeps its clock: every simulation gets a process of its own.
  template <class F>
  static std::vector<double> in_a_child(F simulate) {
    int ends[2];
    FABRICAST_CHECK(pipe(ends) == 0, "no pipe");
    std::fflush(nullptr);  // SimGrid flushes: what the caller has not yet written would be written twice
    const pid_t child = fork();
    FABRICAST_CHECK(child >= 0, "no process");
    if (child == 0) {
      for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGPIPE}) std::signal(signal, SIG_DFL);
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlive the forecast
      close(ends[0]);
      int code = 1;
      try {
        const std::vector<double> values = simulate();
        const auto size = static_cast<ssize_t>(values.size() * sizeof(double));
        if (write(ends[1], values.data(), static_cast<std::size_t>(size)) == size) code = 0;
      } catch (const std::exception& e) { fmt::print(stderr, "chunk engine: {}\n", e.what()); }
      // Not exit: what the parent registered to be done at its end is not the child's to do.
      _exit(code);
    }
    close(ends[1]);
    std::vector<double> values;
    double value = 0;
    while (read(ends[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value)) values.push_back(value);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    // A child that Ctrl-C has ended is no failure.
    stop_if_requested();
    FABRICAST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the chunk engine's process failed");
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
