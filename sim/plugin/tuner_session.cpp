// Chooses by a profile, and tells NCCL's log.
#include "tuner_session.hpp"

#include <cmath>
#include <cstdlib>
#include <string_view>

namespace fabricast::plugin {

namespace {

constexpr const char* file_variable = "NCCL_TUNER_CONFIG_FILE";
constexpr const char* strict_variable = "FABRICAST_TUNER_STRICT";

/// A rank of CollNet reaches at most this many others on its node.
constexpr std::uint64_t most_collnet_ranks = 8;

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

bool is_strict() {
  const char* value = std::getenv(strict_variable);
  return value && std::string_view(value) == "1";
}

constexpr unsigned long tuner_areas = log_init | log_tuning;

/// "2 MiB", or "1500 B" if it is no whole number of larger units.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < units.size(); bytes /= 1024) ++unit;
  return std::to_string(bytes) + units[unit];
}

std::string count_text(std::uint64_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string shape_text(Shape shape) { return count_text(shape.nodes, "node") + ", " + count_text(shape.ranks, "rank"); }

/// "tree/ll128"
std::string pair_text(const TunerRule& range) {
  return std::string(name_of(range.algorithm)).append("/").append(name_of(range.protocol));
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)); }

/// "15 % faster, 8 to 21"
std::string gain_text(const TunerRule& range) {
  return percent(range.gain[1]) + " % faster, " + percent(range.gain[0]) + " to " + percent(range.gain[2]);
}

std::string opened_text(const std::string& path, const ShapeRules& profile, Shape shape) {
  if (!profile.has_shape) return path + ": nothing for " + shape_text(shape) + "; NCCL's choice is kept";
  return path + ": " + count_text(profile.size(), "override") + " for " + shape_text(shape) + " (scenario '" +
         profile.scenario + "', NCCL " + profile.nccl + ")";
}

ShapeRules rules_for(Shape shape, TunerProfile profile) {
  ShapeRules rules;
  rules.scenario = std::move(profile.scenario);
  rules.nccl = std::move(profile.nccl);
  for (TunerRules& table : profile.tables) {
    if (table.shape != shape) continue;
    rules.has_shape = true;
    rules.rules[static_cast<std::size_t>(table.op)] = std::move(table.rules);
  }
  return rules;
}

/// The profile of the environment, or what is wrong.
std::variant<ShapeRules, TunerFault> rules_of_environment(Shape shape, bool has_costs) {
  const char* path = std::getenv(file_variable);
  if (!path || !*path) return TunerFault{std::string(file_variable) + " is not set"};
  // Without costs, nothing tells which algorithms these variables leave.
  if (!has_costs && (is_set("NCCL_ALGO") || is_set("NCCL_PROTO")))
    return TunerFault{
        "NCCL_ALGO or NCCL_PROTO is set, and this NCCL version does not report to tuners what they allow"};
  auto read = read_tuner_profile(path);
  if (const auto* fault = std::get_if<TunerFault>(&read)) return TunerFault{std::string(path) + ": " + fault->text};
  return rules_for(shape, std::get<TunerProfile>(std::move(read)));
}

}  // namespace

std::size_t ShapeRules::size() const {
  std::size_t sum = 0;
  for (const std::vector<TunerRule>& ranges : rules) sum += ranges.size();
  return sum;
}

TunerSession::TunerSession(ShapeRules rules, Shape shape, NcclLog log)
    : rules_(std::move(rules)), shape_(shape), log_(log) {
  for (std::size_t i = 0; i < logged_.size(); ++i)
    logged_[i] = std::make_unique<std::atomic<unsigned>[]>(rules_.rules[i].size());
}

int TunerSession::open(Shape shape, bool has_costs, NcclLog log, TunerSession** session) noexcept try {
  *session = nullptr;
  auto read = rules_of_environment(shape, has_costs);
  if (const TunerFault* fault = std::get_if<TunerFault>(&read)) {
    const bool strict = is_strict();
    log_line(
        log, tuner_areas,
        fault->text + (strict ? "; " + std::string(strict_variable) + "=1 ends the job" : "; NCCL's choice is kept"));
    return strict ? nccl_invalid_usage : nccl_success;
  }
  ShapeRules& profile = std::get<ShapeRules>(read);
  log_line(log, tuner_areas, opened_text(std::getenv(file_variable), profile, shape));
  if (profile.size() > 0) *session = new TunerSession(std::move(profile), shape, log);
  return nccl_success;
} catch (...) {
  // Memory ran out, so none is left to say so.
  return is_strict() ? nccl_invalid_usage : nccl_success;
}

