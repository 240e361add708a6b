// Access to the files of a host below a root directory. sysfs is full of links, some absolute; they are followed only
// inside the root, so that a copy of another host never shows files of this one.
#include "tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fabricast {

namespace fs = std::filesystem;

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string trimmed(const std::string& text) {
  // Archived sysfs files may be padded with zero bytes, because sysfs reports a size of one page for them.
  const std::string blanks(" \t\r\n\0", 5);
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (part = trimmed(part); !part.empty()) parts.push_back(part);
  return parts;
}

std::vector<int> version_numbers(const std::string& text) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < text.size() && digit(text[i]) && numbers.size() < 8;) {
    int number = 0;
    // A limit instead of an overflow.
    for (; i < text.size() && digit(text[i]); ++i) number = std::min(number * 10 + (text[i] - '0'), 99999999);
    numbers.push_back(number);
    if (i < text.size() && text[i] == '.') ++i;
  }
  return numbers;
}

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      // Digits without leading zeros: numbers then compare by length first, whatever their size.
      const auto run = [](const std::string& s, std::size_t& at) {
        while (at + 1 < s.size() && s[at] == '0' && digit(s[at + 1])) ++at;
        const std::size_t begin = at;
        while (at < s.size() && digit(s[at])) ++at;
        return s.substr(begin, at - begin);
      };
      const std::string x = run(a, i), y = run(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

fs::path Tree::below(const std::string& path) const {
  // An absolute path would leave the root.
  return root_ / path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

bool Tree::has(const std::string& path) const { return !target(path).empty(); }

std::string Tree::content(const std::string& path) const {
  std::error_code gone;
  const std::string inside = target(path);
  // Pipes and devices may never end.
  if (inside.empty() || !fs::is_regular_file(root_ / inside, gone)) return {};
  std::ifstream in(root_ / inside, std::ios::binary);
  constexpr std::size_t most = std::size_t{1} << 20;
  std::string text;
  std::array<char, 4096> part{};
  // The size that sysfs reports for a file is not its length, so it is read until it ends.
  while (text.size() < most && (in.read(part.data(), part.size()), in.gcount() > 0))
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  return text;
}

std::vector<std::string> Tree::lines(const std::string& path) const { return split(content(path), '\n'); }

std::string Tree::line(const std::string& path) const {
  const std::string text = content(path);
  return trimmed(text.substr(0, text.find('\n')));
}

std::optional<double> Tree::number(const std::string& path) const {
  const std::string text = line(path);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nullopt : std::optional(value);
}

std::vector<std::string> Tree::names(const std::string& folder) const {
  std::error_code gone;
  std::vector<std::string> found;
  for (fs::directory_iterator it(below(folder), gone), end; !gone && it != end; it.increment(gone))
    found.push_back(it->path().filename().string());
  std::sort(found.begin(), found.end(), natural_less);
  return found;
}

std::string Tree::target(const std::string& path) const {
  std::error_code gone;
  const fs::path root = fs::canonical(root_, gone), end = fs::canonical(below(path), gone);
  // `canonical` fails for a path that does not exist or may not be read.
  if (gone) return {};
  const std::string inside = end.lexically_relative(root).string();
  return inside.starts_with("..") ? std::string() : inside;
}

}  // namespace fabricast
