// A word of the user: an amount with its unit, a list of host names, a version. The first byte says which.
#include "fabricast/core/quantity.hpp"
#include "fabricast/discover/hostlist.hpp"
#include "fabricast/planner/nccl.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

namespace {

/// What is written reads back, and as the same text.
template <class Parse>
void look_at(std::string_view word, Parse parse) {
  const auto read = parse(word);
  if (!read) return require(!read.error.empty());
  const std::string text = to_text(read.value);
  const auto again = parse(text);
  require(static_cast<bool>(again));
  require(to_text(again.value) == text);
}

/// Long lists take long, and show nothing new.
bool is_short(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3) return false;
  }
  return true;
}

void look_at_hostlist(std::string_view text) {
  if (!is_short(text)) return;
  const Hostlist list = expand_hostlist(text);
  require(list.at <= text.size() && list.names.size() <= most_listed_hosts);
}

void look_at_versions(std::string_view text) {
  // A text without a patch stands for the last one, so that the version itself may be another.
  if (const auto version = parse_nccl_version(text)) {
    const auto again = parse_nccl_version(to_text(*version));
    require(again && to_text(*again) == to_text(*version));
  }
  if (const auto versions = parse_nccl_versions(text, 90)) require(versions->first <= versions->last);
}

}  // namespace

void read_words(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string_view word = bytes.substr(1);
  switch (bytes.front()) {
    case 'b': return look_at(word, parse_bytes);
    case 's': return look_at(word, parse_seconds);
    case 'r': return look_at(word, parse_rate);
    case 'm': return look_at(word, parse_metres);
    case 'w': return look_at(word, parse_watts);
    case '%': return look_at(word, parse_ratio);
    case 'd': return look_at(word, parse_number);
    case 'i': return static_cast<void>(parse_integer(word));
    case 'h': return look_at_hostlist(word);
    case 'v': return look_at_versions(word);
    default: return;
  }
}

}  // namespace fabricast::fuzz
