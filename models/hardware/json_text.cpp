// Parses JSON with positions. The JSON library keeps no positions of values, so the place of a key is found by
// searching the text for the keys of its path in order. This may hit an equal key in another object before it, which
// only affects the position in a message.
#include "json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace fabricast {

using nlohmann::json;

SourceSpan key_place(const std::string& file, const std::string& text, std::string_view path) {
  std::size_t from = 0, at = 0;
  while (!path.empty()) {
    // Parameter names may contain a dot (channel_launch_before_2.9), so the longest key is tried first.
    std::string_view key = path;
    std::size_t found = std::string::npos;
    while (true) {
      found = text.find(fmt::format("\"{}\"", key), from);
      const auto dot = key.rfind('.');
      if (found != std::string::npos || dot == std::string_view::npos) break;
      key = key.substr(0, dot);
    }
    if (found == std::string::npos) break;
    at = found;
    from = found + 1;
    path.remove_prefix(std::min(path.size(), key.size() + 1));
  }
  return span_at(file, text, at);
}

nlohmann::json parse_json_text(const std::string& text, const std::string& file) {
  const auto fail = [&](std::size_t byte, std::string what) {
    throw UserError({Diagnostic{Diagnostic::Severity::error, span_at(file, text, byte), {}, std::move(what), {}}});
  };
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) fail(0, "the file is empty");
  // The JSON library would take it for the end of the text.
  if (const auto nul = text.find('\0'); nul != std::string::npos) fail(nul, "not a text file");
  std::vector<std::set<std::string>> keys;
  std::vector<std::string> path;
  std::string twice;
  // The library silently takes the last of two equal keys. The callback sees all of them.
  const auto watch = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
      path.emplace_back();
    }
    if (event == json::parse_event_t::object_end) {
      keys.pop_back();
      path.pop_back();
    }
    if (event == json::parse_event_t::key) {
      path.back() = value.get<std::string>();
      if (!keys.back().insert(path.back()).second && twice.empty()) twice = fmt::format("{}", fmt::join(path, "."));
    }
    return true;
  };
  json j;
  try {
    j = json::parse(text, watch);
  } catch (const json::parse_error& e) {
    std::string what = e.what();
    if (const auto colon = what.find(": "); colon != std::string::npos) what = what.substr(colon + 2);
    fail(e.byte ? e.byte - 1 : 0, "not JSON: " + what);
  } catch (const json::out_of_range& e) {
    // The JSON library reports the number, but not its position.
    const std::string what = e.what();
    const auto begin = what.find('\'') + 1, end = what.rfind('\'');
    const std::string number = what.substr(begin, end - begin);
    fail(text.find(number), fmt::format("the number '{}' is too large", number));
  }
  if (!twice.empty())
    throw UserError(
        {Diagnostic{Diagnostic::Severity::error, key_place(file, text, twice), twice, "duplicate key", {}}});
  return j;
}

}  // namespace fabricast
