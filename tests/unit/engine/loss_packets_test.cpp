// Lost packets against htsim's RoCE on networks that lose (tests/packets/lossy.py, tests/data/packets/lossy).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "fabricast/engine/loss.hpp"
#include "support/packet_table.hpp"

namespace fabricast {
namespace {

using test::number;
using Row = test::PacketRow;

std::vector<Row> table(const std::string& name) { return test::packet_table(FABRICAST_TEST_DATA, "lossy/" + name); }

constexpr double payload = 4096, header = 64, rate = 400e9 / 8, timeout = 1e-3;
constexpr double packet = (payload + header) / rate, acknowledgement = header / rate;

/// Rows of a table that differ by their seed only, by the columns that they have in common.
std::map<std::string, std::vector<Row>> cases(const std::string& name, const std::vector<std::string>& by) {
  std::map<std::string, std::vector<Row>> found;
  for (const Row& row : table(name)) {
    std::string key;
    for (const std::string& column : by) key += column + " " + row.at(column) + " ";
    found[key].push_back(row);
  }
  return found;
}

double mean(const std::vector<Row>& rows, const std::string& column) {
  double sum = 0;
  for (const Row& row : rows) sum += number(row, column);
  return sum / static_cast<double>(rows.size());
}

/// The model of a run on pairs of hosts: two links on each way.
LossModel model_of(const Row& row) {
  LossModel m;
  m.lost = lost_on_path(number(row, "loss"), 2);
  m.selective = row.at("recovery") == "selective_repeat";
  m.window = (4 * number(row, "latency_ns") * 1e-9 + 2 * packet + 2 * acknowledgement) / packet + 1;
  m.timeout = Seconds{timeout};
  m.slots = Bytes{std::int64_t{1} << 40};  // htsim's senders wait for nothing
  return m;
}

TEST_CASE("goodput and timeouts of pairs that lose packets", "[packets]") {
  constexpr double flows = 32;
  for (const auto& [name, rows] : cases("random_loss", {"recovery", "latency_ns", "loss"})) {
    CAPTURE(name);
    REQUIRE(rows.size() == 5);
    const LossModel m = model_of(rows.front());
    const double packets = number(rows.front(), "packets");
    // Waiting for a timeout, go-back-N has sent much in vain; that is part of the wait, not of the goodput.
    const double sent = mean(rows, "sent") / packets, loss = number(rows.front(), "loss");
    if (loss < 0.01) CHECK(sent == Approx(1 / goodput_of(m)).epsilon(0.02));
    const double expected = timeouts_expected(m, {packets, flows, flows, flows}, {});
    // Five runs together, within three standard deviations of a Poisson number.
    CHECK(std::abs(5 * mean(rows, "timeouts") - 5 * expected) < 3 * std::sqrt(5 * expected) + 1);
    const double whole = packets / flows * packet / goodput_of(m) + 4 * number(rows.front(), "latency_ns") * 1e-9;
    const double spread = 3 * std::sqrt(expected / 5) / flows * timeout;
    CHECK(std::abs(mean(rows, "mean_us") * 1e-6 - whole - expected / flows * timeout) < spread + 0.03 * whole);
  }
}

/// For tests/packets/page.py: packets, then the model.
TEST_CASE("rows of lost packets", "[.lossy]") {
  constexpr double flows = 32;
  for (const auto& [name, rows] : cases("random_loss", {"recovery", "latency_ns", "loss"})) {
    const LossModel m = model_of(rows.front());
    const double packets = number(rows.front(), "packets");
    const double expected = timeouts_expected(m, {packets, flows, flows, flows}, {});
    const double whole = packets / flows * packet / goodput_of(m) + 4 * number(rows.front(), "latency_ns") * 1e-9;
    fmt::print("lossy,{},{},{},{:.0f},{:.4f},{:.4f},{:.1f},{:.1f},{:.0f},{:.0f}\n", rows.front().at("recovery"),
               rows.front().at("latency_ns"), rows.front().at("loss"), m.window, mean(rows, "sent") / packets,
               1 / goodput_of(m), mean(rows, "timeouts"), expected, mean(rows, "mean_us"),
               1e6 * (whole + expected / flows * timeout));
  }
}

TEST_CASE("what a shared buffer drops", "[packets]") {
  // Two senders for each receiver: half of what they send is too much, less the room that a queue has.
  for (const auto& [name, rows] : cases("buffer", {"receivers", "shared_bytes"})) {
    CAPTURE(name);
    const double receivers = number(rows.front(), "receivers");
    LossModel m;
    m.drops = true;
    m.reacts = false;
    m.buffer = Bytes{static_cast<std::int64_t>(number(rows.front(), "shared_bytes"))};
    const double wire = 1024 * (payload + header);  // of a sender
    m.slots = Bytes{static_cast<std::int64_t>(wire)};
    const double part = dropped_at(m, {2, 2, receivers, BytesPerSecond{rate}});
    const double expected = part * wire * receivers / (payload + header);
    for (const Row& row : rows) CHECK(std::abs(number(row, "dropped") - expected) <= 2 * receivers);
  }
}

TEST_CASE("senders that never slow down wait for one timeout after the other", "[packets]") {
  for (const auto& [name, rows] : cases("overload", {"recovery", "degree", "queue"})) {
    CAPTURE(name);
    LossModel m;
    m.drops = true;
    m.reacts = false;
    m.buffer = Bytes{static_cast<std::int64_t>(2 * number(rows.front(), "queue") * (payload + header))};
    const double degree = number(rows.front(), "degree");
    const int forecast = timeouts_in_series(m, {1, 1, 0, degree}, {degree, degree, 1, BytesPerSecond{rate}}, 1);
    CHECK(forecast == degree - 1);
    // The tables' spread; the mean of five runs is within a factor of 2.2.
    const double measured = mean(rows, "last_us") * 1e-6 / timeout;
    CHECK(measured > forecast / 2.2);
    CHECK(measured < forecast * 2.2);
    // Lossless, an incast takes its bytes: 85 us for each sender.
    CHECK(measured * timeout > 2 * degree * 1024 * packet);
  }
}

}  // namespace
}  // namespace fabricast
