// Tables of a page: typed columns, rows that can be sorted and filtered there.
//
// A number is a value with the unit of its column and, where one is known, the ends of its 90 % interval. Text is
// text: what the user wrote is escaped by the writers, nowhere else.
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

/// What a number means, and so how it is written.
enum class Measure {
  text,
  number,   ///< in the unit that is named beside it
  bytes,    ///< B: `1 MiB`, `40 GB`
  seconds,  ///< s: `12.5 us`
  percent   ///< 1 is 100 %
};
template <>
struct EnumNames<Measure> {
  static constexpr std::array<std::string_view, 5> names{"text", "number", "bytes", "seconds", "percent"};
};

struct TableColumn {
  std::string title;
  Measure measure = Measure::text;
  std::string unit;  ///< of `number`: `GB/s`; may be empty
  std::string what;  ///< a sentence: what the column says; may be empty
};

struct TableCell {
  std::string text;                                         ///< of text; of numbers empty, or what stands for the value
  double value = std::numeric_limits<double>::quiet_NaN();  ///< not a number: unknown, sorted last
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  ///< 90 % interval; not a number: none

  static TableCell of(std::string words) {
    TableCell cell;
    cell.text = std::move(words);
    return cell;
  }
  static TableCell of(double number) {
    TableCell cell;
    cell.value = number;
    return cell;
  }
  static TableCell of(double number, double low, double high) {
    TableCell cell = of(number);
    cell.low = low, cell.high = high;
    return cell;
  }
  bool has_interval() const { return std::isfinite(low) && std::isfinite(high); }
};

struct TableRow {
  std::vector<TableCell> cells;  ///< one for each column
  bool best = false;             ///< the answer
  bool front = false;            ///< nothing else is better in every objective
  std::string dropped;           ///< why a constraint leaves it out; empty: it is kept
};

struct PageTable {
  std::string name;   ///< a word, unique in a page
  std::string title;  ///< may be empty
  std::string note;   ///< may be empty
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  bool filter = false;  ///< with a box for words and conditions: `spray`, `nodes>=64`
};

/// A value with its unit: `316.2 GB/s`, `1 MiB`, `12.5 us`, `45 %`, `unknown` if it is not finite. Of percent three
/// digits at most.
std::string value_text(double value, Measure measure, std::string_view unit = {}, int digits = 4);
/// `316.2 GB/s (231 to 433 GB/s)`.
std::string value_text(const TableCell& cell, const TableColumn& column);
/// `231 to 433 GB/s`, three digits; the unit once where both have the same.
std::string range_text(double low, double high, Measure measure, std::string_view unit = {});
/// Thousands apart, without unit: `10,240`, `0.001234`, `1.5e-09`. Four digits or more leave whole numbers as they are.
std::string number_text(double value, int digits = 4);

}  // namespace fabricast
