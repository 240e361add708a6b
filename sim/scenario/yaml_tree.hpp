// A YAML document that is only read, in a few blocks of memory.
//
// yaml-cpp's own nodes take some ten allocations each: those of a fabric file of 33,000 cables need 80 MB, and most of
// the time is that of the memory. A tree holds 20 bytes for each node and its text. It follows yaml-cpp in what can be
// seen: the first of equal keys is found, an alias is the node that it names, and a text without a value is null.
//
// A view is one node of such a tree, or one of yaml-cpp, so that one reader serves both. It is valid as long as the
// tree. Trees that do not change can be read concurrently.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricast {

class YamlView;

class YamlTree {
 public:
  /// Receives the events of yaml-cpp's parser.
  class Builder;

  YamlView root() const;
  /// Gives each element of a list that is a single value the form `{key: value}`, without positions. Changes nothing
  /// else than lists.
  void spell_out(const YamlView& list, std::string_view key);

 private:
  friend class YamlView;
  enum class Kind : std::uint8_t { null, scalar, sequence, map };
  static constexpr std::uint32_t no_position = ~std::uint32_t{0};
  struct Item {
    std::uint32_t begin = 0, size = 0;             ///< bytes of text, or nodes of a collection: keys and values in turn
    std::uint32_t line = no_position, column = 0;  ///< from 0
    Kind kind = Kind::null;
  };
  std::uint32_t add_text(std::string_view text);

  std::vector<Item> items_;
  std::vector<std::uint32_t> children_;
  std::string text_;
  std::uint32_t root_ = 0;
};

class YamlView {
 public:
  /// A node that is absent.
  YamlView() = default;
  YamlView(const YAML::Node& node) : defined_(node.IsDefined()), node_(defined_ ? node : YAML::Node()) {}
  YamlView(const YamlTree& tree, std::uint32_t item) : defined_(true), tree_(&tree), item_(item) {}
  YamlView(const YamlView&) = default;
  // Assigning a node of yaml-cpp would change the document.
  YamlView& operator=(const YamlView& other) {
    if (this == &other) return *this;
    defined_ = other.defined_;
    tree_ = other.tree_;
    item_ = other.item_;
    node_.reset(other.node_);
    return *this;
  }
  ~YamlView() = default;

  bool defined() const { return defined_; }
  bool null() const { return is(YamlTree::Kind::null, YAML::NodeType::Null); }
  bool scalar() const { return is(YamlTree::Kind::scalar, YAML::NodeType::Scalar); }
  bool sequence() const { return is(YamlTree::Kind::sequence, YAML::NodeType::Sequence); }
  bool map() const { return is(YamlTree::Kind::map, YAML::NodeType::Map); }
  /// \pre scalar()
  std::string_view text() const;
  /// Number of elements or pairs; 0 for other nodes.
  std::size_t size() const;
  /// \pre sequence() and i < size()
  YamlView at(std::size_t i) const;
  /// The value of a key of a map; absent if there is none.
  YamlView find(std::string_view key) const;
  /// Line and column, from 1; 0 if the node has no position.
  std::pair<int, int> position() const;
  /// Calls `f(key, value)` for each pair. \pre map()
  template <class F>
  void each_pair(F f) const {
    if (!tree_) {
      for (const auto& entry : node_) f(YamlView(entry.first), YamlView(entry.second));
      return;
    }
    for (std::uint32_t i = 0; i < item().size; ++i) f(child(2 * i), child(2 * i + 1));
  }

 private:
  friend class YamlTree;
  bool is(YamlTree::Kind kind, YAML::NodeType::value type) const {
    return defined_ && (tree_ ? item().kind == kind : node_.Type() == type);
  }
  const YamlTree::Item& item() const { return tree_->items_[item_]; }
  YamlView child(std::uint32_t i) const { return {*tree_, tree_->children_[item().begin + i]}; }

  bool defined_ = false;
  const YamlTree* tree_ = nullptr;
  std::uint32_t item_ = 0;
  YAML::Node node_;  ///< without a tree
};

/// Parses a text as `parse_yaml` does (yaml_reader.hpp), to a tree.
/// \throws UserError with the position of a syntax error, or if the text is not a single map
YamlTree parse_yaml_tree(const std::string& text, const std::string& file, const std::string& begin);

}  // namespace fabricast
