// Units as types: a number of bytes can not be added to a time, and a rate is never a bare double.
//
// Bytes are whole (int64); times, rates and lengths are doubles in SI units. Decimal and binary
// prefixes differ by type of literal: 1_KB = 1000 B, 1_KiB = 1024 B; 8_Gbps = 1_GBps.
// Text always carries a unit; see core/quantity.hpp for the parser.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>

namespace fabricast {

inline constexpr double gib = 1024.0 * 1024 * 1024;  ///< B

struct Bytes {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
};

struct Seconds {
  double value = 0;
  friend constexpr auto operator<=>(Seconds, Seconds) = default;
};

struct BytesPerSecond {
  double value = 0;
  friend constexpr auto operator<=>(BytesPerSecond, BytesPerSecond) = default;
};

struct Metres {
  double value = 0;
  friend constexpr auto operator<=>(Metres, Metres) = default;
};

struct Watts {
  double value = 0;
  friend constexpr auto operator<=>(Watts, Watts) = default;
};

constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.value * n}; }
constexpr Bytes operator*(std::int64_t n, Bytes a) { return {a.value * n}; }
constexpr Bytes operator/(Bytes a, std::int64_t n) { return {a.value / n}; }
constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.value / b.value; }
constexpr Bytes& operator+=(Bytes& a, Bytes b) { return a = a + b; }
constexpr Bytes& operator-=(Bytes& a, Bytes b) { return a = a - b; }

constexpr Seconds operator+(Seconds a, Seconds b) { return {a.value + b.value}; }
constexpr Seconds operator-(Seconds a, Seconds b) { return {a.value - b.value}; }
constexpr Seconds operator*(Seconds a, double x) { return {a.value * x}; }
constexpr Seconds operator*(double x, Seconds a) { return {a.value * x}; }
constexpr Seconds operator/(Seconds a, double x) { return {a.value / x}; }
constexpr double operator/(Seconds a, Seconds b) { return a.value / b.value; }
constexpr Seconds& operator+=(Seconds& a, Seconds b) { return a = a + b; }

constexpr BytesPerSecond operator+(BytesPerSecond a, BytesPerSecond b) { return {a.value + b.value}; }
constexpr BytesPerSecond operator-(BytesPerSecond a, BytesPerSecond b) { return {a.value - b.value}; }
constexpr BytesPerSecond operator*(BytesPerSecond a, double x) { return {a.value * x}; }
constexpr BytesPerSecond operator*(double x, BytesPerSecond a) { return {a.value * x}; }
constexpr BytesPerSecond operator/(BytesPerSecond a, double x) { return {a.value / x}; }
constexpr double operator/(BytesPerSecond a, BytesPerSecond b) { return a.value / b.value; }

constexpr double operator/(Watts a, Watts b) { return a.value / b.value; }

constexpr Seconds operator/(Bytes a, BytesPerSecond r) { return {static_cast<double>(a.value) / r.value}; }
constexpr BytesPerSecond operator/(Bytes a, Seconds t) { return {static_cast<double>(a.value) / t.value}; }

/// a / b rounded up; \pre a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) { return ceil_div(a, multiple) * multiple; }
/// log2 n rounded up; \pre n > 0.
constexpr int log2_up(std::int64_t n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n) - 1)); }

constexpr double microseconds(Seconds t) { return t.value * 1e6; }
constexpr double gigabytes_per_second(BytesPerSecond r) { return r.value * 1e-9; }

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
