// From text to YAML (yaml_reader.hpp, yaml_tree.hpp): what is no single map is refused, with its position.
#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

#include "yaml_reader.hpp"
#include "yaml_tree.hpp"

namespace fabricast {

namespace {

/// A hint on the usual cause of a syntax error from yaml-cpp.
std::string syntax_hint(std::string_view what, std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (line.substr(0, begin).find('\t') != std::string_view::npos) return "indent with spaces; YAML does not allow tabs";
  if (what == "end of map flow not found") return "is a } missing before this?";
  if (what == "end of sequence flow not found") return "is a ] missing before this?";
  if (what == "end of map not found") return "all keys of a map must start in the same column";
  if (what == "the referenced anchor is not defined") return "a value that starts with * needs quotes";
  return {};
}

std::string line_at(std::string_view text, int line) {
  std::size_t begin = 0;
  for (int i = 1; i < line && begin != std::string_view::npos; ++i) begin = text.find('\n', begin) + 1;
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

/// Counts documents and records where they begin. The library's own LoadAll does not end if the rest of the text, such
/// as a comma, begins no document: it creates empty documents until memory is full.
class DocumentCounter : public YAML::EventHandler {
 public:
  int documents = 0;
  YAML::Mark last;  ///< start of the content of the last document

  void OnDocumentStart(const YAML::Mark&) override {
    ++documents;
    begins_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override { see(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    see(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    see(mark);
  }
  void OnMapEnd() override {}

 private:
  void see(const YAML::Mark& mark) {
    if (begins_) last = mark;
    begins_ = false;
  }

  bool begins_ = false;
};

/// Calls `parse` with a counter of documents, and reports what it throws. `parse` returns whether there is a map.
template <class Parse>
void parse_checked(const std::string& text, const std::string& file, const std::string& begin, Parse parse) {
  const auto fail = [&](int line, int column, std::string what, std::string hint = {}) {
    Diagnostic d;
    d.where = {file, line, column, 1};
    d.message = std::move(what);
    d.hint = std::move(hint);
    throw UserError({std::move(d)});
  };
  if (const std::size_t bad = std::min(text.find('\0'), find_not_utf8(text)); bad != std::string::npos) {
    const SourceSpan at = span_at(file, text, bad);
    fail(at.line, at.column, "not a UTF-8 text file");
  }
  DocumentCounter counter;
  bool map = false;
  try {
    map = parse(counter);
  } catch (const YAML::DeepRecursion& e) {
    fail(e.mark.line + 1, e.mark.column + 1, "nested too deeply");
  } catch (const YAML::Exception& e) {
    const int line = e.mark.is_null() ? 1 : e.mark.line + 1;
    fail(line, e.mark.is_null() ? 1 : e.mark.column + 1, fmt::format("not YAML: {}", e.msg),
         syntax_hint(e.msg, line_at(text, line)));
  }
  if (!map) fail(1, 1, text.empty() ? "the file is empty" : "not a map of sections", begin);
  if (counter.documents > 1)
    fail(counter.last.line + 1, counter.last.column + 1, "a second document begins here",
         "a file must hold a single document");
}

void count_documents(YAML::Parser& parser, DocumentCounter& counter) {
  while (counter.documents < 2 && parser.HandleNextDocument(counter)) {}
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& file, const std::string& begin) {
  YAML::Node document;
  parse_checked(text, file, begin, [&](DocumentCounter& counter) {
    // Load reads the first document only. The parser runs again to see whether there is another.
    document = YAML::Load(text);
    std::istringstream in(text);
    YAML::Parser parser(in);
    count_documents(parser, counter);
    return document.IsMap();
  });
  return document;
}

class YamlTree::Builder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, Kind::null, {}); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override { pending_.push_back(anchors_.at(anchor)); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    add(mark, anchor, Kind::scalar, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Kind::map);
  }
  void OnMapEnd() override { close(); }

  /// The tree of the document; null if there was none.
  YamlTree take() {
    if (pending_.empty())
      tree_.items_.emplace_back();
    else
      tree_.root_ = pending_.front();
    return std::move(tree_);
  }

 private:
  // As in yaml-cpp, an anchor is known from the start of its node, so a list may contain itself.
  std::uint32_t item(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    const auto number = static_cast<std::uint32_t>(tree_.items_.size());
    if (anchor != YAML::NullAnchor) {
      anchors_.resize(std::max(anchors_.size(), anchor + 1));
      anchors_[anchor] = number;
    }
    Item& item = tree_.items_.emplace_back();
    item.kind = kind;
    if (!mark.is_null()) {
      item.line = static_cast<std::uint32_t>(mark.line);
      item.column = static_cast<std::uint32_t>(mark.column);
    }
    return number;
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind, std::string_view text) {
    pending_.push_back(item(mark, anchor, kind));
    tree_.items_.back().begin = tree_.add_text(text);
    tree_.items_.back().size = static_cast<std::uint32_t>(text.size());
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    open_.emplace_back(item(mark, anchor, kind), pending_.size());
  }

  // What is in a collection is complete by now, and stands together in `children_`.
  void close() {
    const auto [number, start] = open_.back();
    const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(start);
    Item& item = tree_.items_[number];
    item.begin = static_cast<std::uint32_t>(tree_.children_.size());
    item.size = static_cast<std::uint32_t>((pending_.size() - start) / (item.kind == Kind::map ? 2 : 1));
    tree_.children_.insert(tree_.children_.end(), first, pending_.end());
    pending_.erase(first, pending_.end());
    open_.pop_back();
    pending_.push_back(number);
  }

  YamlTree tree_;
  std::vector<std::uint32_t> anchors_;                       ///< node of each anchor
  std::vector<std::pair<std::uint32_t, std::size_t>> open_;  ///< collections, and where their nodes begin
  std::vector<std::uint32_t> pending_;                       ///< nodes that are in no complete collection yet
};

YamlTree parse_yaml_tree(const std::string& text, const std::string& file, const std::string& begin) {
  YamlTree tree;
  parse_checked(text, file, begin, [&](DocumentCounter& counter) {
    std::istringstream in(text);
    YAML::Parser parser(in);
    YamlTree::Builder builder;
    if (parser.HandleNextDocument(builder)) ++counter.documents;
    tree = builder.take();
    count_documents(parser, counter);
    return tree.root().map();
  });
  return tree;
}

}  // namespace fabricast
