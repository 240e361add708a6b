// Changes of NCCL's variables that are tried on a step (report/step_settings.hpp). One line of the table at the end is
// a kind of change; of a kind, one change is taken.
//
// Changes apply to all communicators of the job, as variables do. NCCL_ALGO and NCCL_PROTO are set for one operation.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/report/step_settings.hpp"
#include "trials.hpp"

namespace fabricast {

namespace {

/// What changes are derived from.
struct StepComms {
  const World& world;
  const StepTime& time;
  const NcclVersion& version() const { return world.planner().comm.version; }
  const NcclSettings& settings() const { return world.planner().settings; }
  /// The most channels of its collectives. \param peers  of sends and receives, or of all others
  int channels(bool peers) const {
    int most = 0;
    for (const StepCollective& c : time.collectives)
      if (is_point_to_point(c.use.kind.op) == peers) most = std::max(most, blocks_of(c.use.alone));
    return most;
  }
};
using C = const StepComms&;

constexpr auto one = one_if<Trial>;

// Renamed in 2.17 [NCCL-env].
std::string_view limit_variable(C c, bool most) {
  const bool old = c.version() < NcclVersion{2, 17, 0};
  if (most) return old ? "NCCL_MAX_NCHANNELS" : "NCCL_MAX_CTAS";
  return old ? "NCCL_MIN_NCHANNELS" : "NCCL_MIN_CTAS";
}

// Fewer channels free SMs, more move data faster. Which is better depends on what runs beside them.
Alternatives channels(C c) {
  Alternatives list;
  const int now = c.channels(false);
  if (now == 0) return list;
  for (const int n : {1, 2, 4, 6, 8, 12, 16, 20, 24})
    if (n < now)
      list.push_back({fmt::format("at most {}", counted(n, "channel")), {env_word(limit_variable(c, true), n)}});
  for (const int n : {24, 32})
    if (n > now) list.push_back({fmt::format("at least {} channels", n), {env_word(limit_variable(c, false), n)}});
  return list;
}

Alternatives peer_channels(C c) {
  Alternatives list;
  const int now = c.channels(true);
  for (const int n : {1, 2, 4, 8, 16})
    if (n < now)
      list.push_back({fmt::format("at most {} for sends and receives", counted(n, "channel")),
                      {env_word("NCCL_MAX_P2P_NCHANNELS", n)}});
  return list;
}

Alternatives buffers(C c) {
  Alternatives list;
  const bool simple = std::any_of(c.time.collectives.begin(), c.time.collectives.end(),
                                  [](const StepCollective& s) { return s.use.alone.protocol == "simple"; });
  if (!simple) return list;
  for (const std::int64_t mib : {1, 2, 8, 16})
    if (const std::int64_t bytes = mib << 20; bytes != c.settings().buffer_size.value_or(Bytes{4 << 20}).value)
      list.push_back({fmt::format("buffers of {} MiB", mib), {env_word("NCCL_BUFFSIZE", bytes)}});
  return list;
}

// Each policy needs memory that the framework has registered; elsewhere it changes nothing.
Alternatives policy(C c) {
  Alternatives list;
  const Buffers memory = c.world.planner().buffers;
  if (memory == Buffers::plain || c.settings().few_blocks || c.settings().zero_blocks) return list;
  if (c.version() >= NcclVersion{2, 27, 0})
    list.push_back({"as few thread blocks as registered buffers need", {env_word("NCCL_CTA_POLICY", 1)}});
  if (memory == Buffers::symmetric && c.version() >= NcclVersion{2, 28, 0})
    list.push_back({"copy engines instead of thread blocks", {env_word("NCCL_CTA_POLICY", 2)}});
  return list;
}

/// Alternatives for the collectives that GPUs wait for most.
template <class Others>
Alternatives for_longest(C c, Others others) {
  Alternatives list;
  for (std::size_t p = 0; p < part_count; ++p) {
    if (c.time.exposed[p] < least_step_gain) continue;
    const CollectiveUse* longest = nullptr;
    for (const StepCollective& s : c.time.collectives)
      if (s.use.kind.part == static_cast<Part>(p) && (!longest || s.use.time > longest->time)) longest = &s.use;
    if (!longest) continue;
    for (Trial& trial : others(c.world, *longest)) list.push_back(std::move(trial));
  }
  return list;
}

bool networked(C c) { return c.world.planner().comm.nodes() > 1; }

Alternatives queue_pairs(C c) {
  Alternatives list;
  const Communicator& comm = c.world.planner().comm;
  const LinkKind link = comm.node.spec.nics.link;
  const bool verbs = link == LinkKind::infiniband || link == LinkKind::roce;
  if (!networked(c) || !verbs || c.world.setup().paths() != PathKind::by_chance) return list;
  for (const int n : {4, 8})
    if (comm.qps_per_connection < n)
      list.push_back({fmt::format("{} queue pairs per connection", n), {env_word("NCCL_IB_QPS_PER_CONNECTION", n)}});
  return list;
}

using Kind = Alternatives (*)(const StepComms&);

// In the order of docs/models/step-settings.md.
constexpr Kind kinds[] = {
    channels,
    peer_channels,
    buffers,
    policy,
    [](C c) { return for_longest(c, other_algorithms); },
    [](C c) { return for_longest(c, other_protocols); },
    queue_pairs,
    [](C c) {
      const bool pxn_off = c.settings().pxn_disable.value_or(false);
      return one(networked(c) && pxn_off, "NICs of other GPUs over NVLink (PXN)", {env_word("NCCL_PXN_DISABLE", 0)});
    },
    [](C c) {
      return one(c.settings().nvls_enable == 0, "reduction in the NVSwitch", {env_word("NCCL_NVLS_ENABLE", 2)});
    },
};

}  // namespace

std::vector<Alternatives> nccl_trials(const World& world, const StepTime& time) {
  return trials_of(kinds, StepComms{world, time});
}

}  // namespace fabricast
