// The fields of a spec as a plain value: `describe` prints it, the JSON Schema and shell completion are made from it.
//
// A FieldTree visits a spec once and records every key with its type, meaning, limits, words and default. Which keys a
// section has may depend on a word in it (`fabric.kind`, `workload.kind`). The `chosen` words are assumed as if the
// file gave them, so a caller sees all keys by trying all words.
//
// Limits are in SI units, as in core/fields.hpp. A list is recorded with exactly one element, which shows the keys of
// its elements. Not recorded: which keys are required, and constraints between keys.
//
//   TrainingSpec spec;
//   FieldTree tree;
//   visit_fields(tree, spec);
//   for (const auto& [path, field] : leaves(tree.take())) ...   // keep the tree alive: the pointers are into it
//
// Free functions are pure and safe to call concurrently; use a FieldTree from one thread at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/fields.hpp"

namespace fabricast {

/// What a field holds, and how a file writes it. The units are those of core/quantity.hpp.
enum class FieldType {
  section,  ///< keys of its own
  list,     ///< elements of one type, which are single values or sections
  map,      ///< free keys, each with a text
  word,     ///< one of a closed list
  boolean,  ///< `true` or `false`
  integer,  ///< int or int64, no unit
  number,   ///< finite double, no unit; with Range::proportion also `2:1`
  ratio,    ///< `10%` or `0.1`
  text,     ///< anything
  bytes,    ///< whole, with a unit: `4MiB`
  time,     ///< with a unit: `250ns`
  rate,     ///< with a unit: `400Gbps`
  length,   ///< with a unit: `20m`
  power     ///< with a unit: `700W`
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

  /// The field at a path such as `fabric.switch.ports` below this one, or null. `faults[]` is the element of a list. An
  /// empty path is this field. The pointer is into this tree. Takes time in the number of keys of each section on the
  /// way.
  const Field* find(std::string_view path) const;
};

/// The path of a part of a field: `switch` below `fabric` is `fabric.switch`. An empty name is the element of a list:
/// `faults[]`.
std::string child_path(const std::string& path, const std::string& name);

/// Words to assume, by path: `{"workload.kind", "inference"}`.
using ChosenWords = std::map<std::string, std::string>;

/// The visitor that records fields. Use: construct, call `visit_fields(tree, spec)`, then `take()` once.
/// Visiting sets the chosen words in the spec, and gives each list of the spec one element. So visit a copy.
class FieldTree final : public FieldVisitor {
 public:
  /// \pre each chosen word is a word of its field; otherwise the visit throws InternalError. A path that the spec does
  ///      not have, or whose field is not a word, is ignored
  explicit FieldTree(ChosenWords chosen = {}) : chosen_(std::move(chosen)) { open_.push_back({}); }

  // The calls of visit_fields (core/fields.hpp). None of them reads a file or checks a limit.
  void scalar(const FieldInfo& info, ScalarRef value) override;
  bool enter(const FieldInfo& info) override;
  void leave() override;
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override;
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override;

  /// The visited spec as a section without a name. \pre every section that was entered was left again
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

/// The units that a quantity of this type accepts, for messages; empty if the type has no units.
std::vector<std::string_view> units_of(FieldType type);
/// The same for the pattern in the JSON Schema, with units that are read and not shown: small letters of bytes, as
/// nccl-tests accepts them.
std::vector<std::string_view> accepted_units_of(FieldType type);

/// Limits as text in the units of a file: "at least 1", "between 1Mbps and 1000Tbps", "write 1" if only one value is
/// allowed. Empty if there are no limits. A range with an upper limit only reads "between -inf and ...": give both.
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
