// Times of calls of groups over the C interface: in numbers and in JSON, what is refused, structures of other versions,
// and how fast known answers are.
#include <catch2/catch.hpp>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fabricast.h"

namespace {

using Catch::Detail::Approx;
using Catch::Matchers::Contains;
using Network = std::unique_ptr<fabricast_network, decltype(&fabricast_network_free)>;
using nlohmann::json;

const std::string four_hosts =
    "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 4}\nfabric: {kind: rail_optimized}\n"
    "nccl: {version: 2.27}\nworkload: {collective: all_reduce, sizes: [1MiB, 1GiB], harness: {tool: isolated}}\n";

struct Taken {
  fabricast_status status = FABRICAST_INTERNAL;
  std::string text, diagnostics;
};

/// \param result  by reference, because the call that sets it is an argument as well
Taken taken(fabricast_status status, fabricast_result*& result) {
  Taken all{status, fabricast_result_text(result, nullptr), fabricast_result_diagnostics(result, nullptr)};
  fabricast_result_free(result);
  return all;
}

Network network_of(const std::string& text, const char* options = nullptr, Taken* how = nullptr) {
  fabricast_scenario* scenario = nullptr;
  fabricast_network* network = nullptr;
  fabricast_result* result = nullptr;
  REQUIRE(fabricast_open_text(text.data(), text.size(), "a.yaml", nullptr, 0, &scenario, nullptr) == FABRICAST_OK);
  const Taken opened = taken(fabricast_network_open(scenario, options, nullptr, &network, &result), result);
  // The network outlives its scenario.
  fabricast_scenario_free(scenario);
  if (how) *how = opened;
  return {network, fabricast_network_free};
}

Taken time_of(const fabricast_network* network, const char* collective, const std::vector<std::int64_t>& bytes,
              const std::vector<std::uint32_t>& ranks, std::vector<fabricast_call_time>& times, double at = 0) {
  fabricast_result* result = nullptr;
  times.assign(bytes.size(), FABRICAST_CALL_TIME_INIT);
  const fabricast_status status = fabricast_network_time(network, collective, bytes.data(), bytes.size(), ranks.data(),
                                                         ranks.size(), at, nullptr, times.data(), &result);
  return taken(status, result);
}

std::vector<std::uint32_t> all_ranks(const fabricast_network* network) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < fabricast_network_ranks(network, nullptr); ++r) ranks.push_back(r);
  return ranks;
}

}  // namespace

TEST_CASE("the network's times of all ranks are those of the question run", "[api]") {
  fabricast_scenario* scenario = nullptr;
  fabricast_result* result = nullptr;
  REQUIRE(fabricast_open_text(four_hosts.data(), four_hosts.size(), "a.yaml", nullptr, 0, &scenario, nullptr) ==
          FABRICAST_OK);
  const Taken run = taken(fabricast_run(scenario, nullptr, nullptr, &result), result);
  fabricast_scenario_free(scenario);
  const json rows = json::parse(run.text)["rows"];
  const Network network = network_of(four_hosts);
  std::size_t per_host = 0;
  CHECK(fabricast_network_ranks(network.get(), &per_host) == 32);
  CHECK(per_host == 8);
  std::vector<fabricast_call_time> times;
  REQUIRE(time_of(network.get(), "all_reduce", {1 << 20, 1 << 30}, all_ranks(network.get()), times).status ==
          FABRICAST_OK);
  REQUIRE(rows.size() == 2);
  for (std::size_t i = 0; i < times.size(); ++i) {
    // JSON has ten digits.
    CHECK(times[i].seconds * 1e6 == Approx(rows[i]["time_us"].get<double>()).epsilon(1e-9));
    CHECK(times[i].low * 1e6 == Approx(rows[i]["interval_90_us"]["low"].get<double>()).epsilon(1e-9));
    CHECK(times[i].high * 1e6 == Approx(rows[i]["interval_90_us"]["high"].get<double>()).epsilon(1e-9));
    CHECK(times[i].algorithm == rows[i]["algorithm"].get<std::string>());
    CHECK(times[i].protocol == rows[i]["protocol"].get<std::string>());
    CHECK(times[i].channels == rows[i]["channels"].get<int>());
    CHECK(times[i].launch > 0);
    CHECK(times[i].launch < times[i].seconds);
  }
}

