#include "sim/engine/flow/channel_planes.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "fabricast/core/rng.hpp"
#include "sim/engine/flow/row_numbers.hpp"

namespace fabricast {
namespace {

TEST_CASE("eight words of eight bytes are turned over their diagonal", "[engine]") {
  std::array<std::uint64_t, 8> rows{};
  for (std::uint64_t r = 0; r < 8; ++r)
    for (std::uint64_t c = 0; c < 8; ++c) rows[r] |= (10 * r + c) << 8 * c;
  turn(rows);
  for (std::uint64_t r = 0; r < 8; ++r)
    for (std::uint64_t c = 0; c < 8; ++c) CHECK((rows[r] >> 8 * c & 0xFF) == 10 * c + r);
}

TEST_CASE("planes hold what was added, by rising resource, and number what is alike", "[engine]") {
  for (const std::size_t channels : {1U, 7U, 8U, 16U, 24U, 64U}) {
    CAPTURE(channels);
    constexpr std::uint32_t first = 101, resources = 1234;
    ChannelPlanes planes(first, resources, channels);
    std::map<std::uint32_t, std::map<std::size_t, double>> expected;
    Rng rng(channels);
    for (int i = 0; i < 3000; ++i) {
      const auto channel = static_cast<std::size_t>(rng.uniform() * static_cast<double>(channels));
      const auto r = first + static_cast<std::uint32_t>(rng.uniform() * rng.uniform() * (resources - first));
      REQUIRE(planes.add(channel, r, 2));
      expected[r][channel] += 2;
    }
    RowNumbers<std::uint64_t> seen((channels + 7) / 8);
    std::map<std::map<std::size_t, double>, std::uint32_t> numbers;
    auto next = expected.begin();
    planes.for_each([&](std::uint32_t resource, const ChannelPlanes::Counts& counts) {
      REQUIRE(next != expected.end());
      CHECK(resource == next->first);
      for (std::size_t c = 0; c < channels; ++c) CHECK(ChannelPlanes::count_of(counts, c) == next->second[c]);
      const auto [number, fresh] = seen.find_or_add(counts);
      const auto [known, added] = numbers.try_emplace(next->second, number);
      CHECK(fresh == added);
      CHECK(known->second == number);
      ++next;
    });
    CHECK(next == expected.end());
  }
}

TEST_CASE("what does not go into a byte is refused", "[engine]") {
  ChannelPlanes planes(0, 8, 1);
  CHECK(planes.add(0, 3, 255));
  CHECK_FALSE(planes.add(0, 3, 1));
  CHECK(planes.add(0, 4, 1));
  CHECK_FALSE(planes.add(0, 4, std::uint64_t{1} << 40));
}

}  // namespace
}  // namespace fabricast
