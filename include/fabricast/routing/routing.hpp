// Routing: which links a flow crosses.
//
// A *flow* is one queue pair between two NIC ports. A Router gives its path as a list of *resources*. A policy that
// assigns one path to each flow (ecmp, static, lft) uses single links. A policy that spreads every flow over all
// equal-cost links (adaptive, spray) uses *bundles* on Clos networks, and weighted links on other fabrics. Resources
// below Fabric::links() are links; the others are bundles. A bundle is an arithmetic progression of links with one
// common capacity.
//
// A *policy* is one file under sim/routing and one line in sim/routing/policies.inc. A policy whose choices are random
// has
// *samples*: results are a distribution over its seeds, and a study must report several.
//
// Links that are down are excluded from every choice, as after the control plane of the switches has converged.
//
// Routers do not change after construction, except for internal caches under a lock. They are safe to use concurrently.
// They refer to the fabric and the state that they were made with, which must outlive them.
//
// A policy whose switches choose by load (ugal) cannot say the path of a flow before all flows are known. Its router
// routes as in an empty network, and `under_load` makes the router of a given traffic.
//
// Not modelled: reordering, reaction times of adaptive routing, and the change of routes over time.
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

/// One queue pair.
struct Flow {
  std::uint32_t from = 0, to = 0;        ///< endpoints of the fabric
  std::uint32_t from_qp = 0, to_qp = 0;  ///< QP numbers, 24 bits; on Ethernet they determine the UDP source port
};

/// The resources that a flow crosses, in order.
struct Path {
  std::vector<std::uint32_t> resources;
  std::vector<double> weights;  ///< fraction of the flow on each resource; empty: each carries the whole flow
  Seconds latency;              ///< from NIC port to NIC port
  double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
  void clear() {
    resources.clear();
    weights.clear();
    latency = {};
  }
};

/// Capacity factors of links relative to their class. Links are at factor 1 until set; factor 0 is down.
class LinkState {
 public:
  void set(LinkId link, double factor);
  double factor(std::uint32_t link) const;
  bool down(std::uint32_t link) const { return !factors_.empty() && factor(link) == 0; }
  bool any_down() const;
  bool all_nominal() const { return factors_.empty(); }
  /// Links whose factor is not 1, ascending.
  std::span<const std::pair<std::uint32_t, double>> factors() const { return factors_; }

 private:
  std::vector<std::pair<std::uint32_t, double>> factors_;
};

/// Numbers of flows between the NIC ports below a leaf of a Clos network and those below other leaves. `near` counts
/// leaves of the same group, `far` those of other groups.
struct LeafFlows {
  std::uint64_t near_out = 0, far_out = 0, near_in = 0, far_in = 0;
};

/// Numbers of flows from the NIC ports below one switch to those below another, in a fabric that is not a Clos network.
/// Switches are numbered from 0.
struct SwitchFlows {
  std::uint32_t from = 0, to = 0;
  std::uint64_t flows = 0;
};

/// The paths of one sample of a policy on one state of a fabric. Thread-safe.
///
/// `route` alone defines the paths. The other functions state properties of them that let callers count flows without
/// routing each one; a router that does not know a property returns the default.
class Router {
 public:
  virtual ~Router() = default;
  /// Replaces `path` by the path of a flow. \returns false if there is no path; `path` is then unspecified
  /// \throws UserError from `lft` if the forwarding tables do not lead to the destination
  virtual bool route(const Flow& flow, Path& path) const = 0;
  /// Whether all queue pairs from one NIC port to another take the same path, whatever their numbers.
  virtual bool settled(std::uint32_t, std::uint32_t) const { return false; }
  /// Whether the path from one NIC port to another is just their two links. All such paths have the same latency.
  virtual bool direct(std::uint32_t, std::uint32_t) const { return false; }
  /// Whether every path from NIC port a to NIC port b begins with link 2a, ends with link 2b + 1, and crosses no other
  /// NIC port.
  virtual bool ends_at_ports() const { return false; }
  /// The number of bundles: resources beyond the links.
  virtual std::uint32_t bundles() const { return 0; }
  /// The links of a bundle (numbered from 0): first, first + 2, and so on, `count` of them.
  struct Bundle {
    std::uint32_t first = 0, count = 0;
  };
  virtual Bundle bundle(std::uint32_t) const { return {}; }
  /// How numbers of flows on links follow from numbers of flows between leaves, for flows that differ only in their
  /// ends and queue pairs. Compared with routing every flow, `part` gives the same numbers (`evenly`), a sample from
  /// the same distribution on every link (`at_random`), or is not available (`one_by_one`).
  enum class Parting { one_by_one, evenly, at_random };
  virtual Parting parting() const { return Parting::one_by_one; }
  /// Distributes flows between leaves over the resources between them. Calls add(resource, flows); it may do so several
  /// times for a resource.
  /// \param by_leaf  by leaf of a Clos network; there are no flows between islands
  /// \param stream   selects the sample: the same number gives the same sample
  /// \pre  parting() is not one_by_one, and the fabric is a Clos network
  virtual void part(std::span<const LeafFlows> /*by_leaf*/, std::uint64_t /*stream*/,
                    const std::function<void(std::uint32_t, std::uint64_t)>& /*add*/) const {}
  /// The same on a fabric that is not a Clos network. Fractions of flows are possible if the router parts evenly.
  /// \param pairs  sorted by destination; every pair is connected
  virtual void part_pairs(std::span<const SwitchFlows> /*pairs*/, std::uint64_t /*stream*/,
                          const std::function<void(std::uint32_t, double)>& /*add*/) const {}
  /// Whether paths depend on the traffic of all flows together.
  virtual bool follows_load() const { return false; }
  /// The router of a traffic that lasts. Null if this one serves: paths follow no load, or the traffic fits on them.
  /// \param pairs  sorted by destination, without flows inside a switch; every pair is connected
  /// \param port   the largest of flows / rate over the links of NIC ports, in s/B
  virtual std::unique_ptr<Router> under_load(std::span<const SwitchFlows> /*pairs*/, double /*port*/) const {
    return nullptr;
  }
  /// Whether the links of a bundle carry equal amounts (spray), so that the slowest one limits all of them, or amounts
  /// in proportion to their capacity (adaptive).
  virtual bool even() const { return false; }
};

