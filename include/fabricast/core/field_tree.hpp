// The fields of a spec as a plain value: `describe` prints it, the JSON Schema and shell completion are made from it.
//
// A FieldTree visits a spec once and records every key with its type, meaning, limits, words and default. Which keys a
// section has may depend on a word in it (`fabric.kind`, `workload.kind`). The `chosen` words are assumed as if the
// file gave them, so a caller sees all keys by trying all words.
//
// Limits are in SI units, as in core/fields.hpp. A list is recorded with exactly one element, which shows the keys of
// its elements. Not recorded: which keys are required, and constraints between keys.
//
// Free functions are pure and safe to call concurrently; use a FieldTree from one thread at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/fields.hpp"

namespace fabricast {

/// What a field holds, and how a file writes it.
enum class FieldType {
  section,
  list,
  map,
  word,
  boolean,
  integer,
  number,
  ratio,
  text,
  bytes,
  time,
  rate,
  length,
  power
};
template <>
struct EnumNames<FieldType> {
  static constexpr std::array<std::string_view, 14> names{"section", "list",   "map",    "word", "boolean",
                                                          "integer", "number", "ratio",  "text", "bytes",
                                                          "time",    "rate",   "length", "power"};
};

/// A key with everything below it.
struct Field {
  std::string name;  ///< empty for the element of a list
  std::string doc;   ///< one line on its meaning
  FieldType type = FieldType::section;
  Range range;                     ///< SI units; unlimited unless the spec says otherwise
  std::vector<std::string> words;  ///< for a word: the closed list
  std::string value;               ///< for a single value: what the spec holds, as a file writes it
  std::vector<Field> parts;        ///< for a section: its keys in order; for a list: its element

  /// The field at a path such as `fabric.switch.ports` below this one, or null. `faults[]` is the element of a list.
  const Field* find(std::string_view path) const;
};

/// The path of a part of a field: `switch` below `fabric` is `fabric.switch`. An empty name is the element of a list:
/// `faults[]`.
std::string child_path(const std::string& path, const std::string& name);

/// Words to assume, by path: `{"workload.kind", "inference"}`.
using ChosenWords = std::map<std::string, std::string>;

/// The visitor that records fields. Use: construct, call `visit_fields(tree, spec)`, then `take()` once.
/// Visiting sets the chosen words in the spec.
class FieldTree final : public FieldVisitor {
 public:
  /// \pre each chosen word is a word of its field; otherwise the visit throws InternalError
  explicit FieldTree(ChosenWords chosen = {}) : chosen_(std::move(chosen)) { open_.push_back({}); }

  void scalar(const FieldInfo& info, ScalarRef value) override;
  bool enter(const FieldInfo& info) override;
  void leave() override;
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override;
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override;

  /// The visited spec as a section without a name.
  Field take() { return std::move(open_.front()); }

 private:
  Field begin(const FieldInfo& info, FieldType type);
  std::string path(std::string_view name) const;
  ChosenWords chosen_;
  std::vector<Field> open_;  ///< the enclosing sections, outermost first
  std::vector<std::string> paths_;
};

/// Every field below `tree` that holds a single value, a list of single values or a map, with its path. The pointers
/// are into `tree`.
std::vector<std::pair<std::string, const Field*>> leaves(const Field& tree);

/// The units that a quantity of this type accepts; empty if the type has no units.
std::vector<std::string_view> units_of(FieldType type);

/// Limits as text in the units of a file: "at least 1", "between 1Mbps and 1000Tbps", "write 1" if only one value is
/// allowed. Empty if there are no limits.
std::string limits_text(FieldType type, const Range& range);

/// The field type of a C++ type. Types without one of their own, such as std::string, are text.
template <class T>
constexpr FieldType field_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return FieldType::boolean;
  else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::int64_t>)
    return FieldType::integer;
  else if constexpr (std::is_same_v<T, double>)
    return FieldType::number;
  else if constexpr (std::is_same_v<T, Ratio>)
    return FieldType::ratio;
  else if constexpr (std::is_same_v<T, Bytes>)
    return FieldType::bytes;
  else if constexpr (std::is_same_v<T, Seconds>)
    return FieldType::time;
  else if constexpr (std::is_same_v<T, BytesPerSecond>)
    return FieldType::rate;
  else if constexpr (std::is_same_v<T, Metres>)
    return FieldType::length;
  else if constexpr (std::is_same_v<T, Watts>)
    return FieldType::power;
  else
    return FieldType::text;
}

}  // namespace fabricast
