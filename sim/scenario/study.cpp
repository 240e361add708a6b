// Reads studies: the axes and the objective of `fabricast plan` (scenario/study.hpp). The scenario itself is read per
// row, with the row's words as overrides, so defaults follow the row (switches as fast as its NICs).
#include "fabricast/scenario/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "fabricast/core/field_tree.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/planner/nccl.hpp"
#include "fabricast/scenario/world.hpp"
#include "yaml_reader.hpp"

namespace fabricast {

namespace {

// Values are passed on as YAML text in one line, as in `--set`. They may be whole sections.
std::string flow_text(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out << YAML::Flow << node;
  return out.c_str();
}

/// A number with its unit: `400Gbps` is 400 and Gbps.
struct Amount {
  double value = 0;
  std::string unit;
};

std::optional<Amount> amount_of(const std::string& text) {
  Amount amount;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), amount.value);
  if (code != std::errc() || !std::isfinite(amount.value)) return std::nullopt;
  amount.unit.assign(end, text.data() + text.size());
  return amount;
}

class AxisReader {
 public:
  AxisReader(Study& study, std::vector<Diagnostic>& faults) : study_(study), faults_(faults) {}

  /// \param origin  the option that gives the axis; empty: the file
  void read(const std::string& name, const YAML::Node& key, const YAML::Node& node, std::string origin) {
    origin_ = std::move(origin);
    path_ = "sweep." + name;
    SweepAxis axis{name, {}};
    const SourceSpan where = span(key);
    study_.places[path_] = where;
    if (node.IsSequence())
      read_list(axis, node);
    else if (node.IsMap() && std::as_const(node)["from"].IsDefined())
      read_range(axis, node);
    else if (node.IsMap())
      read_bundle(axis, node);
    else
      return fault(key, "must be a list, a range or a bundle",
                   "write [a, b], {from: 1, to: 8, factor: 2}, or {name: {path: value, ...}, ...}");
    if (axis.values.empty() && faults_.empty()) fault(key, "has no values");
    // An axis of the command line replaces the file's of the same name, at its place.
    const auto same =
        std::find_if(study_.axes.begin(), study_.axes.end(), [&](const auto& a) { return a.name == name; });
    if (same != study_.axes.end())
      *same = std::move(axis);
    else
      study_.axes.push_back(std::move(axis));
  }

  void fault(const YAML::Node& node, std::string message, std::string hint = {}) {
    faults_.push_back({Diagnostic::Severity::error, span(node), path_, std::move(message), std::move(hint)});
  }
  void set_path(std::string path) { path_ = std::move(path); }

 private:
  SourceSpan span(const YAML::Node& node) const {
    if (!origin_.empty()) return {origin_, 0, 0, 1};
    const YAML::Mark mark = node.Mark();
    if (mark.is_null()) return {study_.file, 0, 0, 1};
    const int width = node.IsScalar() ? static_cast<int>(node.Scalar().size()) : 1;
    return {study_.file, mark.line + 1, mark.column + 1, std::max(1, width)};
  }

  void read_list(SweepAxis& axis, const YAML::Node& list) {
    std::set<std::string> labels;
    for (const YAML::Node& item : list) {
      if (item.IsNull()) return fault(item, "has no value");
      const std::string text = flow_text(item);
      // Two rows would differ in nothing, and their names would be equal.
      if (!labels.insert(text).second) return fault(item, fmt::format("'{}' is listed twice", text));
      axis.values.push_back({text, {axis.name + "=" + text}});
    }
  }

