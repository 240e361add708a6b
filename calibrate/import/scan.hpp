// Numbers as logs print them, and what launchers put before a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabricast/core/scan.hpp"

namespace fabricast {

/// A number as printed: it stands for anything within `half` of `value`, half a unit of its last digit.
struct Printed {
  double value = 0, half = 0;
  double low() const { return value - half; }
  double high() const { return value + half; }
};

/// Whether a figure lies between the least and the most of the same row, as far as it has them.
bool in_order(const std::optional<Printed>& least, const Printed& figure, const std::optional<Printed>& most);
/// Whether messages of a size at a rate are a bandwidth, up to rounding.
/// \param scale  from rate times bytes to the unit of the bandwidth
bool rates_agree(const Printed& messages, double bytes, double scale, const Printed& bandwidth);

/// A finite number that fills the word.
std::optional<Printed> printed_number(std::string_view word);
/// Whether a word is meant as a number, be it a bad one: it starts as one.
bool numeric(std::string_view word);

/// Takes colours and other escape sequences out of a line.
std::string without_escapes(std::string_view text);
/// What is left of a line without the prefix of a launcher, if it may have one: `[1,0]<stdout>:`, `pod-0: `,
/// `[pod/name] `, `(worker pid=3) `, `2026-01-02T03:04:05Z `.
std::optional<std::string_view> without_prefix(std::string_view text);

/// 2.21.5 of NCCL_VERSION_CODE 22105. Empty if it is none.
std::string version_of_code(std::int64_t code);

}  // namespace fabricast
