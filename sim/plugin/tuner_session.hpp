// The tuner of one communicator on one rank: the ranges of its profile, and what it has told NCCL's log.
//
// All ranks must choose alike, or the collective hangs. Therefore a choice depends only on what NCCL needs to be equal
// on all ranks for its own choice [NCCL-tuner]:
//
// - the shape of the communicator;
// - the collective, its size and the number of calls that share a channel, which follow from the calls of the group;
// - which algorithms and protocols NCCL allows, from graphs and GPUs that the ranks have agreed on;
// - the file, whose name carries the fingerprint of its content.
//
// Whether the buffers are registered is the rank's own, so it is not used. A group in which several calls share a
// channel stays NCCL's: a forecast is of one call.
//
// Nothing throws: a fault leaves NCCL's choice. `choose` and `choose_without_costs` may run concurrently on one
// session. They allocate only for the first call of each range, to log it.
//
// Not covered: ranks whose files differ although each is valid.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fabricast/planner/tuner_profile.hpp"
#include "nccl_tuner.hpp"

namespace fabricast::plugin {

using Shape = TunedShape;

/// What a profile says about communicators of one shape.
struct ShapeRules {
  std::string scenario;  ///< name of the forecast scenario
  std::string nccl;      ///< NCCL's version in the forecast: "2.28.3"
  bool has_shape = false;
  /// By collective, in the order of CollectiveOp. Ranges ascend and do not overlap.
  std::array<std::vector<TunerRule>, 5> rules;

  /// Number of ranges over all collectives.
  std::size_t size() const;
};

/// NCCL's cost table of a call. Rows are algorithms.
struct Costs {
  float* table = nullptr;  ///< us; -1: not allowed
  int algorithms = 0, protocols = 0;

  /// The entry of a choice, or null if NCCL's table has none.
  float* of(Algorithm algorithm, Protocol protocol) const noexcept {
    const int row = static_cast<int>(algorithm), column = static_cast<int>(protocol);
    if (!table || row >= algorithms || column >= protocols) return nullptr;
    return table + static_cast<std::ptrdiff_t>(row) * protocols + column;
  }
};

/// What the choice of an interface without costs depends on.
struct Support {
  bool collnet = false, nvls = false;  ///< whether CollNet and NVLS can do this type and operator
};

/// A call, as NCCL describes it.
struct Call {
  int function = 0;
  std::uint64_t bytes = 0;
  int pipelined = 1;  ///< calls of the group per channel
};

class TunerSession {
 public:
  /// Reads the profile that NCCL_TUNER_CONFIG_FILE names, and logs what it holds or what is wrong.
  /// \param has_costs whether NCCL's interface has a cost table
  /// \param session set to the new session, or to null if NCCL chooses everything
  /// \return nccl_success, or nccl_invalid_usage on a fault if FABRICAST_TUNER_STRICT is 1
  static int open(Shape shape, bool has_costs, NcclLog log, TunerSession** session) noexcept;

  /// Sets the cost of the profile's choice to 0 and its channels, if NCCL allows it. Otherwise changes nothing.
  void choose(const Call& call, const Costs& costs, int* channels) noexcept;

  /// Sets all three, or nothing.
  void choose_without_costs(const Call& call, const Support& support, int* algorithm, int* protocol,
                            int* channels) noexcept;

 private:
  TunerSession(ShapeRules rules, Shape shape, NcclLog log);
  const TunerRule* range_of(const Call& call) const noexcept;
  bool allows_without_costs(int function, const TunerRule& range, const Support& support) const noexcept;
  void log_once(const Call& call, const TunerRule& range, bool allowed) noexcept;

  ShapeRules rules_;
  Shape shape_;
  NcclLog log_;
  /// By collective and range: whether the log has it, with bit 0 for ranges that ran and bit 1 for those not allowed.
  std::array<std::unique_ptr<std::atomic<unsigned>[]>, function_count> logged_;
};

}  // namespace fabricast::plugin
