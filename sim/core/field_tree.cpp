// A FieldVisitor that records the keys of a spec with types, limits, defaults and descriptions: the source of the JSON
// schema and of the documentation of keys.
#include "fabricast/core/field_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return value;
  else if constexpr (std::is_same_v<T, Ratio>)
    return fmt::format("{}", value.value);
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return to_text(value);
}

// Sections and lists of sections contain keys; everything else is a key itself. `[]` in a path stands for any element.
void collect(const Field& field, const std::string& path, std::vector<std::pair<std::string, const Field*>>& all) {
  const bool of_sections = field.type == FieldType::list && field.parts.front().type == FieldType::section;
  if (field.type != FieldType::section && !of_sections) return all.emplace_back(path, &field), void();
  for (const Field& part : of_sections ? field.parts.front().parts : field.parts)
    collect(part, path + (path.empty() ? "" : of_sections ? "[]." : ".") + part.name, all);
}

/// A limit in SI units, in the units of a file.
std::string limit_text(FieldType type, double si) {
  switch (type) {
    case FieldType::bytes: return to_text(Bytes{static_cast<std::int64_t>(si)});
    case FieldType::time: return to_text(Seconds{si});
    case FieldType::rate: return to_text(BytesPerSecond{si});
    case FieldType::length: return to_text(Metres{si});
    case FieldType::power: return to_text(Watts{si});
    default: return fmt::format("{}", si);
  }
}

}  // namespace

std::string limits_text(FieldType type, const Range& range) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (range.low == -infinity && range.high == infinity) return {};
  if (range.low == range.high) return "write " + limit_text(type, range.low);
  if (range.high == infinity) return "at least " + limit_text(type, range.low);
  if (range.low == -infinity) return "at most " + limit_text(type, range.high);
  return fmt::format("between {} and {}", limit_text(type, range.low), limit_text(type, range.high));
}

// One name of the path at a time; the rest is looked up in the part that has it.
const Field* Field::find(std::string_view path) const {
  if (path.empty()) return this;
  const std::string_view head = path.substr(0, path.find('.'));
  const std::string_view rest = head.size() < path.size() ? path.substr(head.size() + 1) : std::string_view();
  const bool element = head.ends_with("[]");
  const auto it = std::find_if(parts.begin(), parts.end(), [&](const Field& part) {
    return part.name == head.substr(0, head.size() - (element ? 2 : 0));
  });
  if (it == parts.end() || (element && it->type != FieldType::list)) return nullptr;
  return element ? it->parts.front().find(rest) : it->find(rest);
}

std::vector<std::pair<std::string, const Field*>> leaves(const Field& tree) {
  std::vector<std::pair<std::string, const Field*>> all;
  collect(tree, "", all);
  return all;
}

Field FieldTree::begin(const FieldInfo& info, FieldType type) {
  Field field;
  field.name = info.name;
  field.doc = info.doc;
  field.range = info.range;
  field.type = type;
  return field;
}

std::string FieldTree::path(std::string_view name) const {
  const std::string around = paths_.empty() ? std::string() : paths_.back();
  if (name.empty()) return around + "[]";
  return around.empty() ? std::string(name) : around + "." + std::string(name);
}

void FieldTree::scalar(const FieldInfo& info, ScalarRef value) {
  Field field = std::visit(
      [&](auto ref) {
        if constexpr (std::is_same_v<decltype(ref), WordRef>) {
          // A word: its list, and the current one as the default.
          Field made = begin(info, FieldType::word);
          made.words = {ref.words.begin(), ref.words.end()};
          // Some words decide which keys exist (`fabric.kind`). The caller chooses them, and the visit continues with
          // that choice.
          if (const auto it = chosen_.find(path(info.name)); it != chosen_.end()) {
            const auto word = std::find(ref.words.begin(), ref.words.end(), it->second);
            FABRICAST_CHECK(word != ref.words.end(), it->second);
            ref.set(ref.target, static_cast<std::size_t>(word - ref.words.begin()));
          }
          made.value = ref.words[ref.get(ref.target)];
          return made;
        } else {
          Field made = begin(info, field_type_of<std::remove_pointer_t<decltype(ref)>>());
          made.value = text_of(*ref);
          return made;
        }
      },
      value);
  open_.back().parts.push_back(std::move(field));
}

bool FieldTree::enter(const FieldInfo& info) {
  paths_.push_back(path(info.name));
  open_.push_back(begin(info, FieldType::section));
  return true;
}

void FieldTree::leave() {
  Field done = std::move(open_.back());
  open_.pop_back();
  paths_.pop_back();
  open_.back().parts.push_back(std::move(done));
}

std::size_t FieldTree::enter_list(const FieldInfo& info, std::size_t) {
  paths_.push_back(path(info.name));
  open_.push_back(begin(info, FieldType::list));
  return 1;  // one element, which shows its keys
}

void FieldTree::string_map(const FieldInfo& info, std::map<std::string, std::string>&) {
  open_.back().parts.push_back(begin(info, FieldType::map));
}

std::string child_path(const std::string& path, const std::string& name) {
  return path.empty() ? name : name.empty() ? path + "[]" : path + "." + name;
}

}  // namespace fabricast
