// The C interface from several threads, and with bytes that nobody meant.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "fabricast.h"

namespace {

using Scenario = std::unique_ptr<fabricast_scenario, decltype(&fabricast_scenario_free)>;
using Result = std::unique_ptr<fabricast_result, decltype(&fabricast_result_free)>;

std::string scenario_text(const std::string& name) {
  std::ifstream in(std::string(FABRICAST_SOURCE_DIR) + "/scenarios/" + name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  REQUIRE(text.str().size() > 50);
  return text.str();
}

struct Opened {
  fabricast_status status;
  Scenario scenario{nullptr, fabricast_scenario_free};
  Result result{nullptr, fabricast_result_free};
};

Opened open_scenario(const std::string& text) {
  fabricast_scenario* scenario = nullptr;
  fabricast_result* result = nullptr;
  Opened opened{fabricast_open_text(text.data(), text.size(), "a.yaml", nullptr, 0, &scenario, &result)};
  opened.scenario.reset(scenario);
  opened.result.reset(result);
  return opened;
}

/// A failure has an error with a text, and its diagnostics are JSON.
bool says_why(fabricast_status status, const fabricast_result* result) {
  const auto found = nlohmann::json::parse(fabricast_result_diagnostics(result, nullptr), nullptr, false);
  if (!found.is_array()) return false;
  bool error = false;
  for (const auto& d : found) error = error || (d["severity"] == "error" && !d["what"].get<std::string>().empty());
  return error == (status != FABRICAST_OK && status != FABRICAST_CHECK_FAILED);
}

std::string answer_to_change(const fabricast_scenario* scenario, const std::string& change) {
  const char* words[] = {change.c_str()};
  fabricast_scenario* changed = nullptr;
  fabricast_result* result = nullptr;
  if (fabricast_change(scenario, words, 1, &changed, nullptr) != FABRICAST_OK) return "not changed";
  fabricast_control control FABRICAST_CONTROL_INIT;
  control.threads = 2;
  fabricast_run(changed, R"({"intervals": false})", &control, &result);
  fabricast_scenario_free(changed);
  const std::string text = fabricast_result_text(result, nullptr);
  fabricast_result_free(result);
  return text;
}

}  // namespace

TEST_CASE("threads that share a scenario get the answers that they would get alone", "[api]") {
  const Opened opened = open_scenario(scenario_text("two_nodes.yaml"));
  REQUIRE(opened.status == FABRICAST_OK);
  const std::vector<std::string> changes{"cluster.nodes=1", "cluster.nodes=3", "nccl.env={NCCL_ALGO: Ring}",
                                         "workload.collective=all_gather"};
  std::vector<std::string> alone;
  for (const std::string& change : changes) alone.push_back(answer_to_change(opened.scenario.get(), change));
  for (const std::string& text : alone) REQUIRE(text.size() > 100);
  std::vector<std::string> together(4 * changes.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i)
    threads.emplace_back(
        [&, i] { together[i] = answer_to_change(opened.scenario.get(), changes[i % changes.size()]); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < together.size(); ++i) CHECK(together[i] == alone[i % changes.size()]);
}

TEST_CASE("a stop ends its own question soon and no other", "[api]") {
  using Clock = std::chrono::steady_clock;
  const Opened opened = open_scenario(scenario_text("nodes64_fat_tree.yaml"));
  REQUIRE(opened.status == FABRICAST_OK);
  fabricast_stop* stop = fabricast_stop_new();
  fabricast_status stopped = FABRICAST_OK, other = FABRICAST_STOPPED;
  Clock::time_point ended;
  std::thread long_one([&] {
    fabricast_control control FABRICAST_CONTROL_INIT;
    control.stop = stop;
    // Some 10 s of work, on threads of its own.
    const char* plan = R"({"sweep": ["cluster.seed={from: 1, to: 400, step: 1}"], "intervals": true})";
    stopped = fabricast_plan(opened.scenario.get(), plan, &control, nullptr);
    ended = Clock::now();
  });
  std::thread short_one([&] { other = fabricast_run(opened.scenario.get(), nullptr, nullptr, nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto asked = Clock::now();
  fabricast_stop_request(stop);
  long_one.join();
  short_one.join();
  fabricast_stop_free(stop);
  CHECK(stopped == FABRICAST_STOPPED);
  CHECK(other == FABRICAST_OK);
#ifdef FABRICAST_TEST_SPEED
  CHECK(ended - asked < std::chrono::milliseconds(500));
#else
  (void)asked;
#endif
}

TEST_CASE("no bytes break the C interface, and every refusal says why", "[api]") {
  std::mt19937 random(20261127);
  const auto any = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  const std::vector<std::string> valid{scenario_text("two_nodes.yaml"), scenario_text("nodes64_fat_tree.yaml"),
                                       R"({"fabricast": 1, "node": {"profile": "hgx-h100"}, "workload": {}})"};
  int accepted = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text = valid[any(valid.size())];
    if (round % 4 == 0) {
      text.assign(any(300), '\0');
      for (char& c : text) c = static_cast<char>(random());
    } else {
      for (std::size_t changes = 1 + any(4); changes > 0 && !text.empty(); --changes) {
        const std::size_t at = any(text.size());
        if (any(3) == 0)
          text.erase(at, 1 + any(20));
        else if (any(2) == 0)
          text[at] = static_cast<char>(random());
        else
          text.insert(at, text.substr(any(text.size()), any(30)));
      }
    }
    const Opened opened = open_scenario(text);
    REQUIRE(says_why(opened.status, opened.result.get()));
    REQUIRE((opened.scenario == nullptr) == (opened.status != FABRICAST_OK));
    ++(opened.scenario ? accepted : refused);
  }
  CHECK(accepted > 10);
  CHECK(refused > 100);
}

TEST_CASE("no options break a question", "[api]") {
  std::mt19937 random(7);
  const Opened opened = open_scenario(scenario_text("two_nodes.yaml"));
  const std::vector<std::string> words{"{",
                                       "}",
                                       "[",
                                       "]",
                                       "\"form\"",
                                       "\"size\"",
                                       ":",
                                       ",",
                                       "\"json\"",
                                       "\"1MiB\"",
                                       "\"logs\"",
                                       "\"time\"",
                                       "\"name\"",
                                       "1e999",
                                       "-1",
                                       "true",
                                       "null",
                                       "[[[[",
                                       "\"\\ud800\"",
                                       "\xff",
                                       "\"top\"",
                                       "18446744073709551615",
                                       "\"search\"",
                                       "\"parallel\"",
                                       "\"measured\"",
                                       "\"text\"",
                                       "{}",
                                       "\"/\""};
  using Ask = decltype(&fabricast_run);
  const std::vector<Ask> questions{fabricast_run, fabricast_explain, fabricast_plan, fabricast_check, fabricast_gate};
  for (int round = 0; round < 2000; ++round) {
    std::string options = round % 3 == 0 ? "{" : "";
    for (std::size_t i = random() % 9; i > 0; --i) options += words[random() % words.size()];
    if (options.find_first_not_of("{} ") == std::string::npos) continue;  // a valid question, asked elsewhere
    fabricast_result* result = nullptr;
    const fabricast_status status =
        questions[random() % questions.size()](opened.scenario.get(), options.c_str(), nullptr, &result);
    REQUIRE(says_why(status, result));
    fabricast_result_free(result);
  }
}
