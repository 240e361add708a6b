// The file of NCCL's example tuner plugin [NCCL-tuner-9.2]. The plugin takes the first line that matches the call and
// whose algorithm and protocol NCCL allows for it. A call without such a line runs on one channel, and so does one
// whose line leaves the number of channels open. Therefore every line has a number of channels, and the last lines
// match all remaining calls.
#include <fmt/format.h>

#include <limits>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/report/tuner.hpp"

namespace fabricast {

namespace {

/// The plugin's names in the order of `Algorithm`. It takes unknown names for other algorithms, so the names must
/// match.
constexpr std::array<std::string_view, algorithm_count> algorithm_words = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};

// The plugin spells functions as NCCL does, without underscores.
std::string function_word(CollectiveOp op) {
  std::string word(name_of(op));
  std::erase(word, '_');
  return word;
}

// Columns in the plugin's order: function, sizes, algorithm, protocol, channels, nodes, ranks.
std::string line(CollectiveOp op, std::int64_t first, std::int64_t last, const TunerChoice& c,
                 const std::string& shape) {
  return fmt::format("{},{},{},{},{},{},{}\n", function_word(op), first, last,
                     algorithm_words[static_cast<std::size_t>(c.algorithm)], name_of(c.protocol), c.channels, shape);
}

/// A comment with the size of a range that gains most over NCCL's choice.
std::string comment(const TunerTable& table, const TunerRange& range) {
  const TunerPoint* most = nullptr;
  double most_gain = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const TunerPoint& p = table.points[i];
    // Without a time NCCL's choice cannot be compared, and the table repeats it.
    if (p.nccl.time == Seconds{}) return "# not simulated: NCCL's choice\n";
    if (const double gain = 1 - p.choice.time / p.nccl.time; gain > most_gain) {
      most_gain = gain;
      most = &p;
    }
  }
  if (!most) return "# NCCL's choice\n";
  return fmt::format("# {}: {:.2f} us; NCCL's {}/{} on {} takes {:.2f} us\n", to_text(Bytes{most->bytes}),
                     microseconds(most->choice.time), name_of(most->nccl.algorithm), name_of(most->nccl.protocol),
                     counted(most->nccl.channels, "channel"), microseconds(most->nccl.time));
}

// Lines apply to a communicator of exactly this shape; -1 matches any.
std::string shape_of(const TunerTable& table) { return fmt::format("{},{}", table.nodes, table.ranks); }

std::string ranges_with_gains(const TunerTable& table) {
  std::string out;
  for (const TunerRange& r : table.ranges)
    out += comment(table, r) + line(table.op, r.first, r.last, r.choice, shape_of(table));
  return out;
}

std::string rule_lines(const TunerRules& rules) {
  std::string out;
  const std::string shape = fmt::format("{},{}", rules.shape.nodes, rules.shape.ranks);
  for (const TunerRule& r : rules.rules) {
    out += fmt::format("# for the step: saves {:.1f} %, {:.1f} to {:.1f}\n", 100 * r.gain[1], 100 * r.gain[0],
                       100 * r.gain[2]);
    out += line(rules.op, static_cast<std::int64_t>(r.from), static_cast<std::int64_t>(r.to),
                {r.algorithm, r.protocol, r.channels, Seconds{}}, shape);
  }
  return out;
}

std::string plain_ranges(const TunerTable& table, const std::string& shape) {
  std::string out;
  for (const TunerRange& r : table.plain) out += line(table.op, r.first, r.last, r.choice, shape);
  return out;
}

}  // namespace

std::string tuner_csv(const TunerTables& tables, const std::vector<TunerRules>& first) {
  const World& world = tables.world;
  const Communicator& comm = world.planner().comm;
  const std::string any = "-1,-1";
  // The order of lines is the order of precedence: tables of the two shapes that were simulated, then rings and trees
  // for anything else, then a catch-all per operation.
  std::string out = fmt::format("# Table for NCCL's example tuner plugin, by fabricast {}: {}\n", version_text(),
                                comment_text(world.scenario().name));
  out += "# NCCL_TUNER_PLUGIN names the plugin, NCCL_TUNER_CONFIG_FILE this file. The first matching line applies.\n";
  out += "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  out += fmt::format("# NCCL {} on {} ranks = {} x {} {}\n", to_text(comm.version), comm.ranks(),
                     counted(comm.nodes(), "node"), comm.gpus(), comm.node.gpu.name);
  for (const TunerRules& rules : first) out += rule_lines(rules);
  for (const TunerTable& table : tables.job) out += ranges_with_gains(table);
  if (!tables.one_node.empty()) out += fmt::format("# communicators of the {} ranks of one node\n", comm.gpus());
  for (const TunerTable& table : tables.one_node) {
    out += ranges_with_gains(table);
    // NVLS and CollNet do not support every data type and operator; NCCL passes over such a line, so a plain one must
    // follow.
    if (!table.only_plain()) out += "# other data types and operators\n" + plain_ranges(table, shape_of(table));
  }
  out += "# other communicators, data types and operators: rings and trees as for all ranks\n";
  for (const TunerTable& table : tables.job) out += plain_ranges(table, any);
  out += "# all other calls\n";
  for (const TunerTable& table : tables.job)
    out += line(table.op, 0, std::numeric_limits<std::int64_t>::max(), table.otherwise, any);
  return out;
}

}  // namespace fabricast
