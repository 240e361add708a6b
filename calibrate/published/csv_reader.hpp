// Reads CSV tables of published facts into plain values: a header line, then one row per line.
//
// Columns may be in any order. Text is sanitized, because it is shown to users. The first 20 faults are reported with
// their positions.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "csv_fields.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"

namespace fabricast::published {

constexpr std::size_t most_csv_faults = 20;
constexpr std::size_t most_csv_rows = 100'000;
constexpr std::size_t longest_csv_field = 4096;
constexpr std::size_t largest_csv_file = std::size_t{1} << 26;

/// The member of a row that a column fills: text, a positive integer or a positive number. An empty field means that
/// the value is not stated.
template <class Row>
struct CsvColumn {
  std::string_view name;
  std::variant<std::string Row::*, int Row::*, double Row::*> member;
  bool needed = false;  ///< whether the header and every row must have it
};

/// \pre Row has a SourceSpan `where`
template <class Row>
class CsvReader {
 public:
  CsvReader(std::span<const CsvColumn<Row>> columns, const std::string& text, const std::string& path)
      : columns_(columns), rest_(text), path_(path) {}

  std::vector<Row> read() {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // a byte order mark, as spreadsheets write it
    header();
    std::vector<Row> rows;
    while (faults_.size() < most_csv_faults && next()) {
      if (trimmed(line_).empty()) continue;
      if (rows.size() == most_csv_rows) {
        fault(1, fmt::format("more than {} rows", most_csv_rows), "split the table by source");
        break;
      }
      if (auto row = row_of_line()) rows.push_back(std::move(*row));
    }
    if (faults_.empty() && rows.empty()) fault(1, "the table has no row", "write one row per line below the header");
    if (!faults_.empty()) throw UserError(std::move(faults_));
    return rows;
  }

 private:
  using Column = CsvColumn<Row>;

  bool next() {
    if (rest_.empty()) return false;
    line_ = take_until(rest_, '\n');
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }
  void fault(int column, std::string what, std::string hint = {}) {
    if (faults_.size() < most_csv_faults)
      faults_.push_back(
          {Diagnostic::Severity::error, {path_, number_, column, 1}, {}, std::move(what), std::move(hint)});
  }

  void header() {
    const auto names = names_of(columns_);
    next();
    if (trimmed(line_).empty()) {
      number_ = 1;
      fault(1, "the header line is missing", fmt::format("columns: {}", join(names, ",")));
      throw UserError(std::move(faults_));
    }
    std::optional<int> broken;
    std::set<std::string_view> there;
    for (const CsvField& f : csv_fields(line_, broken)) {
      const Column* column = find_by_name(columns_, f.text);
      if (!column)
        fault(f.column, fmt::format("unknown column '{}'", shown(f.text, 40)), suggestion(f.text, names));
      else if (!there.insert(column->name).second)
        fault(f.column, fmt::format("duplicate column '{}'", column->name));
      else
        header_.push_back(column);
    }
    for (const Column& c : columns_)
      if (c.needed && !there.contains(c.name) && faults_.size() < most_csv_faults)
        fault(1, fmt::format("column '{}' is missing", c.name), fmt::format("columns: {}", join(names, ",")));
    if (!faults_.empty()) throw UserError(std::move(faults_));
  }

  std::optional<Row> row_of_line() {
    const std::size_t before = faults_.size();
    std::optional<int> broken;
    const std::vector<CsvField> fields = csv_fields(line_, broken);
    if (broken) {
      fault(*broken, "a quoted field does not end before the next comma or the end of its line");
    } else if (fields.size() != header_.size()) {
      const CsvField& last = fields[std::min(fields.size(), header_.size()) - 1];
      fault(last.column, fmt::format("{} fields, but the header has {}", fields.size(), header_.size()),
            "enclose a field that contains a comma in double quotes");
    } else {
      Row row;
      row.where = {path_, number_, 1, 1};
      for (std::size_t i = 0; i < fields.size(); ++i) take(row, *header_[i], fields[i]);
      if (faults_.size() == before) return row;
    }
    return std::nullopt;
  }

  void take(Row& row, const Column& column, const CsvField& f) {
    if (f.text.empty()) {
      if (column.needed) fault(f.column, fmt::format("'{}' is empty", column.name));
    } else if (f.text.size() > longest_csv_field) {
      fault(f.column, fmt::format("'{}' is longer than {} bytes", column.name, longest_csv_field));
    } else if (const auto text = std::get_if<0>(&column.member)) {
      row.*(*text) = shown(f.text, longest_csv_field);
    } else if (const auto whole = std::get_if<1>(&column.member)) {
      const auto n = small_number(f.text);
      if (!n || *n < 1)
        fault(f.column, fmt::format("'{}' must be a whole number above 0, not '{}'", column.name, shown(f.text, 40)),
              "leave the field empty if the value is not stated");
      else
        row.*(*whole) = *n;
    } else {
      const auto n = parse_number(f.text);
      if (!n || !(n.value > 0) || n.value > 1e12)
        fault(f.column, fmt::format("'{}' must be a number above 0, not '{}'", column.name, shown(f.text, 40)),
              "leave the field empty if the value is not stated");
      else
        row.*std::get<2>(column.member) = n.value;
    }
  }

  std::span<const Column> columns_;
  std::string_view rest_, line_;
  std::string path_;
  int number_ = 0;
  std::vector<const Column*> header_;
  std::vector<Diagnostic> faults_;
};

}  // namespace fabricast::published
