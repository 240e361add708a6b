// Gives the hosts of the fabric to taken hosts, storage, other jobs and the main job, in this order
// (scenario/allocation.hpp, docs/models/jobs.md). How a policy chooses among free hosts is sim/topology/placement.cpp.
//
// The main job is last: it is the one whose placement users vary, and its policy must not move the others.
#include "fabricast/scenario/allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {

/// What a host is used for.
enum class Holder : std::uint8_t { nobody, taken, storage, listed, job };

class Allocator {
 public:
  Allocator(const Scenario& s, const Locality* locality, bool shared)
      : s_(s),
        locality_(locality),
        // Hosts that NVLink joins into one node of NCCL are placed together or not at all.
        domain_(shared ? static_cast<std::uint32_t>(s.nvlink_domain.nodes) : 1),
        holder_(static_cast<std::size_t>(s.cluster.size), Holder::nobody) {}

  Allocation run() {
    hold(parse_hosts(s_.cluster.taken, "cluster.taken"), Holder::taken, "cluster.taken");
    for (std::size_t i = 0; i < s_.background.size(); ++i) hold_storage(i);
    for (std::size_t i = 0; i < s_.jobs.size(); ++i)
      if (s_.jobs[i].placement == Placement::list) hold_list(s_.jobs[i].order, fmt::format("jobs[{}].order", i));
    // Lists of hosts are claims by name, so they precede the random choice of `fill` and all policies.
    if (s_.cluster.placement == Placement::list) hold_list(s_.cluster.order, "cluster.order");
    fill();
    Allocation out;
    for (std::size_t i = 0; i < s_.jobs.size(); ++i) {
      const JobSpec& job = s_.jobs[i];
      out.jobs.push_back(place(job.placement, job.nodes, job.seed, job.order, fmt::format("jobs[{}].nodes", i)));
    }
    const ClusterSpec& c = s_.cluster;
    out.main = place(c.placement, c.nodes, c.seed, c.order, "cluster.nodes");
    for (std::uint32_t host = 0; host < holder_.size(); ++host) {
      if (holder_[host] == Holder::storage) out.storage.push_back(host);
      if (holder_[host] == Holder::taken) out.taken.push_back(host);
    }
    return out;
  }

 private:
  static std::string_view text_of(Holder h) {
    switch (h) {
      case Holder::taken: return "taken";
      case Holder::storage: return "storage";
      default: return "already in the list of another job";
    }
  }

  void hold(const std::vector<std::uint32_t>& hosts, Holder holder, const std::string& path) {
    for (const std::uint32_t host : hosts) {
      if (host >= holder_.size())
        throw UserError::at(path, fmt::format("host {} does not exist: the fabric has {} hosts", host, holder_.size()),
                            fmt::format("cluster.size: {}", host + 1));
      // Several flows may share a storage host. Any other second claim is an error.
      if (holder_[host] != Holder::nobody && !(holder == Holder::storage && holder_[host] == Holder::storage))
        throw UserError::at(path, fmt::format("host {} is {}", host, text_of(holder_[host])));
      holder_[host] = holder;
    }
  }

  // Targets of plain flows may be any hosts, also those of jobs. A flow with a network of its own does not use hosts of
  // the fabric.
  void hold_storage(std::size_t i) {
    const BackgroundSpec& flows = s_.background[i];
    const std::string path = fmt::format("background[{}].targets", i);
    const std::vector<std::uint32_t> targets = parse_hosts(flows.targets, path);
    if (flows.kind != FlowKind::flows && flows.network == FlowNetwork::compute) hold(targets, Holder::storage, path);
  }

  void hold_list(const std::vector<int>& order, const std::string& path) {
    hold({order.begin(), order.end()}, Holder::listed, path);
  }

  /// `cluster.filled`: takes random hosts in addition to `taken`, whole NVLink domains at a time.
  /// A unit may exceed the wanted number by a part of a domain.
  void fill() {
    const auto wanted =
        static_cast<std::size_t>(std::llround(s_.cluster.filled.value * static_cast<double>(holder_.size())));
    auto taken = static_cast<std::size_t>(std::count(holder_.begin(), holder_.end(), Holder::taken));
    if (taken >= wanted) return;
    std::vector<HostUnit> units = units_of(free(), domain_, domain_);
    Rng rng(static_cast<std::uint64_t>(s_.cluster.filled_seed));
    shuffle(units, rng);
    for (const HostUnit& unit : units) {
      if (taken >= wanted) break;
      for (const std::uint32_t host : unit) holder_[host] = Holder::taken;
      taken += unit.size();
    }
  }

