// The properties of a forecast's rows on which the distribution of errors depends (residual/residual.hpp): the kind of
// system, derivatives with respect to groups of parameters, and effects of unstated inputs.
//
// A derivative is a difference quotient: the logarithms of all parameters of a group are lowered by 0.1, and the plans
// of the rows are simulated again, on the first sample of the network. Groups that cannot affect any row, such as those
// of a protocol that no row uses, are skipped.
//
// Results do not depend on the number of threads. The functions only read the World and may run concurrently on one
// World.
#pragma once

#include <span>

#include "fabricast/report/forecast.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// The kind of system, by its NVLink, number of hosts, network and GPU generation.
ResidualKind residual_kind(const World& world);
/// The kind that a group of ranks on `hosts` hosts belongs to.
ResidualKind residual_kind(const World& world, std::int64_t hosts);

/// A number that identifies a size sweep. It is equal for rows of the same collective on the same number of nodes and
/// GPUs per node, with the same version and variables of NCCL.
std::size_t series_of(const World& world);
/// The same for calls of a group of ranks. \param gpus  of the group on each host
std::size_t series_of(const World& world, CollectiveOp op, std::int64_t hosts, std::int64_t gpus);

/// The decrease of ln(parameter) for the difference quotients: large compared with rounding, small enough that the
/// bottleneck rarely changes.
inline constexpr double residual_step = 0.1;
/// Whether parameters of a group can affect calls with these algorithms and protocols. Other groups are skipped, because
/// a forecast of a large cluster takes long.
struct AlgorithmRun {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
};
bool can_matter(const ParameterGroup& group, CollectiveOp op, std::span<const AlgorithmRun> runs);

/// One residual row per row of the forecast. This takes up to one simulation of all rows per group of parameters.
/// \pre add_unstated was called for the forecast
/// \throws Interrupted on Ctrl-C
std::vector<ResidualRow> residual_rows(const Forecast& forecast, const RunOptions& options = {});

}  // namespace fabricast
