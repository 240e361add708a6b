// Numbers and text as a page writes them.
// One set of functions for charts, tables and sentences, so that a value looks the same everywhere: few digits, a unit
// that fits, and thousands separated.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "fabricast/core/quantity.hpp"
#include "fabricast/page/page.hpp"
#include "fabricast/page/table.hpp"

namespace fabricast {

namespace {

/// A unit for values of at least `from`; `one` is the value of the unit.
struct UnitStep {
  double from, one;
  std::string_view name;
};

std::string in_unit(double value, int digits, std::span<const UnitStep> steps) {
  const double size = std::abs(value);
  const UnitStep* best = &steps.front();
  // Rounding errors must not select the smaller unit: 1e-6 s is 1 us, not 1,000 ns.
  for (const UnitStep& s : steps)
    if (size >= s.from * (1 - 1e-9)) best = &s;
  return fmt::format("{} {}", number_text(value / best->one, digits), best->name);
}

// Sizes that are whole in binary units stay binary, as nccl-tests users write them (8 MiB). Others, such as sizes of
// memory in use, are decimal.
std::string bytes_text(double value, int digits) {
  constexpr std::array<std::string_view, 6> binary = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double left = value;
  std::size_t unit = 0;
  while (left >= 1024 && unit + 1 < binary.size() && std::fmod(left, 1024) == 0) {
    left /= 1024;
    ++unit;
  }
  if (left < 10'000 && left == std::floor(left)) return fmt::format("{} {}", number_text(left), binary[unit]);
  constexpr std::array<UnitStep, 6> decimal = {
      {{0, 1, "B"}, {1e3, 1e3, "KB"}, {1e6, 1e6, "MB"}, {1e9, 1e9, "GB"}, {1e12, 1e12, "TB"}, {1e15, 1e15, "PB"}}};
  return in_unit(value, digits, decimal);
}

std::string seconds_text(double value, int digits) {
  if (value == 0) return "0 s";
  // Hours from two of them on, days from two of them on: below that, the smaller unit reads better.
  constexpr std::array<UnitStep, 6> steps = {{{0, 1e-9, "ns"},
                                              {1e-6, 1e-6, "us"},
                                              {1e-3, 1e-3, "ms"},
                                              {1, 1, "s"},
                                              {7200, 3600, "h"},
                                              {172'800, 86'400, "days"}}};
  return in_unit(value, digits, steps);
}

std::string thousands(double whole) {
  std::string digits = fmt::format("{:.0f}", std::abs(whole));
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return (whole < 0 ? "-" : "") + digits;
}

}  // namespace

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return "unknown";
  // Rounded first: 999.96 with three digits is 1,000, which needs the separator.
  if (digits < 4) value = rounded(value, digits);
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:.4g}", value);
  if (size >= 999.95) return thousands(value);
  return fmt::format("{:.{}g}", value, digits);
}

std::string value_text(double value, Measure measure, std::string_view unit, int digits) {
  if (!std::isfinite(value)) return "unknown";
  switch (measure) {
    case Measure::bytes: return bytes_text(value, digits);
    case Measure::seconds: return seconds_text(value, digits);
    case Measure::percent: return number_text(value * 100, std::min(digits, 3)) + " %";
    case Measure::number:
    case Measure::text: break;
  }
  const std::string number = number_text(value, digits);
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

// The unit is written once if both ends have the same.
std::string range_text(double low, double high, Measure measure, std::string_view unit) {
  std::string from = value_text(low, measure, unit, 3);
  const std::string to = value_text(high, measure, unit, 3);
  const auto unit_of = [](const std::string& text) { return text.substr(std::min(text.size(), text.find(' '))); };
  if (unit_of(from) == unit_of(to)) from.resize(from.size() - unit_of(from).size());
  return fmt::format("{} to {}", from, to);
}

std::string value_text(const TableCell& cell, const TableColumn& column) {
  if (column.measure == Measure::text || (!cell.text.empty() && !std::isfinite(cell.value))) return cell.text;
  std::string text = cell.text.empty() ? value_text(cell.value, column.measure, column.unit) : cell.text;
  if (!cell.has_interval()) return text;
  return fmt::format("{} ({})", text, range_text(cell.low, cell.high, column.measure, column.unit));
}

// For HTML and XML, in text and in attributes.
std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n':
      case '\t': out += c; break;
      default:
        // XML forbids other control characters.
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) out += c;
    }
  }
  return out;
}

}  // namespace fabricast