TEST_CASE("calls in JSON have the numbers of calls in structures", "[api]") {
  const Network network = network_of(four_hosts);
  const json calls = {{{"collective", "all_reduce"}, {"bytes", "1MiB"}, {"ranks", {0, 1, 2, 3}}},
                      {{"collective", "all_reduce"}, {"bytes", 1 << 30}, {"ranks", {0, 1, 2, 3}}},
                      {{"collective", "send"}, {"bytes", 4096}, {"ranks", {0, 8}}, {"at", 2.5}},
                      {{"collective", "alltoall"}, {"bytes", 1 << 20}, {"ranks", {0, 8, 16, 24}}}};
  fabricast_result* result = nullptr;
  const Taken answer = taken(fabricast_network_calls(network.get(), calls.dump().c_str(), nullptr, &result), result);
  REQUIRE(answer.status == FABRICAST_OK);
  const json rows = json::parse(answer.text)["rows"];
  REQUIRE(rows.size() == calls.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<fabricast_call_time> times;
    const std::int64_t bytes = i == 0 ? 1 << 20 : calls[i]["bytes"].get<std::int64_t>();
    REQUIRE(time_of(network.get(), calls[i]["collective"].get<std::string>().c_str(), {bytes},
                    calls[i]["ranks"].get<std::vector<std::uint32_t>>(), times)
                .status == FABRICAST_OK);
    CHECK(rows[i]["bytes"] == bytes);
    CHECK(rows[i]["collective"] == calls[i]["collective"]);
    CHECK(rows[i]["seconds"].get<double>() == times[0].seconds);
    CHECK(rows[i]["low"].get<double>() == times[0].low);
    CHECK(rows[i]["high"].get<double>() == times[0].high);
    CHECK(rows[i]["launch"].get<double>() == times[0].launch);
    CHECK(rows[i]["algorithm"] == times[0].algorithm);
    CHECK(rows[i]["channels"] == times[0].channels);
  }
}

TEST_CASE("what the network cannot answer is bad input that says why", "[api]") {
  const Network network = network_of(four_hosts, R"({"intervals": false})");
  const auto refused = [&](const char* calls) {
    fabricast_result* result = nullptr;
    const Taken answer = taken(fabricast_network_calls(network.get(), calls, nullptr, &result), result);
    CHECK(answer.status == FABRICAST_BAD_INPUT);
    CHECK(answer.text.empty());
    return answer.diagnostics;
  };
  CHECK_THAT(refused("{"), Contains("not JSON"));
  CHECK_THAT(refused("{}"), Contains("not a list"));
  CHECK_THAT(refused("[1]"), Contains("call 0: is not an object"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 8}])"), Contains("call 0: `ranks` is missing"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 8, "ranks": [0, -1]}])"), Contains("whole numbers"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 8, "ranks": [0, 4294967296]}])"),
             Contains("whole numbers"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 1.5, "ranks": [0, 1]}])"), Contains("is not a size"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 18446744073709551615, "ranks": [0, 1]}])"),
             Contains("out of range"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": "8", "ranks": [0, 1]}])"), Contains("no unit"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 8, "ranks": [0, 1], "group": 1}])"),
             Contains("no member 'group'"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 8, "ranks": [0, 1]},
                         {"collective": "allreduce", "bytes": 8, "ranks": [0, 1]}])"),
             Contains("call 1: there is no collective") && Contains("all_reduce"));
  CHECK_THAT(refused(R"([{"collective": "all_reduce", "bytes": 8, "ranks": [0, 32]}])"),
             Contains("call 0: ranks: there is no rank 32"));

  std::vector<fabricast_call_time> times;
  CHECK_THAT(time_of(network.get(), "all_reduce", {8}, {5, 5}, times).diagnostics, Contains("rank 5 is twice"));
  CHECK(times[0].seconds == 0);
  CHECK_THAT(time_of(network.get(), "ring", {8}, {0, 1}, times).diagnostics, Contains("no collective 'ring'"));
  const std::int64_t bytes = 8;
  const std::uint32_t ranks[] = {0, 1};
  fabricast_call_time time = FABRICAST_CALL_TIME_INIT;
  CHECK(fabricast_network_time(nullptr, "send", &bytes, 1, ranks, 2, 0, nullptr, &time, nullptr) ==
        FABRICAST_BAD_INPUT);
  CHECK(fabricast_network_time(network.get(), nullptr, &bytes, 1, ranks, 2, 0, nullptr, &time, nullptr) ==
        FABRICAST_BAD_INPUT);
  CHECK(fabricast_network_time(network.get(), "send", &bytes, 1, nullptr, 2, 0, nullptr, &time, nullptr) ==
        FABRICAST_BAD_INPUT);
  CHECK(fabricast_network_time(network.get(), "send", &bytes, 1, ranks, 2, 0, nullptr, nullptr, nullptr) ==
        FABRICAST_BAD_INPUT);
  time.size = 8;
  CHECK(fabricast_network_time(network.get(), "send", &bytes, 1, ranks, 2, 0, nullptr, &time, nullptr) ==
        FABRICAST_BAD_INPUT);
  CHECK(fabricast_network_ranks(nullptr, nullptr) == 0);

  Taken opened;
  CHECK(!network_of(four_hosts, R"({"interval": false})", &opened));
  CHECK(opened.status == FABRICAST_BAD_INPUT);
  CHECK_THAT(opened.diagnostics, Contains("interval"));
  CHECK(!network_of(four_hosts + "network: {engine: bound}\n", nullptr, &opened));
  CHECK_THAT(opened.diagnostics, Contains("network.engine"));
}

