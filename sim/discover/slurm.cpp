// Reads and checks Slurm's topology.conf, and sketches a fabric from it (discover/slurm.hpp).
#include "fabricast/discover/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/discover/fabric.hpp"
#include "fabricast/discover/hostlist.hpp"
#include "subnet_readers.hpp"

namespace fabricast {

namespace {

class SlurmReader {
 public:
  explicit SlurmReader(FileProblems& problems) : problems_(problems) {}

  /// Takes a line. A backslash at its end continues it in the next one.
  void line(std::string_view text, int number) {
    std::string_view used = text.substr(0, text.find('#'));
    while (!used.empty() && is_space(used.back())) used.remove_suffix(1);
    // Continued lines are joined, but positions in messages are those of the original lines.
    const bool more = used.ends_with('\\');
    if (more) used.remove_suffix(1);
    pieces_.emplace_back(whole_.size(), number);
    whole_ += used;
    if (!more) read_whole();
  }

  SlurmTopology finish() {
    if (!pieces_.empty()) read_whole();
    check_slurm_topology(topology_, problems_);
    return std::move(topology_);
  }

 private:
  struct Line {
    SlurmSwitch entry;
    bool block = false, bad = false;
    bool has_nodes = false, has_switches = false;
  };

  void read_whole() {
    Line line;
    for (const std::string_view word : words_of(whole_))
      pair(word, static_cast<std::size_t>(word.data() - whole_.data()), line);
    take(line, pieces_.front().second);
    pieces_.clear();
    whole_.clear();
  }

  /// The line and column of a byte of the joined lines.
  std::pair<int, int> place(std::size_t at) const {
    std::size_t i = pieces_.size() - 1;
    while (pieces_[i].first > at) --i;
    return {pieces_[i].second, static_cast<int>(at - pieces_[i].first) + 1};
  }

  // A word KEY=VALUE. Keys have any case, as in Slurm.
  void pair(std::string_view word, std::size_t begin, Line& line) {
    const std::size_t equals = word.find('=');
    const auto fail = [&](std::size_t at, std::string message, std::string hint = {}) {
      const auto [number, column] = place(at);
      problems_.error(number, column, std::move(message), std::move(hint));
      line.bad = true;
    };
    if (equals == std::string_view::npos)
      return fail(begin, fmt::format("'{}' has no value", shown(word, 40)), "write KEY=VALUE");
    const std::string key = lower_case(word.substr(0, equals));
    const std::string_view value = word.substr(equals + 1);
    const std::size_t at = begin + equals + 1;
    if (key == "switchname" || key == "blockname") {
      if (value.empty()) return fail(at, "expected a name");
      line.entry.name = shown(value);
      line.entry.line = place(begin).first;
      line.block = key == "blockname";
    } else if (key == "nodes" || key == "switches") {
      if (const std::size_t bad = find_not_utf8(value); bad != std::string_view::npos)
        return fail(at + bad, "invalid UTF-8");
      if (names_ > most_listed_hosts) return;  // already reported
      Hostlist list = expand_hostlist(value);
      if (!list.error.empty()) return fail(at + list.at, list.error, "e.g. dgx[001-016]");
      names_ += list.names.size();
      if (names_ > most_listed_hosts) return fail(at, "more than 200000 names in the file");
      (key == "nodes" ? line.has_nodes : line.has_switches) = true;
      (key == "nodes" ? line.entry.nodes : line.entry.switches) = std::move(list.names);
    } else if (key != "linkspeed" && key != "blocksizes") {  // LinkSpeed is ignored, as in Slurm
      constexpr std::array<std::string_view, 6> known = {"SwitchName", "BlockName", "Nodes",
                                                         "Switches",   "LinkSpeed", "BlockSizes"};
      fail(begin, fmt::format("unknown key '{}'", shown(word.substr(0, equals), 40)),
           suggestion(word.substr(0, equals), known));
    }
  }