  void read_bundle(SweepAxis& axis, const YAML::Node& map) {
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) return fault(entry.first, "a key must be a single word");
      if (!entry.second.IsMap())
        return fault(
            entry.first,
            fmt::format("'{}' is neither a key of a range nor a named value of a bundle", entry.first.Scalar()),
            "write a range as {from: 1, to: 8, factor: 2}, or a bundle as {name: {path: value, ...}, ...}");
      SweepValue value{entry.first.Scalar(), {}};
      for (const auto& key : entry.second) {
        if (!key.first.IsScalar() || key.second.IsNull()) return fault(entry.first, "write {path: value, ...}");
        study_.places[fmt::format("{}.{}.{}", path_, value.label, key.first.Scalar())] = span(key.first);
        value.set.push_back(key.first.Scalar() + "=" + flow_text(key.second));
      }
      axis.values.push_back(std::move(value));
    }
  }

  /// A number of a range, or nothing and an error if it is not a number.
  std::optional<Amount> amount(const YAML::Node& map, const char* name) {
    const YAML::Node node = map[name];
    auto found = node.IsScalar() ? amount_of(node.Scalar()) : std::nullopt;
    if (!found) fault(node.IsDefined() ? node : map, fmt::format("`{}` is not a number", name));
    return found;
  }

  void read_range(SweepAxis& axis, const YAML::Node& node) {
    const YAML::Node& map = node;
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (key != "from" && key != "to" && key != "factor" && key != "step")
        return fault(entry.first, fmt::format("unknown key '{}' in a range", key),
                     "write from, to, and factor or step");
    }
    const bool by_factor = map["factor"].IsDefined();
    if (!map["to"].IsDefined() || by_factor == map["step"].IsDefined())
      return fault(map, "a range needs from, to, and either factor or step",
                   "write e.g. {from: 32, to: 1024, factor: 2}");
    const auto from = amount(map, "from"), to = amount(map, "to"), by = amount(map, by_factor ? "factor" : "step");
    if (!from || !to || !by) return;
    if (from->unit != to->unit || (!by_factor && by->unit != from->unit))
      return fault(map, "the range mixes units", fmt::format("write all numbers in {}", from->unit));
    if (by_factor ? by->value <= 1 || from->value <= 0 || !by->unit.empty() : by->value <= 0)
      return fault(map, by_factor ? "`factor` must be above 1, and `from` above 0" : "`step` must be above 0");
    if (from->value > to->value) return fault(map, "`from` is more than `to`");
    // The limit is for all axes together, because a file may hold thousands of ranges.
    std::size_t values = 0;
    for (const SweepAxis& other : study_.axes) values += other.values.size();
    // Each value is computed from the first, so that rounding errors do not accumulate.
    for (int i = 0;; ++i) {
      const double value = by_factor ? from->value * std::pow(by->value, i) : from->value + by->value * i;
      // `to` is included even if rounding puts the last value slightly above it.
      if (value > to->value * (1 + 1e-9) + (to->value == 0 ? 1e-9 : 0)) break;
      if (values + axis.values.size() >= most_rows)
        return fault(map, fmt::format("gives more than {} values", most_rows));
      const std::string text = to_text(rounded(value, 12)) + from->unit;
      axis.values.push_back({text, {axis.name + "=" + text}});
    }
  }

  Study& study_;
  std::vector<Diagnostic>& faults_;
  std::string origin_, path_;
};

/// Whether an option sets the objective, or a key of it. It belongs to the study; all other words go to each row.
bool is_objective(std::string_view path) { return path == "objective" || path.starts_with("objective."); }

/// `keep: "a < b"` is a short form of a list with one element.
void wrap_single(YAML::Node objective, const char* key) {
  const YAML::Node node = std::as_const(objective)[key];
  if (!node.IsDefined() || !node.IsScalar()) return;
  YAML::Node list(YAML::NodeType::Sequence);
  list.push_back(node);
  objective.remove(key);  // assigning to the key would change the node in the list
  objective[key] = list;
}

/// The same of an option: `--set objective.keep=a<b` or `--set objective={keep: a<b}`.
Override wrapped(Override option) {
  YAML::Node value;
  try {
    value = YAML::Load(option.value);
  } catch (const YAML::Exception&) { value = YAML::Node(option.value); }
  const bool list = option.path == "objective.keep" || option.path == "objective.pareto";
  if (list && value.IsScalar()) {
    YAML::Node single(YAML::NodeType::Sequence);
    single.push_back(value);
    value.reset(single);
  } else if (option.path == "objective" && value.IsMap()) {
    wrap_single(value, "keep");
    wrap_single(value, "pareto");
  } else {
    return option;
  }
  option.value = flow_text(value);
  return option;
}

