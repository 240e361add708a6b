// Reads lines of NCCL Inspector.
//
// A job writes gigabytes of them, all of one form, so they are scanned directly, several times faster than by a parser
// of JSON. A line of any other form (an escape in a text, a space, damage) is left to the parser, which alone decides
// whether it is valid.
#include "inspector_line.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"

namespace fabricast::live {

namespace {

using nlohmann::json;

enum class Section { header, metadata, collective, other };

Section section_of(std::string_view key, InspectorLine& line) {
  if (key == "header") return Section::header;
  if (key == "metadata") return Section::metadata;
  if (key == "p2p_perf") line.peer_to_peer = true;
  if (key != "coll_perf") return Section::other;
  line.collective = true;
  return Section::collective;
}

/// Where a value belongs; at most one is not null.
struct Target {
  std::int64_t* whole = nullptr;
  double* real = nullptr;
  std::string* text = nullptr;
  bool wanted() const { return whole || real || text; }
};

Target target_of(Section section, std::string_view key, InspectorLine& l) {
  switch (section) {
    case Section::header:
      if (key == "id") return {nullptr, nullptr, &l.id};
      if (key == "rank") return {&l.rank};
      if (key == "n_ranks") return {&l.ranks};
      if (key == "nnodes") return {&l.nodes};
      if (key == "comm_name") return {nullptr, nullptr, &l.name};
      return {};
    case Section::metadata:
      if (key == "dump_timestamp_us") return {&l.when};
      if (key == "hostname") return {nullptr, nullptr, &l.host};
      if (key == "pid") return {&l.pid};
      if (key == "git_rev") return {nullptr, nullptr, &l.version};
      return {};
    case Section::collective:
      if (key == "coll") return {nullptr, nullptr, &l.operation};
      if (key == "coll_sn") return {&l.sequence};
      if (key == "coll_msg_size_bytes") return {&l.bytes};
      if (key == "coll_exec_time_us") return {nullptr, &l.time};
      if (key == "coll_timing_source") return {nullptr, nullptr, &l.timing};
      if (key == "coll_algobw_gbs") return {nullptr, &l.algorithm_bandwidth};
      return {};
    case Section::other: return {};
  }
  return {};
}

/// Scans a line of the usual form.
class InspectorScanner {
 public:
  InspectorScanner(std::string_view text, InspectorLine& line) : text_(text), line_(line) {}

  /// \returns whether all of it has the usual form; otherwise the line holds some values only
  bool scan() {
    if (!take('{')) return false;
    do {
      std::string_view key;
      if (!quoted(key) || !take(':') || !take('{')) return false;
      if (!members(section_of(key, line_))) return false;
    } while (take(','));
    return take('}') && at_ == text_.size();
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// A text of printable ASCII without escapes.
  bool quoted(std::string_view& to) {
    if (!take('"')) return false;
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= ' ' && text_[at_] < '\x7f' && text_[at_] != '"' && text_[at_] != '\\')
      ++at_;
    to = text_.substr(from, at_ - from);
    return take('"');
  }
  bool members(Section section) {
    do {
      std::string_view key;
      if (!quoted(key) || !take(':') || at_ >= text_.size()) return false;
      const Target to = target_of(section, key, line_);
      const char c = text_[at_];
      if (c == '"') {
        std::string_view value;
        if (!quoted(value) || to.whole || to.real) return false;
        if (to.text) to.text->assign(value.substr(0, 200));
      } else if (c == '{' || c == '[') {
        if (to.wanted() || !nested()) return false;
      } else if (!number(to)) {
        return false;
      }
    } while (take(','));
    return take('}');
  }
  bool number(const Target& to) {
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    const char *begin = text_.data() + from, *end = text_.data() + at_;
    // Leading zeros and the like are for the parser to judge.
    if (begin == end || !is_digit(*begin) || end[-1] == '.' || (*begin == '0' && end - begin > 1 && begin[1] != '.'))
      return false;
    if (to.text) return false;
    if (to.whole) {
      const auto [stop, error] = std::from_chars(begin, end, *to.whole);
      return stop == end && error == std::errc();
    }
    if (!to.real) return std::count(begin, end, '.') <= 1;
    const auto [stop, error] = std::from_chars(begin, end, *to.real);
    return stop == end && error == std::errc();
  }
  /// The trace of events: lists and objects of numbers and keys. Only its brackets are looked at.
  bool nested() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{' || c == '[') ++depth;
      if (c == '\\') return false;
      if ((c == '}' || c == ']') && --depth == 0) {
        ++at_;
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
  InspectorLine& line_;
  std::size_t at_ = 0;
};

/// Picks the values out of the events of a parser.
class InspectorEvents : public json::json_sax_t {
 public:
  explicit InspectorEvents(InspectorLine& line) : line_(line) {}

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }  // negative: none of the values may be
  bool number_unsigned(number_unsigned_t n) override {
    if (to_.real) *to_.real = static_cast<double>(n);
    if (to_.real) return true;
    if (!to_.whole || n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return other();
    *to_.whole = static_cast<std::int64_t>(n);
    return true;
  }
  bool number_float(number_float_t n, const string_t&) override {
    if (!to_.real) return other();
    *to_.real = n;
    return true;
  }
  bool string(string_t& text) override {
    if (!to_.text) return other();
    to_.text->assign(text, 0, 200);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return deeper(); }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_object() override { return shallower(); }
  bool end_array() override { return shallower(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
  bool key(string_t& name) override {
    to_ = depth_ == 2 ? target_of(section_, name, line_) : Target();
    if (depth_ == 1) section_ = section_of(name, line_);
    return true;
  }

 private:
  bool deeper() {
    other();
    to_ = {};
    return ++depth_ < 16;
  }
  bool shallower() {
    --depth_;
    return true;
  }
  /// A value of a type that its key does not have, or of no interest.
  bool other() {
    if (to_.wanted()) line_.bad = true;
    return true;
  }

  InspectorLine& line_;
  int depth_ = 0;
  Section section_ = Section::other;
  Target to_;
};

/// Forgets the values of the line before. Texts keep their memory.
void clear(InspectorLine& line) {
  for (std::string* text : {&line.id, &line.name, &line.host, &line.version, &line.operation, &line.timing})
    text->clear();
  line.rank = line.ranks = line.pid = line.sequence = line.bytes = -1;
  line.time = -1;
  line.nodes = line.when = 0;
  line.algorithm_bandwidth = -1;
  line.collective = line.peer_to_peer = line.bad = false;
}

}  // namespace

bool InspectorLine::read(std::string_view text) {
  clear(*this);
  if (InspectorScanner(text, *this).scan()) return true;
  clear(*this);
  InspectorEvents events(*this);
  return json::sax_parse(text.begin(), text.end(), &events);
}

}  // namespace fabricast::live
