// CSV tables of sizes and times with a header line, `bytes,time_us`.
//
// The header names the columns, in any order: `bytes` or `size` and `time_us`; optionally `algbw` and `busbw` (GB/s),
// `wrong` and `collective`. Other columns are ignored. Fields are separated as in the header, by commas, semicolons or
// tabs. Quotes around a field are removed; a field cannot contain the separator.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

enum class Column { bytes, time, algbw, busbw, wrong, collective };
constexpr std::size_t column_count = 6;
// Also the names that this program writes itself, such as `busbw_gbps`.
constexpr std::array<std::pair<std::string_view, Column>, 10> names = {{{"bytes", Column::bytes},
                                                                        {"size", Column::bytes},
                                                                        {"time_us", Column::time},
                                                                        {"algbw", Column::algbw},
                                                                        {"algbw_gbps", Column::algbw},
                                                                        {"busbw", Column::busbw},
                                                                        {"busbw_gbps", Column::busbw},
                                                                        {"wrong", Column::wrong},
                                                                        {"collective", Column::collective},
                                                                        {"operation", Column::collective}}};

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
  return trimmed(field);
}

std::vector<std::string_view> fields_of(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  for (bool more = true; more;) {
    more = text.find(separator) != std::string_view::npos;
    fields.push_back(unquoted(take_until(text, separator)));
  }
  return fields;
}

/// Position of each column; -1: there is none.
using Places = std::array<int, column_count>;

std::optional<Places> places_of(const std::vector<std::string_view>& fields) {
  Places places;
  places.fill(-1);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string word = lower_case(fields[i]);
    for (const auto& [name, column] : names) {
      if (word != name) continue;
      int& place = places[static_cast<std::size_t>(column)];
      if (place >= 0) return std::nullopt;  // two columns of one name: it is unclear which one counts
      place = static_cast<int>(i);
    }
  }
  if (places[static_cast<std::size_t>(Column::bytes)] < 0 || places[static_cast<std::size_t>(Column::time)] < 0)
    return std::nullopt;
  return places;
}

