// The section `fabric.congestion`: what keeps the queues of switches short, and what it costs.
//
// Forecasts share links max-min fair, at once and without loss (docs/models/sharing.md). That is what congestion
// control aims at. This section says how a fabric gets there:
//
//   ideal      as above, and every link carries its whole rate
//   reactive   senders react to marks, delays or trimmed packets (DCQCN, NSCC, Slingshot, EFA's SRD). A link between
//              switches that flows of several NIC ports share carries a fraction of its rate
//   none       senders do not react; lossless flow control alone (PFC, credits) stops what does not fit. Where jobs and
//              flows meet, links are shared by ports, and a port that waits holds back all its flows (port_shares.hpp)
//
// Sources and figures are in docs/models/congestion.md. A plain value.
//
// Not modelled: drops, marks and thresholds, the time that a control loop takes to converge, and traffic classes.
#pragma once

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/engine/network.hpp"
#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// How senders react to congestion.
enum class CongestionControl { ideal, reactive, none };
template <>
struct EnumNames<CongestionControl> {
  static constexpr std::array<std::string_view, 3> names{"ideal", "reactive", "none"};
};

struct CongestionSpec {
  CongestionControl control = CongestionControl::ideal;
  Ratio efficiency{0};  ///< of a contended link; 0: by network and routing (Network::contended_efficiency)
};

void visit_fields(FieldVisitor& visit, CongestionSpec& spec);
/// Whether nothing is stated, or only what holds anyway.
bool is_default(const CongestionSpec& spec);
/// The fraction of a contended link that flows with such paths reach (NetworkSegment::contended).
double contended_efficiency(const CongestionSpec& spec, const Network& network, PathKind paths);

}  // namespace fabricast
