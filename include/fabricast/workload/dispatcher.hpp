// How tokens reach the ranks of their experts and return: the volume between NVLink domains and inside them.
//
// Let each token go to k of E experts, held by R ranks in D domains of R / D ranks, with balanced routing:
//
//   alltoall   a rank sends each token k times, once per expert, even if two of these experts are on one rank
//   allgather  all tokens go to all ranks; a reduce-scatter returns the results
//   deepep     a token goes once to each domain that holds one of its experts, to the GPU at the sender's position
//              there. That GPU forwards it once to each rank that holds one. Results are summed on the way back along
//              the same path [DeepEP]
//   hybridep   as deepep, and the kernel also leaves the tokens in the order of experts [HybridEP]
//
// The k experts of a token are distinct. So one of n equal parts (domains or ranks) holds at least one of them with the
// probability
//
//   1 - C(E - E/n, k) / C(E, k)
//
// Models such as DeepSeek-V3 restrict a token to M of G groups of experts. Then M groups are chosen at random first,
// and the experts among those of the chosen groups.
//
// Pure functions; safe to call concurrently.
// Not modelled: experts that are chosen together more often than random.
#pragma once

#include <cstdint>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/model.hpp"

namespace fabricast {

/// Software that dispatches tokens and combines results. `automatic` behaves as `alltoall`.
enum class Dispatcher { automatic, alltoall, allgather, deepep, hybridep };
template <>
struct EnumNames<Dispatcher> {
  static constexpr std::array<std::string_view, 5> names{"auto", "alltoall", "allgather", "deepep", "hybridep"};
};

/// The experts that a token may go to: `active` of `experts`, all within `active_groups` of `groups` equal groups.
struct Routing {
  int experts = 1, active = 1;
  int groups = 1, active_groups = 1;
};
/// The routing of an MoE model; one group if the model has none.
Routing routing_of(const Transformer& model);

/// Probability that a given one of `parts` equal parts of consecutive experts holds at least one of a token's experts.
///
/// Groups are ignored if neither their number nor the number of parts divides the other. The result is then an upper
/// estimate.
/// \pre parts divides experts; active <= experts of active_groups; at most 1000 groups
double reached_share(const Routing& routing, int parts);

/// Tokens that a rank sends during one dispatch, relative to its own tokens.
struct TokenCopies {
  double between = 0;  ///< to each other domain
  double within = 0;   ///< over NVLink, in total
};
/// Copies of deepep and hybridep, which send a token once per domain and once per rank.
/// \pre domains divides ranks, ranks divides experts
TokenCopies merged_copies(const Routing& routing, int ranks, int domains);

/// SMs that the dispatcher's kernels occupy with Megatron-Core's settings [Megatron-Core-MoE]. 0: those of NCCL's
/// channels.
int sms_of(Dispatcher dispatcher);

/// Memory traffic of permuting tokens into the order of experts and back, in B per copy of a token and per element, in
/// one direction (forward or backward), with 16-bit elements. \param local_experts  experts of a rank
double permutation_traffic(Dispatcher dispatcher, std::int64_t local_experts);

}  // namespace fabricast