  void take(Line& line, int number) {
    if (line.bad) return;
    SlurmSwitch& entry = line.entry;
    if (entry.name.empty()) {
      if (!entry.nodes.empty() || !entry.switches.empty())
        problems_.error(number, 0, "SwitchName or BlockName is missing");
      return;
    }
    // A switch has either hosts or other switches below it, as Slurm demands.
    if (line.has_nodes == line.has_switches || (line.block && !line.has_nodes))
      return problems_.error(number, 0,
                             fmt::format("'{}' has {}", entry.name,
                                         line.has_nodes ? "both Nodes and Switches" : "neither Nodes nor Switches"));
    if (line.block) ++blocks_;
    // Either all entries so far are blocks, or the file mixes the two kinds.
    if (blocks_ > 0 && blocks_ <= topology_.switches.size())
      return problems_.error(number, 0, "the file has both blocks and switches",
                             "use either topology/block or topology/tree");
    topology_.switches.push_back(std::move(entry));
  }

  FileProblems& problems_;
  SlurmTopology topology_;
  std::string whole_;                                ///< continued lines, joined
  std::vector<std::pair<std::size_t, int>> pieces_;  ///< first byte in `whole_` and number of each of these lines
  std::size_t blocks_ = 0, names_ = 0;
};

void check_names(const SlurmTopology& topology, FileProblems& problems) {
  // Names first: a misspelled child would otherwise appear as several follow-up errors.
  std::unordered_map<std::string_view, int> switch_line, node_line;
  for (const SlurmSwitch& s : topology.switches) {
    if (const auto [it, fresh] = switch_line.emplace(s.name, s.line); !fresh)
      problems.error(s.line, 0, fmt::format("duplicate name '{}'", s.name),
                     fmt::format("the first one is on line {}", it->second));
    for (const std::string& node : s.nodes)
      if (const auto [it, fresh] = node_line.emplace(node, s.line); !fresh)
        problems.error(s.line, 0, fmt::format("the host '{}' is on two switches", node),
                       fmt::format("the first one is on line {}", it->second));
  }
  for (const SlurmSwitch& s : topology.switches) {
    std::unordered_set<std::string_view> children;
    for (const std::string& child : s.switches) {
      if (!switch_line.contains(child)) problems.error(s.line, 0, fmt::format("unknown switch '{}'", child));
      if (!children.insert(child).second)
        problems.error(s.line, 0, fmt::format("'{}' is listed twice below '{}'", child, s.name));
    }
  }
  if (topology.switches.empty() && !problems.failed()) problems.error(1, 0, "the file has no switch");
}

/// Reports a switch that is below itself: removes switches without children until none is left.
void check_circles(const SlurmTopology& topology, FileProblems& problems) {
  // Topological order from the leaves up. What is left has a circle below it.
  std::unordered_map<std::string_view, std::vector<std::string_view>> parents;
  std::unordered_map<std::string_view, std::size_t> open;
  std::vector<std::string_view> done;
  for (const SlurmSwitch& s : topology.switches) {
    open[s.name] = s.switches.size();
    if (s.switches.empty()) done.push_back(s.name);
    for (const std::string& child : s.switches) parents[child].push_back(s.name);
  }
  for (std::size_t i = 0; i < done.size(); ++i)
    for (const std::string_view parent : parents[done[i]])
      if (--open[parent] == 0) done.push_back(parent);
  for (const SlurmSwitch& s : topology.switches)
    if (open[s.name] > 0) return problems.error(s.line, 0, fmt::format("'{}' is below itself", s.name));
}

/// Adds parallel cables. A link of a fabric file has at most 4096, so several may be needed.
void add_cables(FileFabric& fabric, const std::string& from, const std::string& to, std::int64_t cables) {
  constexpr std::int64_t most = 4096;
  for (; cables > 0; cables -= most) {
    FileFabricLink& link = fabric.links.emplace_back();
    link.from = from;
    link.to = to;
    link.count = static_cast<int>(std::min(cables, most));
  }
}

}  // namespace

void check_slurm_topology(const SlurmTopology& topology, FileProblems& problems) {
  if (problems.failed()) return;  // errors of the lines would cause more errors here
  check_names(topology, problems);
  if (!problems.failed()) check_circles(topology, problems);
}

std::vector<std::string> SlurmTopology::hosts() const {
  std::vector<std::string> all;
  for (const SlurmSwitch& s : switches) all.insert(all.end(), s.nodes.begin(), s.nodes.end());
  return all;
}

bool is_slurm_topology(std::string_view text) {
  while (!text.empty()) {
    const std::string line = lower_case(trimmed(take_until(text, '\n')).substr(0, 20));
    if (line.starts_with("switchname=") || line.starts_with("blockname=")) return true;
  }
  return false;
}

SlurmTopology read_slurm_topology(std::istream& in, FileProblems& problems) {
  SlurmReader reader(problems);
  each_line(in, problems, [&](std::string_view text, int line) { reader.line(text, line); });
  return reader.finish();
}

FileFabric fabric_of_slurm(const SlurmTopology& topology, int nics, double oversubscription) {
  FileFabric fabric;
  std::map<std::string, std::vector<std::string>> parents;
  std::vector<SlurmSwitch> switches = topology.switches;
  // Blocks, or leaves without switches above them, are joined by one switch, since Slurm places jobs on several of
  // them.
  const bool blocks = std::all_of(switches.begin(), switches.end(), [](const auto& s) { return s.switches.empty(); });
  if (blocks && switches.size() > 1) {
    SlurmSwitch root;
    // A name that no switch has.
    root.name = "above";
    while (std::any_of(switches.begin(), switches.end(), [&](const auto& s) { return s.name == root.name; }))
      root.name += "_all";
    for (const SlurmSwitch& s : switches) root.switches.push_back(s.name);
    switches.push_back(std::move(root));
  }
  for (const SlurmSwitch& s : switches) {
    fabric.switches.emplace_back().name = s.name;
    for (const std::string& child : s.switches) parents[child].push_back(s.name);
    for (const std::string& node : s.nodes) {
      FileFabricHost& host = fabric.hosts.emplace_back();
      host.name = node;
      for (int n = 0; n < nics; ++n) {
        host.nics.emplace_back().name = fmt::format("nic{}", n);
        FileFabricLink& link = fabric.links.emplace_back();
        link.from = fmt::format("{}.nic{}", node, n);
        link.to = s.name;
      }
    }
  }
  // From the leaves up, because the cables up depend on the cables from below.
  std::map<std::string, double> down;
  std::map<std::string, std::size_t> open;
  std::vector<const SlurmSwitch*> ready;
  std::map<std::string, const SlurmSwitch*> by_name;
  for (const SlurmSwitch& s : switches) {
    by_name[s.name] = &s;
    open[s.name] = s.switches.size();
    down[s.name] = static_cast<double>(s.nodes.size()) * nics;
    if (s.switches.empty()) ready.push_back(&s);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const SlurmSwitch& s = *ready[i];
    const std::vector<std::string>& up = parents[s.name];
    if (up.empty()) continue;
    // Cables up = cables down / oversubscription, spread evenly over the parents, at least one.
    const double each = std::ceil(down[s.name] / oversubscription / static_cast<double>(up.size()) - 1e-9);
    for (const std::string& parent : up) {
      add_cables(fabric, s.name, parent, std::max<std::int64_t>(1, static_cast<std::int64_t>(each)));
      down[parent] += std::max(1.0, each);
      if (--open[parent] == 0) ready.push_back(by_name[parent]);
    }
  }
  std::vector<Diagnostic> warnings;  // stays empty: every switch of a tree leads to leaves
  find_tiers(fabric, warnings);
  return fabric;
}

}  // namespace fabricast
