// One spelling per enumerator: the YAML word, the command-line word and the word in reports are the same.
//
// An enum takes part by specializing EnumNames with a constexpr array of words in enumerator order:
//
//   enum class Color { red, green };
//   template <>
//   struct EnumNames<Color> {
//     static constexpr std::array<std::string_view, 2> names{"red", "green"};
//   };
//
// Enumerators must count from 0 without gaps, because a word's index is the enumerator's value. The words are part of
// the file formats: renaming one breaks scenarios, and reordering them changes what they mean.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace fabricast {

/// The words of an enum. Specializations define `static constexpr std::array<std::string_view, N> names`.
template <class E>
struct EnumNames;

/// An enum with a specialization of EnumNames. Fields of such a type read and write as words (core/fields.hpp).
template <class E>
concept NamedEnum = requires {
  EnumNames<E>::names.size();
};

/// The word of an enumerator.
/// \pre `e` is one of the named enumerators
template <NamedEnum E>
constexpr std::string_view name_of(E e) {
  return EnumNames<E>::names[static_cast<std::size_t>(e)];
}

/// The enumerator of a word, or nothing if the enum has no such word. Case matters.
template <NamedEnum E>
constexpr std::optional<E> enum_from(std::string_view word) {
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i)
    if (EnumNames<E>::names[i] == word) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace fabricast
