// Numbers as logs print them, and the prefixes that launchers put before a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabricast/core/scan.hpp"

namespace fabricast {

/// A number as printed. The true value lies within `half` of `value`, half a unit of the last printed digit.
struct Printed {
  double value = 0, half = 0;
  double low() const { return value - half; }
  double high() const { return value + half; }
};

/// Whether a figure lies between the minimum and the maximum of the same row, where the row has them.
bool in_order(const std::optional<Printed>& least, const Printed& figure, const std::optional<Printed>& most);
/// Whether a message rate times a size equals a bandwidth, up to rounding.
/// \param scale  converts rate times bytes to the unit of the bandwidth
bool rates_agree(const Printed& messages, double bytes, double scale, const Printed& bandwidth);

/// The number that a word consists of. Null if it is not a finite number.
std::optional<Printed> printed_number(std::string_view word);
/// Whether a word is meant as a number, even a malformed one: it begins like one.
bool numeric(std::string_view word);

/// The line without colours and other escape sequences.
std::string without_escapes(std::string_view text);
/// The rest of a line after the prefix of a launcher: `[1,0]<stdout>:`, `pod-0: `, `[pod/name] `, `(worker pid=3) `,
/// `2026-01-02T03:04:05Z `. Null if the line has no such prefix.
std::optional<std::string_view> without_prefix(std::string_view text);

/// The version that an NCCL_VERSION_CODE stands for: 22105 is 2.21.5. Empty if the code is out of range.
std::string version_of_code(std::int64_t code);

}  // namespace fabricast
