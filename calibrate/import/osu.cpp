// Tables of the OSU micro-benchmarks [OSU-benchmarks].
//
// Titles name the test in words, and tests differ in their columns, so both are read from the text. OSU counts a MB as
// 10^6 bytes. No case is made of these tables; `calibrate import` shows them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "fabricast/core/text.hpp"
#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

/// Titles that differ from the name of their program.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> programs = {{
    {"latency", "osu_latency"},
    {"bandwidth", "osu_bw"},
    {"bi_directional bandwidth", "osu_bibw"},
    {"multiple bandwidth / message rate", "osu_mbw_mr"},
    {"multi latency", "osu_multi_lat"},
    {"multi_threaded latency", "osu_latency_mt"},
    {"broadcast latency", "osu_bcast"},
    {"all_to_all personalized exchange latency", "osu_alltoall"},
    {"all_to_allv personalized exchange latency", "osu_alltoallv"},
    {"all_to_all latency", "osu_alltoall"},
    {"all_to_allv latency", "osu_alltoallv"},
}};

/// The program of a title: `# OSU MPI-CUDA Allreduce Latency Test v7.5` is osu_allreduce. Empty if it is not a title.
std::string test_of(std::string_view text) {
  const std::size_t end = text.find(" Test");
  if (end == std::string_view::npos) return {};
  std::string title;
  for (const std::string_view word : words_of(text.substr(0, end))) {
    if (word == "#" || word == "OSU" || word.starts_with("MPI") || word.starts_with("NCCL") || word.starts_with("RCCL"))
      continue;
    if (!title.empty()) title += ' ';
    title += lower_case(word);
  }
  // Titles write "All-to-All" or "All_to_All".
  std::replace(title.begin(), title.end(), '-', '_');
  for (const auto& [name, program] : programs)
    if (title == name) return std::string(program);
  // "Allreduce Latency" is the test osu_allreduce.
  if (title.ends_with(" latency")) title.resize(title.size() - 8);
  std::string name = "osu_";
  for (const char c : title)
    if (c == ' ')
      name += '_';
    else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      name += c;
  return name.size() > 4 && name.size() < 60 ? name : std::string();
}

/// Names of columns, separated by tabs or by two or more spaces.
std::vector<std::string> osu_columns(std::string_view text) {
  std::vector<std::string> columns;
  text = trimmed(text.substr(1));
  while (!text.empty()) {
    const std::size_t end = std::min({text.find("  "), text.find('\t'), text.size()});
    columns.emplace_back(text.substr(0, end));
    text = trimmed(text.substr(end));
  }
  return columns;
}

class Osu : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;

  bool begins(std::string_view text, int line) override {
    text = trimmed(text);
    if (!text.starts_with("# OSU ")) return false;
    std::string test = test_of(text);
    if (test.empty()) return false;
    close();
    table_.tool = "osu";
    table_.operation = std::move(test);
    table_.line = line;
    return true;
  }

  bool continues(std::string_view text, int line) override {
    text = trimmed(text);
    if (text.starts_with("# Datatype:")) {
      std::string_view type = trimmed(text.substr(11));
      if (type.ends_with('.')) type.remove_suffix(1);
      table_.details["type"] = shown(type);
      return true;
    }
    if (text.starts_with("# Size") || text.starts_with("#Size")) {
      header(text, line);
      return true;
    }
    const std::vector<std::string_view> words = words_of(text);
    if (words.empty() && !table_.rows.empty()) close();
    // Other programs print lines of numbers between the rows. A row has a size, a number and no more words than the
    // header.
    if (value_ == 0 || words.empty() || words.size() > width_ || !whole_number(words[0]) || !is_digit(words[0].front()))
      return false;
    if (words.size() > 1 && !numeric(words[1]) && words[1] != "nan" && words[1] != "-nan" && words[1] != "inf")
      return false;
    row(words, line);
    return true;
  }

  void close() override {
    if (!table_.rows.empty()) sink_.out.tables.push_back(std::move(table_));
    table_ = {};
    value_ = 0;
  }

 private:
  void header(std::string_view text, int line) {
    const std::vector<std::string> columns = osu_columns(text);
    width_ = columns.size();
    value_ = low_ = high_ = iterations_ = messages_ = validation_ = 0;
    const auto find = [&](std::string_view part) {
      for (std::size_t i = 1; i < columns.size(); ++i)
        if (columns[i].find(part) != std::string::npos) return i;
      return std::size_t{0};
    };
    // Nonblocking collectives also print the time with overlapped computation. Only the pure communication counts.
    rate_ = false;
    value_ = find("Pure Comm");
    if (value_ == 0) value_ = find("Avg Lat");
    if (value_ == 0) value_ = find("Latency");
    if (value_ == 0) {
      rate_ = true;
      value_ = find("MB/s");
    }
    // With `-f` OSU also prints the extremes over ranks. They check the average.
    low_ = find("Min ");
    high_ = find("Max ");
    iterations_ = find("Iterations");
    messages_ = find("Messages/s");
    validation_ = find("Validation");
    if (value_ == 0) sink_.problem(line, "none of the columns is a time or a rate");
  }

  void row(const std::vector<std::string_view>& words, int line) {
    if (words.size() < width_) return sink_.problem(line, "truncated row");
    const auto value = printed_number(words[value_]);
    if (!value || !(value->value > 0))
      return sink_.problem(line, rate_ ? "the rate is not a number above 0" : "the time is not a number above 0");
    LogRow r;
    r.line = line;
    r.bytes = *whole_number(words[0]);
    const double size = static_cast<double>(r.bytes);
    const auto at = [&](std::size_t column) { return column > 0 ? printed_number(words[column]) : std::nullopt; };
    if (rate_) {
      if (r.bytes < 1) return sink_.problem(line, "a rate for messages of 0 bytes");
      // osu_mbw_mr prints the rate of messages beside the bandwidth: both must agree.
      if (const auto messages = at(messages_))
        if (!rates_agree(*messages, size, 1e-6, *value))
          return sink_.problem(line, fmt::format("{:g} messages/s of {} bytes are not {:g} MB/s", messages->value,
                                                 r.bytes, value->value));
      r.gigabytes_per_second = value->value * 1e-3;
      // MB/s are bytes per us. The time is that of one message at the streaming rate, not a latency.
      r.time_us = size / value->value;
    } else {
      if (!in_order(at(low_), *value, at(high_)))
        return sink_.problem(line, fmt::format("the time {:g} us is not between minimum and maximum", value->value));
      r.time_us = value->value;
    }
    if (iterations_ > 0)
      if (const auto n = small_number(words[iterations_]); n && *n > 0) table_.iterations = *n;
    // OSU does not count wrong results; 1 stands for "some".
    if (validation_ > 0 && words[validation_] != "Pass") r.wrong = 1;
    table_.rows.push_back(r);
  }

  LogTable table_;
  std::size_t width_ = 0;
  std::size_t value_ = 0, low_ = 0, high_ = 0, iterations_ = 0, messages_ = 0, validation_ = 0;  ///< 0: no such column
  bool rate_ = false;
};

}  // namespace

std::unique_ptr<BlockFormat> osu_format(ImportSink& sink) { return std::make_unique<Osu>(sink); }

}  // namespace fabricast
