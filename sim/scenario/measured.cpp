// Section `measured`: sizes with a time or a bus bandwidth, by collective. Texts are kept as written and are parsed on
// use, because the same value may be either quantity.
#include "fabricast/scenario/measured.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

/// `390GB/s` means the same as `390GBps`.
std::string rate_text(const std::string& text) {
  constexpr std::string_view per_second = "/s";
  if (!text.ends_with(per_second)) return text;
  return text.substr(0, text.size() - per_second.size()) + "ps";
}

MeasuredValue value_of(const std::string& size, const std::string& text, const std::string& path) {
  const auto bytes = parse_bytes(size);
  if (!bytes) throw UserError::at(path, bytes.error, bytes.hint);
  if (bytes.value.value < 1) throw UserError::at(path, "a measured size must be at least 1B");
  const auto rate = parse_rate(rate_text(text));
  if (rate) return {bytes.value, {}, rate.value};
  const auto time = parse_seconds(text);
  if (!time || !(time.value.value > 0))
    throw UserError::at(path, fmt::format("'{}' is neither a time nor a bus bandwidth", text),
                        "write e.g. 31us or 390GB/s");
  return {bytes.value, time.value, {}};
}

}  // namespace

void visit_fields(FieldVisitor& visit, MeasuredSection& section) {
  for (std::size_t op = 0; op < section.texts.size(); ++op)
    visit(EnumNames<CollectiveOp>::names[op], section.texts[op],
          "measured sizes, each with its time (31us) or bus bandwidth (390GB/s)");
}

std::vector<MeasuredValue> measured_values(const MeasuredSection& section, CollectiveOp op) {
  std::vector<MeasuredValue> values;
  for (const auto& [size, text] : section.texts[static_cast<std::size_t>(op)])
    values.push_back(value_of(size, text, fmt::format("measured.{}.{}", name_of(op), size)));
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i].bytes == values[i - 1].bytes)
      throw UserError::at(fmt::format("measured.{}", name_of(op)),
                          fmt::format("{} is listed twice", to_text(values[i].bytes)));
  return values;
}

}  // namespace fabricast
