// The JSON file of nccl-tests (-J) [nccl-tests-performance]. It is a single line unless a tool has reformatted it, and
// may be larger than memory, so it is parsed as a stream of values.
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "nccl_tests_tables.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

/// An input iterator over the characters from the current line on. The default-constructed one is the end.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Characters() = default;
  explicit Characters(LineReader& lines) : lines_(&lines) {}
  // Between the pieces of a long line nothing is inserted; at the end of a line its newline is.
  char operator*() const { return at_ < lines_->text().size() ? lines_->text()[at_] : '\n'; }
  Characters& operator++() {
    const std::size_t size = lines_->text().size() + (lines_->ends() ? 1 : 0);
    if (++at_ < size) return *this;
    at_ = 0;
    if (!lines_->next()) lines_ = nullptr;
    return *this;
  }
  Characters operator++(int) {
    const Characters before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Characters& o) const { return (lines_ == nullptr) == (o.lines_ == nullptr); }
  bool operator!=(const Characters& o) const { return !(*this == o); }

 private:
  LineReader* lines_ = nullptr;
  std::size_t at_ = 0;
};

/// A SAX handler that tracks the path to the current value and picks the values that matter.
class Events : public json::json_sax_t {
 public:
  Events(const LineReader& lines, ImportSink& sink) : lines_(lines), sink_(sink), tables_(sink) {}

  bool null() override { return value("", {}); }
  bool boolean(bool b) override { return value(b ? "true" : "false", {}); }
  bool number_integer(number_integer_t n) override { return value(std::to_string(n), n); }
  // Beyond the range of int64 the number stays text.
  bool number_unsigned(number_unsigned_t n) override {
    const std::string text = std::to_string(n);
    return value(text, whole_number(text));
  }
  bool number_float(number_float_t, const string_t& text) override { return value(text, {}); }
  bool string(string_t& text) override { return value(text, {}); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    path_.push_back({false, std::string()});
    // Bounds the memory that a hostile file can claim through nesting.
    if (path_.size() > deepest) return fail("the JSON is nested deeper than 64 levels");
    // Path: the object, the list `results`, the object of one size.
    if (in("results", 3)) {
      row_ = {};
      row_.line = lines_.line();
      words_ = {};
      has_size_ = false;
    }
    if (at({"config", "devices"}, 4)) device_ = {};
    return true;
  }
  bool end_object() override {
    if (in("results", 3)) end_row();
    if (at({"config", "devices"}, 4) && device_.rank) {
      tables_.run().devices.add(*device_.rank, device_.group, device_.host, device_.gpu);
    }
    path_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    path_.push_back({true, std::string()});
    return path_.size() <= deepest || fail("the JSON is nested deeper than 64 levels");
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    path_.back().name = name.substr(0, 200);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return fail("malformed or truncated JSON");
  }
  void finish() {
    tables_.close();
    // JSON of other programs has no results either, and is no problem.
    if (ours_ && !failed_ && !has_results_) sink_.problem(lines_.line(), "the JSON has no results");
  }
  bool failed() const { return failed_; }
  const std::string& why() const { return why_; }
  /// Whether anything in it was written by nccl-tests.
  bool ours() const { return ours_; }

 private:
  static constexpr std::size_t deepest = 64;
  struct Step {
    bool list;
    std::string name;
  };
  struct Device {
    std::optional<int> rank, group;
    std::string host, gpu;
  };
  /// The words of a timing: time, algbw, busbw, wrong.
  using Words = std::array<std::string, 4>;

