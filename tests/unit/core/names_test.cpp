#include "fabricast/core/names.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {
namespace {

using Names = std::vector<std::string_view>;

TEST_CASE("optimal string alignment distance [Damerau1964]", "[core]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "ac") == 1);   // two neighbours swapped
  CHECK(edit_distance("ca", "abc") == 3);  // no substring is edited twice
  CHECK(edit_distance("fabric", "fabirc") == 1);
}

TEST_CASE("the nearest word, if it may be a typing mistake", "[core]") {
  const Names known = {"leaf_spine", "fat_tree", "rail_only", "file"};
  CHECK(nearest("leafspine", known) == "leaf_spine");
  CHECK(nearest("fat-tre", known) == "fat_tree");
  CHECK(nearest("fiel", known) == "file");
  CHECK_FALSE(nearest("dragonfly", known));
  CHECK_FALSE(nearest("ab", Names{"xy"}));
  CHECK(nearest("ab", Names{"ax", "ay"}) == "ax");  // the first of equals
  CHECK(nearest("FAT TREE", known) == "fat_tree");
  CHECK(nearest("a_b", Names{"A-B", "a_b"}) == "a_b");  // a known word itself
  CHECK(nearest("RoCEv2", Names{"infiniband", "roce"}) == "roce");
  CHECK(nearest("IB", Names{"infiniband", "roce"}) == "infiniband");
  CHECK_FALSE(nearest("IB", known));
  CHECK(suggestion("leafspine", known) == "did you mean 'leaf_spine'?");
  CHECK(suggestion("dragonfly", known) == "known: leaf_spine, fat_tree, rail_only, file");
  CHECK(join(known, "|") == "leaf_spine|fat_tree|rail_only|file");
}

enum class Colour { red, green };

}  // namespace

template <>
struct EnumNames<Colour> {
  static constexpr std::array<std::string_view, 2> names{"red", "green"};
};

namespace {

TEST_CASE("an enum and its words", "[core]") {
  CHECK(name_of(Colour::green) == "green");
  CHECK(enum_from<Colour>("red") == Colour::red);
  CHECK_FALSE(enum_from<Colour>("Red"));
  CHECK_FALSE(enum_from<Colour>(""));
}

TEST_CASE("a table of descriptors by name", "[core]") {
  struct Item {
    std::string_view name;
    int value;
  };
  const std::array table = {Item{"a", 1}, Item{"b", 2}};
  REQUIRE(find_by_name(table, "b"));
  CHECK(find_by_name(table, "b")->value == 2);
  CHECK_FALSE(find_by_name(table, "c"));
  CHECK(names_of(table) == Names{"a", "b"});
}

}  // namespace
}  // namespace fabricast
