// Times of calls of groups of ranks (report/call_times.hpp): steps know how to time a group (traffic/flow_traffic.hpp),
// and this file asks them for one group at a time.
//
//    program of one group, a collective per size -> traffic on each sample -> median -> interval -> kept
//
// The interval is that of collectives (docs/models/intervals.md). Its derivatives need the same program in worlds with
// other parameters, and the effects of unstated inputs in worlds with other inputs. Those worlds do not depend on the
// group, so they are built once and kept, unless the cluster is so large that thirty of it are too many.
#include "fabricast/report/call_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "fabricast/core/names.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/report/residual_rows.hpp"
#include "fabricast/report/samples.hpp"
#include "fabricast/report/unstated.hpp"
#include "fabricast/scenario/used_parameters.hpp"
#include "fabricast/traffic/flow_traffic.hpp"

namespace fabricast {

namespace {

constexpr std::string_view one_way_name = "send";

/// Fabrics with more links are not kept for every variation of their parameters.
constexpr std::uint32_t many_links = 200'000;

using RankList = std::vector<std::uint32_t>;

/// Lists of ranks are looked up by the caller's span, without a copy.
struct RanksHash {
  using is_transparent = void;
  std::size_t operator()(std::span<const std::uint32_t> ranks) const {
    std::uint64_t hash = ranks.size();
    for (const std::uint32_t rank : ranks) hash = (hash ^ rank) * splitmix64_step;
    return static_cast<std::size_t>(mix64(hash));
  }
};
struct RanksEqual {
  using is_transparent = void;
  bool operator()(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
};

/// What an answer is kept under.
struct CallKey {
  std::uint32_t group = 0, segment = 0;
  CallKind kind;
  std::int64_t bytes = 0;
  bool operator==(const CallKey&) const = default;
};
struct CallKeyHash {
  std::size_t operator()(const CallKey& key) const {
    const std::uint64_t call = static_cast<std::uint64_t>(key.kind.op) * 2 + (key.kind.one_way ? 1 : 0);
    const std::uint64_t place = std::uint64_t{key.group} << 32 | std::uint64_t{key.segment} << 8 | call;
    return static_cast<std::size_t>(mix64(place ^ mix64(static_cast<std::uint64_t>(key.bytes))));
  }
};

/// A program of one group, with a collective for each size.
Program program_of(const GroupCall& call, std::span<const std::int64_t> bytes) {
  Program program;
  program.groups.push_back({RankList(call.ranks.begin(), call.ranks.end())});
  for (const std::int64_t size : bytes) {
    CollectiveKind kind;
    kind.name = name_of(call.kind.op);
    kind.op = call.kind.op;
    kind.bytes = size;
    kind.one_way = call.kind.one_way;
    program.collectives.push_back(std::move(kind));
  }
  return program;
}

/// The world on one state of its network, which holds for ever.
World in_segment(const World& world, std::size_t segment) {
  NetworkSegment only = world.setup().segments.at(segment);
  only.begin = {};
  only.end = for_ever;
  return world.with_segments({std::move(only)}).with_times_only();
}

/// The number of the segment of the network that holds at a time.
std::size_t segment_at(const World& world, Seconds at) {
  if (!(at >= Seconds{})) throw UserError("at: the time of a call is not negative");
  const auto& all = world.setup().segments;
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    if (at < all[i].end) return i;
  return all.size() - 1;
}

/// Checks that a group is one of this job, with the same number of ranks on every node that it touches.
/// The engine would refuse an uneven group as well, but in the words of a step's dimensions.
void check_group(const World& world, const GroupCall& call) {
  const Communicator& comm = world.planner().comm;
  if (call.ranks.size() < 2)
    throw UserError(fmt::format("ranks: a group of {} does not communicate", call.ranks.size()), "at least two ranks");
  if (call.kind.one_way && call.ranks.size() != 2)
    throw UserError(
        fmt::format("ranks: `{}` has a sender and a receiver, not {} ranks", one_way_name, call.ranks.size()),
        "ranks: [from, to]");
  std::set<std::uint32_t> seen;
  std::map<std::uint32_t, int> on_node;
  for (const std::uint32_t rank : call.ranks) {
    if (rank >= comm.ranks())
      throw UserError(fmt::format("ranks: there is no rank {}", rank),
                      fmt::format("the job has ranks 0 to {}", comm.ranks() - 1));
    if (!seen.insert(rank).second) throw UserError(fmt::format("ranks: rank {} is twice in the group", rank));
    ++on_node[rank / static_cast<std::uint32_t>(comm.gpus())];
  }
  for (const auto& [node, count] : on_node)
    if (count != on_node.begin()->second)
      throw UserError(
          fmt::format("ranks: {} on node {}, but {} on node {}", on_node.begin()->second, on_node.begin()->first, count,
                      node),
          fmt::format("a group has as many ranks on every node that it touches; a node has {} GPUs here", comm.gpus()));
}

void check_sizes(std::span<const std::int64_t> bytes) {
  for (const std::int64_t size : bytes)
    if (size < 1 || size > largest_size.value)
      throw UserError(fmt::format("bytes: {} is out of range", size),
                      fmt::format("between 1 and {}", largest_size.value));
}

/// The times of all sizes in one sample, as the caller's stream sees them.
std::vector<Seconds> times_in(const World& world, const Program& program, std::uint64_t seed) {
  const std::unique_ptr<Traffic> traffic = make_flow_traffic(world, program, seed);
  std::vector<Seconds> times;
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    const CollectiveTime& alone = traffic->alone(k);
    times.push_back(alone.launch + alone.makespan);
  }
  return times;
}

Seconds median(const std::vector<std::vector<Seconds>>& by_sample, std::size_t size) {
  std::vector<Seconds> times;
  for (const std::vector<Seconds>& sample : by_sample) times.push_back(sample[size]);
  return times[RankedSamples(times).at(0.5)];
}

}  // namespace

std::vector<std::string_view> call_names() {
  const auto& ops = EnumNames<CollectiveOp>::names;
  std::vector<std::string_view> names(ops.begin(), ops.end());
  names.push_back(one_way_name);
  return names;
}

CallKind call_kind_from(std::string_view name) {
  if (name == one_way_name) return {CollectiveOp::sendrecv, true};
  if (const auto op = enum_from<CollectiveOp>(name)) return {*op, false};
  throw UserError(fmt::format("there is no collective '{}'", shown(name, 40)), suggestion(name, call_names()));
}

struct CallTimes::State {
  /// A variation of the world in one segment: a group of parameters lowered, or another value of an unstated input.
  struct Variation {
    std::size_t segment = 0, number = 0;
    auto operator<=>(const Variation&) const = default;
  };

