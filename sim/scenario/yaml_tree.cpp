// Reads trees of YAML (yaml_tree.hpp). yaml_parse.cpp builds them.
#include "yaml_tree.hpp"

namespace fabricast {

std::uint32_t YamlTree::add_text(std::string_view text) {
  text_.append(text);
  return static_cast<std::uint32_t>(text_.size() - text.size());
}

YamlView YamlTree::root() const { return {*this, root_}; }

// In place, as an assignment to a node of yaml-cpp: aliases of the element become maps as well.
void YamlTree::spell_out(const YamlView& list, std::string_view key) {
  if (!list.sequence()) return;
  const Item of = list.item();
  for (std::uint32_t i = 0; i < of.size; ++i) {
    const std::uint32_t element = children_[of.begin + i];
    if (items_[element].kind != Kind::scalar) continue;
    Item name, value = items_[element];
    name.kind = Kind::scalar;
    name.begin = add_text(key);
    name.size = static_cast<std::uint32_t>(key.size());
    value.line = no_position;
    Item map;
    map.kind = Kind::map;
    map.begin = static_cast<std::uint32_t>(children_.size());
    map.size = 1;
    items_[element] = map;
    for (const Item& item : {name, value}) {
      children_.push_back(static_cast<std::uint32_t>(items_.size()));
      items_.push_back(item);
    }
  }
}

std::string_view YamlView::text() const {
  if (!tree_) return node_.Scalar();
  return std::string_view(tree_->text_).substr(item().begin, item().size);
}

std::size_t YamlView::size() const {
  if (!sequence() && !map()) return 0;
  return tree_ ? item().size : node_.size();
}

YamlView YamlView::at(std::size_t i) const {
  if (!tree_) return node_[i];
  return child(static_cast<std::uint32_t>(i));
}

YamlView YamlView::find(std::string_view key) const {
  if (!map()) return {};
  if (!tree_) return node_[std::string(key)];
  for (std::uint32_t i = 0; i < item().size; ++i) {
    const YamlView k = child(2 * i);
    if (k.scalar() && k.text() == key) return child(2 * i + 1);
  }
  return {};
}

std::pair<int, int> YamlView::position() const {
  if (!tree_) {
    const YAML::Mark mark = node_.Mark();
    return mark.is_null() ? std::pair{0, 0} : std::pair{mark.line + 1, mark.column + 1};
  }
  if (item().line == YamlTree::no_position) return {0, 0};
  return {static_cast<int>(item().line) + 1, static_cast<int>(item().column) + 1};
}

}  // namespace fabricast
