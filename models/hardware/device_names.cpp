// Names of GPUs and nodes as people write them: `NVIDIA H100 80GB HBM3`, `A100-SXM4`, `p5.48xlarge`. A name is compared
// without case, spaces, signs and brand. Some names stand for several products; one of these is the usual one, and a
// warning names the others.
#include "fabricast/hardware/device_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

bool counts(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool has_name(const std::vector<std::string>& names, std::string_view bare) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return bare_name(n) == bare; });
}

/// Collects the kinds and variants that a name may stand for.
// A name may be the key of a kind, an alias of a kind or variant, the name of its most usual product, or a name that it
// shares with others.
class GpuSearch {
 public:
  explicit GpuSearch(std::string_view bare) : bare_(bare) {}

  void compare(const GpuKind& kind) {
    // The key of a kind, written differently.
    if (bare_name(kind.name) == bare_) take(kind, nullptr);
    compare(kind, nullptr, kind.name, kind.names);
    for (const GpuVariant& v : kind.variants) compare(kind, &v, v.names.aliases.front(), v.names);
  }

  std::optional<NamedGpu> found() && {
    if (!found_.kind) return std::nullopt;
    // Only a name that is taken because it is usual leaves doubt. An exact name does not.
    if (!shared_) others_.clear();
    found_.others = std::move(others_);
    return std::move(found_);
  }

 private:
  void compare(const GpuKind& kind, const GpuVariant* variant, std::string_view own, const OtherNames& names) {
    if (has_name(names.aliases, bare_)) take(kind, variant);
    // A shared name that usually means this product, and below one that may also mean it.
    if (has_name(names.usual_for, bare_)) {
      take(kind, variant);
      shared_ = true;
    }
    if (has_name(names.also_called, bare_)) others_.push_back(own);
  }

  void take(const GpuKind& kind, const GpuVariant* variant) { found_.kind = &kind, found_.variant = variant; }

  std::string_view bare_;
  NamedGpu found_;
  bool shared_ = false;
  std::vector<std::string_view> others_;
};

bool is_of(const OtherAccelerator& other, std::string_view bare) {
  return std::any_of(other.names.begin(), other.names.end(), [&](std::string_view name) {
    // A star stands for any ending, so that `mi3*` covers a family.
    if (!name.ends_with('*')) return bare == name;
    name.remove_suffix(1);
    return bare.starts_with(name);
  });
}

/// Names of other vendors' accelerators are not typing errors, so a suggestion would not help.
void refuse_other_accelerators(const Hardware& hardware, std::string_view path, std::string_view name) {
  if (const OtherAccelerator* other = find_other_accelerator(hardware, name))
    throw UserError::at(std::string(path), not_modelled(*other, name), other->instead);
}

template <class Map>
std::string hint_for(const Map& map, std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& entry : map) known.push_back(entry.first);
  const auto near = nearest(name, known);
  return near ? fmt::format("did you mean '{}'?", *near) : std::string();
}

}  // namespace

std::string bare_name(std::string_view name) {
  std::string bare = lower_case(name);
  std::erase_if(bare, [](char c) { return !counts(c); });
  // In this order, since names may have two of them: NVIDIA Tesla V100.
  constexpr std::array<std::string_view, 3> brands = {"nvidia", "tesla", "geforce"};
  for (const std::string_view brand : brands)
    if (bare.starts_with(brand) && bare.size() > brand.size()) bare.erase(0, brand.size());
  return bare;
}

const OtherAccelerator* find_other_accelerator(const Hardware& hardware, std::string_view name) {
  const std::string bare = bare_name(name);
  for (const OtherAccelerator& other : hardware.other_accelerators)
    if (is_of(other, bare)) return &other;
  return nullptr;
}

std::string not_modelled(const OtherAccelerator& other, std::string_view name) {
  return fmt::format("'{}' is {}; Fabricast models NCCL on NVIDIA GPUs", name, other.what);
}

std::optional<NamedGpu> find_gpu(const Hardware& hardware, std::string_view name) {
  if (const auto it = hardware.gpus.find(name); it != hardware.gpus.end()) return NamedGpu{&it->second, nullptr, {}};
  const std::string bare = bare_name(name);
  GpuSearch search(bare);
  for (const auto& [key, kind] : hardware.gpus) search.compare(kind);
  return std::move(search).found();
}