  std::vector<std::uint32_t> free() const {
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t host = 0; host < holder_.size(); ++host)
      if (holder_[host] == Holder::nobody) hosts.push_back(host);
    return hosts;
  }

  std::vector<std::uint32_t> place(Placement placement, int nodes, std::int64_t seed, const std::vector<int>& order,
                                   const std::string& path) {
    // Already held and checked in `run`.
    if (placement == Placement::list) return {order.begin(), order.end()};
    // A job smaller than a domain gets part of one; its unit is the job.
    const auto count = static_cast<std::uint32_t>(nodes), hosts = std::min(domain_, count);
    std::vector<HostUnit> units = units_of(free(), domain_, hosts);
    if (units.size() < count / hosts)
      throw UserError::at(path,
                          hosts > 1 ? fmt::format("the job needs {} NVLink domains, but only {} of {} are free",
                                                  count / hosts, units.size(), holder_.size() / domain_)
                                    : fmt::format("the job needs {} hosts, but only {} of {} are free", count,
                                                  units.size(), holder_.size()),
                          "increase cluster.size, or take fewer hosts");
    std::vector<std::uint32_t> placed =
        place_units(placement, locality_, std::move(units), count / hosts, static_cast<std::uint64_t>(seed));
    for (const std::uint32_t host : placed) holder_[host] = Holder::job;
    return placed;
  }

  const Scenario& s_;
  const Locality* locality_;
  std::uint32_t domain_;
  std::vector<Holder> holder_;  ///< by host
};

/// The smallest number of hosts that the fabric can have: enough for the highest host number in the scenario, and for
/// all jobs, taken hosts and storage together.
std::uint32_t least_hosts(const Scenario& s) {
  // In 64 bits, because sections may ask for millions of hosts each. `last` covers the highest number that is named.
  std::uint64_t sum = static_cast<std::uint64_t>(s.cluster.nodes), last = 0;
  const auto see = [&](const auto& hosts) {
    for (const auto host : hosts) last = std::max(last, static_cast<std::uint64_t>(host) + 1);
  };
  const std::vector<std::uint32_t> taken = parse_hosts(s.cluster.taken, "cluster.taken");
  see(taken);
  sum += taken.size();
  if (s.cluster.placement == Placement::list) see(s.cluster.order);
  for (const JobSpec& job : s.jobs) {
    sum += static_cast<std::uint64_t>(job.nodes);
    if (job.placement == Placement::list) see(job.order);
  }
  std::vector<std::uint32_t> storage;
  for (std::size_t i = 0; i < s.background.size(); ++i) {
    const BackgroundSpec& flows = s.background[i];
    if (flows.network == FlowNetwork::own) continue;
    const std::vector<std::uint32_t> targets = parse_hosts(flows.targets, fmt::format("background[{}].targets", i));
    see(targets);
    see(parse_hosts(flows.hosts, fmt::format("background[{}].hosts", i)));
    if (flows.kind != FlowKind::flows) storage.insert(storage.end(), targets.begin(), targets.end());
  }
  std::sort(storage.begin(), storage.end());
  storage.erase(std::unique(storage.begin(), storage.end()), storage.end());
  return static_cast<std::uint32_t>(std::max(sum + storage.size(), last));
}

}  // namespace

Allocation allocate(const Scenario& scenario, const Locality* locality, bool shared) {
  return Allocator(scenario, locality, shared).run();
}

bool needs_locality(const Scenario& s) {
  return needs_fabric(s.cluster.placement) ||
         std::any_of(s.jobs.begin(), s.jobs.end(), [](const JobSpec& job) { return needs_fabric(job.placement); });
}

int hosts_on_fabric(const Scenario& s) { return std::max(s.cluster.size, static_cast<int>(least_hosts(s))); }

}  // namespace fabricast
