// Messages between ranks: they are read back as they were written, and malformed ones are refused.
#include <catch2/catch.hpp>

#include "calibrate/probe/messages.hpp"

namespace fabricast {
namespace {

SessionOptions of_rank(int rank) {
  SessionOptions options;
  options.place.rank = rank;
  options.place.ranks = 3;
  options.version = "1.0";
  options.token = "t";
  return options;
}

const char* provenance = R"({"host": "b"})";

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const auto at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), with);
}

TEST_CASE("a hello message is read back as it was written", "[probe]") {
  const Member self{"b", "10.0.0.2", 4242, provenance, {{"tcp", "", {{"eth0", "", {1.25e9}, "", "gpu1"}}}}};
  const Hello hello = read_hello(hello_text(of_rank(2), self), of_rank(0), {});
  CHECK(hello.refused.empty());
  CHECK(hello.rank == 2);
  CHECK(hello.member.host == "b");
  CHECK(hello.member.port == 4242);
  CHECK(hello.member.provenance == provenance);
  REQUIRE(hello.member.backends.size() == 1);
  CHECK(hello.member.backends[0].ports[0].name == "eth0");
  CHECK(hello.member.backends[0].ports[0].rate.value == 1.25e9);
}

TEST_CASE("a malformed hello message is refused, whatever is malformed", "[probe]") {
  const std::string whole = hello_text(of_rank(2), {"b", "10.0.0.2", 4242, provenance, {}});
  const auto reason = [](const std::string& text) { return read_hello(text, of_rank(0), {1}).refused; };
  CHECK(reason(whole).empty());
  CHECK(reason(replaced(whole, "\"rank\":2", "\"rank\":1")) == "rank 1 has already joined");
  CHECK(reason(replaced(whole, "4242", "70000")) == "its hello message is malformed");
  CHECK(reason(replaced(whole, "4242", "\"x\"")) == "its hello message is malformed");
  // Rank 0 writes provenance into the results.
  CHECK(reason(replaced(whole, R"({\"host\": \"b\"})", "{")) == "its hello message is malformed");
  CHECK(reason("[1]") == "this is not a rank of `fabricast calibrate probe`");
}

TEST_CASE("numbers that do not fit are refused, not truncated", "[probe]") {
  Order order;
  order.measurement.backend = "tcp";
  order.measurement.to = 2;
  order.measurement.bytes = {8};
  order.number = 7;
  order.share = {1.5};
  const std::string whole = order_text(order);
  const Order read = read_order(whole, 3);
  CHECK(read.measurement.to == 2);
  CHECK(read.number == 7);
  CHECK(read.share.value == 1.5);
  CHECK(order_text(read) == whole);
  CHECK_THROWS_AS(read_order(replaced(whole, "\"to\":2", "\"to\":4294967298"), 3), ProbeFailure);
  CHECK_THROWS_AS(read_order(replaced(whole, "\"to\":2", "\"to\":3"), 3), ProbeFailure);
  CHECK_THROWS_AS(read_order(replaced(whole, "\"to\":2", "\"to\":1.5"), 3), ProbeFailure);
  CHECK_THROWS_AS(read_order(replaced(whole, "\"bytes\":8", "\"bytes\":-8"), 3), ProbeFailure);
  CHECK_THROWS_AS(read_order("null", 3), ProbeFailure);
}

TEST_CASE("answers and samples are read back as they were written", "[probe]") {
  const Roster roster = read_roster(roster_text({{}, "pass", {{"a", "10.0.0.1", 1, {}, {}}}}));
  CHECK(roster.pass == "pass");
  REQUIRE(roster.members.size() == 1);
  CHECK(roster.members[0].address == "10.0.0.1");
  CHECK(read_roster(roster_text({"the token is wrong", {}, {}})).refused == "the token is wrong");
  CHECK_THROWS_AS(read_roster("{}"), ProbeFailure);
  CHECK(read_samples(samples_text({{1e-6}, {2.5e-6}})).at(1).value == 2.5e-6);
  CHECK_THROWS_AS(read_samples("[-1]"), ProbeFailure);
  CHECK_THROWS_AS(read_samples("{}"), ProbeFailure);
  // Control characters and invalid UTF-8 from another host are removed.
  CHECK(read_report(report_text({{}, "no \033[31m", "\xff"})).error == "no  [31m");
}

}  // namespace
}  // namespace fabricast
