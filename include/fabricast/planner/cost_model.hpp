// NCCL's own cost model: the time that NCCL believes each algorithm and protocol takes, by which it chooses.
//
// This predicts NCCL's *choice*. How long the choice really takes is what the engines forecast; the two differ by
// factors of two below a megabyte, which is the point of keeping them apart [NCCL-tuning].
//
// NCCL changed its constants and formulas over the years. Four eras are kept: before 2.17, 2.17 to 2.19, 2.20 to 2.27,
// 2.28 on. Facts were read from NCCL's source of versions 2.16, 2.18, 2.26 and 2.30.
#pragma once

#include <cstdint>

#include "fabricast/planner/search.hpp"

namespace fabricast {

/// Latency (us) and bandwidth (GB/s of the buffer that nccl-tests counts) of one operation, algorithm and protocol.
struct AlgorithmCost {
  double latency = 0;
  double bandwidth = 0;  ///< 0: not usable
};

struct CostTable {
  std::array<std::array<std::array<AlgorithmCost, 3>, algorithm_count>, 5> of{};  ///< [operation][algorithm][protocol]
  /// By operation: NCCL_ALGO or NCCL_PROTO left nothing usable, so NCCL's default stands.
  std::array<bool, 5> fell_back{};
  // What time() needs besides.
  std::int64_t nodes = 1, ranks = 1;
  int channels = 1, capability = 90;
  bool x86 = true, joined_by_nvlink = true;
  int gpus = 8;          ///< of a NCCL node
  double nic_gbps = 50;  ///< GB/s
  NcclVersion version;

  /// NCCL's estimate in us for `bytes` as nccl-tests counts them; negative if not usable.
  double time(CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) const;

 private:
  bool corrects_nvlstree(int log_size) const;
  double one_domain_plateau(CollectiveOp op, std::int64_t bytes) const;
};

/// \param nodes NCCL nodes; ranks = nodes * gpus of a node
CostTable nccl_cost_model(const Node& node, std::int64_t nodes, const SearchGraphs& graphs,
                          const NcclSettings& settings);

}  // namespace fabricast
