// Units as types: bytes cannot be added to a time, and a rate is never a bare double.
//
// Bytes are whole numbers (int64, up to 8 EiB). Times, rates, lengths and powers are doubles in SI units: s, B/s, m, W.
// Only physically meaningful operations exist: Bytes / BytesPerSecond is Seconds, Seconds / Seconds is a number, and
// anything else does not compile. Overflow and division by zero are not checked: bytes wrap or divide as int64 does,
// and a time over a rate of 0 is infinite.
//
// Literals are in `fabricast::literals`. Binary prefixes have an i: 1_KiB is 1024 B. A small b is bits and a capital B
// bytes: 8_Gbps equals 1_GBps. Text always carries a unit; core/quantity.hpp parses and writes it.
//
//   using namespace fabricast::literals;
//   const Seconds time = 1_MiB / 400_Gbps + 2_us;              // 20.97 us + 2 us
//   const double busy = (1_MiB / 400_Gbps) / time;             // a number
//   const double text = microseconds(time);                    // leaves the types only for output
//
// Comparisons are those of the numbers: a NaN is neither less, equal nor greater.
//
// Constexpr value types; safe to use concurrently.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>

namespace fabricast {

inline constexpr double gib = 1024.0 * 1024 * 1024;  ///< bytes of a GiB

/// A number of bytes. Payloads that are averages are doubles, since a part of a byte counts there (`fractional`).
struct Bytes {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
};

/// A time or duration in seconds. A double resolves 0.1 ns at a time of 10 days, far below any latency here.
struct Seconds {
  double value = 0;
  friend constexpr auto operator<=>(Seconds, Seconds) = default;
};

/// A data rate in bytes per second. Link rates are per direction.
struct BytesPerSecond {
  double value = 0;
  friend constexpr auto operator<=>(BytesPerSecond, BytesPerSecond) = default;
};

/// Time per byte: the inverse of a rate, for costs that may be absent.
struct SecondsPerByte {
  double value = 0;
  friend constexpr auto operator<=>(SecondsPerByte, SecondsPerByte) = default;
};

/// A length in metres.
struct Metres {
  double value = 0;
  friend constexpr auto operator<=>(Metres, Metres) = default;
};

/// A power in watts.
struct Watts {
  double value = 0;
  friend constexpr auto operator<=>(Watts, Watts) = default;
};

// Whole bytes: division rounds toward zero, by a number as well as by bytes. 10_B / 4_B is 2; for the fraction 2.5
// write fractional(a) / fractional(b).
constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.value * n}; }
constexpr Bytes operator*(std::int64_t n, Bytes a) { return {a.value * n}; }
constexpr Bytes operator/(Bytes a, std::int64_t n) { return {a.value / n}; }
constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.value / b.value; }
constexpr Bytes& operator+=(Bytes& a, Bytes b) { return a = a + b; }
constexpr Bytes& operator-=(Bytes& a, Bytes b) { return a = a - b; }

// Times may be negative: differences are, and some specs use a time below 0 for "not given".
constexpr Seconds operator+(Seconds a, Seconds b) { return {a.value + b.value}; }
constexpr Seconds operator-(Seconds a, Seconds b) { return {a.value - b.value}; }
constexpr Seconds operator*(Seconds a, double x) { return {a.value * x}; }
constexpr Seconds operator*(double x, Seconds a) { return {a.value * x}; }
constexpr Seconds operator/(Seconds a, double x) { return {a.value / x}; }
constexpr double operator/(Seconds a, Seconds b) { return a.value / b.value; }
constexpr Seconds& operator+=(Seconds& a, Seconds b) { return a = a + b; }
constexpr Seconds& operator-=(Seconds& a, Seconds b) { return a = a - b; }
constexpr Seconds& operator*=(Seconds& a, double x) { return a = a * x; }
constexpr Seconds& operator/=(Seconds& a, double x) { return a = a / x; }

