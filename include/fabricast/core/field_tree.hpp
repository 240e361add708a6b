// The fields of a spec as a plain value: what `describe` prints, editors check, and completion offers.
//
// A spec is visited once; what comes out names every key with its type, meaning, limits, words and default. Which keys
// a section has may depend on a word in it (fabric.kind, workload.kind): `chosen` says which word to assume, as if the
// file gave it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/fields.hpp"

namespace fabricast {

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

struct Field {
  std::string name;  ///< empty: the element of a list
  std::string doc;
  FieldType type = FieldType::section;
  Range range;
  std::vector<std::string> words;  ///< of a word
  std::string value;               ///< what the spec holds, as it is written in a file; of single values
  std::vector<Field> parts;        ///< of a section its keys in order; of a list its one kind of element

  /// The field at a path such as `fabric.switch.ports` below this one, or null. An element of a list is `faults[]`.
  const Field* find(std::string_view path) const;
};

/// Where a part of a field is: `switch` below `fabric` is `fabric.switch`; without a name, the element of a list, `faults[]`.
std::string child_path(const std::string& path, const std::string& name);

/// Words to assume, by path.
using ChosenWords = std::map<std::string, std::string>;

class FieldTree final : public FieldVisitor {
 public:
  explicit FieldTree(ChosenWords chosen = {}) : chosen_(std::move(chosen)) { open_.push_back({}); }

  void scalar(const FieldInfo& info, ScalarRef value) override;
  bool enter(const FieldInfo& info) override;
  void leave() override;
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override;
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override;

  /// The section that was visited.
  Field take() { return std::move(open_.front()); }

 private:
  Field begin(const FieldInfo& info, FieldType type);
  std::string path(std::string_view name) const;
  ChosenWords chosen_;
  std::vector<Field> open_;  ///< the sections around, outermost first
  std::vector<std::string> paths_;
};

/// Every field below `tree` that holds a single value, a list of such or a map, with its path.
std::vector<std::pair<std::string, const Field*>> leaves(const Field& tree);

/// The units that a quantity of this type may be written in; none of others.
std::vector<std::string_view> units_of(FieldType type);

/// Limits in words, as they are written in a file: "at least 1", "between 1Mbps and 1000Tbps"; empty: there are none.
std::string limits_text(FieldType type, const Range& range);

/// The type of a field that is held as a T.
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