TEST_CASE("no bytes break the network's JSON, and every refusal says why", "[api]") {
  const Network network = network_of(four_hosts, R"({"intervals": false})");
  const std::string valid = R"([{"collective": "send", "bytes": "4KiB", "ranks": [0, 1], "at": 0.5}])";
  std::mt19937 random(23);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = valid;
    for (std::size_t changes = random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 12);
      else if (random() % 2 == 0)
        text[at] = static_cast<char>(random());
      else
        text.insert(at, text.substr(random() % text.size(), random() % 30));
      if (text.empty()) text = valid;
    }
    fabricast_result* result = nullptr;
    const Taken answer = taken(fabricast_network_calls(network.get(), text.c_str(), nullptr, &result), result);
    const json found = json::parse(answer.diagnostics, nullptr, false);
    REQUIRE(found.is_array());
    REQUIRE((answer.status == FABRICAST_OK || answer.status == FABRICAST_BAD_INPUT));
    REQUIRE(answer.text.empty() == (answer.status != FABRICAST_OK));
    REQUIRE(found.empty() == (answer.status == FABRICAST_OK));
    ++(answer.status == FABRICAST_OK ? accepted : refused);
  }
  CHECK(accepted > 500);
  CHECK(refused > 500);
}

TEST_CASE("structures of a later version keep what this one does not know", "[api]") {
  struct Later {
    fabricast_call_time known = FABRICAST_CALL_TIME_INIT;
    double more = 42;
  };
  const Network network = network_of(four_hosts, R"({"intervals": false})");
  Later times[3];
  times[0].known.size = sizeof(Later);
  const std::int64_t bytes[] = {1024, 1 << 20, 1 << 30};
  const std::uint32_t ranks[] = {0, 8};
  REQUIRE(fabricast_network_time(network.get(), "all_gather", bytes, 3, ranks, 2, 0, nullptr, &times[0].known,
                                 nullptr) == FABRICAST_OK);
  for (const Later& time : times) {
    CHECK(time.more == 42);
    CHECK(time.known.size == sizeof(Later));
    CHECK(time.known.low == time.known.seconds);
  }
  CHECK(times[0].known.seconds < times[1].known.seconds);
  CHECK(times[1].known.seconds < times[2].known.seconds);
}

TEST_CASE("a question to the network stops on request", "[api]") {
  const Network network = network_of(four_hosts);
  fabricast_stop* stop = fabricast_stop_new();
  fabricast_stop_request(stop);
  fabricast_control control FABRICAST_CONTROL_INIT;
  control.stop = stop;
  const std::int64_t bytes = 1 << 20;
  const std::uint32_t ranks[] = {0, 8};
  fabricast_call_time time = FABRICAST_CALL_TIME_INIT;
  CHECK(fabricast_network_time(network.get(), "all_reduce", &bytes, 1, ranks, 2, 0, &control, &time, nullptr) ==
        FABRICAST_STOPPED);
  CHECK(fabricast_network_time(network.get(), "all_reduce", &bytes, 1, ranks, 2, 0, nullptr, &time, nullptr) ==
        FABRICAST_OK);
  // A known answer takes no work that could stop.
  CHECK(fabricast_network_time(network.get(), "all_reduce", &bytes, 1, ranks, 2, 0, &control, &time, nullptr) ==
        FABRICAST_OK);
  fabricast_stop_free(stop);
}

TEST_CASE("a million known answers take less than a second of one core", "[api]") {
  const Network network = network_of(four_hosts, R"({"intervals": false})");
  const std::uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 32; ++i) sizes.push_back(std::int64_t{4096} * (i + 1));
  fabricast_call_time time = FABRICAST_CALL_TIME_INIT;
  const auto ask = [&](std::size_t i) {
    return fabricast_network_time(network.get(), "all_reduce", &sizes[i % sizes.size()], 1, ranks, 8, 0, nullptr, &time,
                                  nullptr);
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) REQUIRE(ask(i) == FABRICAST_OK);
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const std::clock_t begin = std::clock();  // of the processor: other programs do not count
    int good = 0;
    for (std::size_t i = 0; i < 1'000'000; ++i) good += ask(i) == FABRICAST_OK;
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    REQUIRE(good == 1'000'000);
  }
#ifdef FABRICAST_TEST_SPEED
  CHECK(best < 1.0);
#endif
  WARN("a known answer takes " << best * 1e3 << " ns");
}
