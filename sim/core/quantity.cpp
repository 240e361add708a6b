// Numbers are parsed by std::from_chars, which is exact and independent of the locale.
//
// Units are required where a quantity has one, because a bare number in a scenario is ambiguous (bits or bytes, 10^9 or
// 2^30). to_text and the parsers are inverse: a printed scenario reads back to exactly the same values.
#include "fabricast/core/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "fabricast/core/field_tree.hpp"

namespace fabricast {

namespace {

struct Unit {
  std::string_view name;
  double scale;
};

// Decimal units have powers of 1000, units with an i powers of 1024.
constexpr std::array byte_units = {Unit{"B", 1},        Unit{"KB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                                   Unit{"TB", 1e12},    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30},
                                   Unit{"TiB", 0x1p40}, Unit{"K", 0x1p10},   Unit{"M", 0x1p20},   Unit{"G", 0x1p30},
                                   Unit{"T", 0x1p40}};  // nccl-tests' letters are powers of 1024
// As nccl-tests, which accepts its letters in both cases. They are read, and never written.
constexpr std::array small_byte_letters = {Unit{"k", 0x1p10}, Unit{"m", 0x1p20}, Unit{"g", 0x1p30}, Unit{"t", 0x1p40}};
constexpr auto accepted_byte_units = [] {
  std::array<Unit, byte_units.size() + small_byte_letters.size()> all{};
  std::copy(byte_units.begin(), byte_units.end(), all.begin());
  std::copy(small_byte_letters.begin(), small_byte_letters.end(), all.begin() + byte_units.size());
  return all;
}();
// From large to small, as `shortest` needs them.
constexpr std::array time_units = {Unit{"d", 86400}, Unit{"h", 3600},  Unit{"min", 60}, Unit{"s", 1},
                                   Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};
constexpr std::array rate_units = {Unit{"Mbps", 0.125e6}, Unit{"Gbps", 0.125e9}, Unit{"Tbps", 0.125e12},
                                   Unit{"MBps", 1e6},     Unit{"GBps", 1e9},     Unit{"TBps", 1e12}};
constexpr std::array length_units = {Unit{"m", 1}, Unit{"km", 1e3}};
constexpr std::array power_units = {Unit{"W", 1}, Unit{"kW", 1e3}};

// A number and the rest of the text. Space between the two is allowed.
struct Split {
  double number = 0;
  std::string_view unit;
  std::string error;
};

Split split(std::string_view text) {
  Split s;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), s.number);
  if (code == std::errc::result_out_of_range) {
    s.error = fmt::format("the number '{}' is too large or too small", text);
    return s;
  }
  if (code != std::errc() || text.empty()) {
    s.error = fmt::format("'{}' is not a number with a unit", text);
    return s;
  }
  if (!std::isfinite(s.number)) {
    s.error = fmt::format("'{}' is not a finite number", text);
    return s;
  }
  s.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!s.unit.empty() && s.unit.front() == ' ') s.unit.remove_prefix(1);
  return s;
}

/// The number in SI units, or an error. `no_unit` is the hint for a bare number, with {0} for the number.
template <std::size_t N>
Parsed<double> parse(std::string_view text, const std::array<Unit, N>& units, std::string_view no_unit,
                     std::string_view unknown_unit) {
  const Split s = split(text);
  if (!s.error.empty()) return {0, s.error, fmt::format(fmt::runtime(no_unit), "1")};
  if (s.unit.empty()) return {0, fmt::format("'{}' has no unit", text), fmt::format(fmt::runtime(no_unit), text)};
  for (const Unit& unit : units)
    if (unit.name == s.unit) {
      if (const double value = s.number * unit.scale; std::isfinite(value)) return {value, {}, {}};
      return {0, fmt::format("'{}' is too large", text), {}};
    }
  return {0, fmt::format("unknown unit '{}'", s.unit), std::string(unknown_unit)};
}

template <class T>
// The same outcome as a quantity of another type.
Parsed<T> as(Parsed<double> p) {
  return {T{p.value}, std::move(p.error), std::move(p.hint)};
}

