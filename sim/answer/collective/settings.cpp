// All changes that `explain`, `explain --advise` and `export env` try. Each line of the table at the end is a kind of
// change.
//
// Each kind returns the `--set` words of its alternatives, or nothing where it does not apply (docs/models/what-if.md
// has the conditions). Words of NCCL's variables alone are what `export env` can write; others change hardware or
// placement, and only `explain` shows them.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "../common/loss_trials.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {

namespace {

constexpr int most_channels = 64;  // NCCL's limit

const Communicator& comm(const Situation& s) { return s.world.planner().comm; }
const NcclSettings& nccl(const Situation& s) { return s.world.planner().settings; }
const NodeSpec& node(const Situation& s) { return s.world.scenario().node.spec; }
const ForecastRow& first(const Situation& s) { return s.forecast.rows.front(); }
// Kinds that concern NICs do not apply to a job inside one node of NCCL.
bool networked(const Situation& s) { return comm(s).nodes() > 1; }
// Only where paths are chosen by chance are there collisions that more queue pairs or adaptive routing could avoid.
bool by_hash(const Situation& s) { return s.world.setup().paths() == PathKind::by_chance; }
// NCCL's IB transport, with queue pairs. RoCE uses it as well; other networks have plugins of their own.
bool verbs(const Situation& s) {
  return networked(s) && (node(s).nics.link == LinkKind::infiniband || node(s).nics.link == LinkKind::roce);
}

constexpr auto one = one_if<Trial>;

// Switches too, because a cable runs at the slower of its two ends.
Alternatives faster_nics(const Situation& s) {
  const std::string twice = to_text(BytesPerSecond{2 * comm(s).node.nic_line_rate.value});
  return one(networked(s), "NICs and switches of twice the rate",
             {"node.nics.rate=" + twice, "fabric.switch.rate=" + twice});
}

bool forced(const Situation& s) { return nccl(s).algorithms_given || nccl(s).protocols_given; }

// `--set` cannot remove a key, so the change writes the map of variables without the two.
Alternatives unforced(const Situation& s) {
  std::vector<std::string> rest;
  for (const auto& [name, value] : s.world.scenario().nccl.env)
    if (name != "NCCL_ALGO" && name != "NCCL_PROTO") rest.push_back(fmt::format("{}: \"{}\"", name, value));
  return one(forced(s), "NCCL's own choice of algorithm", {fmt::format("nccl.env={{{}}}", fmt::join(rest, ", "))});
}

/// `list` for this operation only, if NCCL supports lists by operation. In older versions the list applies to all
/// operations, and those that do not support it fall back to rings [NCCL-env].
std::string for_operation(const Situation& s, const std::string& list) {
  if (comm(s).version < NcclVersion{2, 24, 0}) return list;
  std::string function(name_of(s.forecast.op));
  std::erase(function, '_');
  return function + ":" + list;
}

/// The algorithm and protocol with the lowest geometric mean of the times of all sizes.
/// \returns null if none was considered for all sizes
const ForecastRow* fastest(const Situation& s) {
  const ForecastRow* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const ForecastRow& row : s.weighed.rows) {
    double sum = 0;
    // An algorithm that NCCL considered at some sizes only cannot be forced for all of them.
    std::size_t sizes = 0;
    for (const ForecastRow& same : s.weighed.rows)
      if (same.algorithm == row.algorithm && same.protocol == row.protocol) {
        sum += std::log(same.time.value);
        ++sizes;
      }
    if (sizes >= s.forecast.rows.size() && sum / static_cast<double>(sizes) < least) {
      least = sum / static_cast<double>(sizes);
      best = &row;
    }
  }
  return best;
}

