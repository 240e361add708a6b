// Probabilities behind the dispatchers (dispatcher.hpp): which fraction of tokens reaches a domain or a rank if each
// token goes to k of E experts, chosen at random without replacement.
#include "fabricast/workload/dispatcher.hpp"

#include <algorithm>

namespace fabricast {

namespace {

/// C(all - without, chosen) / C(all, chosen): the probability that none of `chosen` samples is one of `without`.
// A product of ratios, which needs no large binomials.
double missed(int all, int without, int chosen) {
  double share = 1;
  for (int i = 0; i < chosen; ++i) {
    if (all - without - i <= 0) return 0;
    share *= static_cast<double>(all - without - i) / (all - i);
  }
  return share;
}

/// C(of, chosen).
double choices(int of, int chosen) {
  double n = 1;
  for (int i = 0; i < chosen; ++i) n *= static_cast<double>(of - i) / (i + 1);
  return n;
}

}  // namespace

Routing routing_of(const Transformer& model) {
  Routing r{model.experts, model.active_experts};
  if (model.expert_groups > 0) {
    r.groups = model.expert_groups;
    r.active_groups = model.active_groups;
  }
  return r;
}

double reached_share(const Routing& r, int parts) {
  if (parts % r.groups != 0 && r.groups % parts != 0) return 1 - missed(r.experts, r.experts / parts, r.active);
  const int group = r.experts / r.groups, open = group * r.active_groups;
  // Each part lies inside one group and is only reached if the group is chosen.
  if (parts >= r.groups)
    return static_cast<double>(r.active_groups) / r.groups * (1 - missed(open, r.experts / parts, r.active));
  // Each part holds several groups, of which `here` are among the chosen ones.
  const int own = r.groups / parts;
  double reached = 0;
  for (int here = 1; here <= std::min(own, r.active_groups); ++here)
    reached += choices(own, here) * choices(r.groups - own, r.active_groups - here) *
               (1 - missed(open, here * group, r.active));
  return reached / choices(r.groups, r.active_groups);
}

TokenCopies merged_copies(const Routing& routing, int ranks, int domains) {
  TokenCopies copies;
  if (domains > 1) copies.between = reached_share(routing, domains);
  // Inside its domain a rank forwards what it received from all domains, as much as it sends to all ranks.
  copies.within = ranks * reached_share(routing, ranks);
  return copies;
}

int sms_of(Dispatcher dispatcher) {
  switch (dispatcher) {
    case Dispatcher::automatic:
    case Dispatcher::alltoall:
    case Dispatcher::allgather: return 0;
    case Dispatcher::deepep: return 20;
    case Dispatcher::hybridep: return 16;
  }
  return 0;
}

double permutation_traffic(Dispatcher dispatcher, std::int64_t local_experts) {
  constexpr double read_and_written = 4;
  switch (dispatcher) {
    // Permuted by rank before they are sent and by expert after they arrive, and the reverse.
    case Dispatcher::automatic:
    case Dispatcher::alltoall: return (local_experts > 1 ? 4 : 2) * read_and_written;
    case Dispatcher::allgather:
    case Dispatcher::deepep: return 2 * read_and_written;
    // The kernels that send also permute. Only their additional reads and writes count.
    case Dispatcher::hybridep: return read_and_written;
  }
  return 0;
}

}  // namespace fabricast