  State(World of, MeasuredSite measured, const CallTimesOptions& how)
      : world(std::move(of)), site(std::move(measured)), options(how) {}

  World world;
  MeasuredSite site;
  CallTimesOptions options;
  std::vector<World> in_segments;  ///< the world in each segment
  PerGroup<double> own{};
  std::vector<UnstatedInput> unstated;

  std::mutex varied_mutex;
  std::map<Variation, World> lowered, other;  ///< those that are kept

  std::shared_mutex kept_mutex;
  std::unordered_map<RankList, std::uint32_t, RanksHash, RanksEqual> groups;
  std::size_t ranks = 0;  ///< of all groups
  std::unordered_map<CallKey, CallTime, CallKeyHash> kept;

  bool find(const GroupCall& call, std::size_t segment, std::span<const std::int64_t> bytes, std::span<CallTime> times,
            std::vector<std::size_t>& missing);
  void keep(const GroupCall& call, std::size_t segment, std::span<const std::int64_t> bytes,
            std::span<const CallTime> times);
  World varied(std::map<Variation, World>& all, const Variation& which, const Scenario& scenario);
  std::vector<CallTime> compute(const GroupCall& call, std::size_t segment, std::span<const std::int64_t> bytes,
                                std::size_t threads);
  std::vector<ResidualRow> residuals_of(const GroupCall& call, std::size_t segment, const Program& program,
                                        std::span<const CallTime> found,
                                        const std::vector<std::vector<Seconds>>& samples, std::size_t threads);
};

/// Looks all sizes up. \returns whether all are known; else `missing` has the places of the others
bool CallTimes::State::find(const GroupCall& call, std::size_t segment, std::span<const std::int64_t> bytes,
                            std::span<CallTime> times, std::vector<std::size_t>& missing) {
  const std::shared_lock lock(kept_mutex);
  const auto group = groups.find(call.ranks);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (group != groups.end()) {
      const auto known = kept.find({group->second, static_cast<std::uint32_t>(segment), call.kind, bytes[i]});
      if (known != kept.end()) {
        times[i] = known->second;
        continue;
      }
    }
    missing.push_back(i);
  }
  return missing.empty();
}