void read_objective(Study& study, const YAML::Node& root, const std::vector<Override>& overrides,
                    std::vector<Diagnostic>& faults) {
  // The objective is read apart from the scenario, which its own reader refuses to know about.
  YAML::Node alone(YAML::NodeType::Map);
  if (const YAML::Node section = std::as_const(root)["objective"]; section.IsDefined()) {
    alone["objective"] = section;
    if (section.IsMap()) {
      wrap_single(section, "keep");
      wrap_single(section, "pareto");
    }
  }
  YamlReader reader(alone, study.file, overrides);
  reader("objective", study.objective, "");
  reader.finish();
  study.places.insert(reader.places().begin(), reader.places().end());
  if (!study.objective.minimize.empty() && !study.objective.maximize.empty())
    reader.add({Diagnostic::Severity::error,
                {},
                "objective.maximize",
                "cannot be combined with minimize",
                "give one of them"});
  for (Diagnostic& d : reader.take_diagnostics()) faults.push_back(std::move(d));
}

}  // namespace

void visit_fields(FieldVisitor& visit, ObjectiveSpec& spec) {
  visit("minimize", spec.minimize, "metric to minimize (`fabricast list metrics`)");
  visit("maximize", spec.maximize, "metric to maximize instead");
  visit("keep", spec.keep,
        "conditions that a row must satisfy, e.g. \"step_s <= 1.05 * best\"; best: the best value of all rows");
  visit("pareto", spec.pareto,
        "metrics of the Pareto front: rows for which no other row is better in one metric and no worse in the others");
}

void Study::locate(Diagnostic& d) const {
  if (!d.path.empty() && d.where.line == 0 && d.where.file.empty()) d.where = place_of(places, file, d.path);
}

namespace {

/// Whether the scenario has a key.
bool has_key(const Study& study, const std::string& path) {
  try {
    Scenario base = parse_scenario(study.text, study.file, study.overrides).scenario;
    FieldTree tree;
    visit_fields(tree, base);
    return tree.take().find(path) != nullptr;
  } catch (const UserError&) { return false; }  // what is wrong with the file is reported by itself
}

}  // namespace

void Study::locate_in_row(Diagnostic& d, std::size_t row) const {
  if (const auto axis = places.find("sweep." + d.path); axis != places.end()) {
    d.where = axis->second;
    return;
  }
  constexpr std::string_view option = "--set ";
  if (!d.where.file.starts_with(option)) return;
  const std::string word = d.where.file.substr(option.size()), key = word.substr(0, word.find('='));
  const std::vector<std::size_t> choices = choices_of(*this, row);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const SweepAxis& axis = axes[a];
    const SweepValue& value = axis.values[choices[a]];
    if (std::find(value.set.begin(), value.set.end(), word) == value.set.end()) continue;
    d.where = place_of(places, file, fmt::format("sweep.{}.{}.{}", axis.name, value.label, key));
    // A bundle may have any name. One that is named like a section invites keys of that section.
    if (const std::string whole = axis.name + "." + key; axis.name != key && has_key(*this, whole))
      d.hint = fmt::format("a bundle lists whole paths: write {}", whole);
    return;
  }
}

namespace {

/// Whether a value may change the kind of GPU.
bool names_gpus(const SweepValue& value) {
  return std::any_of(value.set.begin(), value.set.end(), [](const std::string& word) {
    return word.starts_with("node.gpu=") || word.starts_with("node.profile=") || word.starts_with("node=");
  });
}

// GPUs of different age imply different NCCL versions. Rows would then differ by NCCL as well as by the axis, so all of
// them take the newest. Only values that may change the GPU are tried: parsing every row would take long.
std::string common_version(const Study& study) {
  std::optional<NcclVersion> oldest, newest;
  for (const SweepAxis& axis : study.axes)
    for (const SweepValue& value : axis.values) {
      if (!names_gpus(value)) continue;
      std::vector<std::string> words = study.overrides;
      words.insert(words.end(), value.set.begin(), value.set.end());
      try {
        const Scenario scenario = parse_scenario(study.text, study.file, words).scenario;
        if (scenario.nccl.version_given) continue;
        const NcclVersion implied = main_version(scenario);
        oldest = oldest ? std::min(*oldest, implied) : implied;
        newest = newest ? std::max(*newest, implied) : implied;
      } catch (const UserError&) {}  // rows with this value report the error
    }
  return newest && *oldest < *newest ? to_text(*newest) : std::string();
}

}  // namespace

