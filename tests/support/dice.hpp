// What random tests draw, beside the numbers of Rng itself.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>

#include "fabricast/core/rng.hpp"

namespace fabricast::test {

inline int from_to(Rng& rng, int least, int most) {
  return least + static_cast<int>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}
/// Once in so many times.
inline bool once_in(Rng& rng, std::uint64_t times) { return rng.below(times) == 0; }

template <class T>
T one_of(Rng& rng, std::initializer_list<T> list) {
  return list.begin()[rng.below(list.size())];
}
template <class List>
const auto& one_from(Rng& rng, const List& list) {
  return list[rng.below(std::size(list))];
}

}  // namespace fabricast::test