class Csv : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;

  bool begins(std::string_view text, int) override {
    constexpr std::size_t longest_header = 1000;
    text = trimmed(text);
    if (text.size() > longest_header) return false;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark, as spreadsheets write it
    if (text.starts_with('#')) text.remove_prefix(1);
    // The separator is the first with which the header names a size and a time. Spreadsheets of some locales write
    // semicolons.
    for (const char separator : {',', ';', '\t'}) {
      if (text.find(separator) == std::string_view::npos) continue;
      const auto fields = fields_of(text, separator);
      const auto places = places_of(fields);
      if (!places) continue;
      close();
      places_ = *places;
      separator_ = separator;
      width_ = fields.size();
      open_ = true;
      return true;
    }
    return false;
  }

  bool continues(std::string_view text, int line) override {
    text = trimmed(text);
    if (!open_ || text.starts_with('#')) return false;
    if (text.empty()) {
      close();
      return false;
    }
    // Text between rows, such as a line of a launcher, neither contains the separator nor begins with a digit. Whatever
    // else looks like a row is read, so that a damaged row is reported and not skipped.
    const bool separated = text.find(separator_) != std::string_view::npos;
    if (!separated && !is_digit(text.front())) return false;
    row(text, line);
    return true;
  }

  void close() override {
    for (LogTable& table : tables_) sink_.out.tables.push_back(std::move(table));
    tables_.clear();
    open_ = false;
  }

 private:
  std::string_view field(const std::vector<std::string_view>& fields, Column column) const {
    const int place = places_[static_cast<std::size_t>(column)];
    return place < 0 ? std::string_view() : fields[static_cast<std::size_t>(place)];
  }

  /// Reads a row, with or without the prefix of a launcher.
  void row(std::string_view text, int line) {
    constexpr int most_prefixes = 4;
    std::string fault;
    std::optional<std::string_view> rest = text;
    // The row is tried as it is before prefixes are removed: a prefix may contain the separator, and a field may look
    // like a prefix.
    for (int i = 0; rest && i < most_prefixes; ++i, rest = without_prefix(*rest)) {
      if (i > 0 && rest->find(separator_) == std::string_view::npos) break;
      fault = fault_of_row(fields_of(*rest, separator_), line);
      if (fault.empty()) return;
    }
    sink_.problem(line, std::move(fault));
  }

  /// Adds a row to its table. \returns what is wrong with it; empty if it was added
  std::string fault_of_row(const std::vector<std::string_view>& fields, int line) {
    const auto refused = [](std::string_view what, std::string_view found, std::string_view rule) {
      return fmt::format("the {} '{}' {}", what, shown(found, 40), rule);
    };
    if (fields.size() < width_) return "truncated row";
    if (fields.size() > width_) return fmt::format("{} fields, but the header has {}", fields.size(), width_);
    LogRow r;
    r.line = line;
    const std::string_view size = field(fields, Column::bytes), time = field(fields, Column::time);
    // A plain number is exact; `parse_bytes` also accepts units, such as 8MiB.
    if (const auto bytes = whole_number(size)) {
      r.bytes = *bytes;
    } else if (const auto quantity = parse_bytes(size)) {
      r.bytes = quantity.value.value;
    } else {
      return refused("size", size, "is not a whole number of bytes, such as 8388608 or 8MiB");
    }
    if (r.bytes < 0) return refused("size", size, "is negative");
    const auto us = printed_number(time);
    if (!us || !(us->value > 0)) return refused("time", time, "is not a number of microseconds above 0");
    r.time_us = us->value;
    if (std::string fault = fault_of_bandwidths(fields, r, *us); !fault.empty()) return fault;
    if (const std::string_view wrong = field(fields, Column::wrong); !wrong.empty() && wrong != "N/A") {
      const auto count = whole_number(wrong);
      if (!count || *count < 0) return refused("number of wrong results", wrong, "is not a count");
      // Counts of a table are added later, which must not overflow.
      r.wrong = std::min(*count, most_wrong);
    }
    const std::string_view collective = field(fields, Column::collective);
    const auto op = enum_from<CollectiveOp>(lower_case(collective));
    if (!collective.empty() && !op) return refused("collective", collective, "is unknown");
    table_of(op ? std::string(name_of(*op)) : std::string(), line).rows.push_back(r);
    return {};
  }

  /// algbw must be bytes over time. busbw must be at most twice that, the largest factor of any collective.
  std::string fault_of_bandwidths(const std::vector<std::string_view>& fields, const LogRow& r,
                                  const Printed& us) const {
    constexpr double slack = 1e-6;
    // Bounds of bytes / time, given that the printed time is rounded to its last digit.
    const double moved = static_cast<double>(r.bytes) * 1e-3;  // over us: GB/s
    const double most = us.low() > 0 ? moved / us.low() : HUGE_VAL, least = moved / us.high();
    for (const Column column : {Column::algbw, Column::busbw}) {
      const std::string_view text = field(fields, column);
      if (text.empty()) continue;
      const auto rate = printed_number(text);
      if (!rate || rate->value < 0) return fmt::format("the bandwidth '{}' is not a number", shown(text, 40));
      const bool own = column == Column::algbw;
      const bool not_more = rate->low() <= (own ? 1 : 2) * most * (1 + slack);
      // busbw has no lower bound here: the factor depends on the collective and the number of ranks, which CSV does not
      // state.
      const bool not_less = !own || rate->high() >= least * (1 - slack);
      if (!not_more || !not_less)
        return fmt::format("{} bytes in {:g} us are {:.4g} GB/s, not {:g}", r.bytes, us.value, moved / us.value,
                           rate->value);
    }
    return {};
  }

  LogTable& table_of(const std::string& operation, int line) {
    for (LogTable& table : tables_)
      if (table.operation == operation) return table;
    LogTable& table = tables_.emplace_back();
    table.tool = "csv";
    table.operation = operation;
    table.line = line;
    return table;
  }

  static constexpr std::int64_t most_wrong = std::int64_t{1} << 60;
  Places places_{};
  char separator_ = ',';
  std::size_t width_ = 0;
  bool open_ = false;
  std::vector<LogTable> tables_;  ///< one per collective, in order of appearance
};

}  // namespace

std::unique_ptr<BlockFormat> csv_format(ImportSink& sink) { return std::make_unique<Csv>(sink); }

}  // namespace fabricast
