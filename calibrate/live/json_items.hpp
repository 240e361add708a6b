// A JSON document of any length as a stream of its items, in bounded memory: the members of the outermost object, and
// of the lists among them that a reader names, each element by itself.
//
// `{"version": "2.10", "entries": [{...}, {...}]}` with the list `entries` gives version, entries, entries. A document
// that is a list gives its elements, with an empty key. An item is text, which the caller parses; whether it is valid
// JSON is not known before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "byte_reader.hpp"

namespace fabricast::live {

struct JsonItem {
  std::string key;  ///< of the outermost object
  std::string text;
  int line = 0, column = 0;
  bool element = false;  ///< of a list
};

class JsonItems {
 public:
  /// \param longest  length of an item; longer ones are damaged
  JsonItems(ByteReader& in, std::vector<std::string_view> lists, std::size_t longest = longest_record)
      : in_(in), lists_(std::move(lists)), longest_(longest) {}

  enum class Next { item, end, damaged };
  /// Reads on to the next item. `damaged`: what is there is no item; `why` says what and the item where. Reading goes on
  /// behind it.
  Next next(JsonItem& item);
  const std::string& why() const { return why_; }

 private:
  enum class State { begin, object, list, done };
  Next damage(JsonItem& item, std::string why);
  Next cut_off(JsonItem& item);
  bool skip_space();
  bool capture(std::string& text, bool& fits);
  Next value(JsonItem& item);
  void recover();

  ByteReader& in_;
  std::vector<std::string_view> lists_;
  std::size_t longest_;
  State state_ = State::begin;
  bool outermost_list_ = false;
  std::string key_, why_;
};

}  // namespace fabricast::live
