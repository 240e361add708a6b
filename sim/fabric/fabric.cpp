// Names of vertices and links, their inverse, and the construction of fabrics.
//
// A fabric is built tier by tier and does not change afterwards. Link numbers follow from the order of construction:
// cable k has links 2k (up) and 2k + 1 (down), and parallel cables are consecutive. In a Clos network the order is that
// of the arithmetic in clos.hpp, which is why build_clos lives next to the names here.
#include "fabricast/fabric/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "fabricast/core/error.hpp"
#include "fabricast/fabric/planes.hpp"

namespace fabricast {

namespace {

/// `prefix12` -> 12.
std::optional<std::uint32_t> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string Fabric::name(VertexId v) const {
  if (is_endpoint(v)) {
    const std::string node = node_name(v.value / ports_per_node_);
    if (!port_names_.empty()) return node + "." + port_names_[v.value];
    return fmt::format("{}.nic{}", node, v.value % ports_per_node_);
  }
  const std::uint32_t s = v.value - endpoints();
  if (!switch_names_.empty()) return switch_names_[s];
  // Switches without names are numbered within their tier.
  const auto t = static_cast<std::size_t>(tier_of_switch_[s]);
  return fmt::format("{}{}", name_of(tier_of_switch_[s]), s - first_of_tier_[t]);
}

std::string Fabric::node_name(std::uint32_t node) const {
  return node_names_.empty() ? fmt::format("node{}", node) : node_names_[node];
}

std::string Fabric::name(LinkId id) const {
  const Link ends = link(id);
  std::string text = fmt::format("{}-{}", name(ends.from), name(ends.to));
  if (is_endpoint(ends.from) || is_endpoint(ends.to)) return text;
  std::uint32_t index = 0;
  bool several = false;
  // Parallel cables have consecutive numbers.
  const auto same = [&](std::uint32_t l) { return ends_[l] == ends.from.value && ends_[l ^ 1U] == ends.to.value; };
  for (std::uint32_t l = id.value; l >= 2 && same(l - 2); l -= 2) ++index, several = true;
  if (id.value + 2 < links() && same(id.value + 2)) several = true;
  if (several) text += fmt::format("#{}", index);
  return text;
}

// Names of the file first, then node3.nic2, which every fabric accepts, then names of switches.
std::optional<VertexId> Fabric::find_vertex(std::string_view name) const {
  // Host names may contain dots, so each is tried as a prefix instead of splitting the name.
  for (std::uint32_t node = 0; node < node_names_.size(); ++node) {
    if (!name.starts_with(node_names_[node] + ".")) continue;
    for (std::uint32_t port = 0; port < ports_per_node_; ++port)
      if (this->name(endpoint(node, port)) == name) return endpoint(node, port);
  }
  if (const auto dot = name.find(".nic"); dot != std::string_view::npos) {
    const auto node = number_after(name.substr(0, dot), "node"), port = number_after(name.substr(dot), ".nic");
    if (node && port && *node < nodes_ && *port < ports_per_node_) return endpoint(*node, *port);
    if (switch_names_.empty()) return std::nullopt;
  }
  if (!switch_names_.empty()) {
    const auto it = std::find(switch_names_.begin(), switch_names_.end(), name);
    if (it == switch_names_.end()) return std::nullopt;
    return VertexId(endpoints() + static_cast<std::uint32_t>(it - switch_names_.begin()));
  }
  for (const Tier t : {Tier::leaf, Tier::spine, Tier::core})
    if (const auto i = number_after(name, name_of(t)); i && *i < switches_in(t))
      return VertexId(endpoints() + first_of_tier_[static_cast<std::size_t>(t)] + *i);
  return std::nullopt;
}

std::vector<LinkId> Fabric::find_links(std::string_view text) const {
  std::vector<LinkId> found;
  std::optional<std::uint32_t> wanted;
  // `#i` selects one of several parallel cables.
  if (const auto hash = text.rfind('#'); hash != std::string_view::npos) {
    wanted = number_after(text.substr(hash), "#");
    if (!wanted) return found;
    text = text.substr(0, hash);
  }
  const auto add_cable = [&](std::uint32_t l) { found.emplace_back(l & ~1U), found.emplace_back(l | 1U); };

  // A switch of a file may have this name; it then means the switch.
  if (text == "uplinks" && !wanted && !find_vertex(text)) {
    for (std::uint32_t l = 0; l < links(); l += 2)
      if (ends_[l] >= endpoints() && ends_[l + 1] >= endpoints()) add_cable(l);
    return found;
  }
  if (const PlaneDistances* planes = planes_of(*this); planes && !wanted)
    if (const auto plane = number_after(text, "plane"); plane && *plane < planes->planes()) {
      for (std::uint32_t l = 0; l < links(); l += 2)
        if (planes->plane_of(ends_[l + 1] - endpoints()) == *plane) add_cable(l);
      return found;
    }
  if (const auto alone = find_vertex(text); alone && !wanted) {
    for (std::uint32_t l = 0; l < links(); l += 2)
      if (ends_[l] == alone->value || ends_[l + 1] == alone->value) add_cable(l);
    return found;
  }
  // Names from files may contain dashes, so every dash is tried as the separator.
  for (auto dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    const auto a = find_vertex(text.substr(0, dash)), b = find_vertex(text.substr(dash + 1));
    if (!a || !b) continue;
    std::uint32_t index = 0;
    for (std::uint32_t l = 0; l < links(); l += 2) {
      const bool joins =
          (ends_[l] == a->value && ends_[l + 1] == b->value) || (ends_[l] == b->value && ends_[l + 1] == a->value);
      if (joins && (!wanted || *wanted == index)) add_cable(l);
      if (joins) ++index;
    }
  }
  return found;
}

std::uint32_t Fabric::switches_in(Tier tier) const {
  const auto t = static_cast<std::size_t>(tier);
  return first_of_tier_[t + 1] - first_of_tier_[t];
}

std::uint32_t Fabric::cables_below(Tier wanted) const {
  std::uint32_t count = 0;
  for (std::uint32_t l = 1; l < links(); l += 2)
    if (tier(VertexId(ends_[l])) == wanted) ++count;
  return count;
}

// Clos networks are compared by their dimensions, which is much cheaper than by their links.
bool Fabric::connects_like(const Fabric& other) const {
  if (nodes_ != other.nodes_ || ports_per_node_ != other.ports_per_node_ || clos_ != other.clos_) return false;
  if (clos_) return true;
  if (!metric_ != !other.metric_ || (metric_ && metric_->text() != other.metric_->text())) return false;
  return ends_ == other.ends_ && class_of_ == other.class_of_;
}

// Counting sort by the source of each link: two passes, and one array instead of a list for each vertex.
Fabric::Adjacency::Adjacency(const Fabric& fabric) : first_(fabric.vertices() + 1, 0), links_(fabric.links()) {
  for (const std::uint32_t from : fabric.ends_) ++first_[from + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t l = 0; l < fabric.links(); ++l) links_[next[fabric.ends_[l]]++] = LinkId(l);
}

FabricBuilder::FabricBuilder(std::uint32_t nodes, std::uint32_t ports_per_node) {
  fabric_.nodes_ = nodes;
  fabric_.ports_per_node_ = ports_per_node;
}

VertexId FabricBuilder::add_switch(Tier tier, std::string name) {
  auto& tiers = fabric_.tier_of_switch_;
  FABRICAST_CHECK(tiers.empty() || tiers.back() <= tier, "switches must be added tier by tier");
  if (!name.empty()) fabric_.switch_names_.push_back(std::move(name));
  tiers.push_back(tier);
  // The first number of each later tier moves with the number of switches.
  for (std::size_t t = static_cast<std::size_t>(tier) + 1; t < 4; ++t)
    fabric_.first_of_tier_[t] = static_cast<std::uint32_t>(tiers.size());
  return VertexId(fabric_.vertices() - 1);
}

std::uint8_t FabricBuilder::class_index(const LinkClass& link_class) {
  auto& classes = fabric_.classes_;
  const auto it = std::find(classes.begin(), classes.end(), link_class);
  if (it != classes.end()) return static_cast<std::uint8_t>(it - classes.begin());
  // A class number takes one byte per link.
  FABRICAST_CHECK(classes.size() < 256, "more than 256 link classes");
  classes.push_back(link_class);
  return static_cast<std::uint8_t>(classes.size() - 1);
}

void FabricBuilder::reserve_cables(std::size_t cables) {
  fabric_.ends_.reserve(2 * cables);
  fabric_.class_of_.reserve(2 * cables);
}

void FabricBuilder::name_nodes(std::vector<std::string> nodes, std::vector<std::string> ports) {
  fabric_.node_names_ = std::move(nodes);
  fabric_.port_names_ = std::move(ports);
}

void FabricBuilder::set_subnet(Subnet subnet) { fabric_.subnet_ = std::make_shared<Subnet>(std::move(subnet)); }

void FabricBuilder::set_metric(std::shared_ptr<const Distances> metric) { fabric_.metric_ = std::move(metric); }

void FabricBuilder::add_cable(VertexId lower, VertexId upper, const LinkClass& up, const LinkClass& down) {
  fabric_.ends_.push_back(lower.value);
  fabric_.ends_.push_back(upper.value);
  fabric_.class_of_.push_back(class_index(up));
  fabric_.class_of_.push_back(class_index(down));
}

Fabric FabricBuilder::build() && {
  FABRICAST_CHECK(fabric_.switch_names_.empty() || fabric_.switch_names_.size() == fabric_.switches(),
                  "some switches have names and some have not");
  FABRICAST_CHECK(fabric_.node_names_.empty() || (fabric_.node_names_.size() == fabric_.nodes() &&
                                                  fabric_.port_names_.size() == fabric_.endpoints()),
                  "some hosts or NIC ports have names and some have not");
  FABRICAST_CHECK(!fabric_.subnet_ || (fabric_.subnet_->of_vertex.size() == fabric_.vertices() &&
                                       fabric_.subnet_->port_of_link.size() == fabric_.links()),
                  "addresses are missing for some vertices or links");
  for (const std::uint32_t v : fabric_.ends_)
    FABRICAST_CHECK(v < fabric_.vertices(), fmt::format("link to vertex {} of {}", v, fabric_.vertices()));
  return std::move(fabric_);
}

Fabric FabricBuilder::build_clos(const Clos& clos, std::uint32_t nodes, std::span<const TierClasses> tiers) {
  // Arrays are filled directly: a million ports have millions of links, and add_cable would search for the class of
  // each.
  FabricBuilder builder(nodes, clos.ports_per_node);
  const std::array counts = {clos.leaves, clos.spines(), clos.cores()};
  for (std::size_t t = 0; t < counts.size(); ++t)
    for (std::uint32_t i = 0; i < counts[t]; ++i) builder.add_switch(static_cast<Tier>(t));

  const std::uint32_t leaf0 = clos.endpoints, spine0 = leaf0 + clos.leaves, core0 = spine0 + clos.spines();
  Fabric& fabric = builder.fabric_;
  fabric.ends_.resize(2 * std::size_t{clos.cables()});
  fabric.class_of_.resize(fabric.ends_.size());
  std::size_t l = 0;
  std::array<std::uint8_t, 2> classes{};
  const auto use = [&](std::size_t tier) {
    classes = {builder.class_index(tiers[tier].up), builder.class_index(tiers[tier].down)};
  };
  const auto cable = [&](std::uint32_t lower, std::uint32_t upper) {
    fabric.ends_[l] = lower;
    fabric.ends_[l + 1] = upper;
    fabric.class_of_[l] = classes[0];
    fabric.class_of_[l + 1] = classes[1];
    l += 2;
  };
  // Cables in the order of clos.hpp: ports, then uplinks of leaves, then uplinks of spines.
  use(0);
  for (std::uint32_t e = 0; e < clos.endpoints; ++e) cable(e, leaf0 + clos.leaf_of(e));
  if (clos.leaf_up > 0) use(1);
  for (std::uint32_t leaf = 0; leaf < clos.leaves; ++leaf)
    for (std::uint32_t j = 0; j < clos.leaf_up; ++j) cable(leaf0 + leaf, spine0 + clos.spine_of(leaf, j));
  if (clos.spine_up > 0) use(2);
  for (std::uint32_t spine = 0; spine < clos.spines(); ++spine)
    for (std::uint32_t j = 0; j < clos.spine_up; ++j) cable(spine0 + spine, core0 + clos.core_of(spine, j));
  fabric.clos_ = clos;
  return std::move(builder).build();
}

}  // namespace fabricast
