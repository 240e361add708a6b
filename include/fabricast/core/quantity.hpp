// Text to quantities and back: `400Gbps`, `330ns`, `20m`, `1MiB`, `25MB`, `10%`.
//
// A bare number is refused ("400 of what?"), and units are never guessed: Gbps and GBps differ by eight.
#pragma once

#include <string>
#include <string_view>

#include "fabricast/core/units.hpp"

namespace fabricast {

/// The outcome of parsing: either a value, or what is wrong with the text (and what to write).
template <class T>
struct Parsed {
  T value{};
  std::string error;  ///< empty if parsed
  std::string hint;
  explicit operator bool() const { return error.empty(); }
};

Parsed<Bytes> parse_bytes(std::string_view text);           ///< B KB MB GB TB KiB MiB GiB TiB, K M G T as nccl-tests; not negative
Parsed<Seconds> parse_seconds(std::string_view text);       ///< s ms us ns min h d; not negative
Parsed<BytesPerSecond> parse_rate(std::string_view text);   ///< Mbps Gbps Tbps MBps GBps TBps; positive
Parsed<Metres> parse_metres(std::string_view text);         ///< m km; not negative
Parsed<Watts> parse_watts(std::string_view text);           ///< W kW; positive
Parsed<double> parse_ratio(std::string_view text);          ///< `10%` or `0.1`
Parsed<double> parse_proportion(std::string_view text);     ///< `2:1`, `3:2` or `1.5`
Parsed<double> parse_number(std::string_view text);         ///< finite, no unit
Parsed<std::int64_t> parse_integer(std::string_view text);  ///< no unit, must fit

std::string to_text(Bytes bytes);          ///< shortest exact form: `8B`, `1MiB`, `100000B`
std::string to_text(Seconds seconds);      ///< `330ns`, `12.5us`, `0s`
std::string to_text(BytesPerSecond rate);  ///< `400Gbps`; always bits, as the field counts links
std::string to_text(Metres metres);        ///< `20m`
std::string to_text(Watts power);          ///< `700W`
std::string to_text(double number);        ///< shortest decimal that reads back the same

/// To so many significant digits, so that it prints as the same text on every machine.
double rounded(double value, int digits);

}  // namespace fabricast