const NodePreset* find_node(const Hardware& hardware, std::string_view name) {
  if (const auto it = hardware.nodes.find(name); it != hardware.nodes.end()) return &it->second;
  const std::string bare = bare_name(name);
  for (const auto& [key, node] : hardware.nodes)
    if (bare_name(key) == bare || has_name(node.aliases, bare)) return &node;
  return nullptr;
}

NamedGpu gpu_called(const Hardware& hardware, std::string_view name) {
  if (auto named = find_gpu(hardware, name)) return *std::move(named);
  refuse_other_accelerators(hardware, "node.gpu", name);
  // The most helpful reason comes first: another vendor's device, a node type in place of a GPU, a typing error.
  std::string hint = hint_for(hardware.gpus, name);
  if (const NodePreset* node = find_node(hardware, name))
    hint = fmt::format("this is a node type; use node: {{profile: {}}}", node->name);
  if (hint.empty()) hint = "`fabricast list gpus` shows the names; node.topology accepts a host's own file";
  throw UserError::at("node.gpu", fmt::format("unknown GPU '{}'", name), hint);
}

const NodePreset& node_called(const Hardware& hardware, std::string_view name) {
  if (const NodePreset* node = find_node(hardware, name)) return *node;
  refuse_other_accelerators(hardware, "node.profile", name);
  std::string hint = hint_for(hardware.nodes, name);
  if (const auto gpu = find_gpu(hardware, name))
    hint = fmt::format("this is a GPU; use node: {{gpu: {}}}", gpu->kind->name);
  if (hint.empty())
    hint = "`fabricast list nodes` shows the names; the file name of your own profile must end in .json";
  throw UserError::at("node.profile", fmt::format("unknown profile '{}'", name), hint);
}

// A warning, not an error: the usual product is right more often than not, and the user sees what was taken.
std::vector<Diagnostic> doubts_about_gpu(const Hardware& hardware, std::string_view name) {
  const auto named = find_gpu(hardware, name);
  if (!named || named->others.empty()) return {};
  const std::string taken = named->variant ? named->variant->names.aliases.front() : named->kind->name;
  Diagnostic doubt;
  doubt.severity = Diagnostic::Severity::warning;
  doubt.path = "node.gpu";
  doubt.message = fmt::format("'{}' is read as {}; it may also be {}", name, taken, join(named->others, ", "));
  doubt.hint = fmt::format("write {} to avoid this warning", taken);
  return {doubt};
}

std::vector<Diagnostic> doubts_about_nics(const Hardware& hardware, BytesPerSecond rate) {
  BytesPerSecond fastest;
  for (const auto& [name, node] : hardware.nodes) fastest = std::max(fastest, node.nic_rate);
  for (const auto& [name, gpu] : hardware.gpus) fastest = std::max(fastest, gpu.nic_rate);
  if (rate <= fastest) return {};
  Diagnostic doubt;
  doubt.severity = Diagnostic::Severity::warning;
  doubt.path = "node.nics.rate";
  doubt.message =
      fmt::format("{} is faster than a port of any known NIC, which has at most {}", to_text(rate), to_text(fastest));
  // Plans for NICs to come are faster by less than a factor of eight.
  if (const BytesPerSecond bits{rate.value / 8}; bits <= fastest)
    doubt.hint = fmt::format("did you mean {}? {:g}GBps are bytes", to_text(bits), rate.value * 1e-9);
  return {doubt};
}

std::vector<std::string> other_gpu_names(const Hardware& hardware) {
  std::vector<std::string> all;
  const auto add = [&](const OtherNames& names) {
    all.insert(all.end(), names.aliases.begin(), names.aliases.end());
    all.insert(all.end(), names.usual_for.begin(), names.usual_for.end());
  };
  for (const auto& [key, kind] : hardware.gpus) {
    add(kind.names);
    for (const GpuVariant& v : kind.variants) add(v.names);
  }
  return all;
}

std::vector<std::string> other_node_names(const Hardware& hardware) {
  std::vector<std::string> all;
  for (const auto& [key, node] : hardware.nodes) all.insert(all.end(), node.aliases.begin(), node.aliases.end());
  return all;
}

}  // namespace fabricast
