// NCCL's own cost model: its estimate of the time of each algorithm and protocol, from which it chooses.
//
// The estimate predicts NCCL's *choice*. The engines forecast the time that this choice really takes. Below a megabyte
// the two differ by factors of two, which is why they are separate [NCCL-tuning].
//
// NCCL changed its constants and formulas over the years. The model has five eras: before 2.17, 2.17 to 2.19, 2.20 to
// 2.27, 2.28 to 2.30, and from 2.31 on. Facts were read from NCCL's source of versions 2.16, 2.18, 2.26 and 2.30.
//
// Numbers are in the units of NCCL, in which it rounds and compares: us, and GB/s of the size that nccl-tests counts.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>

#include "fabricast/planner/search.hpp"

namespace fabricast {

/// NCCL's latency and bandwidth of an operation, algorithm and protocol.
struct AlgorithmCost {
  double latency = 0;
  double bandwidth = 0;  ///< 0: not usable
};

/// NCCL's table of costs for a communicator.
struct CostTable {
  std::array<std::array<std::array<AlgorithmCost, 3>, algorithm_count>, 5> of{};  ///< [operation][algorithm][protocol]
  /// By operation: NCCL_ALGO or NCCL_PROTO left nothing usable, so NCCL's fallback applies.
  std::array<bool, 5> fell_back{};
  // Further inputs of time().
  std::int64_t nodes = 1, ranks = 1;
  int channels = 1, capability = 90;
  bool x86 = true, joined_by_nvlink = true;
  int gpus = 8;          ///< per NCCL node
  double nic_gbps = 50;  ///< of a NIC
  NcclVersion version;

  /// NCCL's estimate for `bytes`, counted as in nccl-tests. Negative if the combination is not usable.
  double time(CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) const;

 private:
  bool runs_before_2_5(CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) const;
  bool corrects_nvlstree(int log_size) const;
  double one_domain_plateau(CollectiveOp op, std::int64_t bytes) const;
};

/// The table for a communicator of `nodes` NCCL nodes with all their GPUs.
CostTable nccl_cost_model(const Node& node, std::int64_t nodes, const SearchGraphs& graphs,
                          const NcclSettings& settings);

}  // namespace fabricast