Study read_study(const std::string& path, const std::vector<std::string>& overrides,
                 const std::vector<std::string>& axes) {
  return parse_study(read_file(path, std::size_t{4} << 20), path, overrides, axes);
}

Study parse_study(const std::string& text, const std::string& path, const std::vector<std::string>& overrides,
                  const std::vector<std::string>& axes) {
  Study study;
  study.file = path;
  study.text = text;
  std::vector<Override> of_objective;
  for (const std::string& word : overrides) {
    const auto equals = word.find('=');
    if (equals != std::string::npos && is_objective(std::string_view(word).substr(0, equals)))
      of_objective.push_back(wrapped({word.substr(0, equals), word.substr(equals + 1)}));
    else
      study.overrides.push_back(word);
  }
  const YAML::Node root = parse_yaml(study.text, path, "start with `fabricast: 1`");
  if (const YAML::Node name = root["name"]; name.IsDefined() && name.IsScalar()) study.name = name.Scalar();
  std::vector<Diagnostic> faults;
  AxisReader reader(study, faults);
  if (const YAML::Node sweep = root["sweep"]; sweep.IsDefined() && !sweep.IsNull()) {
    reader.set_path("sweep");
    if (!sweep.IsMap())
      reader.fault(sweep, "must be a map", "write {path: [a, b], ...}");
    else
      for (const auto& entry : sweep)
        if (entry.first.IsScalar()) reader.read(entry.first.Scalar(), entry.first, entry.second, {});
  }
  for (const std::string& word : axes) {
    const std::string option = "--sweep " + word;
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UserError(fmt::format("'{}' has no values", option), "e.g. --sweep 'cluster.nodes=[32, 64]'");
    YAML::Node value;
    try {
      value = YAML::Load(word.substr(equals + 1));
    } catch (const YAML::Exception&) { throw UserError(fmt::format("'{}' is not YAML", option), "write path=[a, b]"); }
    reader.read(word.substr(0, equals), value, value, option);
  }
  read_objective(study, root, of_objective, faults);
  if (faults.empty() && row_count(study) > most_rows)
    faults.push_back({Diagnostic::Severity::error, {}, "sweep", fmt::format("gives more than {} rows", most_rows), {}});
  for (Diagnostic& d : faults) study.locate(d);
  if (!faults.empty()) throw UserError(std::move(faults));
  study.common_version = common_version(study);
  return study;
}

// Saturates above the limit, so that the product cannot overflow.
std::size_t row_count(const Study& study) {
  std::size_t rows = 1;
  for (const SweepAxis& axis : study.axes) rows = std::min(rows * axis.values.size(), most_rows + 1);
  return rows;
}

// The row number in mixed radix, with the last axis as the lowest digit.
std::vector<std::size_t> choices_of(const Study& study, std::size_t row) {
  std::vector<std::size_t> choices(study.axes.size());
  for (std::size_t a = study.axes.size(); a-- > 0; row /= study.axes[a].values.size())
    choices[a] = row % study.axes[a].values.size();
  return choices;
}

std::vector<std::string> words_of(const Study& study, std::size_t row) {
  std::vector<std::string> words;
  const std::vector<std::size_t> choices = choices_of(study, row);
  for (std::size_t a = 0; a < choices.size(); ++a) {
    const std::vector<std::string>& set = study.axes[a].values[choices[a]].set;
    words.insert(words.end(), set.begin(), set.end());
  }
  return words;
}

Scenario scenario_of(const Study& study, std::size_t row) {
  std::vector<std::string> words = study.overrides;
  for (std::string& word : words_of(study, row)) words.push_back(std::move(word));
  Scenario scenario = parse_scenario(study.text, study.file, words).scenario;
  // No key states the version, so it stays an unstated input.
  if (!study.common_version.empty() && !scenario.nccl.version_given) scenario.nccl.version = study.common_version;
  return scenario;
}

std::optional<std::vector<Bytes>> sizes_of_word(const std::string& value) {
  try {
    YamlReader reader(YAML::Node(YAML::NodeType::Map), "", {{"sizes", value}});
    WorkloadSection section;
    visit_fields(reader, section);
    reader.finish();
    if (reader.failed() || section.sizes.empty()) return std::nullopt;
    return std::move(section.sizes);
  } catch (const UserError&) { return std::nullopt; }
}

}  // namespace fabricast
