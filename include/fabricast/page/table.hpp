// Tables of a page: typed columns, and rows that the reader can sort and filter in a browser.
//
// A number is a value in the unit of its column, with the ends of its 90 % interval where an interval is known. Text is
// plain text: the writers escape it when they write a page, so a cell may hold anything that a user typed.
//
// Invariant: every row of a table has one cell for each column; `page_html` throws InternalError otherwise.
// Plain values and pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// What a number means, which decides how it is written.
enum class Measure {
  text,     ///< not a number; sorted as text
  number,   ///< in the unit that is named with it
  bytes,    ///< B: `1 MiB` where a binary unit gives a short whole number, else `40 GB`
  seconds,  ///< s: `12.5 us`
  percent   ///< 1 is 100 %
};
template <>
struct EnumNames<Measure> {
  static constexpr std::array<std::string_view, 5> names{"text", "number", "bytes", "seconds", "percent"};
};

/// Heading of a column, and how its values are written.
struct TableColumn {
  std::string title;
  Measure measure = Measure::text;
  std::string unit;  ///< of `number`: `GB/s`; may be empty
  std::string what;  ///< what the column means, shown when the pointer rests on the title; may be empty
};

/// One cell. Text cells use `text` alone; number cells use `value`, and `text` only to replace how it is written.
struct TableCell {
  std::string text;                                                   ///< for numbers usually empty
  double value = std::numeric_limits<double>::quiet_NaN();            ///< NaN: unknown; sorted last
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  ///< 90 % interval; NaN: none

  /// A cell of text.
  static TableCell of(std::string words) {
    TableCell cell;
    cell.text = std::move(words);
    return cell;
  }
  /// A number without an interval; NaN: unknown.
  static TableCell of(double number) {
    TableCell cell;
    cell.value = number;
    return cell;
  }
  /// A number with the ends of its 90 % interval, in the unit of the column.
  static TableCell of(double number, double low, double high) {
    TableCell cell = of(number);
    cell.low = low;
    cell.high = high;
    return cell;
  }
  /// Whether both ends of the interval are known.
  bool has_interval() const { return std::isfinite(low) && std::isfinite(high); }
};

/// One row. The flags become badges in the first column and can be filtered by.
struct TableRow {
  std::vector<TableCell> cells;  ///< one for each column
  bool best = false;             ///< the answer
  bool front = false;            ///< on the Pareto front: no other row beats it in every objective
  std::string dropped;           ///< why a constraint rejects the row; empty: it is kept
};

/// A table with its heading.
struct PageTable {
  std::string name;   ///< one word, unique in a page: becomes the id of the element
  std::string title;  ///< may be empty
  std::string note;   ///< may be empty
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  bool filter = false;  ///< show a box that filters by words and conditions: `spray`, `nodes>=64`
};

/// A value with its unit: `316.2 GB/s`, `1 MiB`, `12.5 us`, `45 %`. Values that are not finite give `unknown`.
/// \param unit    used by `number` alone
/// \param digits  significant digits; percentages have at most three
std::string value_text(double value, Measure measure, std::string_view unit = {}, int digits = 4);
/// A cell with its interval, if it has one: `316.2 GB/s (231 to 433 GB/s)`.
std::string value_text(const TableCell& cell, const TableColumn& column);
/// A range with three significant digits: `231 to 433 GB/s`. If both ends have the same unit, it is written once.
std::string range_text(double low, double high, Measure measure, std::string_view unit = {});
/// A number without a unit: `10,240`, `0.001234`, `1.5e-09`, `unknown` if it is not finite.
/// \param digits  significant digits. From 1,000 on a number keeps all its whole digits unless `digits` is below 4, and
///                is written as `1.235e+15` from 1e15 on.
std::string number_text(double value, int digits = 4);

}  // namespace fabricast
