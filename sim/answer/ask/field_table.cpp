// Tables of keys for `list` and `describe`, from the fields of a scenario (core/field_tree.hpp). Keys that only some
// kinds of fabric, workload or routing have are found by assuming each word in turn, as for the JSON Schema.
#include "field_table.hpp"

#include <fmt/format.h>

#include <map>

#include "fabricast/scenario/schema.hpp"

namespace fabricast {

namespace {

bool is_leaf(const Field& field) { return field.type != FieldType::section && field.type != FieldType::list; }

void add_rows(const Field& section, const std::string& prefix, std::string& out) {
  for (const Field& field : section.parts) {
    if (field.type == FieldType::section) {
      add_rows(field, prefix + field.name + ".", out);
      continue;
    }
    const bool list = field.type == FieldType::list;
    const std::string value = list ? "[...]" : field.type == FieldType::map ? "{...}" : field.value;
    out += fmt::format("  {:<34} {:<14} {}", prefix + field.name, value, field.doc);
    if (!field.words.empty()) out += fmt::format(" ({})", fmt::join(field.words, " | "));
    out += "\n";
    if (list) add_rows(field.parts.front(), prefix + field.name + "[].", out);
  }
}

/// Keys by path, with the word that brings them in: empty if they are always there.
struct Found {
  Field field;
  std::string needs;
};
using FoundKeys = std::map<std::string, Found>;

// The first occurrence of a path stays, so the usual scenario decides about descriptions and defaults.
void collect(const Field& section, const std::string& path, const std::string& needs, FoundKeys& found) {
  for (const Field& field : section.parts) {
    const std::string at = child_path(path, field.name);
    found.try_emplace(at, Found{field, needs});
    if (!is_leaf(field)) collect(field, at, needs, found);
  }
}

/// Of all kinds of sections. A key that comes with several words is listed with the first of them.
FoundKeys all_keys() {
  FoundKeys found;
  collect(scenario_fields(), "", "", found);
  // Words bring in keys, some of which are words that bring in more.
  for (int depth = 0; depth < 2; ++depth) {
    const FoundKeys known = found;
    for (const auto& [path, key] : known) {
      if (key.field.type != FieldType::word || path.find('[') != std::string::npos) continue;
      for (const std::string& word : key.field.words) {
        ChosenWords chosen{{path, word}};
        // `workload.kind: inference` before `workload.load.arrivals: trace`.
        if (const auto colon = key.needs.find(": "); colon != std::string::npos)
          chosen[key.needs.substr(0, colon)] = key.needs.substr(colon + 2);
        collect(scenario_fields(chosen), "", fmt::format("{}: {}", path, word), found);
      }
    }
  }
  return found;
}

// A key may be named by its end, because users remember `switch.rate` and not the whole path.
bool is_named(const std::string& path, const std::string& name) {
  return path == name || path == name + "[]" || path.ends_with("." + name);
}

std::string text_of(const std::string& path, const Found& key) {
  const Field& field = key.field;
  std::string out = fmt::format("{}: {}\n", path, field.doc);
  if (!key.needs.empty()) out += fmt::format("  with     {}\n", key.needs);
  if (is_leaf(field)) {
    if (!field.value.empty()) out += fmt::format("  default  {}\n", field.value);
    std::string accepts =
        field.words.empty() ? limits_text(field.type, field.range) : fmt::format("{}", fmt::join(field.words, ", "));
    if (const auto units = units_of(field.type); !units.empty())
      accepts += fmt::format("{}units {}", accepts.empty() ? "" : "; ", fmt::join(units, ", "));
    if (!accepts.empty()) out += fmt::format("  accepts  {}\n", accepts);
    return out;
  }
  add_rows(field.type == FieldType::list ? field.parts.front() : field, "", out);
  return out;
}

}  // namespace

std::string table_of(const Field& section) {
  std::string out;
  add_rows(section, "", out);
  return out;
}

std::string describe_key(const std::string& name) {
  const FoundKeys keys = all_keys();
  if (const auto whole = keys.find(name); whole != keys.end()) return text_of(whole->first, whole->second);
  std::string out;
  for (const auto& [path, key] : keys)
    if (is_named(path, name)) out += text_of(path, key);
  return out;
}

}  // namespace fabricast
