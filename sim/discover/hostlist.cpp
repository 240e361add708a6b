// Expands Slurm's lists of hosts (discover/hostlist.hpp). Limits are checked before names are made, so that a range
// such as [0-999999999] is an error and does not fill the memory.
#include "fabricast/discover/hostlist.hpp"

#include <fmt/format.h>

#include <charconv>

#include "fabricast/core/scan.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_names = most_listed_hosts;
constexpr std::size_t longest_name = 255;

class Expander {
 public:
  explicit Expander(std::string_view text) : text_(text) {}

  Hostlist expand() {
    if (text_.empty()) fail("the list of hosts is empty");
    while (!failed()) {
      one();
      if (failed() || at_ == text_.size()) break;
      ++at_;  // the comma
      if (at_ == text_.size()) fail("expected a name after the comma");
    }
    if (failed()) list_.names.clear();
    return std::move(list_);
  }

 private:
  bool failed() const { return !list_.error.empty(); }
  // Only the first error counts: what follows it in the text depends on it.
  void fail(std::string message) {
    if (!failed()) {
      list_.error = std::move(message);
      list_.at = at_;
    }
  }

  /// Whether the two bytes are a control character from U+0080 to U+009F.
  static bool is_control(std::string_view two) {
    return two.size() == 2 && two[0] == '\xc2' && static_cast<unsigned char>(two[1]) < 0xa0;
  }

  /// Expands a name with any number of brackets: all combinations, with the last bracket fastest.
  void one() {
    std::vector<std::string> names = {""};
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !failed()) {
      const char c = text_[at_];
      if (c == '[') {
        multiply(names, bracket());
      } else if (c == ']') {
        fail("unmatched ]");
      } else if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || is_control(text_.substr(at_, 2))) {
        fail("a name must not contain blanks or control characters");
      } else {
        for (std::string& name : names) name += c;
        ++at_;
      }
      if (!failed() && names.front().size() > longest_name) fail("a name has more than 255 characters");
    }
    if (at_ == begin) fail("expected a name");
    if (failed()) return;
    if (list_.names.size() + names.size() > most_names) return fail("more than 200000 hosts");
    list_.names.insert(list_.names.end(), names.begin(), names.end());
  }

  /// Appends each of the ends to each of the names.
  void multiply(std::vector<std::string>& names, const std::vector<std::string>& ends) {
    if (failed()) return;
    // Before the names are made: three brackets of a thousand numbers would be a billion.
    if (names.size() * ends.size() > most_names) return fail("more than 200000 hosts");
    std::vector<std::string> all;
    all.reserve(names.size() * ends.size());
    for (const std::string& name : names)
      for (const std::string& end : ends) all.push_back(name + end);
    names = std::move(all);
  }

  /// The numbers of a bracket such as `[001-004,7]`.
  std::vector<std::string> bracket() {
    std::vector<std::string> numbers;
    ++at_;
    while (true) {
      range(numbers);
      if (failed()) return {};
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ < text_.size() && text_[at_] == ']') return ++at_, numbers;
      return fail("missing closing bracket"), std::vector<std::string>();
    }
  }

  void range(std::vector<std::string>& numbers) {
    const auto [low, width] = number();
    if (failed()) return;
    std::size_t high = low;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      high = number().first;
      if (failed()) return;
    }
    if (high < low) return fail("the range is descending");
    if (high - low >= most_names || numbers.size() + (high - low) >= most_names) return fail("more than 200000 hosts");
    // Padded to the width of the first number: [001-004], and [8-10] without padding.
    for (std::size_t n = low; n <= high; ++n) numbers.push_back(fmt::format("{:0{}}", n, width));
  }

  /// A number and its number of digits.
  std::pair<std::size_t, std::size_t> number() {
    std::size_t size = 0, value = 0;
    while (at_ + size < text_.size() && is_digit(text_[at_ + size])) ++size;
    const char* begin = text_.data() + at_;
    // Twelve digits fit in 64 bits and are far beyond the limit on names.
    if (size == 0 || size > 12 || std::from_chars(begin, begin + size, value).ec != std::errc())
      return fail("expected a number"), std::pair<std::size_t, std::size_t>();
    at_ += size;
    return {value, size};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Hostlist list_;
};

}  // namespace

Hostlist expand_hostlist(std::string_view text) { return Expander(text).expand(); }

}  // namespace fabricast
