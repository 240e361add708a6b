// Which switches a detour may lead over, for Valiant's routing by queue pair (valiant.cpp) and by packet
// (valiant_spread.cpp).
//
// Between two groups: a switch with NICs in a third group. Between two switches of one group that share a cable: a third
// switch of the group that has NICs and a cable to both. Both ends must reach it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "router.hpp"

namespace fabricast {

class Detours {
 public:
  /// \param paths  outlives the object
  explicit Detours(const GraphPaths& paths);
  /// Switches of which some suit; empty if none does.
  std::span<const std::uint32_t> among(std::uint32_t from, std::uint32_t to) const;
  bool suits(std::uint32_t from, std::uint32_t over, std::uint32_t to) const;
  /// All switches with NICs.
  std::span<const std::uint32_t> with_nics() const { return with_nics_; }

 private:
  bool within(std::uint32_t from, std::uint32_t to) const { return grouped_ && group_[from] == group_[to]; }

  const GraphPaths& paths_;
  bool grouped_ = false;                              ///< whether a group has several switches
  std::vector<std::uint32_t> group_;                  ///< by switch
  std::vector<std::uint32_t> with_nics_;              ///< switches
  std::vector<std::vector<std::uint32_t>> in_group_;  ///< the same by group, if groups have several switches
};

/// Which part of the flows between two switches takes detours.
class DetourParts {
 public:
  /// The same part of all flows.
  explicit DetourParts(double all) : all_(all) {}
  /// \param by_pair  by second switch, then by first
  DetourParts(std::uint32_t switches, std::vector<double> by_pair) : n_(switches), by_pair_(std::move(by_pair)) {}
  double of(std::uint32_t from, std::uint32_t to) const {
    return by_pair_.empty() ? all_ : by_pair_[std::size_t{to} * n_ + from];
  }

 private:
  double all_ = 0;
  std::uint32_t n_ = 0;
  std::vector<double> by_pair_;
};

/// What takes a detour: each queue pair, or each packet.
enum class DetourChoice { queue_pair, packet };
template <>
struct EnumNames<DetourChoice> {
  static constexpr std::array<std::string_view, 2> names{"queue_pair", "packet"};
};

/// \throws UserError if the fabric has no detours. \param policy  for the message
void require_detours(const Fabric& fabric, std::string_view policy);
/// Above this, matrices over all pairs of switches would take gigabytes.
inline constexpr std::uint32_t most_detoured_switches = 4096;

/// What routers with detours have in common. \pre the fabric has a metric
class DetourRouter : public Router {
 public:
  DetourRouter(const Fabric& fabric, const LinkState& state, DetourParts parts, bool by_load)
      : paths_(fabric, state), detours_(paths_), parts_(std::move(parts)), by_load_(by_load) {}

  bool direct(std::uint32_t from, std::uint32_t to) const override { return paths_.direct(from, to); }
  bool follows_load() const override { return by_load_; }
  std::unique_ptr<Router> under_load(std::span<const SwitchFlows> pairs, double port) const override;

 protected:
  /// The same router with other parts, which are those of a traffic.
  virtual std::unique_ptr<Router> with_parts(DetourParts parts) const = 0;

  GraphPaths paths_;
  Detours detours_;
  DetourParts parts_;

 private:
  bool by_load_;
};

/// What a router says of flows that take so many detours that their paths list only some of them.
class ManyDetours {
 public:
  virtual ~ManyDetours() = default;
  /// Whether paths leave detours out, and the other functions may be used. No link is down then.
  virtual bool leaves_out() const = 0;
  /// Adds to each link between switches what flows put on it, over all detours. \param pairs  sorted by destination
  virtual void spread(std::span<const SwitchFlows> pairs, std::span<double> on) const = 0;
  /// The latency of a path, from NIC port to NIC port.
  virtual Seconds latency(const Flow& flow) const = 0;
};

/// A router with detours: one path for each queue pair, or all detours in equal parts (valiant_spread.cpp).
/// \param by_load  whether the parts become those of the traffic, once that is known
std::unique_ptr<Router> make_detour_router(const Fabric& fabric, const LinkState& state, DetourParts parts,
                                           std::uint64_t seed, bool by_load);
std::unique_ptr<Router> make_detour_spreader(const Fabric& fabric, const LinkState& state, DetourParts parts,
                                             bool by_load);

/// The parts with which the most loaded link carries least (detours_by_load.cpp). None if minimal paths carry all
/// traffic at the rate of NIC ports, or detours are of no use. \param pairs, port  as for Router::under_load
std::optional<DetourParts> detours_by_load(const GraphPaths& paths, const Detours& detours,
                                           std::span<const SwitchFlows> pairs, double port);

}  // namespace fabricast
