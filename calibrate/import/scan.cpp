// Numbers and prefixes as logs print them. A printed number stands for an interval, half a unit of its last digit wide
// on each side, so that consistency checks of the importers allow for exactly the rounding.
#include "scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace fabricast {

bool in_order(const std::optional<Printed>& least, const Printed& figure, const std::optional<Printed>& most) {
  return !(least && least->low() > figure.high()) && !(most && most->high() < figure.low());
}

bool rates_agree(const Printed& messages, double bytes, double scale, const Printed& bandwidth) {
  return messages.high() * bytes * scale >= bandwidth.low() * 0.999 &&
         messages.low() * bytes * scale <= bandwidth.high() * 1.001;
}

namespace {

/// Printed numbers rarely have an exponent, so powers are few, and std::pow takes as long as the rest of a number.
double power_of_ten(int power) {
  static const auto small = [] {
    std::array<double, 16> powers{};
    for (std::size_t i = 0; i < powers.size(); ++i) powers[i] = std::pow(10.0, -static_cast<double>(i));
    return powers;
  }();
  const int index = -power;
  return index >= 0 && index < static_cast<int>(small.size()) ? small[static_cast<std::size_t>(index)]
                                                              : std::pow(10.0, power);
}

}  // namespace

std::optional<Printed> printed_number(std::string_view word) {
  if (!numeric(word)) return std::nullopt;
  if (word.front() == '+') word.remove_prefix(1);
  Printed number;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number.value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number.value)) return std::nullopt;
  // One pass: find_first_of would call memchr for every character.
  std::size_t mark = 0, dot = std::string_view::npos;
  for (; mark < word.size() && word[mark] != 'e' && word[mark] != 'E'; ++mark)
    if (word[mark] == '.' && dot == std::string_view::npos) dot = mark;
  int power = 0;
  if (mark < word.size()) {
    std::string_view digits = word.substr(mark + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    power = small_number(digits).value_or(0);
  }
  // Unit of the last digit: 12.30 has 10^-2, 1.5e3 has 10^2.
  const int decimals = dot == std::string_view::npos ? 0 : static_cast<int>(mark - dot - 1);
  number.half = 0.5 * power_of_ten(power - decimals);
  return number;
}

bool numeric(std::string_view word) {
  if (!word.empty() && (word.front() == '-' || word.front() == '+')) word.remove_prefix(1);
  if (word.starts_with('.')) word.remove_prefix(1);
  return !word.empty() && is_digit(word.front());
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '[') {
      // A control sequence ends with a character from @ to ~.
      for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
    } else {
      ++i;  // a two-character escape sequence
    }
  }
  return plain;
}

namespace {

/// The text after the first `close`. A prefix is short, so a distant one does not count.
std::optional<std::string_view> past(std::string_view text, char close) {
  const std::size_t at = text.substr(0, 120).find(close);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + 1);
}

bool is_time(std::string_view word) {
  return word.size() >= 8 && is_digit(word[0]) && word.find(':') != std::string_view::npos &&
         std::all_of(word.begin(), word.end(), [](char c) {
           return is_digit(c) || c == ':' || c == '.' || c == '-' || c == 'T' || c == 'Z' || c == '+' || c == ',';
         });
}

}  // namespace

std::optional<std::string_view> without_prefix(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  if (text.starts_with('[')) {
    auto rest = past(text, ']');
    if (rest && (rest->starts_with("<stdout>:") || rest->starts_with("<stderr>:"))) rest->remove_prefix(9);
    return rest;
  }
  if (text.starts_with('(')) return past(text, ')');
  const std::size_t size = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, size);
  if (size < 2 || size > 120) return std::nullopt;
  // `pod-0: `, `3: ` or a time stamp.
  if (word.ends_with(':') || is_time(word)) return text.substr(size);
  // 2026-01-02 03:04:05
  if (size == 10 && word[4] == '-' && word[7] == '-' && is_digit(word[0])) return text.substr(size);
  // `name   | `, as docker compose prints it
  const std::size_t bar = text.find_first_not_of(" \t", size);
  if (bar != std::string_view::npos && text[bar] == '|') return text.substr(bar + 1);
  return std::nullopt;
}

std::string version_of_code(std::int64_t code) {
  if (code < 1000 || code > 9999999) return {};
  // Since 2.9 the minor version has two digits.
  const std::int64_t major = code < 10000 ? code / 1000 : code / 10000;
  const std::int64_t minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;
  return fmt::format("{}.{}.{}", major, minor, code % 100);
}

}  // namespace fabricast
