// From Slurm's topology.yaml to plain values [Slurm-topology]. topology.conf, the older format, is read by
// sim/discover/slurm; both give a SlurmTopology.
#include "slurm_yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/discover/hostlist.hpp"
#include "yaml_place.hpp"

namespace fabricast {

namespace {

class SlurmYamlReader {
 public:
  explicit SlurmYamlReader(FileProblems& problems) : problems_(problems) {}

  SlurmTopology read(const YAML::Node& root) {
    const YAML::Node chosen = choose(root);
    if (!chosen.IsDefined() || chosen.IsNull()) {
      problems_.error(1, 0, "the file has neither a tree nor blocks");
      return {};
    }
    const bool tree = chosen["tree"].IsDefined();
    const YAML::Node list = tree ? part(chosen["tree"], "switches") : part(chosen["block"], "blocks");
    if (!list.IsSequence()) {
      problems_.error(line_of(chosen), 0, fmt::format("a list of {} is expected here", tree ? "switches" : "blocks"));
      return {};
    }
    for (const auto& item : list) entry(item, tree ? "switch" : "block");
    check_slurm_topology(topology_, problems_);
    return std::move(topology_);
  }

 private:
  static YAML::Node part(const YAML::Node& map, const char* key) {
    return map.IsMap() && map[key].IsDefined() ? map[key] : YAML::Node();
  }

  // A file may define several topologies for different partitions. The cluster's default is the one whose hosts are all
  // of the fabric.
  static YAML::Node choose(const YAML::Node& root) {
    YAML::Node first;
    for (const auto& item : root) {
      if (!item.IsMap() || !(item["tree"].IsDefined() || item["block"].IsDefined())) continue;
      const YAML::Node usual = item["cluster_default"];
      if (usual.IsDefined() && usual.IsScalar() && lower_case(usual.Scalar()) == "true")
        return static_cast<const YAML::Node&>(item);
      if (first.IsNull()) first.reset(item);
    }
    return first;
  }

  void entry(const YAML::Node& node, const char* name_key) {
    SlurmSwitch s;
    s.line = line_of(node);
    const YAML::Node name = part(node, name_key);
    if (!name.IsScalar() || name.Scalar().empty())
      return problems_.error(s.line, 0, fmt::format("`{}` is missing", name_key));
    s.name = shown(name.Scalar());
    s.nodes = names(part(node, "nodes"));
    s.switches = names(part(node, "children"));
    // A switch of a tree has hosts below it or other switches, not both.
    if (s.nodes.empty() == s.switches.empty())
      return problems_.error(s.line, 0,
                             fmt::format("'{}' has {}", s.name,
                                         s.nodes.empty() ? "neither nodes nor children" : "both nodes and children"));
    topology_.switches.push_back(std::move(s));
  }

  // Lists of hosts in Slurm's notation, dgx[001-016]. Names are limited in total, since a short list may stand for
  // millions.
  std::vector<std::string> names(const YAML::Node& node) {
    if (!node.IsScalar() || node.Scalar().empty() || count_ > most_listed_hosts) return {};
    Hostlist list = expand_hostlist(node.Scalar());
    if (!list.error.empty())
      problems_.error(line_of(node), node.Mark().column + 1 + static_cast<int>(list.at), list.error,
                      "e.g. dgx[001-016]");
    count_ += list.names.size();
    if (count_ > most_listed_hosts) {
      problems_.error(line_of(node), 0, "the file has more than 200000 names");
      list.names.clear();
    }
    return std::move(list.names);
  }

  FileProblems& problems_;
  SlurmTopology topology_;
  std::size_t count_ = 0;
};

}  // namespace

bool is_slurm_yaml(std::string_view text) {
  // The first line that is neither empty nor a comment decides; a limit keeps large files of another format cheap.
  for (int i = 0; i < 1000 && !text.empty(); ++i) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (line.empty() || line.front() == '#' || line == "---") continue;
    return line.starts_with("- topology:");
  }
  return false;
}

SlurmTopology read_slurm_yaml(const std::string& text, FileProblems& problems) {
  if (const std::size_t bad = find_not_utf8(text); bad != std::string::npos) {
    const SourceSpan at = span_at(problems.file(), text, bad);
    problems.error(at.line, at.column, "not a UTF-8 text file");
    return {};
  }
  try {
    return SlurmYamlReader(problems).read(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    problems.error(e.mark.is_null() ? 1 : e.mark.line + 1, e.mark.is_null() ? 1 : e.mark.column + 1,
                   fmt::format("not YAML: {}", e.msg));
    return {};
  }
}

}  // namespace fabricast
