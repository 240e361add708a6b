// The text that nccl-tests prints [nccl-tests-performance].
//
// Its columns changed over the years (bytes N op res; size count redop root error; #wrong; #iters; per-iteration
// figures), so the header line determines the meaning of the words of a row.
//
// A log may lack any of its lines: the header was cut off, rows were pasted alone, NCCL's lines interrupt a row. What
// the rows themselves show is used then, and what remains ambiguous is left empty. TestTables (nccl_tests_tables.hpp)
// collects and checks the rows, also those of the JSON file.
#include <algorithm>
#include <array>
#include <utility>

#include "nccl_tests_tables.hpp"

namespace fabricast {

namespace {

bool is_type(std::string_view word) {
  constexpr std::array<std::string_view, 22> types = {
      "int8",    "uint8",    "int32",    "uint32",   "int64",   "uint64", "half", "float",
      "double",  "bfloat16", "fp8_e4m3", "fp8_e5m2", "f8e4m3",  "f8e5m2", "char", "int",
      "float16", "float32",  "float64",  "fp8e4m3",  "fp8e5m2", "bf16"};
  return std::find(types.begin(), types.end(), word) != types.end();
}

bool digits(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

/// The meaning of the words of a row, by position.
struct Columns {
  int count = 5;                      ///< number of words before the first time
  int type = 2, redop = 3, root = 4;  ///< -1: no such column
  int width = 4;                      ///< number of words of a timing: time, algbw, busbw, wrong and what follows
  int wrong = 3;                      ///< position in a timing; -1: there is no count of wrong results
  bool both = true;                   ///< whether a row has two timings, out of place and in place
  bool cpu_time = false;
};

std::optional<Columns> sizes_columns(const std::vector<std::string_view>& names) {
  if (names.size() < 6 || (names[0] != "size" && names[0] != "bytes")) return std::nullopt;
  Columns c;
  c.type = c.redop = c.root = c.wrong = -1;
  c.count = 0;
  c.width = 0;
  c.both = false;
  const auto is_time = [](std::string_view n) { return n == "time" || n == "cputime"; };
  int first = -1;
  for (int i = 0; i < static_cast<int>(names.size()); ++i) {
    const std::string_view n = names[static_cast<std::size_t>(i)];
    // Columns after the timings. They would otherwise widen the second timing.
    if (n == "#iters" || n == "timestamp") break;
    if (is_time(n)) {
      if (first < 0) {
        first = c.count = i;
        c.cpu_time = n == "cputime";
      } else if (!c.both) {
        c.both = true;
        c.width = i - first;
      }
    }
    if (n == "type") c.type = i;
    if (n == "redop" || n == "op") c.redop = i;
    if (n == "root") c.root = i;
    if (n == "#wrong" && first >= 0 && c.wrong < 0) c.wrong = i - first;
    // Until a second time appears, the timing extends to the current column.
    if (!c.both && first >= 0) c.width = i - first + 1;
  }
  if (c.wrong >= c.width) c.wrong = -1;
  const auto named = [&](int i, std::string_view name) {
    return i < static_cast<int>(names.size()) && names[static_cast<std::size_t>(i)] == name;
  };
  // All known layouts share this core. A header that differs from it belongs to another tool.
  if (c.type != 2 || first < 3 || !named(first + 1, "algbw") || !named(first + 2, "busbw")) return std::nullopt;
  if (c.both && (!named(first + c.width + 1, "algbw") || !named(first + c.width + 2, "busbw"))) return std::nullopt;
  return c;
}

/// The columns of a row that was pasted without its header, by the number of words after its type. Null if that number
/// fits no layout.
std::optional<Columns> columns_of_row(const std::vector<std::string_view>& words) {
  Columns c;
  // An operator (sum, none) is a word; what else may follow the type is a number.
  const bool redop = words.size() > 3 && !numeric(words[3]);
  // Words after type and operator. A root adds one, a timing three or four.
  const std::size_t rest = words.size() - (redop ? 4 : std::min<std::size_t>(3, words.size()));
  const auto set = [&](int before, int width, bool both) {
    c.redop = redop ? 3 : -1;
    c.root = before > 0 ? (redop ? 4 : 3) : -1;
    c.count = 3 + (redop ? 1 : 0) + before;
    c.width = width;
    c.both = both;
    c.wrong = width > 3 ? 3 : -1;
    return c;
  };
  // Two timings, or the first of them, with and without a root and a count of wrong results.
  if (rest == 9 || rest == 5) return set(1, 4, true);
  if (rest == 8) return set(0, 4, true);
  if (rest == 7) return set(1, 3, true);
  if (rest == 6 || rest == 3) return set(0, 3, true);
  // Four words: a root is an integer, and a time short enough to be confused with one has a fraction.
  if (rest == 4) return digits(words[words.size() - rest]) ? set(1, 3, true) : set(0, 4, true);
  return std::nullopt;
}

class NcclTests : public NcclTestsFormat {
 public:
  explicit NcclTests(ImportSink& sink) : NcclTestsFormat(sink), tables_(sink) {}

  bool begins(std::string_view text, int line) override {
    text = trimmed(text);
    if (text.starts_with('#')) return header(text.substr(1), line);
    // The start of the log may be cut off. No other format has a row of this form.
    // Three words identify a row: a size, a count and a data type of NCCL.
    if (text.empty() || !is_digit(text.front())) return false;
    std::vector<std::string_view> words = words_of(text);
    return row_like(words) && row(std::move(words), line);
  }

  bool continues(std::string_view text, int line) override {
    std::vector<std::string_view> words = words_of(text);
    if (words.empty()) return false;
    if (pending_line_ > 0 && complete(words)) return true;
    // After a header, a damaged row is reported. Without one, only what looks like a whole row counts.
    const bool as_row = header_seen_ && digits(words[0]) && (words.size() == 1 || numeric(words[1]));
    return (as_row || row_like(words)) && row(std::move(words), line);
  }

  void close() override {
    drop_pending();
    tables_.close();
    header_seen_ = false;
  }

  void see_command(std::string_view text) override {
    const auto part = [](char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z'); };
    for (std::size_t at = 0; (at = text.find("_perf", at)) != std::string_view::npos; at += 5) {
      std::size_t begin = at, end = at;
      while (begin > 0 && part(text[begin - 1])) --begin;
      while (end < text.size() && part(text[end])) ++end;
      const std::string found = operation_of_test(text.substr(begin, end - begin));
      // Two different names already make it unclear which test runs.
      if (!found.empty() && commands_.size() < 2 &&
          std::find(commands_.begin(), commands_.end(), found) == commands_.end())
        commands_.push_back(found);
    }
  }

  void see_version(const std::string& version) override { tables_.tell_version(version); }

 private:
  bool row_like(const std::vector<std::string_view>& words) const {
    return words.size() >= 3 && digits(words[0]) && numeric(words[1]) && is_type(words[2]);
  }

  void new_run() {
    drop_pending();
    tables_.start_run();
    take_command();
    columns_ = {};
    header_seen_ = columns_stated_ = false;
  }

  /// Assigns the command line since the last run to this run. If there were several, none is used.
  void take_command() {
    if (commands_.size() == 1 && tables_.run().command.empty()) tables_.run().command = commands_[0];
    commands_.clear();
  }

  bool header(std::string_view text, int line) {
    const std::vector<std::string_view> words = words_of(text);
    if (words.empty()) return false;
    if (words[0] == "nccl-tests" && words.size() > 1 && words[1] == "version") {
      new_run();
      if (const auto code = after(text, "nccl-library=")) tables_.tell_version(version_of_code(number_at(*code)));
      return true;
    }
    if (words[0] == "Collective" && words.size() > 3 && words[2] == "starting:") {
      // The line names the test of a new run, unless it follows the version line of the same run.
      if (tables_.run_has_rows() || !tables_.run().operation.empty()) new_run();
      tables_.run().operation = operation_of_test(words[3]);
      if (tables_.run().operation.empty()) {
        sink_.problem(line, "unknown test '" + shown(words[3]) + "'");
        tables_.run().command.clear();
      }
      return true;
    }
    // `# nThread 1 nGpus 8 minBytes 8 maxBytes ... warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0`
    if (words[0] == "nThread" || words[0] == "nThreads") return parameters(text);
    if (words[0] == "Rank") return device(words, text, line);
    if (const auto columns = sizes_columns(words)) {
      drop_pending();
      if (tables_.run_has_rows()) new_run();
      take_command();
      columns_ = *columns;
      header_seen_ = columns_stated_ = true;
      return true;
    }
    // The footer. Rows after it belong to another run.
    if (words[0] == "Avg" || (words[0] == "Collective" && words.size() > 2 && words[2] == "concluded:")) {
      drop_pending();
      tables_.close();
      header_seen_ = false;
      return true;
    }
    return false;
  }

  static std::int64_t number_at(std::string_view text) {
    std::size_t size = 0;
    while (size < text.size() && is_digit(text[size])) ++size;
    return whole_number(text.substr(0, size)).value_or(0);
  }

  bool parameters(std::string_view text) {
    if (tables_.run_has_rows() || tables_.run().threads > 0) new_run();
    TestRun& run = tables_.run();
    take_command();
    const auto number = [&](std::string_view key) {
      auto rest = after(text, key);
      return rest ? take_number(*rest).value_or(0) : 0;
    };
    run.threads = std::max(0, number("nThread "));
    run.gpus = std::max(0, number("nGpus "));
    // The line has three kinds of iterations. The number of timed ones follows that of warm-up.
    auto rest = after(text, "warmup iters:");
    rest = after(rest ? *rest : text, " iters:");
    if (rest) run.iterations = std::max(0, take_number(*rest).value_or(0));
    // Only deviations from the defaults are kept: they make a case that no fit uses (import_cases.cpp).
    for (const auto& [key, usual] : {std::pair{"graph", 0}, {"agg iters", 1}, {"unalign", 0}})
      if (const int n = number(std::string(key) + ": "); n > usual) run.details[key] = std::to_string(n);
    return true;
  }

  bool device(const std::vector<std::string_view>& words, std::string_view text, int line) {
    if (words.size() < 5) return false;
    const auto rank = small_number(words[1]);
    if (!rank || *rank < 0) {
      sink_.problem(line, "the rank of a device is not a number");
      return true;
    }
    if (tables_.run_has_rows()) new_run();
    std::optional<int> group;
    std::string host, gpu;
    // `#  Rank  0 Group  0 Pid  1234 on  node-1 device  0 [0x1b] NVIDIA H100 80GB HBM3`
    for (std::size_t i = 2; i + 1 < words.size(); ++i) {
      if (words[i] == "Group") group = small_number(words[i + 1]);
      if (words[i] == "on" && host.empty()) host = shown(words[i + 1]);
      if (words[i] == "device") break;
    }
    if (const std::size_t bracket = text.find(']'); bracket != std::string_view::npos)
      gpu = shown(text.substr(bracket + 1));
    tables_.run().devices.add(*rank, group, host, gpu);
    return true;
  }

  bool row(std::vector<std::string_view> words, int line) {
    drop_pending();
    if (!columns_stated_ && !tables_.run_has_rows()) take_command();
    if (!columns_stated_) columns_ = columns_of_row(words).value_or(Columns{});
    const auto size = [&] { return static_cast<int>(words.size()); };
    // Tests without an operator leave the column blank in old versions; newer ones print `none`.
    if (columns_.redop >= 0 && columns_.redop < size() && numeric(words[static_cast<std::size_t>(columns_.redop)]))
      words.insert(words.begin() + columns_.redop, std::string_view());
    // Words of a complete row. More may follow, such as the number of iterations.
    const int whole = columns_.count + columns_.width * (columns_.both ? 2 : 1);
    // All columns are required, except the out-of-place timing where only the in-place test ran (see `gap`).
    if (size() >= whole) {
      finish_row(words, line, columns_.both ? 3 : 1);
    } else if (columns_.both && size() == columns_.count + columns_.width && gap(words) >= 25) {
      finish_row(words, line, 2);
    } else if (size() == columns_.count || (columns_.both && size() == columns_.count + columns_.width)) {
      // A line of NCCL may interrupt a row; the rest of the row then follows on its own line.
      pending_.assign(words.begin(), words.end());
      pending_line_ = line;
    } else {
      sink_.problem(line, "truncated row");
    }
    return true;
  }

  /// Spaces before the first time. The out-of-place columns are blank if only the in-place test runs.
  std::ptrdiff_t gap(const std::vector<std::string_view>& words) const {
    const auto first = static_cast<std::size_t>(columns_.count);
    const std::string_view before = words[first - 1];
    return before.empty() ? 0 : words[first].data() - (before.data() + before.size());
  }

  /// Reads the rest of an interrupted row. \returns whether the words are that rest
  bool complete(const std::vector<std::string_view>& words) {
    const std::size_t whole = static_cast<std::size_t>(columns_.count + columns_.width * (columns_.both ? 2 : 1));
    // Up to three further columns may follow the timings.
    if (pending_.size() + words.size() < whole || pending_.size() + words.size() > whole + 3) return false;
    // The next row, not the rest of the interrupted one.
    if (words.size() >= 3 && is_type(words[2])) return false;
    if (!std::all_of(words.begin(), words.end(), [](std::string_view w) { return numeric(w) || w == "N/A"; }))
      return false;
    const std::vector<std::string> held = std::move(pending_);
    const int line = std::exchange(pending_line_, 0);
    pending_.clear();
    std::vector<std::string_view> all(held.begin(), held.end());
    all.insert(all.end(), words.begin(), words.end());
    finish_row(all, line, columns_.both ? 3 : 1);
    return true;
  }

  void drop_pending() {
    const std::vector<std::string> held = std::exchange(pending_, {});
    const int line = std::exchange(pending_line_, 0);
    if (line == 0) return;
    // Without a header that announces two timings, a single one makes a complete row.
    const bool one_timing = !columns_stated_ && static_cast<int>(held.size()) == columns_.count + columns_.width;
    if (!one_timing) return sink_.problem(line, "truncated row");
    finish_row({held.begin(), held.end()}, line, 1);
  }

  /// \param places  1: out of place, 2: in place, 3: both
  void finish_row(const std::vector<std::string_view>& words, int line, int places) {
    const auto word = [&](int i) { return i < 0 ? std::string_view() : words[static_cast<std::size_t>(i)]; };
    TestRow r;
    r.line = line;
    r.kind = {shown(word(columns_.type), 40), shown(word(columns_.redop), 20), shown(word(columns_.root), 20),
              columns_.cpu_time};
    const auto bytes = whole_number(words[0]);
    if (!bytes) return sink_.problem(line, "the size '" + shown(words[0], 40) + "' is not a whole number of bytes");
    if (!is_type(r.kind.type)) return sink_.problem(line, "unknown data type '" + r.kind.type + "'");
    r.bytes = *bytes;
    int at = columns_.count;
    for (const int place : {1, 2}) {
      if (!(places & place)) continue;
      // A test that did not run in this place prints N/A.
      if (word(at) != "N/A") {
        const auto timing =
            timing_of(word(at), word(at + 1), word(at + 2), columns_.wrong < 0 ? "N/A" : word(at + columns_.wrong));
        if (!timing) return sink_.problem(line, "a time or bandwidth is not a number");
        (place == 1 ? r.out_of_place : r.in_place) = timing;
      }
      at += columns_.width;
    }
    tables_.add(r);
  }

  TestTables tables_;
  Columns columns_;
  bool header_seen_ = false;           ///< rows may follow
  bool columns_stated_ = false;        ///< a header of this run defines the columns
  std::vector<std::string> commands_;  ///< tests that command lines named since the last run started
  std::vector<std::string> pending_;
  int pending_line_ = 0;
};

}  // namespace

std::unique_ptr<NcclTestsFormat> nccl_tests_format(ImportSink& sink) { return std::make_unique<NcclTests>(sink); }

}  // namespace fabricast