void CallTimes::State::keep(const GroupCall& call, std::size_t segment, std::span<const std::int64_t> bytes,
                            std::span<const CallTime> times) {
  const std::unique_lock lock(kept_mutex);
  // Starting anew is the simplest bound. Callers that ask the same again and again fill it once more in no time.
  if (kept.size() + bytes.size() > options.kept || ranks + call.ranks.size() > options.kept_ranks) {
    kept.clear();
    groups.clear();
    ranks = 0;
  }
  auto group = groups.find(call.ranks);
  if (group == groups.end()) {
    group = groups.emplace(RankList(call.ranks.begin(), call.ranks.end()), groups.size()).first;
    ranks += call.ranks.size();
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    kept.try_emplace({group->second, static_cast<std::uint32_t>(segment), call.kind, bytes[i]}, times[i]);
}

/// The world of a variation, from those that are kept if it is one of them.
World CallTimes::State::varied(std::map<Variation, World>& all, const Variation& which, const Scenario& scenario) {
  {
    const std::scoped_lock lock(varied_mutex);
    if (const auto known = all.find(which); known != all.end()) return known->second;
  }
  World made = in_segment(build_world(scenario).with_beside(world.beside()), which.segment);
  if (world.fabric() && world.fabric()->links() > many_links) return made;
  const std::scoped_lock lock(varied_mutex);
  return all.try_emplace(which, std::move(made)).first->second;
}

/// What the distribution of errors needs to know of each size: the derivatives and the effects of unstated inputs, as
/// residual_rows.cpp and unstated.cpp find them for whole jobs.
std::vector<ResidualRow> CallTimes::State::residuals_of(const GroupCall& call, std::size_t segment,
                                                        const Program& program, std::span<const CallTime> found,
                                                        const std::vector<std::vector<Seconds>>& samples,
                                                        std::size_t threads) {
  const Scenario& s = world.scenario();
  const auto of_host = static_cast<std::uint32_t>(s.node.spec.gpus);
  std::set<std::uint32_t> hosts;
  for (const std::uint32_t rank : call.ranks) hosts.insert(rank / of_host);
  const auto spanned = static_cast<std::int64_t>(hosts.size());
  const std::size_t series =
      series_of(world, call.kind.op, spanned, static_cast<std::int64_t>(call.ranks.size()) / spanned);

  std::vector<AlgorithmRun> runs;
  for (const CallTime& time : found) runs.push_back({time.algorithm, time.protocol});
  constexpr std::size_t groups_of_parameters = parameter_groups.size();
  std::vector<std::pair<std::size_t, std::size_t>> others;  // an unstated input, and one of its other values
  for (std::size_t i = 0; i < unstated.size(); ++i)
    for (std::size_t k = 0; k < unstated[i].others.size(); ++k) others.emplace_back(i, k);
  const std::size_t trials = std::min<std::size_t>(samples.size(), unstated_samples);
  std::vector<std::vector<Seconds>> lowered_times(groups_of_parameters);
  std::vector<std::vector<std::vector<Seconds>>> other_times(others.size());  // by sample
  in_parallel(groups_of_parameters + others.size(), threads, [&](std::size_t task) {
    if (task < groups_of_parameters) {
      Hardware hardware = s.hardware;
      if (!can_matter(parameter_groups[task], call.kind.op, runs) ||
          !lower(hardware, parameter_groups[task], residual_step))
        return;
      Scenario scenario = s;
      scenario.hardware = std::move(hardware);
      const World with = varied(lowered, {segment, task}, scenario);
      lowered_times[task] = times_in(with, program, world.samples().first_seed);
      return;
    }
    const std::size_t n = task - groups_of_parameters;
    const UnstatedInput& input = unstated[others[n].first];
    try {
      const World with = varied(other, {segment, n}, with_input(s, input.key, input.others[others[n].second].value));
      for (std::size_t t = 0; t < trials; ++t)
        other_times[n].push_back(times_in(with, program, world.samples().first_seed + t));
      // E.g. a version of NCCL that does not know the scenario's GPU: such a machine cannot exist.
    } catch (const UserError&) { other_times[n].clear(); }
  });

  const std::vector<std::vector<Seconds>> first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(trials));
  std::vector<ResidualRow> rows;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ResidualRow row{residual_kind(world, spanned),
                    call.kind.op,
                    found[i].algorithm,
                    found[i].protocol,
                    program.collectives[i].bytes,
                    spanned,
                    series,
                    found[i].time,
                    {},
                    own,
                    {}};
    for (std::size_t g = 0; g < groups_of_parameters; ++g)
      if (!lowered_times[g].empty())
        row.effects[g] = std::log(samples.front()[i] / lowered_times[g][i]) / residual_step;
    for (std::size_t n = 0; n < others.size(); ++n) {
      if (other_times[n].empty()) continue;
      const UnstatedInput& input = unstated[others[n].first];
      const UnstatedInput::Other& value = input.others[others[n].second];
      const double size = std::sqrt(value.weight) * std::log(median(other_times[n], i) / median(first, i));
      if (size != 0) row.unstated[input.key + "=" + value.value] = size;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CallTime> CallTimes::State::compute(const GroupCall& call, std::size_t segment,
                                                std::span<const std::int64_t> bytes, std::size_t threads) {
  const Program program = program_of(call, bytes);
  const World& base = in_segments[segment];
  const auto node = static_cast<std::uint32_t>(world.planner().comm.gpus());
  const bool inside = std::all_of(call.ranks.begin(), call.ranks.end(),
                                  [&](std::uint32_t rank) { return rank / node == call.ranks.front() / node; });
  // Samples differ in the network only.
  const auto count = inside ? std::size_t{1} : static_cast<std::size_t>(world.samples().count);
  std::vector<CallTime> found(bytes.size());
  std::vector<std::vector<Seconds>> samples(count);
  in_parallel(count, threads, [&](std::size_t sample) {
    const std::unique_ptr<Traffic> traffic = make_flow_traffic(base, program, world.samples().first_seed + sample,
                                                               std::max<std::size_t>(1, threads / count));
    for (std::uint32_t k = 0; k < bytes.size(); ++k) {
      const CollectiveTime& alone = traffic->alone(k);
      samples[sample].push_back(alone.launch + alone.makespan);
      // NCCL's choice does not depend on the sample.
      if (sample > 0) continue;
      found[k].launch = alone.launch;
      found[k].algorithm = *enum_from<Algorithm>(alone.algorithm);
      found[k].protocol = *enum_from<Protocol>(alone.protocol);
      found[k].channels = alone.channels;
    }
  });
  for (std::size_t i = 0; i < bytes.size(); ++i) found[i].low = found[i].high = found[i].time = median(samples, i);
  if (!options.intervals && site.rows.empty()) return found;
  const std::vector<Residual> known = site.residuals.of(residuals_of(call, segment, program, found, samples, threads));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // As in add_intervals: the factor is relative, so it holds for the shifted time as well.
    const double factor = std::exp(known[i].half_width());
    if (!site.rows.empty()) found[i].time *= std::exp(known[i].median);
    found[i].low = options.intervals ? found[i].time / factor : found[i].time;
    found[i].high = options.intervals ? found[i].time * factor : found[i].time;
  }
  return found;
}

CallTimes::CallTimes(World world, MeasuredSite site, const CallTimesOptions& options)
    : state_(std::make_unique<State>(std::move(world), std::move(site), options)) {
  const World& of = state_->world;
  for (std::size_t i = 0; i < of.setup().segments.size(); ++i) state_->in_segments.push_back(in_segment(of, i));
  state_->own = deviations(of.scenario().hardware, used_parameters(of.scenario()));
  state_->unstated = unstated_inputs(of.scenario());
  // Settings that groups do not support are refused now and not at the first call.
  make_flow_traffic(state_->in_segments.front(), Program{}, of.samples().first_seed);
}

CallTimes::~CallTimes() = default;
CallTimes::CallTimes(CallTimes&&) noexcept = default;
CallTimes& CallTimes::operator=(CallTimes&&) noexcept = default;

const World& CallTimes::world() const { return state_->world; }

void CallTimes::times(const GroupCall& call, std::span<const std::int64_t> bytes, std::span<CallTime> times,
                      int threads) const {
  FABRICAST_CHECK(bytes.size() == times.size(), "there is a place for each answer");
  const std::size_t segment = segment_at(state_->world, call.at);
  std::vector<std::size_t> missing;
  if (state_->find(call, segment, bytes, times, missing)) return;
  check_group(state_->world, call);
  check_sizes(bytes);
  // Each size once, in ascending order, so that an answer does not depend on the order of the question.
  std::vector<std::int64_t> sizes;
  for (const std::size_t i : missing) sizes.push_back(bytes[i]);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const std::vector<CallTime> found = state_->compute(call, segment, sizes, thread_count(threads));
  for (const std::size_t i : missing)
    times[i] = found[static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), bytes[i]) - sizes.begin())];
  state_->keep(call, segment, sizes, found);
}

}  // namespace fabricast
