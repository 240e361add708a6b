// Trees of YAML against the nodes of yaml-cpp: the same kinds, texts, positions and aliases.
#include <catch2/catch.hpp>

#include "fabricast/core/rng.hpp"
#include "sim/scenario/yaml_reader.hpp"

namespace fabricast {
namespace {

/// Compares what both give, to a depth, since a list may contain itself.
void expect_same(const YamlView& ours, const YAML::Node& theirs, int depth = 8) {
  const YamlView view(theirs);
  REQUIRE(ours.defined() == theirs.IsDefined());
  REQUIRE(ours.null() == theirs.IsNull());
  REQUIRE(ours.scalar() == theirs.IsScalar());
  REQUIRE(ours.sequence() == theirs.IsSequence());
  REQUIRE(ours.map() == theirs.IsMap());
  CHECK(ours.position() == (std::pair{theirs.Mark().line + 1, theirs.Mark().column + 1}));
  CHECK(ours.position() == view.position());
  if (theirs.IsScalar()) {
    CHECK(ours.text() == theirs.Scalar());
    CHECK(view.text() == theirs.Scalar());
  }
  if (!theirs.IsSequence() && !theirs.IsMap()) return;
  REQUIRE(ours.size() == theirs.size());
  REQUIRE(view.size() == theirs.size());
  if (depth == 0) return;
  for (std::size_t i = 0; theirs.IsSequence() && i < theirs.size(); ++i) expect_same(ours.at(i), theirs[i], depth - 1);
  if (!theirs.IsMap()) return;
  std::vector<std::pair<YAML::Node, YAML::Node>> pairs;
  for (const auto& entry : theirs) pairs.emplace_back(entry.first, entry.second);
  std::size_t i = 0;
  ours.each_pair([&](const YamlView& key, const YamlView& value) {
    REQUIRE(i < pairs.size());
    expect_same(key, pairs[i].first, depth - 1);
    expect_same(value, pairs[i++].second, depth - 1);
    if (key.scalar()) {
      expect_same(ours.find(key.text()), theirs[std::string(key.text())], depth - 1);
      CHECK(view.find(key.text()).position() == ours.find(key.text()).position());
    }
  });
  CHECK(i == pairs.size());
  CHECK_FALSE(ours.find("there is no such key").defined());
}

void expect_same(const std::string& text) {
  INFO(text);
  const YamlTree tree = parse_yaml_tree(text, "t.yaml", "");
  expect_same(tree.root(), YAML::Load(text));
}

TEST_CASE("A tree equals the nodes of yaml-cpp", "[yaml]") {
  expect_same("a: 1");
  expect_same("a: {b: [1, two, ~, '', \"x\\ty\"], c: }\nd: |\n  two\n  lines\ne: >-\n  folded\n  text\n");
  expect_same("a: 1\na: 2\nb: [a, a]\n");                   // the first of equal keys is found
  expect_same("{\"a\": [1, {\"b\": null}], \"c\": true}");  // JSON
  expect_same("---\n# a comment\na: !tag x\n? [k, l]\n: v\n~: nothing\n...\n");
  expect_same("a: &x {b: &y [1, 2]}\nc: *x\nd: [*y, *y, &x 3, *x]\n");
  expect_same("a: &x [1, *x]\n");  // a list that contains itself
}

/// A random map, with anchors and aliases.
std::string random_yaml(Rng& rng, int depth, int& anchors) {
  const auto name = [&] { return "k" + std::to_string(rng.below(20)); };
  if (anchors > 0 && rng.below(8) == 0)
    return "*a" + std::to_string(rng.below(static_cast<std::uint64_t>(anchors))) + " ";
  std::string text;
  if (depth > 0 && rng.below(3) == 0) text = "&a" + std::to_string(anchors++) + " ";
  const std::uint64_t kind = depth == 0 ? 2 : rng.below(4);
  if (kind >= 2) return text + (rng.below(9) == 0 ? "~" : name());
  text += kind == 0 ? "{" : "[";
  for (std::uint64_t i = rng.below(5); i-- > 0; text += ", ") {
    if (kind == 0) text += name() + ": ";
    text += random_yaml(rng, depth - 1, anchors);
    if (rng.below(4) == 0) text += "\n ";
  }
  return text + (kind == 0 ? "}" : "]");
}

TEST_CASE("Trees of random texts equal the nodes of yaml-cpp", "[yaml]") {
  Rng rng(7);
  for (int i = 0; i < 60; ++i) {
    int anchors = 0;
    std::string text;
    for (int key = 0; key < 5; ++key) text += "m" + std::to_string(key) + ": " + random_yaml(rng, 4, anchors) + "\n";
    expect_same(text);
  }
}

// The same errors with the same positions, also those of a second document.
TEST_CASE("A tree refuses what nodes refuse", "[yaml]") {
  for (const std::string text : {"", "[a]", "a: [1", "a: {b: c", "a: 1\n---\nb: 2\n", "a: 1\n---\nb: [\n", "a: *x\n",
                                 "a: b: c", "\ta: 1", "x", "a: 1\n...\n,\n", "a: \xff", "a: [1, 2]]\n"}) {
    std::string ours = "none", theirs = "none";
    const auto shown = [](const UserError& e) {
      const Diagnostic& d = e.diagnostics().front();
      return d.message + d.hint + std::to_string(d.where.line) + ":" + std::to_string(d.where.column);
    };
    try {
      parse_yaml_tree(text, "t.yaml", "begin");
    } catch (const UserError& e) { ours = shown(e); }
    try {
      parse_yaml(text, "t.yaml", "begin");
    } catch (const UserError& e) { theirs = shown(e); }
    INFO(text);
    CHECK(ours == theirs);
    CHECK(ours != "none");
  }
}

TEST_CASE("Names in a list are spelled out", "[yaml]") {
  YamlTree tree = parse_yaml_tree("list: [a, {name: b}, &c c]\nother: *c\nmap: {a: b}\n", "t.yaml", "");
  tree.spell_out(tree.root().find("list"), "name");
  tree.spell_out(tree.root().find("map"), "name");
  tree.spell_out(tree.root().find("absent"), "name");
  const YamlView list = tree.root().find("list");
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(list.at(i).find("name").text() == std::string(1, static_cast<char>('a' + i)));
  CHECK(list.at(0).position() == (std::pair{0, 0}));
  CHECK(list.at(0).find("name").position() == (std::pair{0, 0}));
  CHECK(list.at(1).position() == (std::pair{1, 11}));
  CHECK(tree.root().find("other").map());  // an alias is the node that it names
  CHECK(tree.root().find("map").find("a").text() == "b");
}

}  // namespace
}  // namespace fabricast
