// How tokens reach the ranks of their experts and come back: what of it goes between NVLink domains, and what inside them.
//
// With k experts of E to each token, R ranks that hold them, D domains of R / D ranks, and routing that is balanced:
//
//   alltoall   each token goes to each of its experts: k times, whether two of them are on one rank or not
//   allgather  all tokens go to all ranks, and come back by a reduce-scatter
//   deepep     a token goes once to each domain that has one of its experts, to the GPU with the sender's place there, which
//              passes it on once to each rank that has one. It comes back, added up, the same path [DeepEP]
//   hybridep   the same, and the kernel leaves tokens in the order of experts [HybridEP]
//
// Each of n equal parts, domains or ranks, has one of a token's experts with probability 1 - C(E - E/n, k) / C(E, k): experts
// are chosen without repetition. Where they come from M of G groups, as DeepSeek's do, groups are chosen first, at random, and
// then experts of these.
// Not modelled: experts of one token that go together more often than by chance.
#pragma once

#include <cstdint>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/model.hpp"

namespace fabricast {

enum class Dispatcher { automatic, alltoall, allgather, deepep, hybridep };
template <>
struct EnumNames<Dispatcher> {
  static constexpr std::array<std::string_view, 5> names{"auto", "alltoall", "allgather", "deepep", "hybridep"};
};

/// Where a token may go: to `active` of `experts`, which are of `active_groups` of `groups` equal groups.
struct Routing {
  int experts = 1, active = 1;
  int groups = 1, active_groups = 1;
};
Routing routing_of(const Transformer& model);

/// Probability that one of a token's experts is in a given one of `parts` equal parts, of neighbours.
/// Groups that neither divide the parts nor are divided by them are left out of account, which gives more.
/// \pre parts divides experts; active <= experts of active_groups; at most 1000 groups
double reached_share(const Routing& routing, int parts);

/// Tokens that a rank sends while all tokens go to their experts, relative to its own tokens.
struct TokenCopies {
  double between = 0;  ///< to each of the other domains
  double within = 0;   ///< over NVLink, in all
};
/// Of deepep and hybridep. \pre domains divides ranks, ranks divides experts
TokenCopies merged_copies(const Routing& routing, int ranks, int domains);

/// SMs that its kernels hold as Megatron-Core sets them [Megatron-Core-MoE]; 0: those of NCCL's channels.
int sms_of(Dispatcher dispatcher);

/// B moved per copy of a token and element of it while copies are put in the order of experts and back, forward or backward, at
/// 16 bits. \param local_experts  of a rank
double permutation_traffic(Dispatcher dispatcher, std::int64_t local_experts);

}  // namespace fabricast
