// Reads keys of a JSON file that someone else wrote: a property may have one of several keys, and null counts as
// absent. Errors carry the file, line and column of the key.
#include "json_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/hardware/json_text.hpp"

namespace fabricast {

JsonKeys::JsonKeys(const std::string& text, std::string file)
    : text_(text), file_(std::move(file)), root_(parse_json_text(text_, file_)), here_(&root_) {
  if (!root_.is_object())
    throw UserError({Diagnostic{Diagnostic::Severity::error, {file_, 1, 1, 1}, {}, "must be a JSON object", {}}});
}

// Multimodal models keep the dimensions of the language model in an object of their own.
void JsonKeys::go_into(std::string_view key, std::string_view has) {
  const nlohmann::json* inside = find(key);
  if (!inside || !inside->is_object() || !inside->contains(has)) return;
  here_ = inside;
  prefix_ = fmt::format("{}{}.", prefix_, key);
}

// Dots separate the keys of nested objects.
const nlohmann::json* JsonKeys::find(std::string_view key) const {
  const nlohmann::json* j = here_;
  while (true) {
    const auto dot = key.find('.');
    const auto it = j->is_object() ? j->find(key.substr(0, dot)) : j->end();
    if (!j->is_object() || it == j->end() || it->is_null()) return nullptr;
    if (dot == std::string_view::npos) return &*it;
    j = &*it;
    key = key.substr(dot + 1);
  }
}

void JsonKeys::refuse(std::string_view key, std::string message, std::string hint) {
  Diagnostic d;
  d.path = fmt::format("{}{}", prefix_, key);
  d.where = key_place(file_, text_, d.path);
  d.message = std::move(message);
  d.hint = std::move(hint);
  faults_.push_back(std::move(d));
}

std::optional<std::int64_t> JsonKeys::integer(const Keys& keys, std::int64_t low, std::int64_t high) {
  const std::string_view key = first_of(keys);
  if (key.empty()) return std::nullopt;
  const nlohmann::json& j = *find(key);
  // Whole numbers may be written as 4096.0. NaN fails the comparison, so it covers everything that is not a number.
  const double value = j.is_number() ? j.get<double>() : NAN;
  if (!(value == std::floor(value)))
    refuse(key, fmt::format("must be a whole number, not {}", j.dump().substr(0, 40)));
  else if (value < static_cast<double>(low) || value > static_cast<double>(high))
    refuse(key, fmt::format("{} is out of range", j.dump()), fmt::format("{} to {}", low, high));
  else
    return static_cast<std::int64_t>(value);
  return std::nullopt;
}

std::optional<bool> JsonKeys::boolean(std::string_view key) {
  const nlohmann::json* j = find(key);
  if (!j) return std::nullopt;
  if (j->is_boolean()) return j->get<bool>();
  refuse(key, fmt::format("must be true or false, not {}", j->dump().substr(0, 40)));
  return std::nullopt;
}

std::optional<std::string> JsonKeys::word(std::string_view key) {
  const nlohmann::json* j = find(key);
  if (!j) return std::nullopt;
  if (j->is_string()) return j->get<std::string>();
  refuse(key, fmt::format("must be a string, not {}", j->dump().substr(0, 40)));
  return std::nullopt;
}

std::optional<std::vector<std::string>> JsonKeys::words(std::string_view key) {
  const nlohmann::json* j = find(key);
  if (!j) return std::nullopt;
  if (j->is_array() && std::all_of(j->begin(), j->end(), [](const auto& x) { return x.is_string(); }))
    return j->get<std::vector<std::string>>();
  refuse(key, "must be a list of strings");
  return std::nullopt;
}

// Keys are in the order of preference: a file may have several of them.
std::string_view JsonKeys::first_of(const Keys& keys) const {
  for (const std::string_view key : keys)
    if (find(key)) return key;
  return {};
}

}  // namespace fabricast
