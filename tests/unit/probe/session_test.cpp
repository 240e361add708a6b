#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "calibrate/probe/peer_link.hpp"
#include "fabricast/core/names.hpp"
#include "support/probe_ranks.hpp"

namespace fabricast {
namespace {

using namespace test;
using Catch::Matchers::Contains;

/// How a fake backend fails. Its sides send words to each other in every round.
struct FakeFaults {
  std::string unavailable;
  bool at_prepare = false;
  int at_round = -1;
  bool alone = false;
  bool everyone = false;
  std::string reason = "the fake breaks";
  std::string says;  ///< instead of samples
};

class FakeTrial : public ProbeTrial {
 public:
  FakeTrial(const FakeFaults& faults, ProbeSide side, const std::vector<PeerLink*>& links)
      : faults_(faults), side_(side), links_(links) {}
  std::vector<Seconds> run(int repeats) override {
    if (round_++ == faults_.at_round) throw ProbeFailure(faults_.reason);
    for (PeerLink* link : links_)
      if (link->swap_lines("ping") != "ping") throw ProbeFailure("wrong word");
    if (!faults_.says.empty() && side_ == ProbeSide::second) links_.front()->tell(faults_.says);
    return side_ == ProbeSide::first ? std::vector<Seconds>(static_cast<std::size_t>(repeats), Seconds{0.001})
                                     : std::vector<Seconds>();
  }
  std::string how() const override { return "by talking"; }

 private:
  FakeFaults faults_;
  ProbeSide side_;
  std::vector<PeerLink*> links_;
  int round_ = 0;
};

class FakeBackend : public ProbeBackend {
 public:
  explicit FakeBackend(FakeFaults faults) : faults_(std::move(faults)) {}
  std::string unavailable() override { return faults_.unavailable; }
  std::vector<ProbePort> ports() override { return {{"p0", "fake", {1e9}}}; }
  std::vector<Measurement> plan(const ProbeSettings&, const std::vector<BackendFacts>& facts) override {
    std::vector<Measurement> plan;
    for (int a = 0; a < static_cast<int>(facts.size()); ++a)
      for (int b = 0; b < static_cast<int>(facts.size()); ++b) {
        const auto &from = facts[static_cast<std::size_t>(a)], &to = facts[static_cast<std::size_t>(b)];
        if ((a == b) != faults_.alone || from.ports.empty() || to.ports.empty()) continue;
        Measurement m;
        m.backend = "fake", m.what = "talk", m.memory = "host", m.from = a, m.to = b, m.bytes = {8};
        m.from_port = from.ports[0].name, m.estimate = {1}, m.everyone = faults_.everyone;
        if (m.everyone && (a > 0 || b > 1)) continue;
        plan.push_back(m);
      }
    return plan;
  }
  std::unique_ptr<ProbeTrial> prepare(const Measurement&, const ProbeSettings&, ProbeSide side,
                                      const std::vector<PeerLink*>& links) override {
    if (faults_.at_prepare) throw ProbeFailure("the fake is not ready");
    return std::make_unique<FakeTrial>(faults_, side, links);
  }

