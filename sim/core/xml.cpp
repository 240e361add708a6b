// The only adapter to pugixml.
//
// The tree is copied out of the library, with a position for each element, and is then independent of it. Files come
// from users, so depth, encoding and duplicate attributes are checked here.
#include "fabricast/core/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <pugixml.hpp>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

/// Far more than any topology needs; bounds the recursion below.
constexpr int deepest = 64;

// Copies the library's tree. The library keeps byte offsets only, from which the places follow.
class Builder {
 public:
  Builder(const std::string& text, const std::string& file) : file_(file) {
    // Line ends are found once; the position of a byte is then a binary search.
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') line_ends_.push_back(i);
  }

  XmlElement build(const pugi::xml_node& node, int depth) const {
    XmlElement element;
    element.name = node.name();
    // The library's offset is that of the name, one byte after the bracket.
    element.where = place(static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, node.offset_debug()) - 1));
    if (depth > deepest) refuse(element.where, fmt::format("elements are nested more than {} deep", deepest));
    for (const pugi::xml_attribute& a : node.attributes()) {
      if (element.find(a.name()))
        refuse(element.where, fmt::format("duplicate attribute '{}' in <{}>", a.name(), node.name()));
      element.attributes.emplace_back(a.name(), a.value());
    }
    for (const pugi::xml_node& child : node.children())
      if (child.type() == pugi::node_element) element.children.push_back(build(child, depth + 1));
    return element;
  }

  SourceSpan place(std::size_t byte) const {
    const auto line = std::lower_bound(line_ends_.begin(), line_ends_.end(), byte);
    const std::size_t begin = line == line_ends_.begin() ? 0 : *(line - 1) + 1;
    return {file_, static_cast<int>(line - line_ends_.begin()) + 1, static_cast<int>(byte - std::min(begin, byte)) + 1,
            1};
  }

  [[noreturn]] static void refuse(const SourceSpan& where, std::string message) {
    throw UserError({{Diagnostic::Severity::error, where, {}, std::move(message), {}}});
  }

 private:
  const std::string& file_;
  std::vector<std::size_t> line_ends_;
};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return &value;
  return nullptr;
}

XmlElement parse_xml(const std::string& text, const std::string& file) {
  const Builder builder(text, file);
  // A zero byte would end the text for the library.
  if (const std::size_t bad = std::min(text.find('\0'), find_not_utf8(text)); bad != std::string::npos)
    Builder::refuse(builder.place(bad), "not a UTF-8 text file");
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    std::string why = result.description();
    if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    // If the text ends too early, the library points past its end.
    const auto offset = std::clamp<std::ptrdiff_t>(result.offset, 0, static_cast<std::ptrdiff_t>(text.size()));
    Builder::refuse(builder.place(static_cast<std::size_t>(offset)), "not XML: " + why);
  }
  return builder.build(document.document_element(), 0);
}

const std::string* XmlReader::required(const XmlElement& element, std::string_view attribute) {
  const std::string* text = element.find(attribute);
  if (!text) fault(element, fmt::format("<{}> has no '{}'", element.name, attribute));
  return text;
}

std::optional<std::int64_t> XmlReader::integer(const XmlElement& element, std::string_view attribute, std::int64_t low,
                                               std::int64_t high) {
  const std::string* text = element.find(attribute);
  if (!text) return std::nullopt;
  // NCCL writes some numbers in decimal and some in hexadecimal, with or without the prefix.
  const bool hex = text->starts_with("0x");
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  // Not a number at all is another message than a number out of range.
  if (code == std::errc::invalid_argument || stop != end)
    return fault(element, fmt::format("{} '{}' is not a whole number", attribute, *text)), std::nullopt;
  if (code != std::errc() || value < low || value > high)
    return fault(element, fmt::format("{} '{}' is not between {} and {}", attribute, *text, low, high)), std::nullopt;
  return value;
}

std::optional<std::uint64_t> XmlReader::hexadecimal(const XmlElement& element, std::string_view attribute) {
  const std::string* text = element.find(attribute);
  if (!text) return std::nullopt;
  const bool prefix = text->starts_with("0x");
  std::uint64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, code] = std::from_chars(text->data() + (prefix ? 2 : 0), end, value, 16);
  if (code != std::errc() || stop != end)
    return fault(element, fmt::format("{} '{}' is not a hexadecimal number", attribute, *text)), std::nullopt;
  return value;
}

std::optional<double> XmlReader::number(const XmlElement& element, std::string_view attribute, double low,
                                        double high) {
  const std::string* text = element.find(attribute);
  if (!text) return std::nullopt;
  const Parsed<double> value = parse_number(*text);
  if (!value) return fault(element, fmt::format("{} {}", attribute, value.error)), std::nullopt;
  if (value.value < low || value.value > high)
    return fault(element, fmt::format("{} '{}' is not between {:g} and {:g}", attribute, *text, low, high)),
           std::nullopt;
  return value.value;
}

void XmlReader::fault(const XmlElement& element, std::string message, std::string hint) {
  faults_.push_back({Diagnostic::Severity::error, element.where, {}, std::move(message), std::move(hint)});
}

void XmlReader::finish() {
  if (failed()) throw UserError(std::move(faults_));
}

}  // namespace fabricast
