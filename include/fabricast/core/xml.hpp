// XML as plain values, each with its place in the file. The library behind it is not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

struct XmlElement {
  std::string name;
  SourceSpan where;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;

  const std::string* find(std::string_view attribute) const;
};

/// The root element.
/// \throws UserError with the place where the text stops being XML
XmlElement parse_xml(const std::string& text, const std::string& file);

/// Reads attributes, and collects what is wrong with them.
class XmlReader {
 public:
  /// \returns the attribute; if it is missing, reports that and returns null.
  const std::string* required(const XmlElement& element, std::string_view attribute);
  /// A whole number, decimal or 0x..., within limits. Empty if the attribute is missing or wrong; wrong is reported.
  std::optional<std::int64_t> integer(const XmlElement& element, std::string_view attribute, std::int64_t low,
                                      std::int64_t high);
  /// The same with hexadecimal digits, with or without 0x.
  std::optional<std::uint64_t> hexadecimal(const XmlElement& element, std::string_view attribute);
  std::optional<double> number(const XmlElement& element, std::string_view attribute, double low, double high);
  void fault(const XmlElement& element, std::string message, std::string hint = {});
  bool failed() const { return !faults_.empty(); }
  /// \throws UserError if anything was wrong
  void finish();

 private:
  std::vector<Diagnostic> faults_;
};

}  // namespace fabricast