const TunerRule* TunerSession::range_of(const Call& call) const noexcept {
  if (call.function < 0 || call.function >= function_count || call.pipelined > 1) return nullptr;
  return find_rule(rules_.rules[static_cast<std::size_t>(call.function)], call.bytes);
}

void TunerSession::choose(const Call& call, const Costs& costs, int* channels) noexcept {
  const TunerRule* range = range_of(call);
  if (!range || !channels) return;
  float* cost = costs.of(range->algorithm, range->protocol);
  const bool allowed = cost && *cost >= 0;
  if (allowed) {
    *cost = 0;
    if (tuner_may_limit(range->algorithm, shape_)) *channels = range->channels;
  }
  log_once(call, *range, allowed);
}

/// What NCCL 2.21 can run for any type and operator that CollNet and NVLS support. It takes a tuner's answer unchecked.
/// Whether LL128 is safe depends on GPUs and paths that the tuner is not told, so LL128 stays NCCL's to choose.
bool TunerSession::allows_without_costs(int function, const TunerRule& range, const Support& support) const noexcept {
  const auto op = static_cast<CollectiveOp>(function);
  const bool reduces_all = op == CollectiveOp::all_reduce, simple = range.protocol == Protocol::simple;
  if (range.protocol == Protocol::ll128) return false;
  switch (range.algorithm) {
    case Algorithm::ring: return true;
    case Algorithm::tree: return reduces_all;
    case Algorithm::collnetdirect:
    case Algorithm::collnetchain:
      return support.collnet && simple && reduces_all && shape_.ranks <= most_collnet_ranks * shape_.nodes;
    case Algorithm::nvls: return support.nvls && simple && shape_.nodes == 1 && !is_chain(op);
    case Algorithm::nvlstree: return support.nvls && simple && shape_.nodes > 1 && reduces_all;
    default: return false;
  }
}

void TunerSession::choose_without_costs(const Call& call, const Support& support, int* algorithm, int* protocol,
                                        int* channels) noexcept {
  const TunerRule* range = range_of(call);
  if (!range || !algorithm || !protocol || !channels) return;
  const bool allowed = allows_without_costs(call.function, *range, support);
  if (allowed) {
    *algorithm = static_cast<int>(range->algorithm);
    *protocol = static_cast<int>(range->protocol);
    if (tuner_may_limit(range->algorithm, shape_)) *channels = range->channels;
  }
  log_once(call, *range, allowed);
}

void TunerSession::log_once(const Call& call, const TunerRule& range, bool allowed) noexcept try {
  const auto function = static_cast<std::size_t>(call.function);
  const auto index = static_cast<std::size_t>(&range - rules_.rules[function].data());
  std::atomic<unsigned>& logged = logged_[function][index];
  const unsigned bit = allowed ? 1 : 2;
  // Most calls only read: writing would take the line of memory from other threads.
  if (logged.load(std::memory_order_relaxed) & bit) return;
  if (logged.fetch_or(bit, std::memory_order_relaxed) & bit) return;
  const std::string what =
      std::string(name_of(static_cast<CollectiveOp>(call.function))) + " of " + size_text(call.bytes) + ": ";
  if (!allowed)
    return log_line(log_, tuner_areas, what + "NCCL does not allow " + pair_text(range) + " here; its choice is kept");
  const std::string channels = tuner_may_limit(range.algorithm, shape_)
                                   ? count_text(static_cast<std::uint64_t>(range.channels), "channel")
                                   : "NCCL's channels";
  log_line(log_, tuner_areas, what + pair_text(range) + " on " + channels + " (forecast " + gain_text(range) + ")");
} catch (...) {
  // A line of the log is not worth a collective.
}

}  // namespace fabricast::plugin
