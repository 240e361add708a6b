// RDMA over reliable connections, host memory: every port of one rank with every port of another that is on the same
// kind of network.
#ifdef FABRICAST_VERBS
#include <algorithm>
#include <cerrno>

#include "fabricast/core/file.hpp"
#include "pairs.hpp"
#include "verbs_endpoint.hpp"
#include "verbs_trials.hpp"
#else
#include "fabricast/calibrate/probe.hpp"
#endif

namespace fabricast {

#ifndef FABRICAST_VERBS

namespace {

class NoVerbs : public ProbeBackend {
 public:
  std::string unavailable() override { return "fabricast was built without libibverbs (Debian: libibverbs-dev)"; }
  std::vector<ProbePort> ports() override { return {}; }
  std::vector<Measurement> plan(const ProbeSettings&, const std::vector<BackendFacts>&) override { return {}; }
  std::unique_ptr<ProbeTrial> prepare(const Measurement&, const ProbeSettings&, ProbeSide,
                                      const std::vector<PeerLink*>&) override {
    throw ProbeFailure(unavailable());
  }
};

}  // namespace

std::unique_ptr<ProbeBackend> verbs_probe() { return std::make_unique<NoVerbs>(); }

#else

namespace {

class Verbs : public ProbeBackend {
 public:
  explicit Verbs(const VerbsCalls& calls) : calls_(calls) {}

  std::string unavailable() override {
    int count = 0;
    errno = 0;
    ibv_device** list = calls_.get_device_list(&count);
    if (!list)
      return "no RDMA device: ibv_get_device_list: " + system_reason(errno) + " (is the module ib_uverbs loaded?)";
    calls_.free_device_list(list);
    if (count == 0) return "no RDMA device: ibv_get_device_list found none";
    try {
      if (verbs_ports(calls_).empty()) return "no RDMA port is active";
    } catch (const ProbeFailure& e) { return e.what(); }
    return {};
  }

  std::vector<ProbePort> ports() override { return verbs_ports(calls_); }

  std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) override {
    std::vector<Measurement> plan;
    for (std::size_t a = 0; a < facts.size(); ++a)
      for (std::size_t b = 0; b < facts.size(); ++b)
        for (const ProbePort& from : facts[a].ports)
          for (const ProbePort& to : facts[b].ports) {
            if (a == b || from.network != to.network) continue;
            Measurement base;
            base.backend = "verbs", base.memory = "host";
            base.from = static_cast<int>(a), base.to = static_cast<int>(b);
            base.from_port = from.name, base.to_port = to.name;
            add_kinds(plan, base, std::min(from.rate, to.rate), settings);
          }
    return plan;
  }

  std::unique_ptr<ProbeTrial> prepare(const Measurement& m, const ProbeSettings& settings, ProbeSide side,
                                      const std::vector<PeerLink*>& links) override {
    return prepare_verbs_trial(calls_, m, settings.gid, side, *links.front());
  }

 private:
  static void add_kinds(std::vector<Measurement>& plan, const Measurement& base, BytesPerSecond rate,
                        const ProbeSettings& settings) {
    constexpr Bytes small[] = {{8}, {1 << 10}, {8 << 10}, {64 << 10}};
    constexpr Bytes large[] = {{4 << 10}, {64 << 10}, {1 << 20}};
    constexpr int queue_pairs[] = {1, 4};
    for (const char* what : {"write_latency", "send_latency"})
      if (base.from < base.to) add_pair(plan, base, {what, false, small, {}}, rate, settings);
    for (const char* what : {"write_bandwidth", "read_bandwidth"})
      add_pair(plan, base, {what, true, large, queue_pairs}, rate, settings);
  }

  const VerbsCalls& calls_;
};

}  // namespace

std::unique_ptr<ProbeBackend> make_verbs_backend(const VerbsCalls& calls) { return std::make_unique<Verbs>(calls); }
std::unique_ptr<ProbeBackend> verbs_probe() { return make_verbs_backend(library_verbs()); }

#endif

}  // namespace fabricast
