// Reads fields from YAML (yaml_reader.hpp). yaml-cpp stays behind this file and the YAML readers next to it.
//
// Three sources of values have one path each: the file, an override of the key, and an override of a section around it.
// Whatever gives a value also gives its position, so messages point into the file or at the option.
#include "yaml_reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "fabricast/core/field_tree.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

SourceSpan span_of(const YAML::Node& node, const std::string& file) {
  const YAML::Mark mark = node.Mark();
  const int width = node.IsScalar() ? static_cast<int>(node.Scalar().size()) : 1;
  if (mark.is_null()) return {file, 0, 0, 1};
  return {file, mark.line + 1, mark.column + 1, std::max(1, width)};
}

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

Parsed<bool> parse_bool(std::string_view text) {
  if (text == "true") return {true, {}, {}};
  if (text == "false") return {false, {}, {}};
  return {false, fmt::format("'{}' is neither true nor false", text), {}};
}

}  // namespace

// A path without a position (a key that is absent) has that of its section: that is where the key is missing.
SourceSpan place_of(const std::map<std::string, SourceSpan>& places, const std::string& file, std::string path) {
  while (true) {
    if (const auto it = places.find(path); it != places.end()) return it->second;
    const auto cut = path.find_last_of(".[");
    if (cut == std::string::npos) return {file, 0, 0, 1};
    path.resize(cut);
  }
}

