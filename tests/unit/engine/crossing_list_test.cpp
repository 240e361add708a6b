#include "sim/engine/count/crossing_list.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "fabricast/core/rng.hpp"
#include "sim/engine/count/group_map.hpp"

namespace fabricast {
namespace {

using Counts = std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>>;

Counts counts_of(CrossingList& list, std::size_t channels) {
  list.sort();
  Counts counts;
  std::uint32_t last = 0;
  list.for_each(channels, [&](std::uint32_t resource, std::span<const std::uint64_t> crossed) {
    CHECK((counts.empty() || resource > last));
    last = resource;
    for (std::uint32_t c = 0; c < channels; ++c)
      if (crossed[c] > 0) counts[resource][c] = crossed[c];
  });
  return counts;
}

TEST_CASE("a list of crossings contains what was added, also after merging", "[engine]") {
  for (const std::size_t count : {10U, 5000U, 15'000'000U}) {
    CAPTURE(count);
    Rng rng(count);
    CrossingList all;
    Counts expected;
    for (std::uint32_t channel = 0; channel < 3; ++channel) {
      CrossingList list;
      for (std::size_t i = 0; i < count / 3; ++i) {
        const auto resource = static_cast<std::uint32_t>(rng.next() % 1000);
        const std::uint64_t crossed = i % 1000 == 0 ? std::uint64_t{1} << 30 : 1 + resource % 3;
        list.add(resource, channel, crossed);
        expected[resource][channel] += crossed;
      }
      all.append(list);
    }
    CHECK(counts_of(all, 3) == expected);
  }
}

TEST_CASE("a list does not grow if the same links are crossed again and again", "[engine]") {
  CrossingList list;
  for (std::uint32_t i = 0; i < 20'000'000; ++i) list.add(i % 1000, 0, 1);
  CHECK(list.size() < 5'000'000);
  const Counts counts = counts_of(list, 1);
  CHECK(counts.size() == 1000);
  CHECK(counts.at(7).at(0) == 20'000);
}

TEST_CASE("resources are found in their groups, few or many", "[engine]") {
  for (const std::uint32_t resources : {1U, 100U, 6'300'000U})
    for (const std::uint32_t every : {1U, 7U, 100'000U}) {
      CAPTURE(resources, every);
      const std::uint32_t count = (resources + every - 1) / every;
      GroupMap map(resources, count);
      // Clustered, as ports of a job's nodes are: half of them one after the other.
      const auto resource_of = [&](std::uint32_t i) { return i < count / 2 ? i : i * every; };
      for (std::uint32_t i = 0; i < count; ++i) map.put(resource_of(i), i % 5);
      map.close();
      std::uint32_t i = 0, wrong = 0;
      for (std::uint32_t r = 0; r < resources; ++r) {
        const bool is_in = i < count && r == resource_of(i);
        wrong += map.find(r) != (is_in ? i % 5 : no_group);
        i += is_in;
      }
      CHECK(wrong == 0);
      std::uint32_t seen = 0;
      map.for_each([&](std::uint32_t r, std::uint32_t group) {
        wrong += r != resource_of(seen) || group != seen % 5;
        ++seen;
      });
      CHECK(seen == count);
      CHECK(wrong == 0);
    }
  GroupMap none(1000, 0);
  none.close();
  CHECK(none.find(3) == no_group);
}

}  // namespace
}  // namespace fabricast
