#include "support/fabrics.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast::test {

namespace {

/// Writes the keys into the fields of a spec; a list takes words separated by blanks.
class KeyWriter final : public FieldVisitor {
 public:
  explicit KeyWriter(const Keys& keys) : left_(keys) {}
  void scalar(const FieldInfo& info, ScalarRef value) override {
    std::string word;
    if (in_list_) {
      word = words_.at(next_word_++);
    } else {
      const auto it = left_.find(prefix_ + std::string(info.name));
      if (it == left_.end()) return;
      word = it->second;
      left_.erase(it);
    }
    std::visit([&](auto target) { assign(target, word); }, value);
  }
  bool enter(const FieldInfo& info) override {
    prefix_ += std::string(info.name) + ".";
    return true;
  }
  void leave() override {
    if (in_list_) {
      in_list_ = false;
      return;
    }
    prefix_.pop_back();
    prefix_.erase(prefix_.rfind('.') + 1);
  }
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override {
    in_list_ = true, next_word_ = 0, words_.clear();
    const auto it = left_.find(prefix_ + std::string(info.name));
    if (it == left_.end()) {
      in_list_ = false, prefix_ += "list.";
      return size;
    }
    std::string text = it->second + " ";
    for (std::size_t at = 0, end; (end = text.find(' ', at)) != std::string::npos; at = end + 1)
      words_.push_back(text.substr(at, end - at));
    left_.erase(it);
    return words_.size();
  }
  void string_map(const FieldInfo&, std::map<std::string, std::string>&) override {}
  const Keys& left() const { return left_; }

 private:
  static void assign(bool* target, const std::string& word) { *target = word == "true"; }
  static void assign(int* target, const std::string& word) { *target = std::stoi(word); }
  static void assign(std::int64_t* target, const std::string& word) { *target = std::stoll(word); }
  static void assign(double* target, const std::string& word) { *target = std::stod(word); }
  static void assign(Ratio* target, const std::string& word) { target->value = parse_ratio(word).value; }
  static void assign(std::string* target, const std::string& word) { *target = word; }
  static void assign(Bytes* target, const std::string& word) { *target = parse_bytes(word).value; }
  static void assign(Seconds* target, const std::string& word) { *target = parse_seconds(word).value; }
  static void assign(BytesPerSecond* target, const std::string& word) { *target = parse_rate(word).value; }
  static void assign(Metres* target, const std::string& word) { *target = parse_metres(word).value; }
  static void assign(Watts* target, const std::string& word) { *target = parse_watts(word).value; }
  static void assign(const WordRef& target, const std::string& word) {
    const auto it = std::find(target.words.begin(), target.words.end(), word);
    REQUIRE(it != target.words.end());
    target.set(target.target, static_cast<std::size_t>(it - target.words.begin()));
  }

  Keys left_;
  std::string prefix_;
  bool in_list_ = false;
  std::vector<std::string> words_;
  std::size_t next_word_ = 0;
};

template <class Descriptor>
void write_keys(const Descriptor& descriptor, std::any& spec, const Keys& keys) {
  KeyWriter writer(keys);
  descriptor.visit(writer, spec);
  INFO("no key " << (writer.left().empty() ? "" : writer.left().begin()->first));
  REQUIRE(writer.left().empty());
}

}  // namespace

std::any topology_spec(std::string_view kind, const Keys& keys) {
  const Topology* topology = find_by_name(topologies(), kind);
  REQUIRE(topology);
  std::any spec = topology->defaults(FabricBasics{});
  write_keys(*topology, spec, keys);
  return spec;
}

Fabric fabric_of(std::string_view kind, const FabricDemand& demand, const Keys& keys) {
  return find_by_name(topologies(), kind)->build(topology_spec(kind, keys), demand);
}

FabricDemand demand_of(std::uint32_t nodes, std::uint32_t ports_per_node) {
  FabricDemand demand;
  demand.nodes = nodes, demand.ports_per_node = ports_per_node;
  return demand;
}

std::unique_ptr<Router> router_of(std::string_view policy, const Fabric& fabric, const LinkState& state,
                                  std::uint64_t seed, const Keys& keys) {
  const RoutingPolicy* found = find_by_name(routing_policies(), policy);
  REQUIRE(found);
  std::any spec = found->defaults();
  write_keys(*found, spec, keys);
  return found->make(spec, fabric, state, seed);
}

std::vector<int> hops_from(const Fabric& fabric, std::uint32_t endpoint, const LinkState& state) {
  const Fabric::Adjacency out(fabric);
  std::vector<int> hops(fabric.vertices(), -1);
  hops[endpoint] = 0;
  std::deque<VertexId> queue{VertexId(endpoint)};
  while (!queue.empty()) {
    const VertexId here = queue.front();
    queue.pop_front();
    if (fabric.is_endpoint(here) && here.value != endpoint) continue;
    for (const LinkId link : out.out(here)) {
      const std::uint32_t there = fabric.link(link).to.value;
      if (state.down(link.value) || hops[there] >= 0) continue;
      hops[there] = hops[here.value] + 1;
      queue.push_back(VertexId(there));
    }
  }
  return hops;
}

bool joins(const Fabric& fabric, const std::vector<std::uint32_t>& links, std::uint32_t from, std::uint32_t to) {
  std::uint32_t at = from;
  for (const std::uint32_t l : links) {
    if (l >= fabric.links() || fabric.link(LinkId(l)).from.value != at) return false;
    at = fabric.link(LinkId(l)).to.value;
  }
  return at == to;
}

}  // namespace fabricast::test