namespace {

/// A hint on the usual cause of a syntax error from yaml-cpp.
std::string syntax_hint(std::string_view what, std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (line.substr(0, begin).find('\t') != std::string_view::npos) return "indent with spaces; YAML does not allow tabs";
  if (what == "end of map flow not found") return "is a } missing before this?";
  if (what == "end of sequence flow not found") return "is a ] missing before this?";
  if (what == "end of map not found") return "all keys of a map must start in the same column";
  if (what == "the referenced anchor is not defined") return "a value that starts with * needs quotes";
  return {};
}

std::string line_at(std::string_view text, int line) {
  std::size_t begin = 0;
  for (int i = 1; i < line && begin != std::string_view::npos; ++i) begin = text.find('\n', begin) + 1;
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

/// Counts documents and records where they begin. The library's own LoadAll does not end if the rest of the text, such
/// as a comma, begins no document: it creates empty documents until memory is full.
class DocumentCounter : public YAML::EventHandler {
 public:
  int documents = 0;
  YAML::Mark last;  ///< start of the content of the last document

  void OnDocumentStart(const YAML::Mark&) override {
    ++documents;
    begins_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override { see(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    see(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    see(mark);
  }
  void OnMapEnd() override {}

 private:
  void see(const YAML::Mark& mark) {
    if (begins_) last = mark;
    begins_ = false;
  }

  bool begins_ = false;
};

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& file, const std::string& begin) {
  const auto fail = [&](int line, int column, std::string what, std::string hint = {}) {
    Diagnostic d;
    d.where = {file, line, column, 1};
    d.message = std::move(what);
    d.hint = std::move(hint);
    throw UserError({std::move(d)});
  };
  if (const std::size_t bad = std::min(text.find('\0'), find_not_utf8(text)); bad != std::string::npos) {
    const SourceSpan at = span_at(file, text, bad);
    fail(at.line, at.column, "not a UTF-8 text file");
  }
  YAML::Node document;
  DocumentCounter counter;
  try {
    // Load reads the first document only. The parser runs again to see whether there is another.
    document = YAML::Load(text);
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (counter.documents < 2 && parser.HandleNextDocument(counter)) {}
  } catch (const YAML::DeepRecursion& e) {
    fail(e.mark.line + 1, e.mark.column + 1, "nested too deeply");
  } catch (const YAML::Exception& e) {
    const int line = e.mark.is_null() ? 1 : e.mark.line + 1;
    fail(line, e.mark.is_null() ? 1 : e.mark.column + 1, fmt::format("not YAML: {}", e.msg),
         syntax_hint(e.msg, line_at(text, line)));
  }
  if (!document.IsMap()) fail(1, 1, text.empty() ? "the file is empty" : "not a map of sections", begin);
  if (counter.documents > 1)
    fail(counter.last.line + 1, counter.last.column + 1, "a second document begins here",
         "a file must hold a single document");
  return document;
}

YamlReader::YamlReader(const YAML::Node& root, std::string file, std::vector<Override> overrides)
    : file_(std::move(file)), overrides_(std::move(overrides)) {
  for (const Override& o : overrides_)
    if (find_not_utf8(o.path + o.value) != std::string::npos)
      throw UserError(fmt::format("--set {}: the value is not UTF-8", o.path));
  // yaml-cpp does not report duplicate keys.
  check_keys(root, "", "");
  levels_.push_back({root, "", "", {}, false, 0});
}

SourceSpan YamlReader::span(const YAML::Node& node, const std::string& origin) const {
  return origin.empty() ? span_of(node, file_) : SourceSpan{origin, 0, 0, 1};
}

void YamlReader::check_keys(const YAML::Node& map, const std::string& path, const std::string& origin) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) {
      Diagnostic d;
      d.where = span(entry.first, origin);
      d.path = path;
      d.message = "a key must be a single word";
      add(std::move(d));
      continue;
    }
    if (!seen.insert(entry.first.Scalar()).second) {
      Diagnostic d;
      d.where = span(entry.first, origin);
      d.path = child(path, entry.first.Scalar());
      d.message = "duplicate key";
      add(std::move(d));
    }
  }
}

YamlReader::Found YamlReader::find(const FieldInfo& info) {
  Level& level = levels_.back();
  Found found;
  found.origin = level.origin;
  SourceSpan key;
  // Elements of a list are read in order; their path has an index instead of a name.
  if (level.list) {
    const std::size_t i = level.next++;
    found.path = fmt::format("{}[{}]", level.path, i);
    if (level.node.IsDefined() && i < level.node.size()) {
      found.node = level.node[i];
      found.there = true;
    }
  } else {
    level.known.insert(std::string(info.name));
    found.path = child(level.path, info.name);
    if (level.node.IsDefined() && level.node.IsMap()) {
      const YAML::Node node = std::as_const(level.node)[std::string(info.name)];
      if (node.IsDefined()) {
        found.node = node;
        found.there = true;
      }
      // For a key without a value, yaml-cpp points past it, so the position of the key is used.
      if (node.IsDefined() && node.IsNull())
        for (const auto& entry : level.node)
          if (entry.first.IsScalar() && entry.first.Scalar() == info.name) key = span(entry.first, level.origin);
    }
  }
  // For suggestions on misspelt overrides.
  known_.insert(found.path);
  // Elements of a list that an option gives are where the list is, and `place_of` finds that.
  const bool as_list = level.list && !level.origin.empty();
  if (found.there && !as_list) places_[found.path] = key.line > 0 ? key : span(found.node, level.origin);
  for (const Override& o : overrides_) {
    if (o.path != found.path) continue;
    used_overrides_.insert(o.path);
    // The last override of a path wins, and reads like a piece of the file.
    try {
      found.node = YAML::Load(o.value);
      // An empty value, `~` or text that is not YAML is taken literally, for example a name that begins with a special
      // character.
      if (found.node.IsNull()) found.node = YAML::Node(o.value);
    } catch (const YAML::Exception&) { found.node = YAML::Node(o.value); }
    found.there = true;
    found.origin = fmt::format("--set {}={}", o.path, o.value);
    places_[found.path] = {found.origin, 0, 0, 1};
  }
  return found;
}

void YamlReader::fail(const std::string& path, std::string message, std::string hint) {
  Diagnostic d;
  d.where = place(path);
  d.path = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  add(std::move(d));
}

SourceSpan YamlReader::place(const std::string& path) const { return place_of(places_, file_, path); }

void YamlReader::add(Diagnostic diagnostic) {
  // A file of junk has an error for each word, and each is shown with its line.
  constexpr std::size_t most = 1000;
  if (diagnostics_.size() < most) diagnostics_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> YamlReader::take_diagnostics() {
  for (Diagnostic& d : diagnostics_)
    if (d.where.file.empty()) d.where = place(d.path);
  return std::move(diagnostics_);
}

template <class T>
void YamlReader::store(const Found& found, const FieldInfo& info, T& target) {
  const std::string& text = found.node.Scalar();
  // Each type has a parser that explains what is wrong, and SI values are compared with the limits of the field.
  const auto take = [&](auto parsed, auto si, auto assign) {
    if (!parsed) return fail(found.path, parsed.error, parsed.hint);
    const double value = si(parsed.value);
    if (value < info.range.low || value > info.range.high)
      return fail(found.path, fmt::format("'{}' is out of range", text), limits_text(field_type_of<T>(), info.range));
    assign(parsed.value);
  };
  const auto number = [](auto v) { return static_cast<double>(v); };
  const auto quantity = [](auto v) { return static_cast<double>(v.value); };
  if constexpr (std::is_same_v<T, bool>)
    take(parse_bool(text), number, [&](bool v) { target = v; });
  else if constexpr (std::is_same_v<T, std::string>)
    target = text;
  else if constexpr (std::is_same_v<T, int>)
    take(parse_integer(text), number, [&](std::int64_t v) {
      if (v < std::numeric_limits<int>::min() || v > std::numeric_limits<int>::max())
        return fail(found.path, fmt::format("'{}' is too large", text));
      target = static_cast<int>(v);
    });
  else if constexpr (std::is_same_v<T, std::int64_t>)
    take(parse_integer(text), number, [&](std::int64_t v) { target = v; });
  else if constexpr (std::is_same_v<T, double>)
    take(info.range.proportion ? parse_proportion(text) : parse_number(text), number, [&](double v) { target = v; });
  else if constexpr (std::is_same_v<T, Ratio>)
    take(parse_ratio(text), number, [&](double v) { target.value = v; });
  else if constexpr (std::is_same_v<T, Bytes>)
    take(parse_bytes(text), quantity, [&](Bytes v) { target = v; });
  else if constexpr (std::is_same_v<T, Seconds>)
    take(parse_seconds(text), quantity, [&](Seconds v) { target = v; });
  else if constexpr (std::is_same_v<T, BytesPerSecond>)
    take(parse_rate(text), quantity, [&](BytesPerSecond v) { target = v; });
  else if constexpr (std::is_same_v<T, Metres>)
    take(parse_metres(text), quantity, [&](Metres v) { target = v; });
  else if constexpr (std::is_same_v<T, Watts>)
    take(parse_watts(text), quantity, [&](Watts v) { target = v; });
}

void YamlReader::scalar(const FieldInfo& info, ScalarRef value) {
  const Found found = find(info);
  if (!found.there) return;
  if (!found.node.IsScalar()) return fail(found.path, found.node.IsNull() ? "has no value" : "must be a single value");
  if (const auto* words = std::get_if<WordRef>(&value)) {
    const std::string& text = found.node.Scalar();
    const auto it = std::find(words->words.begin(), words->words.end(), text);
    if (it == words->words.end())
      return fail(found.path, fmt::format("unknown value '{}'", text), suggestion(text, words->words));
    return words->set(words->target, static_cast<std::size_t>(it - words->words.begin()));
  }
  std::visit(
      [&](auto target) {
        if constexpr (std::is_pointer_v<decltype(target)>) store(found, info, *target);
      },
      value);
}

bool YamlReader::enter(const FieldInfo& info) {
  Found found = find(info);
  if (found.there && !found.node.IsMap()) {
    fail(found.path, found.node.IsNull() ? "is empty" : "must be a map", "write {key: value, ...}");
    return false;
  }
  if (found.there) check_keys(found.node, found.path, found.origin);
  // A section that the file does not have may still get overrides.
  levels_.push_back(
      {found.there ? found.node : YAML::Node(YAML::NodeType::Undefined), found.path, found.origin, {}, false, 0});
  return true;
}

void YamlReader::report_unknown(const Level& level) {
  if (!level.node.IsDefined() || !level.node.IsMap()) return;
  const std::vector<std::string_view> known(level.known.begin(), level.known.end());
  std::size_t unknown = 0;
  constexpr std::size_t most = 1000;  // finding a suggestion takes a while
  for (const auto& entry : level.node) {
    if (unknown == most) return;
    if (!entry.first.IsScalar() || level.known.contains(entry.first.Scalar())) continue;
    ++unknown;
    Diagnostic d;
    d.where = span(entry.first, level.origin);
    d.path = child(level.path, entry.first.Scalar());
    d.message = "unknown key";
    d.hint = entry.first.Scalar() == "<<" ? "merge keys are not supported; write the keys out"
                                          : suggestion(entry.first.Scalar(), known);
    add(std::move(d));
  }
}

void YamlReader::leave() {
  if (!levels_.back().list) report_unknown(levels_.back());
  levels_.pop_back();
}

std::size_t YamlReader::enter_list(const FieldInfo& info, std::size_t size) {
  const Found found = find(info);
  const bool usable = found.there && found.node.IsSequence();
  if (found.there && !usable) fail(found.path, "must be a list", "write [a, b, ...]");
  levels_.push_back(
      {usable ? found.node : YAML::Node(YAML::NodeType::Undefined), found.path, found.origin, {}, true, 0});
  if (!usable) return size;
  // Nested lists of aliases could make a small file expand until memory is full.
  constexpr std::size_t most = 10'000'000;
  entries_ += found.node.size();
  if (entries_ <= most) return found.node.size();
  fail(found.path, fmt::format("the lists of the file have more than {} entries in total", most));
  return 0;
}

void YamlReader::string_map(const FieldInfo& info, std::map<std::string, std::string>& map) {
  const Found found = find(info);
  const std::string path = found.path;
  if (found.there && !found.node.IsMap()) return fail(path, "must be a map", "write {NAME: \"value\", ...}");
  if (found.there) {
    check_keys(found.node, path, found.origin);
    for (const auto& entry : found.node) {
      if (!entry.first.IsScalar()) continue;
      const std::string key = entry.first.Scalar();
      places_[child(path, key)] = span(entry.second, found.origin);
      if (!entry.second.IsScalar())
        fail(child(path, key), "must be a single value");
      else
        map[key] = entry.second.Scalar();
    }
  }
  for (const Override& o : overrides_)
    if (o.path.starts_with(path + ".")) {
      used_overrides_.insert(o.path);
      map[o.path.substr(path.size() + 1)] = o.value;
      places_[o.path] = {fmt::format("--set {}={}", o.path, o.value), 0, 0, 1};
    }
}

void YamlReader::finish() {
  report_unknown(levels_.front());
  for (const Override& o : overrides_) {
    if (used_overrides_.contains(o.path)) continue;
    Diagnostic d;
    d.where.file = fmt::format("--set {}={}", o.path, o.value);
    d.path = o.path;
    d.message = "unknown key";
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    const auto near = nearest(o.path, known);
    d.hint = near ? fmt::format("did you mean '{}'?", *near) : "`fabricast describe scenario` shows the keys";
    add(std::move(d));
  }
}

std::vector<Override> split_overrides(const std::vector<std::string>& words, std::vector<Diagnostic>& faults) {
  std::vector<Override> overrides;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      Diagnostic d;
      d.message = fmt::format("'--set {}' has no value", word);
      d.hint = "write --set KEY=VALUE, e.g. --set fabric.switch.rate=800Gbps";
      faults.push_back(std::move(d));
      continue;
    }
    overrides.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return overrides;
}

}  // namespace fabricast
