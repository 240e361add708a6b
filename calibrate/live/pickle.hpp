// Pickles as data: a small interpreter of the opcodes that build numbers, texts, lists, tuples and dictionaries.
//
// A pickle is a program, and Python's own loader runs whatever it names. This one knows no opcode that names or calls
// anything; a pickle with one is refused. Hostile input is bounded: by its length, the number of values, and because
// values refer to each other by number and are never copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast::live {

struct PickleValue {
  enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, dictionary };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  ///< also 0 and 1 of a boolean
  double real = 0;
  std::string_view text;             ///< refers to the bytes of the pickle
  std::vector<std::uint32_t> items;  ///< of lists and tuples: values; of dictionaries: key, value, key, value
};

/// All values of a pickle. The last statement about a key counts.
struct Pickle {
  std::vector<PickleValue> values;
  std::uint32_t root = 0;

  const PickleValue& at(std::uint32_t number) const { return values[number]; }
  const PickleValue& top() const { return values[root]; }
  /// The value of a key of a dictionary. Null if there is none, or if `of` is no dictionary.
  const PickleValue* find(const PickleValue& of, std::string_view key) const;
};

struct PickleResult {
  std::optional<Pickle> pickle;  ///< null: `error` says why
  Pickle part;                   ///< if there is an error: the values that were built before it, with no root
  std::string error;
  std::size_t offset = 0;  ///< of the opcode that cannot be read
};

/// \param bytes  must outlive the result
PickleResult read_pickle(std::string_view bytes);

}  // namespace fabricast::live
