// Reads fields from YAML (yaml_reader.hpp). yaml-cpp stays behind this file and the YAML readers next to it.
//
// Three sources of values have one path each: the file, an override of the key, and an override of a section around it.
// Whatever gives a value also gives its position, so messages point into the file or at the option.
#include "yaml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "fabricast/core/field_tree.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

Parsed<double> number_of(std::string_view text, const Range& range) {
  if (range.proportion) return parse_proportion(text);
  return range.fraction() ? parse_ratio(text) : parse_number(text);
}

SourceSpan span_of(const YamlView& node, const std::string& file) {
  const auto [line, column] = node.position();
  if (line == 0) return {file, 0, 0, 1};
  return {file, line, column, node.scalar() ? std::max(1, static_cast<int>(node.text().size())) : 1};
}

std::string child(const std::string& path, std::string_view name) {
  std::string full;
  full.reserve(path.size() + 1 + name.size());
  if (!path.empty()) full.append(path).push_back('.');
  return full.append(name);
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

YamlReader::YamlReader(const YamlView& root, std::string file, std::vector<Override> overrides)
    : file_(std::move(file)), overrides_(std::move(overrides)) {
  for (const Override& o : overrides_)
    if (find_not_utf8(o.path + o.value) != std::string::npos)
      throw UserError(fmt::format("--set {}: the value is not UTF-8", o.path));
  // yaml-cpp does not report duplicate keys.
  check_keys(root, "", "");
  levels_.push_back({root, "", "", {}, false, 0});
}

SourceSpan YamlReader::span(const YamlView& node, const std::string& origin) const {
  return origin.empty() ? span_of(node, file_) : SourceSpan{origin, 0, 0, 1};
}

void YamlReader::check_keys(const YamlView& map, const std::string& path, const std::string& origin) {
  // Most maps are short, and comparing a few keys is faster than a set of them.
  constexpr std::size_t few = 8;
  std::vector<std::string_view> first;
  std::set<std::string_view> others;
  const auto is_new = [&](std::string_view key) {
    if (std::find(first.begin(), first.end(), key) != first.end()) return false;
    if (first.size() == few) return others.insert(key).second;
    if (first.empty()) first.reserve(few);
    first.push_back(key);
    return true;
  };
  map.each_pair([&](const YamlView& key, const YamlView&) {
    if (key.scalar() && is_new(key.text())) return;
    Diagnostic d;
    d.where = span(key, origin);
    d.path = key.scalar() ? child(path, key.text()) : path;
    d.message = key.scalar() ? "duplicate key" : "a key must be a single word";
    add(std::move(d));
  });
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
    if (i < level.node.size()) {
      found.node = level.node.at(i);
      found.there = true;
    }
  } else {
    level.known.push_back(info.name);
    found.path = child(level.path, info.name);
    if (level.node.map()) {
      found.node = level.node.find(info.name);
      found.there = found.node.defined();
      // For a key without a value, yaml-cpp points past it, so the position of the key is used.
      if (found.node.null())
        level.node.each_pair([&](const YamlView& k, const YamlView&) {
          if (k.scalar() && k.text() == info.name) key = span(k, level.origin);
        });
    }
  }
  // For suggestions on misspelt overrides.
  if (overrides_.empty()) {
    if (!found.there) return found;
  } else {
    known_.insert(found.path);
  }
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
      if (found.node.null()) found.node = YAML::Node(o.value);
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
  const std::string_view text = found.node.text();
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
    take(number_of(text, info.range), number, [&](double v) { target = v; });
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
  if (!found.node.scalar()) return fail(found.path, found.node.null() ? "has no value" : "must be a single value");
  if (const auto* words = std::get_if<WordRef>(&value)) {
    const std::string_view text = found.node.text();
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
  if (found.there && !found.node.map()) {
    fail(found.path, found.node.null() ? "is empty" : "must be a map", "write {key: value, ...}");
    return false;
  }
  if (found.there) check_keys(found.node, found.path, found.origin);
  // A section that the file does not have may still get overrides.
  levels_.push_back({found.node, found.path, found.origin, {}, false, 0});
  return true;
}

void YamlReader::report_unknown(const Level& level) {
  if (!level.node.map()) return;
  std::size_t unknown = 0;
  constexpr std::size_t most = 1000;  // finding a suggestion takes a while
  level.node.each_pair([&](const YamlView& key, const YamlView&) {
    if (unknown == most || !key.scalar()) return;
    if (std::find(level.known.begin(), level.known.end(), key.text()) != level.known.end()) return;
    ++unknown;
    std::vector<std::string_view> known = level.known;
    std::sort(known.begin(), known.end());
    Diagnostic d;
    d.where = span(key, level.origin);
    d.path = child(level.path, key.text());
    d.message = "unknown key";
    d.hint = key.text() == "<<" ? "merge keys are not supported; write the keys out" : suggestion(key.text(), known);
    add(std::move(d));
  });
}

void YamlReader::leave() {
  if (!levels_.back().list) report_unknown(levels_.back());
  levels_.pop_back();
}

std::size_t YamlReader::enter_list(const FieldInfo& info, std::size_t size) {
  const Found found = find(info);
  const bool usable = found.there && found.node.sequence();
  if (found.there && !usable) fail(found.path, "must be a list", "write [a, b, ...]");
  levels_.push_back({usable ? found.node : YamlView(), found.path, found.origin, {}, true, 0});
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
  if (found.there && !found.node.map()) return fail(path, "must be a map", "write {NAME: \"value\", ...}");
  if (found.there) {
    check_keys(found.node, path, found.origin);
    found.node.each_pair([&](const YamlView& k, const YamlView& value) {
      if (!k.scalar()) return;
      const std::string key(k.text());
      places_[child(path, key)] = span(value, found.origin);
      if (!value.scalar())
        fail(child(path, key), "must be a single value");
      else
        map[key] = value.text();
    });
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
    // A key without its section, such as `recompute` for `workload.recompute`, if only one section has it.
    std::vector<std::string_view> whole;
    std::copy_if(known.begin(), known.end(), std::back_inserter(whole),
                 [&](std::string_view key) { return key.ends_with("." + o.path); });
    const auto near = whole.size() == 1 ? std::optional(whole.front()) : nearest(o.path, known);
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
