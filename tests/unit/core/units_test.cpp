#include "fabricast/core/units.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/id.hpp"

namespace fabricast {
namespace {

using namespace literals;

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
  a < b;
};

template <class A, class B>
constexpr bool strangers = !addable<A, B> && !addable<B, A> && !comparable<A, B> && !multipliable<A, B>;

TEST_CASE("units do not mix", "[core]") {
  STATIC_REQUIRE(addable<Bytes, Bytes>);
  STATIC_REQUIRE(comparable<Seconds, Seconds>);
  STATIC_REQUIRE(strangers<Bytes, Seconds>);
  STATIC_REQUIRE(strangers<Bytes, BytesPerSecond>);
  STATIC_REQUIRE(strangers<Bytes, Metres>);
  STATIC_REQUIRE(strangers<Seconds, BytesPerSecond>);
  STATIC_REQUIRE(strangers<Seconds, Metres>);
  STATIC_REQUIRE(strangers<Watts, Seconds>);
  STATIC_REQUIRE(strangers<Watts, BytesPerSecond>);
  STATIC_REQUIRE_FALSE(addable<Bytes, std::int64_t>);
  STATIC_REQUIRE_FALSE(addable<Seconds, double>);
  STATIC_REQUIRE_FALSE(comparable<BytesPerSecond, double>);
  STATIC_REQUIRE_FALSE(multipliable<Bytes, Bytes>);
  STATIC_REQUIRE_FALSE(divisible<Seconds, Bytes>);
  STATIC_REQUIRE_FALSE(divisible<BytesPerSecond, Bytes>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<double, Seconds>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Seconds, double>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Rank, LinkId>);
  STATIC_REQUIRE_FALSE(comparable<Rank, LinkId>);
}

TEST_CASE("bytes over rate is time, bytes over time is rate", "[core]") {
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes{} / BytesPerSecond{}), Seconds>);
  STATIC_REQUIRE(std::is_same_v<decltype(Bytes{} / Seconds{}), BytesPerSecond>);
  CHECK((1_GiB / 1_GBps).value == Approx(1.073741824));
  CHECK((1_MiB / 1.0_ms).value == Approx(1048576e3));
  CHECK(8_Gbps == 1_GBps);
  CHECK(400_Gbps == BytesPerSecond{50e9});
  CHECK(1_KiB == 1024_B);
  CHECK(3_KiB / 1_KiB == 3);
  CHECK(microseconds(1.5_ms) == Approx(1500));
  CHECK(gigabytes_per_second(400_Gbps) == Approx(50));
  Bytes sum = 1_KiB;
  sum += 1_B, sum -= 25_B;
  CHECK(sum == 1000_B);
}

TEST_CASE("rounding up", "[core]") {
  CHECK(ceil_div(0, 7) == 0);
  CHECK(ceil_div(7, 7) == 1);
  CHECK(ceil_div(8, 7) == 2);
  CHECK(round_up(1, 16) == 16);
  CHECK(round_up(16, 16) == 16);
  CHECK(round_up(17, 16) == 32);
}

TEST_CASE("a default id is not valid", "[core]") {
  CHECK_FALSE(Rank().valid());
  CHECK(Rank(0).valid());
  CHECK(Rank(1) < Rank(2));
}

}  // namespace
}  // namespace fabricast