/// The payload rate of a resource (a link, or Fabric::links() plus the number of a bundle) in a state; 0 if it is down.
BytesPerSecond capacity(const Fabric& fabric, const Router& router, const LinkState& state, std::uint32_t resource);
/// The name of a link, or of a bundle: `leaf3-spines` up and `spines-leaf3` down.
std::string resource_name(const Fabric& fabric, const Router& router, std::uint32_t resource);

/// The seeds first_seed, first_seed + 1, and so on, `count` of them.
struct Samples {
  std::uint64_t first_seed = 1;
  int count = 1;
};

/// Which paths the packets of a flow take.
enum class PathKind {
  fixed,      ///< one, which follows from its ends
  by_chance,  ///< one that is chosen by chance, so that flows may collide on it
  by_load,    ///< many, by the load of their links
  in_turn     ///< many, whatever the load of their links
};
/// Whether a flow has many paths.
constexpr bool is_spread(PathKind paths) { return paths == PathKind::by_load || paths == PathKind::in_turn; }

/// A policy. Its specification, the section `routing` of a scenario, has a type of its own, passed as std::any.
struct RoutingPolicy {
  std::string_view name;     ///< `routing.kind`
  std::string_view summary;  ///< one line for `fabricast list routing`
  std::string_view source;   ///< key of docs/references.md
  /// The specification with all defaults, its fields, and the samples that it asks for.
  std::any (*defaults)();
  void (*visit)(FieldVisitor&, std::any&);
  Samples (*samples)(const std::any&);
  PathKind (*paths)(const std::any&);
  /// The router of one sample. Fabric and state must outlive it.
  /// \throws UserError from `lft` if the fabric has no LIDs or no tables are given
  std::unique_ptr<Router> (*make)(const std::any&, const Fabric&, const LinkState&, std::uint64_t seed);
};

/// All policies, in the order of policies.inc.
std::span<const RoutingPolicy> routing_policies();

/// The descriptor of a policy whose Spec has visit_fields, samples and make_router, and paths_of unless paths are fixed.
template <class Spec>
constexpr RoutingPolicy make_routing_policy(std::string_view name, std::string_view summary, std::string_view source) {
  return {name,
          summary,
          source,
          [] { return std::any(Spec{}); },
          [](FieldVisitor& visit, std::any& spec) { visit_fields(visit, *std::any_cast<Spec>(&spec)); },
          [](const std::any& spec) { return samples(*std::any_cast<Spec>(&spec)); },
          [](const std::any& spec) {
            if constexpr (requires(const Spec& s) { paths_of(s); }) return paths_of(*std::any_cast<Spec>(&spec));
            return PathKind::fixed;
          },
          [](const std::any& spec, const Fabric& fabric, const LinkState& state, std::uint64_t seed) {
            return make_router(*std::any_cast<Spec>(&spec), fabric, state, seed);
          }};
}

/// The UDP source port of a RoCEv2 queue pair, which the Linux kernel derives from the QP numbers: 0xC000 plus 14 bits
/// [LinuxRoCE].
constexpr std::uint16_t roce_source_port(std::uint32_t local_qp, std::uint32_t remote_qp) {
  std::uint64_t label = std::uint64_t{local_qp} * remote_qp;
  label ^= label >> 20;
  label ^= label >> 40;
  label &= 0xFFFFF;
  return static_cast<std::uint16_t>(((label & 0x3FFF) ^ ((label & 0xFC000) >> 14)) | 0xC000);
}

}  // namespace fabricast