  bool fail(std::string why) {
    failed_ = true;
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  /// Whether the current value is in the list `name` of the outermost object, `depth` levels deep.
  bool in(std::string_view name, std::size_t depth) const {
    return path_.size() == depth && path_[0].name == name && path_[1].list;
  }
  bool at(std::array<std::string_view, 2> names, std::size_t depth) const {
    return path_.size() == depth && path_[0].name == names[0] && path_[1].name == names[1];
  }

  bool value(const std::string& text, std::optional<std::int64_t> whole) {
    if (path_.empty()) return true;
    const std::string& name = path_.back().name;
    // Numbers of threads, GPUs and iterations; larger ones are malformed and count as not stated.
    const int small = whole && *whole > 0 && *whole < (1 << 20) ? static_cast<int>(*whole) : 0;
    TestRun& run = tables_.run();
    if (path_.size() == 1 && name == "nccl_version" && whole) {
      run.nccl_version = version_of_code(*whole);
      ours_ = true;
    } else if (path_.size() == 2 && path_[1].list && path_[0].name == "args" && run.operation.empty()) {
      // The first argument that names a test is the program.
      run.operation = operation_of_test(text);
    } else if (path_.size() == 2 && path_[1].list && path_[0].name == "env") {
      variable(text);
    } else if (path_.size() == 2 && path_[0].name == "config") {
      if (name == "nthreads") {
        run.threads = small;
        ours_ = true;
      }
      if (name == "ngpus") run.gpus = small;
      if (name == "iterations") run.iterations = small;
      if (name == "aggregated_iterations" && small > 1) run.details["agg iters"] = text;
      if (name == "graph" && small > 0) run.details["graph"] = text;
      if (name == "blocking_collectives" && text == "true") run.details["blocking"] = text;
    } else if (at({"config", "devices"}, 4)) {
      if (name == "rank" && whole && *whole >= 0 && *whole < (1 << 30)) device_.rank = static_cast<int>(*whole);
      if (name == "group" && whole && *whole >= 0 && *whole < (1 << 30)) device_.group = static_cast<int>(*whole);
      if (name == "hostname") device_.host = shown(text);
      if (name == "device_info") device_.gpu = shown(text);
    } else if (in("results", 3)) {
      ours_ = has_results_ = true;
      if (name == "size") {
        has_size_ = whole.has_value() && *whole >= 0;
        row_.bytes = whole.value_or(0);
      }
      if (name == "type") row_.kind.type = shown(text, 20);
      if (name == "redop") row_.kind.redop = shown(text, 20);
      if (name == "root") row_.kind.root = shown(text, 20);
    } else if (path_.size() == 4 && path_[0].name == "results" && path_[1].list) {
      const std::string& place = path_[2].name;
      if (place != "out_of_place" && place != "in_place") return true;
      Words& words = words_[place == "in_place" ? 1 : 0];
      if (name == "time" || name == "cpu_time") {
        words[0] = text.substr(0, 60);
        row_.kind.cpu_time = name == "cpu_time";
      }
      if (name == "alg_bw") words[1] = text.substr(0, 60);
      if (name == "bus_bw") words[2] = text.substr(0, 60);
      // null, which arrives as an empty text: results were not checked.
      if (name == "nwrong") words[3] = text.empty() ? "N/A" : text.substr(0, 60);
    }
    return true;
  }

  void variable(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || !text.starts_with("NCCL_") || text.starts_with("NCCL_TESTS_")) return;
    sink_.variable(text.substr(0, equals), text.substr(equals + 1));
  }

  void end_row() {
    if (!has_size_) return sink_.problem(row_.line, "a result has no size");
    for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
      const Words& w = words_[place];
      // A test that runs only in place, or only out of place, has one timing.
      if (w == Words{}) continue;
      const auto timing = timing_of(w[0], w[1], w[2], w[3].empty() ? "N/A" : w[3]);
      if (!timing) return sink_.problem(row_.line, "a time or bandwidth is not a number");
      (place == 0 ? row_.out_of_place : row_.in_place) = timing;
    }
    tables_.add(row_);
  }

  const LineReader& lines_;
  ImportSink& sink_;
  TestTables tables_;
  std::vector<Step> path_;
  Device device_;
  TestRow row_;
  bool has_size_ = false, has_results_ = false, failed_ = false, ours_ = false;
  std::array<Words, 2> words_;
  std::string why_;
};

}  // namespace

bool read_nccl_tests_json(LineReader& lines, ImportSink& sink) {
  const int start = lines.line();
  Events events(lines, sink);
  // Not strict: text may follow the JSON, which the caller reads as lines.
  json::sax_parse(Characters(lines), Characters(), &events, json::input_format_t::json, /*strict=*/false);
  events.finish();
  // Other programs log JSON lines, too; a malformed one is not a problem of this log.
  if (events.failed() && events.ours()) sink.problem(lines.line(), events.why());
  // A document that failed may have run into a line of another format, which is still to be read. On its first line,
  // the line itself was the reason.
  return events.failed() && !lines.at_end() && lines.line() > start;
}

}  // namespace fabricast
