// JSON as YAML in block style. Keys are our own words and need no quotes. Texts are in double quotes, where YAML has
// the same escapes as JSON.
#include <nlohmann/json.hpp>

#include "../common/json_parts.hpp"
#include "fabricast/gate/gate.hpp"

namespace fabricast {

namespace {

/// A scalar without characters that YAML treats specially: U+2028 and U+2029 are line breaks in YAML 1.1, and C1
/// control characters (U+0080 to U+009F) are not printable.
std::string scalar_text(const Json& value) {
  std::string out = value.dump();
  for (const std::string_view end : {"\xe2\x80\xa8", "\xe2\x80\xa9"})
    for (std::size_t at = 0; (at = out.find(end)) != std::string::npos;) out.replace(at, end.size(), " ");
  for (std::size_t i = 0; i + 1 < out.size(); ++i)
    if (out[i] == '\xc2' && static_cast<unsigned char>(out[i + 1]) < 0xa0) out.replace(i, 2, " ");
  return out;
}

/// Writes the value after a key or a dash: on the same line, or on the lines below.
void write_value(const Json& value, std::size_t depth, std::string& out);

void write_pairs(const Json& map, std::size_t depth, bool first_is_placed, std::string& out) {
  for (const auto& [key, value] : map.items()) {
    if (!first_is_placed) out += std::string(depth, ' ');
    first_is_placed = false;
    out += key + ":";
    write_value(value, depth, out);
  }
}

void write_value(const Json& value, std::size_t depth, std::string& out) {
  constexpr std::size_t step = 2;
  if (!value.is_structured() || value.empty()) {
    // Empty lists and maps are scalars here: [] and {} are the same in both languages.
    out += " " + scalar_text(value) + "\n";
    return;
  }
  out += "\n";
  if (value.is_object()) {
    write_pairs(value, depth + step, false, out);
    return;
  }
  for (const Json& item : value) {
    out += std::string(depth + step, ' ') + "-";
    if (item.is_object() && !item.empty()) {
      out += " ";
      write_pairs(item, depth + 2 * step, true, out);
    } else {
      write_value(item, depth + step, out);
    }
  }
}

}  // namespace

std::string yaml_of_json(const std::string& json) {
  std::string out;
  write_pairs(Json::parse(json), 0, false, out);
  return out;
}

}  // namespace fabricast
