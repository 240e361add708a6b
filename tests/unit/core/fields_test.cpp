#include "fabricast/core/fields.hpp"

#include <catch2/catch.hpp>

namespace fabricast {
namespace {

enum class Kind { plain, fancy };

}  // namespace

template <>
struct EnumNames<Kind> {
  static constexpr std::array<std::string_view, 2> names{"plain", "fancy"};
};

namespace {

struct Inner {
  Seconds latency{1e-6};
};
struct Outer {
  bool on = true;
  int count = 3;
  std::int64_t seed = 4;
  double factor = 2;
  Ratio share{0.5};
  std::string name = "x";
  Bytes size{8};
  BytesPerSecond rate{1e9};
  Metres cable{2};
  Watts power{700};
  Kind kind = Kind::plain;
  Inner inner;
  std::vector<Inner> list{{}, {}};
  std::vector<int> numbers{7};
  std::map<std::string, std::string> words{{"k", "v"}};
};
void visit_fields(FieldVisitor& visit, Inner& inner) { visit("latency", inner.latency, "how long", between(0, 1)); }
void visit_fields(FieldVisitor& visit, Outer& outer) {
  visit("on", outer.on, "a switch");
  visit("count", outer.count, "a count", at_least(1));
  visit("seed", outer.seed, "a seed");
  visit("factor", outer.factor, "a factor");
  visit("share", outer.share, "a share");
  visit("name", outer.name, "a name");
  visit("size", outer.size, "a size");
  visit("rate", outer.rate, "a rate");
  visit("cable", outer.cable, "a length");
  visit("power", outer.power, "a power");
  visit("kind", outer.kind, "a kind");
  visit("inner", outer.inner, "a part");
  visit("list", outer.list, "parts");
  visit("numbers", outer.numbers, "numbers");
  visit("words", outer.words, "words");
}

/// Writes down what it is shown.
class Recorder : public FieldVisitor {
 public:
  std::vector<std::string> seen;
  std::size_t new_length = 2;
  bool enters = true;
  std::string set_kind;
  std::vector<Range> ranges;

  void scalar(const FieldInfo& info, ScalarRef value) override {
    seen.push_back(std::string(info.name) + ":" + std::to_string(value.index()));
    ranges.push_back(info.range);
    if (auto* word = std::get_if<WordRef>(&value); word && !set_kind.empty())
      for (std::size_t i = 0; i < word->words.size(); ++i)
        if (word->words[i] == set_kind) word->set(word->target, i);
    if (auto* number = std::get_if<int*>(&value)) **number += 100;
  }
  bool enter(const FieldInfo& info) override {
    seen.push_back(std::string(info.name) + "{");
    return enters;
  }
  void leave() override { seen.push_back("}"); }
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override {
    seen.push_back(std::string(info.name) + "[" + std::to_string(size));
    return new_length;
  }
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override {
    seen.push_back(std::string(info.name) + "(" + std::to_string(map.size()));
  }
};

TEST_CASE("a visitor meets every field once, in order, with its type", "[core]") {
  Outer outer;
  Recorder record;
  visit_fields(record, outer);
  // Numbers are the alternatives of ScalarRef.
  CHECK(record.seen == std::vector<std::string>{"on:0",      "count:1",   "seed:2",  "factor:3", "share:4",   "name:5",
                                                "size:6",    "rate:8",    "cable:9", "power:10", "kind:11",   "inner{",
                                                "latency:7", "}",         "list[2",  "{",        "latency:7", "}",
                                                "{",         "latency:7", "}",       "}",        "numbers[1", ":1",
                                                ":1",        "}",         "words(1"});
  CHECK(record.ranges[1].low == 1);
  CHECK(record.ranges[1].high == std::numeric_limits<double>::infinity());
  CHECK(outer.count == 103);
  CHECK(outer.numbers == std::vector<int>{107, 100});
}

TEST_CASE("a visitor decides the length of lists and whether to enter", "[core]") {
  Outer outer;
  Recorder record;
  record.new_length = 0, record.enters = false, record.set_kind = "fancy";
  visit_fields(record, outer);
  CHECK(outer.list.empty());
  CHECK(outer.numbers.empty());
  CHECK(outer.kind == Kind::fancy);
  CHECK(std::count(record.seen.begin(), record.seen.end(), "latency:7") == 0);
  CHECK(std::count(record.seen.begin(), record.seen.end(), "}") == 2);  // of the lists
}

}  // namespace
}  // namespace fabricast
