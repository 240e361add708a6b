// Text to quantities and back: `400Gbps`, `330ns`, `20m`, `1MiB`, `25MB`, `10%`.
//
// A quantity always has a unit. A bare number is an error ("'400' has no unit"), and units are never guessed: Gbps and
// GBps differ by a factor of eight. Case matters, and spaces between number and unit are allowed. Decimal fractions and
// exponents are accepted; inf and nan are not.
//
// Writing a quantity and parsing it again gives the same value. Numbers are parsed and written independently of the
// locale.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <string>
#include <string_view>

#include "fabricast/core/units.hpp"

namespace fabricast {

/// The outcome of parsing: a value, or a message and a hint for a Diagnostic. Converts to true if there is a value.
template <class T>
struct Parsed {
  T value{};
  std::string error;  ///< empty if parsing succeeded
  std::string hint;   ///< what to write instead; may be empty
  /// Whether there is a value.
  explicit operator bool() const { return error.empty(); }
};

Parsed<Bytes> parse_bytes(
    std::string_view text);  ///< B KB MB GB TB KiB MiB GiB TiB, K M G T as nccl-tests; whole, not negative
Parsed<Seconds> parse_seconds(std::string_view text);       ///< s ms us ns min h d; not negative
Parsed<BytesPerSecond> parse_rate(std::string_view text);   ///< Mbps Gbps Tbps MBps GBps TBps; positive
Parsed<Metres> parse_metres(std::string_view text);         ///< m km; not negative
Parsed<Watts> parse_watts(std::string_view text);           ///< W kW; positive
Parsed<double> parse_ratio(std::string_view text);          ///< a fraction: `10%` or `0.1`
Parsed<double> parse_proportion(std::string_view text);     ///< `2:1`, `3:2` or `1.5`
Parsed<double> parse_number(std::string_view text);         ///< finite, no unit
Parsed<std::int64_t> parse_integer(std::string_view text);  ///< decimal, no unit, fits in 64 bits

std::string to_text(Bytes bytes);          ///< the largest binary unit that divides it: `8B`, `1MiB`, `100000B`
std::string to_text(Seconds seconds);      ///< the shortest exact text: `330ns`, `12.5us`, `0s`
std::string to_text(BytesPerSecond rate);  ///< `400Gbps`; always in bits, as data sheets give link rates
std::string to_text(Metres metres);        ///< `20m`
std::string to_text(Watts power);          ///< `700W`
std::string short_text(Seconds time);      ///< four digits in s, ms or us: `12.34 ms`
std::string to_text(double number);        ///< the shortest decimal that reads back to the same value

/// The value rounded to this many significant digits, so that last-bit differences between machines do not show in
/// output.
double rounded(double value, int digits);

}  // namespace fabricast
