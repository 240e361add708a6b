// The keys of `fabric.congestion`, and what they mean for links.
#include "fabricast/scenario/congestion.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, CongestionSpec& spec) {
  visit("control", spec.control,
        "ideal: links are shared fairly and wholly; reactive: senders react (DCQCN, NSCC and others), which costs a "
        "fraction of contended links; none: flow control alone (PFC, credits), which holds back bystanders");
  visit("efficiency", spec.efficiency,
        "fraction of a link between switches that flows of several NIC ports reach; 0: by control, network and routing",
        between(0, 1));
}

bool is_default(const CongestionSpec& spec) {
  return spec.control == CongestionControl::ideal && spec.efficiency.value == 0;
}

double contended_efficiency(const CongestionSpec& spec, const Network& network, PathKind paths) {
  if (spec.efficiency.value > 0) return spec.efficiency.value;
  if (spec.control != CongestionControl::reactive) return 1;
  // Sprayed packets meet queues whatever they do; the others avoid them by their path or by reacting.
  return (paths == PathKind::in_turn ? network.sprayed_efficiency : network.contended_efficiency).value;
}

}  // namespace fabricast
