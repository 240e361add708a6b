#include "sim/engine/count/channel_planes.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "fabricast/core/rng.hpp"
#include "sim/engine/count/group_table.hpp"

namespace fabricast {
namespace {

TEST_CASE("eight words of eight bytes are transposed", "[engine]") {
  std::array<std::uint64_t, 8> rows{};
  for (std::uint64_t r = 0; r < 8; ++r)
    for (std::uint64_t c = 0; c < 8; ++c) rows[r] |= (10 * r + c) << 8 * c;
  turn(rows);
  for (std::uint64_t r = 0; r < 8; ++r)
    for (std::uint64_t c = 0; c < 8; ++c) CHECK((rows[r] >> 8 * c & 0xFF) == 10 * c + r);
}

/// Adds random counts and reads them back.
template <std::size_t W>
void check_planes(std::size_t channels) {
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
  auto next = expected.begin();
  planes.for_each<W>([&](std::uint32_t resource, const CountRow<W>& counts) {
    REQUIRE(next != expected.end());
    CHECK(resource == next->first);
    for (std::size_t c = 0; c < channels; ++c) CHECK(count_of(counts, c) == next->second[c]);
    ++next;
  });
  CHECK(next == expected.end());
}

TEST_CASE("planes contain what was added, in ascending order of resources", "[engine]") {
  for (const std::size_t channels : {1U, 7U, 8U}) check_planes<1>(channels);
  check_planes<2>(16), check_planes<4>(24), check_planes<8>(64);
}

TEST_CASE("links of one kind with equal counts share an entry", "[engine]") {
  GroupTable<2> table;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::pair<std::uint32_t, std::uint32_t>> expected;
  Rng rng(1);
  for (int i = 0; i < 50'000; ++i) {
    const CountRow<2> counts{rng.below(100), rng.below(100) << 56};
    const std::uint64_t kind = rng.below(2), hash = table.hash_of(counts, kind);
    table.expect(hash);
    auto& entry = table.find_or_add(hash, counts, kind);
    const auto [it, fresh] = expected.try_emplace({counts[0], counts[1], kind}, expected.size(), 0);
    REQUIRE(fresh == (entry.group == no_group));
    if (fresh) entry.group = it->second.first;
    REQUIRE(entry.group == it->second.first);
    ++entry.members, ++it->second.second;
  }
  std::size_t seen = 0;
  table.for_each([&](const auto& entry) {
    const auto& [group, members] = expected.at({entry.counts[0], entry.counts[1], entry.kind});
    CHECK((entry.group == group && entry.members == members));
    ++seen;
  });
  CHECK(seen == expected.size());
}

TEST_CASE("a count that does not fit in a byte is rejected", "[engine]") {
  ChannelPlanes planes(0, 8, 1);
  CHECK(planes.add(0, 3, 255));
  CHECK_FALSE(planes.add(0, 3, 1));
  CHECK(planes.add(0, 4, 1));
  CHECK_FALSE(planes.add(0, 4, std::uint64_t{1} << 40));
}

}  // namespace
}  // namespace fabricast