/// The fastest of what NCCL considered. Over several sizes, also every exclusion of one algorithm or one protocol.
Alternatives other_algorithms(const Situation& s) {
  Alternatives list;
  if (first(s).plan.candidates.empty()) return list;
  const bool several = s.forecast.rows.size() > 1;
  const ForecastRow* best = fastest(s);
  // Over several sizes the fastest on average may be the one that runs at the first size, and still be a change at
  // others.
  if (best && (several || best->algorithm != first(s).algorithm || best->protocol != first(s).protocol))
    list.push_back({forced(s) ? "the fastest algorithm and protocol" : "an algorithm or protocol other than NCCL's",
                    {env_word("NCCL_ALGO", for_operation(s, std::string(name_of(best->algorithm)))),
                     env_word("NCCL_PROTO", for_operation(s, std::string(name_of(best->protocol))))}});
  if (!several) return list;
  // NCCL_ALGO with a leading ^ excludes; NCCL then chooses among the rest by size, which can beat one algorithm for all
  // sizes.
  std::array<bool, algorithm_count> algorithms{};
  std::array<bool, 3> protocols{};
  for (const Candidate& c : first(s).plan.candidates)
    algorithms[static_cast<std::size_t>(c.algorithm)] = protocols[static_cast<std::size_t>(c.protocol)] = true;
  for (std::size_t a = 0; a < algorithm_count; ++a)
    if (algorithms[a]) {
      const std::string_view name = name_of(static_cast<Algorithm>(a));
      list.push_back({fmt::format("any algorithm but {}", name),
                      {env_word("NCCL_ALGO", for_operation(s, fmt::format("^{}", name)))}});
    }
  for (std::size_t p = 0; p < protocols.size(); ++p) {
    const auto protocol = static_cast<Protocol>(p);
    // A list of protocols overrides NCCL's check for LL128. It must not enable LL128 where NCCL does not trust it
    // [NCCL-tuning-1.6].
    if (!protocols[p] || !(protocol == Protocol::ll128 || protocols[1])) continue;
    list.push_back({fmt::format("any protocol but {}", name_of(protocol)),
                    {env_word("NCCL_PROTO", for_operation(s, fmt::format("^{}", name_of(protocol))))}});
  }
  return list;
}

Alternatives queue_pairs(const Situation& s) {
  Alternatives list;
  if (!verbs(s) || !by_hash(s)) return list;
  // Each queue pair is hashed by itself. Without splitting, messages take turns on them; with it, every message uses
  // all, which evens out load within a message.
  for (const int n : {4, 8}) {
    if (comm(s).qps_per_connection >= n) continue;
    list.push_back({fmt::format("{} queue pairs per connection", n == 4 ? "four" : "eight"),
                    {env_word("NCCL_IB_QPS_PER_CONNECTION", n)}});
    list.push_back({fmt::format("{} queue pairs, each message split over them", n == 4 ? "four" : "eight"),
                    {env_word("NCCL_IB_QPS_PER_CONNECTION", n), env_word("NCCL_IB_SPLIT_DATA_ON_QPS", 1)}});
  }
  if (comm(s).qps_per_connection > 1 && !comm(s).split_data_on_qps)
    list.push_back({"each message split over the queue pairs", {env_word("NCCL_IB_SPLIT_DATA_ON_QPS", 1)}});
  return list;
}

Alternatives more_channels(const Situation& s) {
  Alternatives list;
  // Renamed in 2.17 [NCCL-env].
  const std::string_view variable = comm(s).version < NcclVersion{2, 17, 0} ? "NCCL_MIN_NCHANNELS" : "NCCL_MIN_CTAS";
  for (const int n : {24, 32})
    if (comm(s).channels < n) list.push_back({fmt::format("at least {} channels", n), {env_word(variable, n)}});
  // The plan may use fewer channels than the communicator has, so doubling starts from what is used.
  int used = 0;
  for (const ForecastRow& row : s.forecast.rows) used = std::max(used, row.plan.channels);
  if (2 * used <= most_channels)
    list.push_back({"twice as many channels", {env_word(variable, std::int64_t{2} * used)}});
  return list;
}

Alternatives buffers(const Situation& s) {
  Alternatives list;
  // 4 MiB is NCCL's default. Larger buffers give longer chunks, with fewer handshakes and a longer fill.
  for (const std::int64_t mib : {1, 2, 4, 8, 16})
    if (const std::int64_t bytes = mib << 20; bytes != nccl(s).buffer_size.value_or(Bytes{4 << 20}).value)
      list.push_back({fmt::format("buffers of {} MiB", mib), {env_word("NCCL_BUFFSIZE", bytes)}});
  return list;
}

Alternatives cross_nic(const Situation& s) {
  Alternatives list;
  for (const int value : {0, 1, 2})
    if (networked(s) && node(s).nics.count > 1 && value != nccl(s).cross_nic)
      list.push_back({value == 0   ? "rings that stay on their NIC"
                      : value == 1 ? "rings that may change NICs"
                                   : "rings that change NICs where needed",
                      {env_word("NCCL_CROSS_NIC", value)}});
  return list;
}

// The graph search found channels for NVLS, so the hardware has it and it is not disabled.
bool has_nvls(const Situation& s) { return s.world.planner().graphs.nvls.channels > 0; }

/// Whether in-network reduction is off, and simulated for this operation.
bool can_use_collnet(const Situation& s) {
  return verbs(s) && !nccl(s).collnet_enable && node(s).nics.link == LinkKind::infiniband &&
         (is_simulated(comm(s), s.forecast.op, Algorithm::collnetdirect, Protocol::simple) ||
          is_simulated(comm(s), s.forecast.op, Algorithm::collnetchain, Protocol::simple));
}

