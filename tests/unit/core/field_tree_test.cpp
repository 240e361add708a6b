#include "fabricast/core/field_tree.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

enum class Shape { round, square };
template <>
struct EnumNames<Shape> {
  static constexpr std::array<std::string_view, 2> names{"round", "square"};
};

namespace {

using namespace literals;

struct HoleSpec {
  Metres depth = 2_m;
};
void visit_fields(FieldVisitor& visit, HoleSpec& spec) { visit("depth", spec.depth, "how deep", between(0, 10)); }

struct TableSpec {
  Shape shape = Shape::square;
  int edge = 3;
  double radius = 1.5;
  Ratio gloss{0.25};
  BytesPerSecond rate = 400_Gbps;
  std::string name = "oak";
  bool old = true;
  std::vector<int> legs{1, 2};
  std::vector<HoleSpec> holes;
  std::map<std::string, std::string> notes;
};
void visit_fields(FieldVisitor& visit, TableSpec& spec) {
  visit("shape", spec.shape, "seen from above");
  if (spec.shape == Shape::square) visit("edge", spec.edge, "length", at_least(1));
  if (spec.shape == Shape::round) visit("radius", spec.radius, "half of it");
  visit("gloss", spec.gloss, "shine", between(0, 1));
  visit("rate", spec.rate, "of use", line_rates);
  visit("name", spec.name, "its name");
  visit("old", spec.old, "its age");
  visit("legs", spec.legs, "their numbers");
  visit("holes", spec.holes, "of worms");
  visit("notes", spec.notes, "of the owner");
}

Field tree_of(const ChosenWords& chosen = {}) {
  TableSpec spec;
  FieldTree tree(chosen);
  visit_fields(tree, spec);
  return tree.take();
}

TEST_CASE("the tree of fields has types, defaults, limits and words") {
  const Field tree = tree_of();
  const auto is = [&](const char* path, FieldType type, const char* value) {
    const Field* field = tree.find(path);
    INFO(path);
    REQUIRE(field);
    CHECK(field->type == type);
    CHECK(field->value == value);
  };
  is("shape", FieldType::word, "square"), is("edge", FieldType::integer, "3"), is("gloss", FieldType::ratio, "0.25");
  is("rate", FieldType::rate, "400Gbps"), is("name", FieldType::text, "oak"), is("old", FieldType::boolean, "true");
  is("legs", FieldType::list, ""), is("legs[]", FieldType::integer, "1"), is("holes[].depth", FieldType::length, "2m");
  is("notes", FieldType::map, "");
  CHECK(tree.find("shape")->words == std::vector<std::string>{"round", "square"});
  CHECK(tree.find("edge")->doc == "length");
  CHECK(tree.find("edge")->range.low == 1);
  CHECK_FALSE(tree.find("radius"));
  CHECK_FALSE(tree.find("edge[]"));
  CHECK_FALSE(tree.find("holes[].width"));
}

TEST_CASE("a chosen word shows the fields that depend on it") {
  const Field tree = tree_of({{"shape", "round"}});
  CHECK(tree.find("shape")->value == "round");
  CHECK(tree.find("radius"));
  CHECK_FALSE(tree.find("edge"));
}

TEST_CASE("leaves are single values, lists of them, maps, and the keys of list elements") {
  const Field tree = tree_of();
  std::vector<std::string> paths;
  for (const auto& [path, field] : leaves(tree)) paths.push_back(path);
  CHECK(paths ==
        std::vector<std::string>{"shape", "edge", "gloss", "rate", "name", "old", "legs", "holes[].depth", "notes"});
}

TEST_CASE("limits are written in the units of a file") {
  const Field tree = tree_of();
  const auto limits = [&](const char* path) { return limits_text(tree.find(path)->type, tree.find(path)->range); };
  CHECK(limits("edge") == "at least 1");
  CHECK(limits("holes[].depth") == "between 0m and 10m");
  CHECK(limits("rate") == "between 1Mbps and 1000Tbps");
  CHECK(limits("name").empty());
}

TEST_CASE("every listed unit is accepted") {
  const auto all = [](FieldType type, auto parse) {
    CHECK_FALSE(units_of(type).empty());
    for (const std::string_view unit : units_of(type)) CHECK(parse("2" + std::string(unit)).error == "");
  };
  all(FieldType::bytes, parse_bytes), all(FieldType::time, parse_seconds), all(FieldType::rate, parse_rate);
  all(FieldType::length, parse_metres), all(FieldType::power, parse_watts);
  CHECK(units_of(FieldType::integer).empty());
}

}  // namespace
}  // namespace fabricast
