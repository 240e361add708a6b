// Routing: which links a flow crosses.
//
// A flow is one queue pair between two NIC ports. A Router gives its path as a list of *resources*: single links for
// policies that pin a flow to one path (ecmp, static), and *bundles* of equal-cost links for policies that spread every
// flow over all of them (adaptive, spray). A bundle is an arithmetic progression of link ids with one capacity.
//
// A policy is one file under sim/routing and one line in sim/routing/policies.inc. A policy whose choice is random has
// *draws*: the seeds over which results are a distribution; a study must report several.
//
// Links that are down are left out of every choice, as after the switches' control plane has converged.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fabricast/core/fields.hpp"
#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// One queue pair. QP numbers have 24 bits; on Ethernet the UDP source port is made of them.
struct Flow {
  std::uint32_t from = 0, to = 0;  ///< endpoints
  std::uint32_t from_qp = 0, to_qp = 0;
};

/// What a flow crosses, in order. `weights` is empty when each resource carries the whole flow.
struct Path {
  std::vector<std::uint32_t> resources;
  std::vector<double> weights;
  Seconds latency;
  double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
  void clear() { resources.clear(), weights.clear(), latency = {}; }
};

/// Capacity of links relative to their class: only the links that differ from 1. Sorted by link.
class LinkState {
 public:
  void set(LinkId link, double factor);
  double factor(std::uint32_t link) const;
  bool down(std::uint32_t link) const { return !factors_.empty() && factor(link) == 0; }
  bool any_down() const;
  bool all_nominal() const { return factors_.empty(); }
  std::span<const std::pair<std::uint32_t, double>> factors() const { return factors_; }

 private:
  std::vector<std::pair<std::uint32_t, double>> factors_;
};

/// Flows between the NIC ports below a leaf of a Clos and those below other leaves: of its own group, and of others.
struct LeafFlows {
  std::uint64_t near_out = 0, far_out = 0, near_in = 0, far_in = 0;
};

class Router {
 public:
  virtual ~Router() = default;
  /// Fills `path`; returns false if there is no way. Thread-safe.
  virtual bool route(const Flow& flow, Path& path) const = 0;
  /// Whether all queue pairs between two NIC ports go the same way, whatever their numbers.
  virtual bool settled(std::uint32_t, std::uint32_t) const { return false; }
  /// Whether the way between two NIC ports is their two links and nothing else; all such ways have one latency.
  virtual bool direct(std::uint32_t, std::uint32_t) const { return false; }
  /// Whether every path begins with link 2a of its first NIC port a, ends with link 2b + 1 of its last one b, and
  /// crosses no other port.
  virtual bool ends_at_ports() const { return false; }
  /// Resources beyond the links, if the policy uses any.
  virtual std::uint32_t bundles() const { return 0; }
  /// The links of a bundle (numbered from 0): first, first + 2, ... `count` of them.
  struct Bundle {
    std::uint32_t first = 0, count = 0;
  };
  virtual Bundle bundle(std::uint32_t) const { return {}; }
  /// How flows that are alike but for their ends and numbers part. Routing each of them gives: the same (`evenly`), a
  /// sample of the same distribution on every link (`at_random`), or something else (`one_by_one`).
  enum class Parting { one_by_one, evenly, at_random };
  virtual Parting parting() const { return Parting::one_by_one; }
  /// Calls add(resource, flows) for what so many flows cross between leaves; resources may come twice.
  /// \param by_leaf  of a Clos; groups of different islands have none. \param stream  numbers of one stream differ
  /// \pre  parting() is not one_by_one
  virtual void part(std::span<const LeafFlows> /*by_leaf*/, std::uint64_t /*stream*/,
                    const std::function<void(std::uint32_t, std::uint64_t)>& /*add*/) const {}
  /// Whether a bundle's members are filled evenly (spray), so that its slowest member bounds all, or in proportion
  /// to what they can carry (adaptive).
  virtual bool even() const { return false; }
};

/// Rate of resource `r` (a link, or links() + bundle) in a given state.
BytesPerSecond capacity(const Fabric& fabric, const Router& router, const LinkState& state, std::uint32_t resource);
/// `leaf3-spine*` for bundles.
std::string resource_name(const Fabric& fabric, const Router& router, std::uint32_t resource);

struct Samples {
  std::uint64_t first_seed = 1;
  int count = 1;
};

struct RoutingPolicy {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::any (*defaults)();
  void (*visit)(FieldVisitor&, std::any&);
  Samples (*samples)(const std::any&);
  /// The router of one draw; references both fabric and state.
  std::unique_ptr<Router> (*make)(const std::any&, const Fabric&, const LinkState&, std::uint64_t seed);
};

std::span<const RoutingPolicy> routing_policies();

template <class Spec>
constexpr RoutingPolicy make_routing_policy(std::string_view name, std::string_view summary, std::string_view source) {
  return {name,
          summary,
          source,
          [] { return std::any(Spec{}); },
          [](FieldVisitor& visit, std::any& spec) { visit_fields(visit, *std::any_cast<Spec>(&spec)); },
          [](const std::any& spec) { return samples(*std::any_cast<Spec>(&spec)); },
          [](const std::any& spec, const Fabric& fabric, const LinkState& state, std::uint64_t seed) {
            return make_router(*std::any_cast<Spec>(&spec), fabric, state, seed);
          }};
}

/// UDP source port of a RoCEv2 queue pair, as the Linux kernel makes it of the QP numbers: 14 bits [LinuxRoCE].
constexpr std::uint16_t roce_source_port(std::uint32_t local_qp, std::uint32_t remote_qp) {
  std::uint64_t label = std::uint64_t{local_qp} * remote_qp;
  label ^= label >> 20;
  label ^= label >> 40;
  label &= 0xFFFFF;
  return static_cast<std::uint16_t>(((label & 0x3FFF) ^ ((label & 0xFC000) >> 14)) | 0xC000);
}

}  // namespace fabricast
