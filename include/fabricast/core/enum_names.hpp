// One spelling: enumerator = YAML word = CLI word = report word.
//
// An enum takes part by specialising EnumNames with a constexpr array of words in enumerator order.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace fabricast {

template <class E>
struct EnumNames;  // specialise: static constexpr std::array<std::string_view, N> names{...};

template <class E>
concept NamedEnum = requires {
  EnumNames<E>::names.size();
};

template <NamedEnum E>
constexpr std::string_view name_of(E e) {
  return EnumNames<E>::names[static_cast<std::size_t>(e)];
}

template <NamedEnum E>
constexpr std::optional<E> enum_from(std::string_view word) {
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i)
    if (EnumNames<E>::names[i] == word) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace fabricast
