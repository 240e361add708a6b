// Splits JSON into items by counting brackets outside of strings. Nothing else is looked at, so gigabytes of events that
// nobody wants cost little.
#include "json_items.hpp"

#include <algorithm>
#include <cstring>

namespace fabricast::live {

namespace {
bool is_json_space(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
}  // namespace

JsonItems::Next JsonItems::damage(JsonItem& item, std::string why) {
  why_ = std::move(why);
  item.line = in_.line();
  item.column = in_.column();
  recover();
  return Next::damaged;
}

JsonItems::Next JsonItems::cut_off(JsonItem& item) {
  state_ = State::done;
  why_ = "the file is cut off";
  item.line = in_.line();
  item.column = in_.column();
  return Next::damaged;
}

// Moves on to where an element or member may begin.
void JsonItems::recover() {
  if (state_ == State::done) return;
  const char begin = state_ == State::object ? '"' : '{';
  // The byte that is wrong is not where to go on.
  if (in_.peek() >= 0) in_.skip(1);
  for (std::string_view text = in_.rest(); !text.empty(); text = in_.rest()) {
    const std::size_t at = text.find(begin);
    in_.skip(std::min(at, text.size()));
    if (at != std::string_view::npos) return;
  }
  state_ = State::done;
}

bool JsonItems::skip_space() {
  for (;;) {
    const std::string_view text = in_.rest();
    if (text.empty()) return false;
    std::size_t count = 0;
    while (count < text.size() && is_json_space(text[count])) ++count;
    in_.skip(count);
    if (count < text.size()) return true;
  }
}

// Copies one value. \returns false at the end of the file
bool JsonItems::capture(std::string& text, bool& fits) {
  text.clear();
  fits = true;
  int depth = 0;
  bool quoted = false, escaped = false;
  for (;;) {
    const std::string_view have = in_.rest();
    if (have.empty()) return false;
    std::size_t i = 0;
    bool done = false;
    while (i < have.size() && !done) {
      const char c = have[i];
      if (quoted) {
        if (escaped) {
          escaped = false;
        } else if (c == '\\') {
          escaped = true;
        } else if (c == '"') {
          quoted = false;
          done = depth == 0;
        }
        ++i;
        continue;
      }
      if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        // The bracket of what is around belongs to the caller.
        if (depth == 0) break;
        done = --depth == 0;
      } else if (depth == 0 && (c == ',' || is_json_space(c))) {
        break;
      }
      ++i;
    }
    const bool ended = done || i < have.size();
    if (fits && text.size() + i <= longest_)
      text.append(have.substr(0, i));
    else
      fits = false;
    in_.skip(i);
    if (ended) return true;
  }
}

JsonItems::Next JsonItems::value(JsonItem& item) {
  item.line = in_.line();
  item.column = in_.column();
  item.key = key_;
  bool fits = true;
  if (!capture(item.text, fits)) {
    state_ = State::done;
    why_ = "the item that begins here has no end: the file is cut off or damaged";
    return Next::damaged;
  }
  if (!fits) {
    why_ = "ignored: the item that begins here is too long";
    return Next::damaged;
  }
  if (!item.text.empty()) return Next::item;
  return damage(item, "a value is missing");
}

JsonItems::Next JsonItems::next(JsonItem& item) {
  for (;;) {
    if (state_ == State::done) return Next::end;
    if (!skip_space()) return state_ == State::begin ? Next::end : cut_off(item);
    const int c = in_.peek();
    if (state_ == State::begin) {
      if (c != '{' && c != '[') {
        state_ = State::done;
        return damage(item, "not JSON");
      }
      outermost_list_ = c == '[';
      state_ = outermost_list_ ? State::list : State::object;
      in_.skip(1);
      continue;
    }
    // Commas are only separators here: a missing one loses nothing.
    if (c == ',') {
      in_.skip(1);
      continue;
    }
    if (state_ == State::list) {
      if (c == ']') {
        in_.skip(1);
        state_ = outermost_list_ ? State::done : State::object;
        continue;
      }
      item.element = true;
      if (c == '}' || c == ':') return damage(item, "unexpected character in a list");
      return value(item);
    }
    if (c == '}') {
      state_ = State::done;
      continue;
    }
    if (c != '"') return damage(item, "unexpected character where a key should be");
    bool fits = true;
    std::string quoted;
    if (!capture(quoted, fits)) return cut_off(item);
    key_ = fits ? quoted.substr(1, quoted.size() - 2) : std::string();
    if (!skip_space()) return cut_off(item);
    if (in_.peek() != ':') return damage(item, "a key without a value");
    in_.skip(1);
    if (!skip_space()) return cut_off(item);
    if (in_.peek() == '[' && std::find(lists_.begin(), lists_.end(), key_) != lists_.end()) {
      in_.skip(1);
      state_ = State::list;
      continue;
    }
    item.element = false;
    return value(item);
  }
}

}  // namespace fabricast::live