template <class T>
Parsed<T> refuse_negative(Parsed<T> p) {
  if (p && p.value.value < 0) p.error = "must not be negative";
  return p;
}

/// With all digits, in the unit with the shortest text that reads back to exactly this value. The quotient alone may
/// miss the value by an ulp, so its neighbours are tried, too.
template <std::size_t N>
std::string all_digits(double value, const std::array<Unit, N>& units) {
  constexpr double far = std::numeric_limits<double>::infinity();
  std::string best;
  for (const Unit& unit : units) {
    const double number = value / unit.scale;
    for (const double near : {number, std::nextafter(number, far), std::nextafter(number, -far)}) {
      std::string text = fmt::format("{}{}", near, unit.name);
      if (near * unit.scale == value && (best.empty() || text.size() < best.size())) best = std::move(text);
    }
  }
  return best.empty() ? fmt::format("{}{}", value / units[0].scale, units[0].name) : best;
}

/// In the unit with the shortest number, among those in which 15 digits read back to exactly this value. What the user
/// wrote is one of them. Units are ordered from large to small.
template <std::size_t N>
std::string shortest(double value, const std::array<Unit, N>& units) {
  std::string best;
  for (const Unit& unit : units) {
    const std::string number = fmt::format("{:.15g}", value / unit.scale);
    double back = 0;
    std::from_chars(number.data(), number.data() + number.size(), back);
    std::string text = number + std::string(unit.name);
    if (back * unit.scale == value && (best.empty() || text.size() <= best.size())) best = std::move(text);
  }
  return best.empty() ? all_digits(value, units) : best;
}

template <std::size_t N>
std::vector<std::string_view> names_of(const std::array<Unit, N>& units) {
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  return names;
}

}  // namespace

std::vector<std::string_view> units_of(FieldType type) {
  switch (type) {
    case FieldType::bytes: return names_of(byte_units);
    case FieldType::time: return names_of(time_units);
    case FieldType::rate: return names_of(rate_units);
    case FieldType::length: return names_of(length_units);
    case FieldType::power: return names_of(power_units);
    default: return {};
  }
}

std::vector<std::string_view> accepted_units_of(FieldType type) {
  return type == FieldType::bytes ? names_of(accepted_byte_units) : units_of(type);
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  const Parsed<double> p =
      parse(text, accepted_byte_units, "write {0}B, {0}KiB or {0}MB",
            "sizes are in B, K M G T or KiB MiB GiB TiB (1024s), or KB MB GB TB (1000s); case matters");
  Parsed<Bytes> bytes{{}, p.error, p.hint};
  if (!bytes) return bytes;
  if (p.value < 0) return {{}, "must not be negative", {}};
  if (p.value >= 0x1p62) return {{}, fmt::format("'{}' is too large", text), "at most 4 EiB"};
  // A decimal fraction of a unit may miss a whole number by an ulp: 1.3KB is 1300 B.
  bytes.value = {std::llround(p.value)};
  if (std::abs(p.value - static_cast<double>(bytes.value.value)) > 1e-6)
    return {{}, fmt::format("'{}' is not a whole number of bytes", text), {}};
  return bytes;
}

Parsed<Seconds> parse_seconds(std::string_view text) {
  return refuse_negative(as<Seconds>(
      parse(text, time_units, "write {0}us, {0}ms or {0}s", "times are in s, ms, us, ns, min, h, d; case matters")));
}

Parsed<BytesPerSecond> parse_rate(std::string_view text) {
  // Never guess the unit: Gbps and GBps differ by a factor of eight.
  Parsed<double> p = parse(text, rate_units, "write {0}Gbps (bits) or {0}GBps (bytes)",
                           "rates are in Mbps, Gbps, Tbps (bits) or MBps, GBps, TBps (bytes); case matters");
  if (p && p.value <= 0) p.error = "must be positive";
  return as<BytesPerSecond>(std::move(p));
}

