// Tables of perftest: ib_write_bw, ib_read_lat and so on [perftest-tables].
//
// Settings precede the table as `key : value`; a row of dashes ends it. No case is made of these tables: they measure a
// NIC and not a collective. `calibrate import` shows them.
#include <fmt/format.h>

#include <algorithm>

#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

/// To GB/s: perftest's MB/s counts 2^20 bytes, its Gb/s 10^9 bits [perftest-tables].
constexpr double mebi = 1048576e-9, giga_bit = 0.125;

enum class Column { bytes, iterations, average_mb, average_gb, rate, low, high, typical, average, other };

/// The columns of a header line. A name may consist of two words.
std::vector<Column> perftest_columns(const std::vector<std::string_view>& words) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name(words[i]);
    // `BW average[MB/sec]`, `BW peak[...]`, `99% percentile[usec]`, `tps average` are single columns.
    const bool more = name == "BW" || name == "99%" || name == "99.9%" || name == "tps";
    if ((more || (name == "MsgRate" && i + 1 < words.size() && words[i + 1].starts_with("Port"))) &&
        i + 1 < words.size())
      name += " " + std::string(words[++i]);
    Column c = Column::other;
    if (name == "#bytes") c = Column::bytes;
    if (name == "#iterations") c = Column::iterations;
    if (name == "BW average[MB/sec]") c = Column::average_mb;
    if (name == "BW average[Gb/sec]") c = Column::average_gb;
    if (name == "MsgRate[Mpps]") c = Column::rate;
    if (name == "t_min[usec]") c = Column::low;
    if (name == "t_max[usec]") c = Column::high;
    if (name == "t_typical[usec]") c = Column::typical;
    if (name == "t_avg[usec]") c = Column::average;
    columns.push_back(c);
  }
  return columns;
}

/// The program of a title: `RDMA_Write BW Test` is ib_write_bw. Empty if it is not a title of perftest.
std::string test_of(const std::vector<std::string_view>& words) {
  if (words.size() < 3 || words.back() != "Test") return {};
  std::string verb;
  if (words[0] == "RDMA_Write") verb = "write";
  if (words[0] == "RDMA_Read") verb = "read";
  if (words[0] == "Send") verb = "send";
  if (words[0] == "Atomic") verb = "atomic";
  if (verb.empty()) return {};
  const bool bandwidth = std::find(words.begin(), words.end(), "BW") != words.end();
  const bool latency = std::find(words.begin(), words.end(), "Latency") != words.end();
  // A title names exactly one of the two.
  if (bandwidth == latency) return {};
  return "ib_" + verb + (bandwidth ? "_bw" : "_lat");
}

class Perftest : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;

  bool begins(std::string_view text, int line) override {
    text = trimmed(text);
    // A pasted table may lack its title, so the header line begins a block as well.
    if (text.starts_with("#bytes")) {
      start_rows(words_of(text), line);
      return true;
    }
    if (!text.ends_with(" Test")) return false;
    const std::vector<std::string_view> words = words_of(text);
    std::string test = test_of(words);
    if (test.empty()) return false;
    close();
    table_.operation = std::move(test);
    table_.line = line;
    if (std::find(words.begin(), words.end(), "Bidirectional") != words.end()) table_.details["directions"] = "2";
    return true;
  }

  bool continues(std::string_view text, int line) override {
    text = trimmed(text);
    if (!columns_.empty()) {
      if (text.starts_with("-----")) {
        close();
        return true;
      }
      const std::vector<std::string_view> words = words_of(text);
      if (words.size() < 2 || !is_digit(words[0].front()) || !numeric(words[1])) return false;
      row(words, line);
      return true;
    }
    // A line may hold two settings.
    bool known = false;
    for (const auto& [key, name] : {std::pair{"Device ", "device"},
                                    {"Number of qps ", "qps"},
                                    {"Link type ", "link"},
                                    {"Mtu ", "mtu"},
                                    {"Connection type ", "connection"},
                                    {"GID index ", "gid_index"}})
      if (auto rest = after(text, key)) {
        while (rest->starts_with(' ')) rest->remove_prefix(1);
        if (!rest->starts_with(':')) continue;
        const auto words = words_of(rest->substr(1));
        if (!words.empty()) {
          table_.details[name] = shown(words[0]);
          known = true;
        }
      }
    return known;
  }

  void close() override {
    if (!table_.rows.empty()) {
      table_.tool = "perftest";
      sink_.out.tables.push_back(std::move(table_));
    }
    table_ = {};
    columns_.clear();
  }

 private:
  void start_rows(const std::vector<std::string_view>& words, int line) {
    if (!table_.rows.empty()) close();
    if (table_.line == 0) table_.line = line;
    columns_ = perftest_columns(words);
  }

  void row(const std::vector<std::string_view>& words, int line) {
    const auto column = [&](Column c) -> std::optional<std::string_view> {
      const auto it = std::find(columns_.begin(), columns_.end(), c);
      const auto i = static_cast<std::size_t>(it - columns_.begin());
      if (it == columns_.end() || i >= words.size()) return std::nullopt;
      return words[i];
    };
    const auto number = [&](Column c) {
      const auto word = column(c);
      return word ? printed_number(*word) : std::nullopt;
    };
    if (words.size() < columns_.size()) return sink_.problem(line, "truncated row");
    const auto bytes = whole_number(column(Column::bytes).value_or(std::string_view()));
    if (!bytes || *bytes < 1) return sink_.problem(line, "the size is not a whole number of bytes above 0");
    LogRow r;
    r.line = line;
    r.bytes = *bytes;
    const double size = static_cast<double>(*bytes);
    if (const auto n = small_number(column(Column::iterations).value_or(std::string_view())); n && *n > 0)
      table_.iterations = *n;
    // The unit depends on --report_gbits.
    const bool gigabits = column(Column::average_gb).has_value();
    if (gigabits || column(Column::average_mb)) {
      const auto average = number(gigabits ? Column::average_gb : Column::average_mb);
      if (!average || !(average->value > 0)) return sink_.problem(line, "the bandwidth is not a number above 0");
      const double unit = gigabits ? giga_bit : mebi;
      // Million messages per second, of the same row: both figures must agree up to rounding.
      if (const auto rate = number(Column::rate))
        if (!rates_agree(*rate, size, 1e-3 / unit, *average))
          return sink_.problem(
              line, fmt::format("{:g} million messages/s of {} bytes are {:.4g} GB/s, not {:.4g}", rate->value, *bytes,
                                rate->value * size * 1e-3, average->value * unit));
      r.gigabytes_per_second = average->value * unit;
      r.time_us = size * 1e-3 / *r.gigabytes_per_second;
    } else {
      // The typical time is the median. Tests by duration (-D) print only the average.
      const auto typical = number(column(Column::typical) ? Column::typical : Column::average);
      if (!typical || !(typical->value > 0)) return sink_.problem(line, "the time is not a number above 0");
      if (!in_order(number(Column::low), *typical, number(Column::high)))
        return sink_.problem(
            line, fmt::format("the typical time {:g} us is not between minimum and maximum", typical->value));
      r.time_us = typical->value;
    }
    table_.rows.push_back(r);
  }

  LogTable table_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<BlockFormat> perftest_format(ImportSink& sink) { return std::make_unique<Perftest>(sink); }

}  // namespace fabricast