 private:
  FakeFaults faults_;
};

std::vector<ProbeBackendEntry> fake(const FakeFaults& faults = {}) {
  return {{"fake", [faults] { return std::make_unique<FakeBackend>(faults); }}};
}

const auto as_is = [](int, SessionOptions&) {};
const auto healthy = [](int) { return fake(); };

TEST_CASE("every pair of three ranks is measured once in each direction", "[probe]") {
  const auto ends = run_ranks(3, healthy, as_is);
  for (const RankEnd& e : ends) CHECK(e.error.empty());
  CHECK(ends[0].outcome.measured == 6);
  std::set<std::pair<int, int>> pairs;
  for (const auto& [m, set] : ends[0].results) {
    pairs.insert({m.from, m.to});
    CHECK(set.median.value == 0.001);
    CHECK(set.samples.size() == 15);
  }
  CHECK(pairs.size() == 6);
  CHECK(ends[1].results.empty());
}

TEST_CASE("all ranks measure together, and a rank that fails is named") {
  FakeFaults faults;
  faults.everyone = true;
  for (const int broken : {-1, 0, 2}) {
    FakeFaults fault = faults;
    fault.at_round = 2;
    const auto ends = run_ranks(
        4, [&](int r) { return fake(r == broken ? fault : faults); }, as_is);
    for (const RankEnd& e : ends) CHECK(e.error.empty());
    REQUIRE(ends[0].results.size() == 1);
    const SampleSet& set = ends[0].results[0].second;
    if (broken < 0) {
      CHECK(set.samples.size() == 15);
      CHECK(set.how == "by talking");
    }
    CHECK(set.error == (broken < 0 ? "" : fmt::format("rank {}: the fake breaks", broken)));
  }
}

TEST_CASE("one rank measures alone", "[probe]") {
  FakeFaults alone;
  alone.alone = true;
  const RankEnd end = run_rank(fake(alone), options_of(0, 1, 0));
  CHECK(end.error.empty());
  CHECK(end.outcome.measured == 1);
  CHECK_THAT(run_rank(fake(), options_of(0, 1, 0)).error,
             Contains("unavailable: no backend can measure here\n  fake: nothing to measure with 1 rank"));
}

TEST_CASE("a failure on either side is a result, and the next pair is measured", "[probe]") {
  for (const int broken : {0, 1, 2})
    for (const bool at_prepare : {true, false}) {
      FakeFaults faults;
      faults.at_prepare = at_prepare, faults.at_round = at_prepare ? -1 : 2;
      const auto ends = run_ranks(
          3, [&](int r) { return r == broken ? fake(faults) : fake(); }, as_is);
      for (const RankEnd& e : ends) CHECK(e.error.empty());
      CHECK(ends[0].outcome.failed == 4);
      CHECK(ends[0].outcome.measured == 2);
      for (const auto& [m, set] : ends[0].results) {
        INFO(m.key() << ", broken: " << broken);
        const bool concerned = m.from == broken || m.to == broken;
        CHECK(set.error.empty() != concerned);
        if (concerned) CHECK_THAT(set.error, Contains(at_prepare ? "the fake is not ready" : "the fake breaks"));
      }
    }
}

TEST_CASE("text from another rank is shown without control characters, and malformed text is an error", "[probe]") {
  const auto with = [](const FakeFaults& faults) {
    const auto ends = run_ranks(
        2, [&](int r) { return r == 1 ? fake(faults) : fake(); }, as_is);
    std::string errors;
    for (const RankEnd& e : ends) CHECK(e.error.empty());
    for (const auto& [m, set] : ends[0].results) errors += set.error + "\n";
    return errors;
  };
  FakeFaults rude;
  rude.at_round = 1, rude.reason = "\x1b[2Jgone " + std::string(5000, 'x');
  const std::string errors = with(rude);
  CHECK_THAT(errors, Contains("gone") && !Contains("\x1b"));
  CHECK(errors.size() < 2500);
  for (const char* damaged : {"nonsense", "[\"a\"]"}) {
    FakeFaults odd;
    odd.says = damaged;
    CHECK_THAT(with(odd), Contains("the other rank sent a malformed message"));
  }
}

TEST_CASE("a backend that one rank lacks is used between the others", "[probe]") {
  FakeFaults none;
  none.unavailable = "no such device";
  const auto ends = run_ranks(
      3, [&](int r) { return r == 1 ? fake(none) : fake(); }, as_is);
  CHECK(ends[0].outcome.measured == 2);
  CHECK(ends[0].notes == std::vector<std::string>{"fake: no such device (1 of 3 ranks)"});

  const auto nowhere = run_ranks(
      2, [&](int) { return fake(none); }, as_is);
  CHECK(nowhere[0].error == "unavailable: no backend can measure here\n  fake: no such device (2 of 2 ranks)");
  CHECK_THAT(nowhere[1].error, Contains("unavailable: rank 0 ended the session: no backend can measure here"));
}

TEST_CASE("a rank offers only the ports that its user names", "[probe]") {
  const auto named = run_ranks(2, healthy, [](int, SessionOptions& o) { o.settings.devices = {"p0"}; });
  CHECK(named[0].outcome.measured == 2);
  const auto other = run_ranks(2, healthy, [](int r, SessionOptions& o) {
    if (r == 1) o.settings.devices = {"p1", "p2"};
  });
  CHECK_THAT(other[0].error, Contains("fake: no port is called p1 or p2 (1 of 2 ranks)"));
}

TEST_CASE("known measurements are skipped, and so are those that do not fit the budget", "[probe]") {
  const auto some = run_ranks(
      3, healthy, [](int, SessionOptions& o) { o.is_known = [](const Measurement& m) { return m.from == 0; }; });
  CHECK(some[0].outcome.known == 2);
  CHECK(some[0].outcome.measured == 4);

  const auto none = run_ranks(2, healthy, [](int, SessionOptions& o) { o.budget = {0}; });
  CHECK(none[0].outcome.left_out == 2);
  CHECK(none[0].results.empty());

  const auto dry = run_ranks(2, healthy, [](int, SessionOptions& o) { o.dry_run = true; });
  CHECK(dry[0].plan.size() == 2);
  CHECK(dry[0].results.empty());
  CHECK(dry[1].error.empty());
}

/// A stranger connects while rank 0 waits for rank 1, which connects afterwards.
RankEnd with_stranger(const std::function<void(int port)>& knock, std::string& other) {
  const int port = free_port();
  auto zero = std::async(std::launch::async, [&] { return run_rank(fake(), options_of(0, 2, port)); });
  knock(port);
  other = run_rank(fake(), options_of(1, 2, port)).error;
  return zero.get();
}

RankEnd refused(const std::function<void(SessionOptions&)>& change, std::string& reason) {
  std::string other;
  RankEnd zero = with_stranger(
      [&](int port) {
        SessionOptions options = options_of(1, 2, port);
        change(options);
        reason = run_rank(fake(), options).error;
      },
      other);
  CHECK(other.empty());
  return zero;
}

TEST_CASE("strangers are refused with a reason, and the session continues", "[probe]") {
  std::string reason;
  const auto check = [&](const std::function<void(SessionOptions&)>& change, const std::string& expected) {
    const RankEnd zero = refused(change, reason);
    CHECK(zero.error.empty());
    CHECK(zero.outcome.measured == 2);
    REQUIRE(zero.notes.size() == 1);
    CHECK_THAT(zero.notes[0], Contains(expected));
    CHECK_THAT(reason, Contains("error: rank 0 at 127.0.0.1 port") && Contains(expected));
  };
  check([](SessionOptions& o) { o.token = "wrong"; }, "the token is wrong");
  check([](SessionOptions& o) { o.version = "2.0"; },
        "rank 0 runs fabricast 1.0, rank 1 runs 2.0: all ranks must run the same version");
  check([](SessionOptions& o) { o.place.ranks = 3; }, "rank 0 expects 2 ranks, rank 1 expects 3");
  check([](SessionOptions& o) { o.place.ranks = 3, o.place.rank = 2; }, "rank 0 expects 2 ranks, rank 2 expects 3");
}

TEST_CASE("the token must be the same on all ranks", "[probe]") {
  const auto same = run_ranks(2, healthy, [](int, SessionOptions& o) { o.token = "s3cret"; });
  CHECK(same[0].outcome.measured == 2);
  const auto none =
      run_ranks(2, healthy, [](int r, SessionOptions& o) { o.token = r == 0 ? "s3cret" : "", o.timeout = {0.5}; });
  CHECK_THAT(none[0].error,
             Contains("rank 1 did not connect") && Contains("refused a connection from 127.0.0.1: the token is wrong"));
  CHECK_THAT(none[1].error, Contains("the token is wrong"));
}

TEST_CASE("a connection that sends nothing, or nonsense, does not block the others", "[probe]") {
  for (const std::string said : {"", "GET / HTTP/1.1\r\n", "{\"protocol\": 7}\n", "[1]\n", "{\"protocol\"",
                                 "{\"protocol\": \"fabricast probe 1\", \"version\": \"1.0\", \"token\": \"\", "
                                 "\"rank\": 1, \"ranks\": 2, \"port\": \"x\"}\n"}) {
    INFO(said);
    probe::Socket silent;
    std::string other;
    const auto begin = std::chrono::steady_clock::now();
    const RankEnd zero = with_stranger(
        [&](int port) {
          silent = probe::connect_until("127.0.0.1", port, "", probe::after(2));
          REQUIRE(send(silent.fd(), said.data(), said.size(), 0) == static_cast<ssize_t>(said.size()));
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        },
        other);
    CHECK(zero.error.empty());
    CHECK(other.empty());
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
  }
}

TEST_CASE("text of a stranger is not repeated before its token is right, and never raw", "[probe]") {
  const auto knocks = [](const std::string& token, const std::string& version) {
    const int port = free_port();
    SessionOptions options = options_of(0, 2, port);
    options.token = "s3cret", options.timeout = {0.5};
    auto zero = std::async(std::launch::async, [&] { return run_rank(fake(), options); });
    probe::Wire wire(probe::connect_until("127.0.0.1", port, "", probe::after(2)));
    wire.send("{\"protocol\": \"fabricast probe 2\", \"token\": \"" + token + "\", \"version\": \"" + version + "\"}",
              probe::after(2));
    return std::pair(zero.get(), wire.receive(probe::after(2)));
  };
  const std::string escape = "\\u001b[2J\\u009b2J", marker = "XYZZY" + std::string(10000, 'x');
  const auto [stranger, answer_to_stranger] = knocks("wrong", escape + marker);
  for (const std::string& text : {stranger.error, stranger.notes.at(0), answer_to_stranger}) {
    CHECK_THAT(text, Contains("the token is wrong"));
    CHECK_THAT(text, !Contains("XYZZY") && !Contains("\x1b") && !Contains("\xc2\x9b"));
  }
  const auto [other, answer_to_other] = knocks("s3cret", escape + marker);
  for (const std::string& text : {other.error, other.notes.at(0)}) {
    CHECK_THAT(text, Contains("all ranks must run the same version") && Contains("XYZZY"));
    CHECK_THAT(text, !Contains("\x1b") && !Contains("\xc2\x9b"));
    CHECK(text.size() < 500);
  }
}

TEST_CASE("two hundred silent connections keep no rank out", "[probe]") {
  std::vector<probe::Socket> silent;
  std::string other;
  const auto begin = std::chrono::steady_clock::now();
  const RankEnd zero = with_stranger(
      [&](int port) {
        for (int i = 0; i < 200; ++i) silent.push_back(probe::connect_until("127.0.0.1", port, "", probe::after(2)));
      },
      other);
  CHECK(zero.error.empty());
  CHECK(other.empty());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
}

TEST_CASE("whatever a false rank 0 sends, the error names rank 0", "[probe]") {
  const std::string roster =
      R"({"pass": "p", "members": [{"host": "a", "address": "127.0.0.1", "port": 1}, {"host": "b", "address": "", "port": 2}]})";
  const std::string order =
      R"({"measure": 0, "share": 1, "backend": "fake", "what": "talk", "memory": "host", "from": 0, "to": 7,
          "from_port": "", "to_port": "", "bytes": 8, "connections": 1, "stream": false, "everyone": false, "gpus": 0,
          "in_place": false, "algorithm": "", "protocol": "", "channels": 0})";
  const std::string one_line = [&] {
    std::string line = order;
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }();
  const std::vector<std::vector<std::string>> answers = {{"7"},
                                                         {"{\"refused\": 7}"},
                                                         {"{\"members\": 7}"},
                                                         {"{\"pass\": 1, \"members\": []}"},
                                                         {"{\"pass\": \"p\", \"members\": []}"},
                                                         {roster, "[1]"},
                                                         {roster, "nonsense"},
                                                         {roster, "{\"end\": 7}"},
                                                         {roster, "{\"measure\": 0}"},
                                                         {roster, one_line}};
  for (const std::vector<std::string>& lines : answers) {
    INFO(lines.back());
    const probe::Socket listener = probe::listen_at("127.0.0.1", 0);
    SessionOptions options = options_of(1, 2, probe::own_address(listener).second);
    options.timeout = {1};
    auto one = std::async(std::launch::async, [&] { return run_rank(fake(), options); });
    REQUIRE(probe::wait_for(listener.fd(), POLLIN, probe::after(2)));
    probe::Wire wire{probe::Socket(accept(listener.fd(), nullptr, nullptr))};
    wire.receive(probe::after(2));
    for (const std::string& line : lines) wire.send(line, probe::after(2));
    CHECK_THAT(one.get().error, Catch::Matchers::StartsWith("unavailable: rank 0"));
  }
}

