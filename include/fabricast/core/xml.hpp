// XML as plain values, each with its position in the file, for NCCL's topology and graph files.
//
// Only elements and attributes are kept; text, comments and processing instructions are dropped. Documents may nest at
// most 64 levels deep, and an attribute may occur only once in an element. The adapter to pugixml is private to the
// source.
//
// parse_xml is safe to call concurrently; use an XmlReader from one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// An element with its attributes and child elements in document order.
struct XmlElement {
  std::string name;
  SourceSpan where;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;

  /// The value of an attribute, or null.
  const std::string* find(std::string_view attribute) const;
};

/// The root element of a document.
/// \param file  name of the file, for positions
/// \throws UserError with the position at which the text stops being well-formed, or if it is not UTF-8 or nested too
///         deeply
XmlElement parse_xml(const std::string& text, const std::string& file);

/// Reads typed attributes and collects what is wrong with them, so that one run reports every fault of a file. Call
/// `finish` at the end.
class XmlReader {
 public:
  /// The value of an attribute; reports a missing one and returns null.
  const std::string* required(const XmlElement& element, std::string_view attribute);
  /// An integer between `low` and `high`, decimal or hexadecimal with 0x. Nothing if the attribute is missing, which is
  /// not reported, or invalid, which is.
  std::optional<std::int64_t> integer(const XmlElement& element, std::string_view attribute, std::int64_t low,
                                      std::int64_t high);
  /// The same for hexadecimal digits with or without 0x, without limits.
  std::optional<std::uint64_t> hexadecimal(const XmlElement& element, std::string_view attribute);
  /// The same for a decimal number.
  std::optional<double> number(const XmlElement& element, std::string_view attribute, double low, double high);
  /// Reports an error at an element.
  void fault(const XmlElement& element, std::string message, std::string hint = {});
  /// Whether an error was reported.
  bool failed() const { return !faults_.empty(); }
  /// \throws UserError with all reported errors, if there are any
  void finish();

 private:
  std::vector<Diagnostic> faults_;
};

}  // namespace fabricast