Parsed<Metres> parse_metres(std::string_view text) {
  return refuse_negative(as<Metres>(parse(text, length_units, "write {0}m", "lengths are in m or km")));
}

Parsed<Watts> parse_watts(std::string_view text) {
  Parsed<double> p = parse(text, power_units, "write {0}W", "powers are in W or kW; case matters");
  if (p && p.value <= 0) p.error = "must be positive";
  return as<Watts>(std::move(p));
}

Parsed<double> parse_number(std::string_view text) {
  const Split s = split(text);
  if (!s.error.empty()) return {0, fmt::format("'{}' is not a number", text), {}};
  // A proportion where a plain number is expected: the message shows how to write it.
  if (s.unit.starts_with(':'))
    return {0, fmt::format("'{}' is not a plain number", text),
            fmt::format("write {:g} for {:g}:1", s.number, s.number)};
  if (!s.unit.empty()) return {0, fmt::format("'{}' is not a plain number", text), "write it without a unit"};
  return {s.number, {}, {}};
}

Parsed<double> parse_proportion(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return parse_number(text);
  const auto trimmed = [](std::string_view part) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    return part;
  };
  const Parsed<double> down = parse_number(trimmed(text.substr(0, colon))),
                       up = parse_number(trimmed(text.substr(colon + 1)));
  if (!down || !up || !(up.value > 0) || down.value < 0 || !std::isfinite(down.value / up.value))
    return {0, fmt::format("'{}' is not a proportion", text), "e.g. 2:1, or 2"};
  return {down.value / up.value, {}, {}};
}

// 10% and 0.1 are the same. The colon of a proportion (`2:1`) is not accepted here, because 10:1 could mean either.
Parsed<double> parse_ratio(std::string_view text) {
  const Split s = split(text);
  if (!s.error.empty()) return {0, fmt::format("'{}' is not a ratio", text), "write 10% or 0.1"};
  if (s.unit == "%") return {s.number / 100, {}, {}};
  if (!s.unit.empty()) return {0, fmt::format("'{}' is not a ratio", text), "write 10% or 0.1"};
  return {s.number, {}, {}};
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range) return {0, fmt::format("'{}' is too large", text), {}};
  if (code != std::errc() || end != text.data() + text.size() || text.empty())
    return {0, fmt::format("'{}' is not a whole number", text), {}};
  return {value, {}, {}};
}

std::string to_text(Bytes bytes) {
  constexpr std::array binary = {Unit{"TiB", 0x1p40}, Unit{"GiB", 0x1p30}, Unit{"MiB", 0x1p20}, Unit{"KiB", 0x1p10}};
  for (const Unit& unit : binary) {
    const auto scale = static_cast<std::int64_t>(unit.scale);
    // The largest binary unit in which the number is whole.
    if (bytes.value >= scale && bytes.value % scale == 0) return fmt::format("{}{}", bytes.value / scale, unit.name);
  }
  return fmt::format("{}B", bytes.value);
}

std::string to_text(Seconds seconds) {
  if (seconds.value == 0) return "0s";
  return shortest(seconds.value, time_units);
}

std::string short_text(Seconds time) {
  using namespace literals;
  if (time >= 1.0_s) return fmt::format("{:.4g} s", time.value);
  return time >= 1.0_ms ? fmt::format("{:.4g} ms", milliseconds(time)) : fmt::format("{:.4g} us", microseconds(time));
}

std::string to_text(BytesPerSecond rate) {
  // Rates of links are given in bits, as vendors do.
  constexpr std::array bits = {Unit{"Tbps", 0.125e12}, Unit{"Gbps", 0.125e9}, Unit{"Mbps", 0.125e6}};
  return shortest(rate.value, bits);
}

std::string to_text(Metres metres) { return fmt::format("{}m", metres.value); }

std::string to_text(Watts power) { return fmt::format("{}W", power.value); }

std::string to_text(double number) { return fmt::format("{}", number); }

// Through text, so that the result is the number that a reader sees.
double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace fabricast