TEST_CASE("two processes with the same rank: the second one is refused", "[probe]") {
  const auto ends = run_ranks(3, healthy, [](int r, SessionOptions& o) {
    if (r == 2) o.place.rank = 1;
    o.timeout = {0.5};
  });
  CHECK_THAT(ends[0].error, Contains("rank 2 did not connect") && Contains("rank 1 has already joined"));
  CHECK(((ends[1].error.find("rank 1 has already joined") != std::string::npos) !=
         (ends[2].error.find("rank 1 has already joined") != std::string::npos)));
}

TEST_CASE("ranks that do not connect, and a rank 0 that does not listen", "[probe]") {
  SessionOptions zero = options_of(0, 11, free_port());
  zero.timeout = {0.2};
  CHECK_THAT(run_rank(fake(), zero).error,
             Contains("unavailable: ranks 1, 2, 3, 4, 5, 6, 7, 8, ... did not connect to 127.0.0.1 port") &&
                 Contains("within 0.2 s"));
  SessionOptions one = options_of(1, 2, free_port());
  one.timeout = {0.2};
  CHECK_THAT(run_rank(fake(), one).error, Contains("did not answer within 0.2 s: connection refused"));
}

TEST_CASE("a port in use is an error", "[probe]") {
  const probe::Socket taken = probe::listen_at("127.0.0.1", 0);
  const int port = probe::own_address(taken).second;
  CHECK_THAT(run_rank(fake(), options_of(0, 2, port)).error, Contains("cannot listen at 127.0.0.1 port"));
}

TEST_CASE("tcp measures between two ranks", "[probe]") {
  const auto tcp = [](int) { return std::vector<ProbeBackendEntry>{*find_by_name(probe_backends(), "tcp")}; };
  const auto ends = run_ranks(2, tcp, [](int, SessionOptions& o) {
    o.settings.sizes = {{1}, {100000}, {8 << 20}}, o.settings.connections = {1, 3}, o.budget = {3};
  });
  CHECK(ends[0].outcome.measured == 3 + 12);
  for (const auto& [m, set] : ends[0].results) {
    INFO(m.key() << set.error);
    CHECK(set.error.empty());
    CHECK(set.median.value > 1e-9);
    CHECK(set.low <= set.median);
    CHECK(set.median <= set.high);
    // Nothing here carries more than 100 GB/s, or less than 10 MB/s in messages of 100 kB.
    if (m.bytes.value >= 100000) {
      const double rate = static_cast<double>(m.bytes.value) / set.median.value;
      CHECK(rate > 1e7);
      CHECK(rate < 1e11);
    }
  }
}

}  // namespace
}  // namespace fabricast
