// Writes a fabric file. It is written without a YAML library, one line per item, so that a file can be read and
// compared.
#include <fmt/format.h>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/discover/fabric.hpp"

namespace fabricast {

namespace {

/// A word, quoted if YAML could read it as something else than this text.
std::string word(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  const bool letter = !text.empty() && !is_digit(text.front()) && text.front() != '.' && text.front() != '-';
  const bool keyword = text == "true" || text == "false" || text == "null" || text == "Null" || text == "NULL" ||
                       text == "yes" || text == "no" || text == "on" || text == "off";
  if (letter && !keyword && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  // Double quotes: only quotes and backslashes need an escape, because names contain no control characters.
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// `, key: value`, or nothing if the value is 0, the default.
std::string number(std::string_view key, int value) { return value > 0 ? fmt::format(", {}: {}", key, value) : ""; }

}  // namespace

std::string fabric_yaml(const FileFabric& fabric) {
  std::string text;
  if (!fabric.hosts.empty()) text += "hosts:\n";
  for (const FileFabricHost& host : fabric.hosts) {
    text += fmt::format("  - name: {}\n    nics:\n", word(host.name));
    for (const FileFabricNic& nic : host.nics)
      text += fmt::format("      - {{name: {}{}{}}}\n", word(nic.name), number("lid", nic.lid), number("lmc", nic.lmc));
  }
  text += fabric.switches.empty() ? "switches: []\n" : "switches:\n";
  for (const FileFabricSwitch& s : fabric.switches)
    text += fmt::format("  - {{name: {}, tier: {}{}{}}}\n", word(s.name), name_of(s.tier),
                        s.guid.empty() ? "" : fmt::format(", guid: \"{}\"", s.guid), number("lid", s.lid));
  text += fabric.links.empty() ? "links: []\n" : "links:\n";
  for (const FileFabricLink& link : fabric.links)
    text += fmt::format("  - {{from: {}, to: {}{}{}{}{}}}\n", word(link.from), word(link.to),
                        link.rate.value > 0 ? ", rate: " + to_text(link.rate) : "",
                        link.count > 1 ? fmt::format(", count: {}", link.count) : "",
                        number("from_port", link.from_port), number("to_port", link.to_port));
  return text;
}

}  // namespace fabricast