// Rates add where transfers share a link or links run side by side. A factor is an efficiency or a share.
constexpr BytesPerSecond operator+(BytesPerSecond a, BytesPerSecond b) { return {a.value + b.value}; }
constexpr BytesPerSecond& operator+=(BytesPerSecond& a, BytesPerSecond b) { return a = a + b; }
constexpr BytesPerSecond operator-(BytesPerSecond a, BytesPerSecond b) { return {a.value - b.value}; }
constexpr BytesPerSecond operator*(BytesPerSecond a, double x) { return {a.value * x}; }
constexpr BytesPerSecond operator*(double x, BytesPerSecond a) { return {a.value * x}; }
constexpr BytesPerSecond operator/(BytesPerSecond a, double x) { return {a.value / x}; }
constexpr double operator/(BytesPerSecond a, BytesPerSecond b) { return a.value / b.value; }

// Of payloads that are averages, so not whole bytes. per_byte of a rate of 0 is infinite, and 0 bytes at that cost are
// NaN: keep absent costs at SecondsPerByte{}.
constexpr Seconds operator*(SecondsPerByte c, double bytes) { return {c.value * bytes}; }
constexpr SecondsPerByte operator*(double x, SecondsPerByte c) { return {x * c.value}; }
constexpr SecondsPerByte per_byte(BytesPerSecond r) { return {1 / r.value}; }

// A power relative to another, such as a cap relative to the nominal power of a GPU.
constexpr double operator/(Watts a, Watts b) { return a.value / b.value; }

// Time to move bytes at a rate, and the rate of bytes in a time.
constexpr Seconds operator/(Bytes a, BytesPerSecond r) { return {static_cast<double>(a.value) / r.value}; }
constexpr BytesPerSecond operator/(Bytes a, Seconds t) { return {static_cast<double>(a.value) / t.value}; }

/// a / b, rounded up.
/// \pre a >= 0, b > 0, and a + b does not overflow
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// The smallest multiple that is not below a.
/// \pre as ceil_div
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) { return ceil_div(a, multiple) * multiple; }
/// log2(n), rounded up: 0 for 1, 3 for 5 to 8. The number of steps of a binary tree or of recursive doubling.
/// \pre n > 0
constexpr int log2_up(std::int64_t n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n) - 1)); }

/// Numbers for output, in the units that reports print.
constexpr double microseconds(Seconds t) { return t.value * 1e6; }
constexpr double milliseconds(Seconds t) { return t.value * 1e3; }
constexpr double gigabytes_per_second(BytesPerSecond r) { return r.value * 1e-9; }
/// For arithmetic with fractions, exact up to 2^53 bytes (8 PiB).
constexpr double fractional(Bytes b) { return static_cast<double>(b.value); }
/// The nearest whole number of bytes of a result; halves go up.
/// \pre 0 <= b < 2^63
constexpr Bytes whole_bytes(double b) { return {static_cast<std::int64_t>(b + 0.5)}; }

/// For reports of memory. Link rates and messages are in decimal GB instead.
constexpr double gibibytes(Bytes b) { return fractional(b) / gib; }

/// Literals for code and tests: `using namespace fabricast::literals`. Files and options are read by core/quantity.hpp.
/// Binary prefixes are shifts: more than 2^63 bytes overflow without notice.
namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {static_cast<std::int64_t>(n << 10)}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {static_cast<std::int64_t>(n << 20)}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {static_cast<std::int64_t>(n << 30)}; }
constexpr Seconds operator""_s(long double t) { return {static_cast<double>(t)}; }
constexpr Seconds operator""_ms(long double t) { return {static_cast<double>(t) * 1e-3}; }
constexpr Seconds operator""_us(long double t) { return {static_cast<double>(t) * 1e-6}; }
constexpr Seconds operator""_ns(long double t) { return {static_cast<double>(t) * 1e-9}; }
constexpr Seconds operator""_us(unsigned long long t) { return {static_cast<double>(t) * 1e-6}; }
constexpr Seconds operator""_ns(unsigned long long t) { return {static_cast<double>(t) * 1e-9}; }
constexpr BytesPerSecond operator""_GBps(long double r) { return {static_cast<double>(r) * 1e9}; }
constexpr BytesPerSecond operator""_GBps(unsigned long long r) { return {static_cast<double>(r) * 1e9}; }
constexpr BytesPerSecond operator""_Gbps(unsigned long long r) { return {static_cast<double>(r) * 0.125e9}; }
constexpr Metres operator""_m(unsigned long long d) { return {static_cast<double>(d)}; }
constexpr Watts operator""_W(unsigned long long p) { return {static_cast<double>(p)}; }
}  // namespace literals

}  // namespace fabricast
