// Traffic of a job as others meet it, and a single call beside others.
#pragma once

#include <memory>
#include <span>

#include "fabricast/engine/background.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/scenario/world.hpp"
#include "fabricast/traffic/traffic.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// What the exchanges of a program ask of the fabric, in the mean of time, when the job is alone: of each channel the part
/// of the time in which it sends. Nothing of what stays inside nodes.
/// \param duty   by exchange kind: part of the time in which it runs; above 1 where it runs several times at once
/// \param owner  number of the job
Background traffic_of(const World& world, const Program& program, std::span<const double> duty, std::uint64_t seed,
                      std::uint32_t owner);

/// Puts the traffic of several together, and lowers each item's rate to what it gets beside all others of them.
Background combined(std::span<const Background* const> single);

/// What a job's own channels get of links that others use as well.
struct SharedRates {
  std::vector<BytesPerSecond> rate;  ///< by channel; at most what it was
  std::vector<std::uint32_t> link;   ///< that binds it: a resource of the router, or no_link where nobody is in its way
};
/// \param uses  of the job's channels, by resource, then by item
SharedRates rates_beside(const Background& others, std::span<const Background::Use> uses,
                         const std::vector<BytesPerSecond>& rate, const std::vector<double>& weight);

/// Times single calls beside `world.beside`. One draw; not thread-safe.
class CallBeside {
 public:
  CallBeside(const World& world, std::uint64_t seed);
  ~CallBeside();
  /// `result` of the engine, alone, as it is beside the others: its makespan, work, split and bottleneck.
  void slow_down(const Plan& plan, CollectiveResult& result) const;

 private:
  const World& world_;
  std::uint64_t seed_;
  std::unique_ptr<Router> router_;
};

}  // namespace fabricast
