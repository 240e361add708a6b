// Profiles that override the shipped data: what they change, and what they get wrong.
#include <algorithm>
#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/hardware.hpp"

namespace fabricast {
namespace {

std::vector<std::string> faults(const std::string& text) {
  Hardware hardware = shipped_hardware();
  std::vector<std::string> list;
  try {
    overlay_profile(hardware, text, "p.json");
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics())
      list.push_back(d.where.file + ":" + std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " +
                     d.path + ": " + d.message + (d.hint.empty() ? "" : " | " + d.hint));
  }
  return list;
}
using List = std::vector<std::string>;

TEST_CASE("a profile changes what it names and nothing else", "[hardware]") {
  Hardware before = shipped_hardware(), after = shipped_hardware();
  overlay_profile(after, R"({
    "fabricast": 1, "name": "here", "summary": "measured",
    "architectures": {"hopper": {"launch": {"value": 7.5, "low": 7, "high": 8, "source": "[here]"}}},
    "links": {"nvlink4": {"efficiency": {"value": 0.8}}},
    "software": {"channel_launch_before_2.9": {"value": 2}}
  })",
                  "p.json");
  const Parameter& launch = after.architectures.find("hopper")->second.launch;
  CHECK(launch.value == 7.5);
  CHECK(launch.low == 7);
  CHECK(launch.high == 8);
  CHECK(launch.source == "[here]");
  // An interval that is not given is the value.
  const Parameter& efficiency = after.links.find("nvlink4")->second.efficiency;
  CHECK((efficiency.value == .8 && efficiency.low == .8 && efficiency.high == .8));
  CHECK(after.software.channel_launch_old.value == 2);
  int changed = 0;
  for (const auto& [path, ref] : after.all_parameters())
    changed += ref.parameter->value != before.find(path)->value || ref.parameter->source != before.find(path)->source;
  CHECK(changed == 3);
}

TEST_CASE("RoCE inherits parameters from InfiniBand", "[hardware]") {
  Hardware h = prior_hardware();
  const auto has = [&h](std::string_view path) {
    const auto all = h.all_parameters();
    return std::any_of(all.begin(), all.end(), [&](const auto& p) { return p.first == path; });
  };
  CHECK(has("networks.roce.nic_efficiency"));
  CHECK_FALSE(has("networks.roce.message"));
  h.find("networks.infiniband.message")->value = 0.25;
  CHECK(h.network("roce").message.value == 0.25);
  CHECK(h.network("roce").hop[2].value == 14);
  overlay_profile(h, R"({"networks": {"roce": {"message": {"value": 0.5}}}})", "p.json");
  CHECK(has("networks.roce.message"));
  CHECK(h.network("roce").message.value == 0.5);
  CHECK(h.network("infiniband").message.value == 0.25);
  h.own("networks.roce");
  CHECK(has("networks.roce.start"));
  h.find("networks.infiniband.start")->value = 7;
  CHECK(h.network("roce").start.value == 2);
  CHECK(h.network("roce").message.value == 0.5);
}

TEST_CASE("unknown keys of a profile are refused with their position", "[hardware]") {
  CHECK(
      faults("{\n  \"architectures\": {\n    \"hopper\": {\"lanch\": {\"value\": 7}}\n  }\n}") ==
      List{"p.json:3:16: architectures.hopper.lanch: no such parameter | did you mean 'architectures.hopper.launch'?"});
  CHECK(faults("{\"architecture\": {}}") ==
        List{"p.json:1:2: architecture: unknown section | did you mean 'architectures'?"});
  CHECK(faults("{\"software\": {\"ll_chek\": {\"value\": 7}}}") ==
        List{"p.json:1:15: software.ll_chek: no such parameter | did you mean 'software.ll_check'?"});
  CHECK(faults("{\"software\": {\n \"ll_check\": {\"value\": 7, \"lo\": 6}}}") ==
        List{"p.json:2:2: software.ll_check: unknown key 'lo' | did you mean 'low'?"});
}

TEST_CASE("bad values of a profile", "[hardware]") {
  const auto one = [](const std::string& value) { return faults("{\"software\": {\"ll_check\": " + value + "}}"); };
  const std::string at = "p.json:1:15: software.ll_check: ";
  CHECK(one("7") == List{at + "is not a parameter {value, low, high, source}"});
  CHECK(one("{\"low\": 7}") == List{at + "is not a parameter {value, low, high, source}"});
  CHECK(one("{\"value\": \"7\"}") == List{at + "is not a parameter {value, low, high, source}"});
  CHECK(one("{\"value\": -7}") == List{at + "'value' must be a non-negative number"});
  CHECK(one("{\"value\": 7, \"low\": 8}") == List{at + "'low' <= 'value' <= 'high' does not hold"});
  CHECK(one("{\"value\": 7, \"high\": 6}") == List{at + "'low' <= 'value' <= 'high' does not hold"});
  CHECK(one("{\"value\": 7, \"low\": 6, \"high\": 8}").empty());
  REQUIRE(faults("{\"software\": 3}").size() == 1);
  CHECK_THAT(faults("{\"software\": 3}")[0], Catch::StartsWith("p.json:1:2: software: must be an object"));
  CHECK(faults("{\"links\": {\"nvlink4\": 3}}") == List{"p.json:1:12: links.nvlink4: must be an object of parameters"});
  // All at once.
  CHECK(faults("{\"a\": 1, \"b\": 2}").size() == 2);
}

TEST_CASE("a profile that is not a JSON object is refused", "[hardware]") {
  CHECK(faults("[1]") == List{"p.json:1:1: : a profile must be a JSON object of sections"});
  const List broken = faults("{\n  \"links\": {,}\n}");
  REQUIRE(broken.size() == 1);
  CHECK_THAT(broken[0], Catch::StartsWith("p.json:2:13: : not JSON: "));
  CHECK(faults("").size() == 1);
}

}  // namespace
}  // namespace fabricast
