// Draws for random tests that are the same with every standard library: the generator is laid down by the standard, its
// distributions are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

namespace fabricast::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : numbers_(seed) {}

  /// 0 to bound - 1, each as likely as any other. \pre bound > 0
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = UINT64_MAX / bound * bound;
    std::uint64_t number = numbers_();
    while (number >= limit) number = numbers_();
    return number % bound;
  }
  int from_to(int least, int most) {
    return least + static_cast<int>(below(static_cast<std::uint64_t>(most - least + 1)));
  }
  /// Once in so many times.
  bool once_in(std::uint64_t times) { return below(times) == 0; }

  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }
  template <class List>
  const auto& one_from(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 numbers_;
};

}  // namespace fabricast::test
