#include "fabricast/core/quantity.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

TEST_CASE("sizes", "[core]") {
  const std::vector<std::pair<const char*, std::int64_t>> good = {{"0B", 0},
                                                                  {"8B", 8},
                                                                  {"1KB", 1000},
                                                                  {"1KiB", 1024},
                                                                  {"25MB", 25'000'000},
                                                                  {"1MiB", 1 << 20},
                                                                  {"1.5GiB", 3 << 29},
                                                                  {"2GB", 2'000'000'000},
                                                                  {"1 TiB", 1LL << 40},
                                                                  {"3TB", 3'000'000'000'000},
                                                                  {"1.3KB", 1300},
                                                                  {"512k", 512 << 10},
                                                                  {"3m", 3 << 20},
                                                                  {"8g", 8LL << 30},
                                                                  {"1t", 1LL << 40},
                                                                  {"0.5KiB", 512},
                                                                  {"1e3B", 1000},
                                                                  {"8G", 8LL << 30},
                                                                  {"1M", 1 << 20},
                                                                  {"4K", 4096},
                                                                  {"2T", 2LL << 40},
                                                                  {"4611686018427387392B", (1LL << 62) - 512}};
  for (const auto& [text, value] : good) {
    INFO(text);
    const auto parsed = parse_bytes(text);
    CHECK(parsed.error == "");
    CHECK(parsed.value.value == value);
  }
}

TEST_CASE("times, rates, lengths, ratios and numbers", "[core]") {
  CHECK(parse_seconds("330ns").value.value == Approx(330e-9));
  CHECK(parse_seconds("12.5us").value.value == Approx(12.5e-6));
  CHECK(parse_seconds("3ms").value.value == Approx(3e-3));
  CHECK(parse_seconds("0s").value.value == 0);
  CHECK(parse_seconds("90min").value.value == 5400);
  CHECK(parse_seconds("1.5h").value.value == 5400);
  CHECK(parse_seconds("1d").value.value == 86400);
  CHECK(parse_rate("400Gbps").value.value == 50e9);
  CHECK(parse_rate("400GBps").value.value == 400e9);
  CHECK(parse_rate("1.6Tbps").value.value == Approx(200e9));
  CHECK(parse_rate("800Mbps").value.value == 100e6);
  CHECK(parse_rate("3MBps").value.value == 3e6);
  CHECK(parse_rate("2TBps").value.value == 2e12);
  CHECK(parse_metres("20m").value.value == 20);
  CHECK(parse_metres("1.5km").value.value == 1500);
  CHECK(parse_ratio("10%").value == Approx(.1));
  CHECK(parse_ratio("0.1").value == .1);
  CHECK(parse_number("-2.5e3").value == -2500);
  CHECK(parse_integer("-9223372036854775808").value == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("proportions", "[core]") {
  CHECK(parse_proportion("2:1").value == 2);
  CHECK(parse_proportion("3 : 2").value == 1.5);
  CHECK(parse_proportion("1.5").value == 1.5);
  for (const char* text : {"2:0", "2:", ":1", "2:1:1", "-2:1", "2:-1", "1e308:1e-308", "two:1", "2:nan"}) {
    INFO(text);
    CHECK(parse_proportion(text).error == "'" + std::string(text) + "' is not a proportion");
  }
}

template <class T>
std::string refusal(const Parsed<T>& parsed) {
  return parsed ? "accepted" : parsed.error + (parsed.hint.empty() ? "" : " | " + parsed.hint);
}

TEST_CASE("invalid sizes are rejected", "[core]") {
  CHECK(refusal(parse_bytes("400")) == "'400' has no unit | write 400B, 400KiB or 400MB");
  CHECK(refusal(parse_bytes("4kb")) ==
        "unknown unit 'kb' | sizes are in B, K M G T or KiB MiB GiB TiB (1024s), or KB MB GB TB (1000s); case matters");
  CHECK(refusal(parse_bytes("-1B")) == "must not be negative");
  CHECK(refusal(parse_bytes("0.5B")) == "'0.5B' is not a whole number of bytes");
  CHECK(refusal(parse_bytes("1.0001KB")) == "'1.0001KB' is not a whole number of bytes");
  CHECK(refusal(parse_bytes("4194304TiB")) == "'4194304TiB' is too large | at most 4 EiB");  // 2^62
  CHECK(refusal(parse_bytes("1e200TiB")) == "'1e200TiB' is too large | at most 4 EiB");
  CHECK(refusal(parse_bytes("1e308TiB")) == "'1e308TiB' is too large");
  for (const char* text : {"", "B", "MiB", "+5B", " 5B", "five", "--1B", ".B"}) {
    INFO(text);
    CHECK(refusal(parse_bytes(text)) ==
          "'" + std::string(text) + "' is not a number with a unit | write 1B, 1KiB or 1MB");
  }
  for (const char* text : {"nanB", "infB", "nan", "-infMiB"}) {
    INFO(text);
    CHECK(refusal(parse_bytes(text)) == "'" + std::string(text) + "' is not a finite number | write 1B, 1KiB or 1MB");
  }
  for (const char* text : {"1e400B", "5B5", "5 B B", "5MiB ", "0x10B", "5,5MB"}) {
    INFO(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

TEST_CASE("other invalid quantities are rejected", "[core]") {
  CHECK_FALSE(parse_rate("400g"));
  CHECK(refusal(parse_rate("400")) == "'400' has no unit | write 400Gbps (bits) or 400GBps (bytes)");
  CHECK(refusal(parse_rate("400Gb")) ==
        "unknown unit 'Gb' | rates are in Mbps, Gbps, Tbps (bits) or MBps, GBps, TBps (bytes); case matters");
  CHECK_FALSE(parse_rate("400gbps"));
  CHECK_FALSE(parse_rate("400GB/s"));
  CHECK(refusal(parse_rate("0Gbps")) == "must be positive");
  CHECK(refusal(parse_rate("-5Gbps")) == "must be positive");
  CHECK(refusal(parse_rate("1e300Tbps")) == "'1e300Tbps' is too large");
  CHECK_FALSE(parse_rate("nanGbps"));
  CHECK(refusal(parse_seconds("5")) == "'5' has no unit | write 5us, 5ms or 5s");
  CHECK(refusal(parse_seconds("5sec")) == "unknown unit 'sec' | times are in s, ms, us, ns, min, h, d; case matters");
  CHECK(refusal(parse_seconds("-1ns")) == "must not be negative");
  CHECK_FALSE(parse_seconds("infs"));
  CHECK(refusal(parse_metres("5")) == "'5' has no unit | write 5m");
  CHECK(refusal(parse_metres("-5m")) == "must not be negative");
  CHECK(refusal(parse_metres("1e308km")) == "'1e308km' is too large");
  CHECK(parse_watts("1.2kW").value.value == 1200);
  CHECK(refusal(parse_watts("700")) == "'700' has no unit | write 700W");
  CHECK(refusal(parse_watts("700w")) == "unknown unit 'w' | powers are in W or kW; case matters");
  CHECK(refusal(parse_watts("0W")) == "must be positive");
  CHECK(refusal(parse_ratio("10 Gbps")) == "'10 Gbps' is not a ratio | write 10% or 0.1");
  CHECK_FALSE(parse_ratio("nan"));
  CHECK_FALSE(parse_ratio("%"));
  CHECK(refusal(parse_number("5s")) == "'5s' is not a plain number | write it without a unit");
  CHECK(refusal(parse_number("inf")) == "'inf' is not a number");
  CHECK(refusal(parse_integer("1.5")) == "'1.5' is not a whole number");
  CHECK(refusal(parse_integer("9223372036854775808")) == "'9223372036854775808' is too large");
  CHECK_FALSE(parse_integer(""));
  CHECK_FALSE(parse_integer("7 "));
}

TEST_CASE("text of quantities", "[core]") {
  CHECK(to_text(Bytes{8}) == "8B");
  CHECK(to_text(Bytes{1 << 20}) == "1MiB");
  CHECK(to_text(Bytes{100'000}) == "100000B");
  CHECK(to_text(Bytes{1536}) == "1536B");
  CHECK(to_text(Bytes{0}) == "0B");
  CHECK(to_text(Seconds{330e-9}) == "330ns");
  CHECK(to_text(parse_seconds("12.5us").value) == "12.5us");
  CHECK(to_text(parse_seconds("200ns").value) == "200ns");
  CHECK(to_text(Seconds{0}) == "0s");
  CHECK(to_text(BytesPerSecond{50e9}) == "400Gbps");
  CHECK(to_text(BytesPerSecond{200e9}) == "1.6Tbps");
  CHECK(to_text(BytesPerSecond{6.25e9}) == "50Gbps");
  CHECK(to_text(Metres{20}) == "20m");
  CHECK(to_text(Watts{700}) == "700W");
  CHECK(to_text(0.1) == "0.1");
  CHECK(to_text(1e300) == "1e+300");
}

TEST_CASE("text reads back to the same quantity", "[core]") {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    const Bytes bytes{static_cast<std::int64_t>(rng.next() >> (12 + rng.below(50)))};  // exact in a double
    CHECK(parse_bytes(to_text(bytes)).value == bytes);
    const double x = std::exp(rng.uniform(-25, 25));
    CHECK(parse_number(to_text(x)).value == x);
    // Multiplying by the unit may cost the last digit.
    CHECK(parse_seconds(to_text(Seconds{x})).value.value == Approx(x).epsilon(1e-15));
    CHECK(parse_rate(to_text(BytesPerSecond{x * 1e9})).value.value == Approx(x * 1e9).epsilon(1e-15));
    CHECK(parse_metres(to_text(Metres{x})).value.value == x);
    CHECK(parse_watts(to_text(Watts{x})).value.value == x);
  }
}

TEST_CASE("values that need all digits read back exactly", "[core]") {
  // Divided by the seconds of a day, the first misses by an ulp.
  for (const double value : {1.2003333333333334e+35, 0.1 + 0.2, 1.0 / 3, 1e-9 / 7})
    CHECK(parse_seconds(to_text(Seconds{value})).value.value == value);
  for (const double value : {1e9 / 3, 50e9 / 7}) CHECK(parse_rate(to_text(BytesPerSecond{value})).value.value == value);
}

TEST_CASE("values written with few digits read back exactly", "[core]") {
  Rng rng(4);
  for (int i = 0; i < 2000; ++i) {
    const double x = static_cast<double>(1 + rng.below(99'999)) / std::pow(10., static_cast<double>(rng.below(4)));
    for (const char* unit : {"s", "ms", "us", "ns"}) {
      const Seconds time = parse_seconds(to_text(x) + unit).value;
      REQUIRE(parse_seconds(to_text(time)).value == time);
      REQUIRE(to_text(time).size() <= (to_text(x) + unit).size());
    }
    for (const char* unit : {"Mbps", "Gbps", "GBps"}) {
      const BytesPerSecond rate = parse_rate(to_text(x) + unit).value;
      REQUIRE(parse_rate(to_text(rate)).value.value == Approx(rate.value).epsilon(1e-15));
    }
  }
}

TEST_CASE("rounding keeps significant digits", "[core]") {
  CHECK(rounded(1234567.89, 6) == 1234570);
  CHECK(rounded(1234567.89, 8) == 1234567.9);
  CHECK(rounded(-0.00012345678, 3) == -0.000123);
  CHECK(rounded(0, 6) == 0);
  CHECK(rounded(1e-310, 6) > 0);  // too small for all its bits
  CHECK(std::isinf(rounded(std::numeric_limits<double>::infinity(), 6)));
}

}  // namespace
}  // namespace fabricast