bool affected_by(const Situation& s) {
  return std::any_of(s.forecast.rows.begin(), s.forecast.rows.end(),
                     [](const auto& r) { return !r.result.affected_by.empty(); });
}

/// Whether the OFI plugin's tuner chose for some size.
/// On AWS the plugin's tuner may override NCCL's cost model.
bool by_ofi_tuner(const Situation& s) {
  return std::any_of(s.forecast.rows.begin(), s.forecast.rows.end(),
                     [](const auto& r) { return r.plan.chooser == Chooser::ofi_tuner; });
}

bool variable_is(const Situation& s, const std::string& name, std::string_view value) {
  const auto it = s.world.scenario().nccl.env.find(name);
  return it != s.world.scenario().nccl.env.end() && it->second == value;
}

using Kind = Alternatives (*)(const Situation&);

using S = const Situation&;

// Results are sorted by gain. Of equal gains the one that is first here stays first.
constexpr Kind kinds[] = {
    [](S s) { return one(affected_by(s), "no faults", {"faults=[]"}); },
    [](S s) { return one(networked(s) && !comm(s).gdr, "GPUDirect RDMA", {"node.gdr=true"}); },
    [](S s) {
      // With NICs at the other socket, GDR traffic crosses the link between the sockets, so GDR alone may gain little.
      // This is the one change that combines two.
      return one(networked(s) && !comm(s).gdr && node(s).nics.numa != NicNuma::local,
                 "GPUDirect RDMA, and NICs at their GPUs' socket", {"node.gdr=true", "node.nics.numa=local"});
    },
    [](S s) {
      return one(node(s).nics.numa != NicNuma::local, "NICs at their GPUs' socket", {"node.nics.numa=local"});
    },
    [](S s) { return one(by_hash(s), "adaptive routing", {"routing={kind: adaptive}"}); },
    [](S s) { return no_drops(s.world); },
    [](S s) { return sound_cables(s.world); },
    [](S s) { return selective_repeat(s.world); },
    [](S s) { return any_order(s.world); },
    [](S s) { return faster_rises(s.world); },
    [](S s) { return one_path(s.world); },
    [](S s) { return shorter_timeout(s.world); },
    [](S s) {
      return one(s.world.fabric() != nullptr, "no oversubscription",
                 {"fabric.oversubscription=1", "fabric.spine_oversubscription=1"});
    },
    [](S s) {
      return one(s.world.fabric() && s.world.scenario().cluster.placement != Placement::in_order,
                 "nodes placed in order", {"cluster.placement=in_order"});
    },
    faster_nics,
    unforced,
    [](S s) {
      return one(by_ofi_tuner(s), "NCCL's own choice, not the OFI tuner's", {env_word("NCCL_TUNER_PLUGIN", "none")});
    },
    other_algorithms,
    queue_pairs,
    more_channels,
    buffers,
    cross_nic,
    [](S s) {
      return one(networked(s) && !comm(s).gdr && node(s).gdr == Gdr::automatic, "GPUDirect RDMA at any distance",
                 {"nccl.env.NCCL_NET_GDR_LEVEL=SYS"});
    },
    [](S s) { return one(can_use_collnet(s), "reduction in the switches", {"nccl.env.NCCL_COLLNET_ENABLE=1"}); },
    [](S s) { return one(has_nvls(s), "no reduction in the NVSwitch", {"nccl.env.NCCL_NVLS_ENABLE=0"}); },
    [](S s) { return one(nccl(s).nvls_enable == 0, "reduction in the NVSwitch", {"nccl.env.NCCL_NVLS_ENABLE=2"}); },
    [](S s) {
      return one(is_simulated(comm(s), s.forecast.op, Algorithm::pat, Protocol::simple) && nccl(s).pat_enable == 0,
                 "PAT where NCCL chooses it", {"nccl.env.NCCL_PAT_ENABLE=2"});
    },
    [](S s) {
      return one(variable_is(s, "NCCL_PXN_DISABLE", "1"), "NICs of other GPUs over NVLink (PXN)",
                 {"nccl.env.NCCL_PXN_DISABLE=0"});
    },
};

}  // namespace

std::vector<Alternatives> trials_for(const Situation& situation) { return trials_of(kinds, situation); }

// Such changes can be tried on a running cluster without touching hardware.
bool is_nccl_setting(const Trial& trial) {
  return std::all_of(trial.set.begin(), trial.set.end(), [](const auto& w) { return w.starts_with("nccl.env"); });
}

}  // namespace fabricast
