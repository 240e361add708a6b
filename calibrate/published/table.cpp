// The CSV of published steps: a header line, then a row each. Fields are as RFC 4180 has them, on one line.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "../cases/data_path.hpp"
#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_faults = 20;
constexpr std::size_t longest_table = 100'000;
constexpr std::size_t longest_field = 4096;

struct Field {
  std::string text;
  int column = 1;  ///< where it begins
};

using Member = std::variant<std::string PublishedRow::*, int PublishedRow::*, double PublishedRow::*>;
struct Column {
  std::string_view name;
  Member member;
  bool needed;  ///< in the header, and in each row
};

const std::array<Column, 21> columns{{
    {"source", &PublishedRow::source, true},
    {"system", &PublishedRow::system, true},
    {"model", &PublishedRow::model, true},
    {"gpus", &PublishedRow::gpus, true},
    {"precision", &PublishedRow::precision, true},
    {"gbs_seqs", &PublishedRow::global_batch, false},
    {"mbs", &PublishedRow::micro_batch, false},
    {"seq", &PublishedRow::sequence, false},
    {"fsdp", &PublishedRow::fsdp, false},
    {"tp", &PublishedRow::tensor, false},
    {"pp", &PublishedRow::pipeline, false},
    {"cp", &PublishedRow::context, false},
    {"vp", &PublishedRow::interleave, false},
    {"ep", &PublishedRow::expert, false},
    {"dp", &PublishedRow::data, false},
    {"recompute", &PublishedRow::recompute, false},
    {"step_s", &PublishedRow::step_seconds, false},
    {"tok_s_gpu", &PublishedRow::tokens_per_second, false},
    {"tflops_gpu", &PublishedRow::tflops, false},
    {"mfu_pct", &PublishedRow::mfu, false},
    {"note", &PublishedRow::note, false},
}};

/// Fields of a line. An open quote leaves `broken`, its column.
std::vector<Field> fields_of(std::string_view line, std::optional<int>& broken) {
  std::vector<Field> fields;
  std::size_t at = 0;
  do {
    Field f{{}, static_cast<int>(at + 1)};
    if (at < line.size() && line[at] == '"') {
      std::size_t i = at + 1;
      for (; i < line.size(); ++i) {
        if (line[i] != '"')
          f.text += line[i];
        else if (i + 1 < line.size() && line[i + 1] == '"')
          f.text += line[++i];
        else
          break;
      }
      if (i >= line.size() || (i + 1 < line.size() && line[i + 1] != ',')) broken = f.column;
      at = i + 1;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      f.text = trimmed(line.substr(at, end - at));
      at = end;
    }
    fields.push_back(std::move(f));
    if (broken || at >= line.size()) return fields;
  } while (line[at++] == ',');
  return fields;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& path) : rest_(text), path_(path) {}

  std::vector<PublishedRow> read() {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);  // what spreadsheets write before UTF-8
    header();
    std::vector<PublishedRow> rows;
    while (faults_.size() < most_faults && next()) {
      if (trimmed(line_).empty()) continue;
      if (rows.size() == longest_table) {
        fault(1, fmt::format("more than {} rows", longest_table), "part the table by source");
        break;
      }
      if (auto row = row_of_line()) rows.push_back(std::move(*row));
    }
    if (faults_.empty() && rows.empty()) fault(1, "the table has no row", "a row each below the header");
    if (!faults_.empty()) throw UserError(std::move(faults_));
    return rows;
  }

 private:
  bool next() {
    if (rest_.empty()) return false;
    line_ = take_until(rest_, '\n');
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }
  void fault(int column, std::string what, std::string hint = {}) {
    if (faults_.size() < most_faults)
      faults_.push_back(
          {Diagnostic::Severity::error, {path_, number_, column, 1}, {}, std::move(what), std::move(hint)});
  }

  void header() {
    const auto names = names_of(columns);
    next();
    if (trimmed(line_).empty()) {
      number_ = 1;
      fault(1, "the header line is missing", fmt::format("a header line: {}", join(names, ",")));
      throw UserError(std::move(faults_));
    }
    std::optional<int> broken;
    std::set<std::string_view> there;
    for (const Field& f : fields_of(line_, broken)) {
      const Column* column = find_by_name(columns, f.text);
      if (!column)
        fault(f.column, fmt::format("unknown column '{}'", shown(f.text, 40)), suggestion(f.text, names));
      else if (!there.insert(column->name).second)
        fault(f.column, fmt::format("column '{}' stands twice", column->name));
      else
        header_.push_back(column);
    }
    for (const Column& c : columns)
      if (c.needed && !there.contains(c.name) && faults_.size() < most_faults)
        fault(1, fmt::format("column '{}' is missing", c.name), fmt::format("a header line: {}", join(names, ",")));
    if (!faults_.empty()) throw UserError(std::move(faults_));
  }

  std::optional<PublishedRow> row_of_line() {
    const std::size_t before = faults_.size();
    std::optional<int> broken;
    const std::vector<Field> fields = fields_of(line_, broken);
    if (broken) {
      fault(*broken, "a quoted field does not end before the next comma or the end of its line");
    } else if (fields.size() != header_.size()) {
      const Field& last = fields[std::min(fields.size(), header_.size()) - 1];
      fault(last.column, fmt::format("{} fields, and the header has {}", fields.size(), header_.size()),
            "a field that holds a comma stands in double quotes");
    } else {
      PublishedRow row;
      row.where = {path_, number_, 1, 1};
      for (std::size_t i = 0; i < fields.size(); ++i) take(row, *header_[i], fields[i]);
      if (faults_.size() == before) return row;
    }
    return std::nullopt;
  }

  void take(PublishedRow& row, const Column& column, const Field& f) {
    if (f.text.empty()) {
      if (column.needed) fault(f.column, fmt::format("'{}' is empty", column.name));
    } else if (f.text.size() > longest_field) {
      fault(f.column, fmt::format("'{}' is longer than {} bytes", column.name, longest_field));
    } else if (const auto text = std::get_if<0>(&column.member)) {
      row.*(*text) = shown(f.text, longest_field);
    } else if (const auto whole = std::get_if<1>(&column.member)) {
      const auto n = small_number(f.text);
      if (!n || *n < 1)
        fault(f.column, fmt::format("'{}' must be a whole number above 0, and is '{}'", column.name, shown(f.text, 40)),
              "empty where it is not stated");
      else
        row.*(*whole) = *n;
    } else {
      const auto n = parse_number(f.text);
      if (!n || !(n.value > 0) || n.value > 1e12)
        fault(f.column, fmt::format("'{}' must be a number above 0, and is '{}'", column.name, shown(f.text, 40)),
              "empty where it is not stated");
      else
        row.*std::get<2>(column.member) = n.value;
    }
  }

  std::string_view rest_, line_;
  std::string path_;
  int number_ = 0;
  std::vector<const Column*> header_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::string shipped_training_steps_path() { return shipped_data_path("training_steps.csv"); }

std::vector<PublishedRow> parse_published_rows(const std::string& text, const std::string& path) {
  return Reader(text, path).read();
}

std::vector<PublishedRow> read_published_rows(const std::string& path) {
  constexpr std::size_t most = std::size_t{1} << 26;
  return parse_published_rows(read_file(path, most), path);
}

}  // namespace fabricast
