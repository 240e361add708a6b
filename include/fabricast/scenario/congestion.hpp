// The section `fabric.congestion`: congestion control: what keeps the queues of switches short, and at what cost.
//
// Forecasts share links max-min fair, at once and without loss (docs/models/sharing.md). That is what congestion
// control aims at. This section says how a fabric gets there:
//
//   ideal      as above, and every link carries its whole rate
//   reactive   senders react to marks, delays or trimmed packets (DCQCN, NSCC, Slingshot, EFA's SRD). A link between
//              switches that flows of several NIC ports share carries a fraction of its rate
//   dcqcn      the same, with DCQCN's rates simulated flow by flow: what a contended link carries follows from its
//              parameters, the bytes of a call and the seed (engine/dcqcn.hpp)
//   none       senders do not react; lossless flow control alone (PFC, credits) stops what does not fit. Where jobs and
//              flows meet, links are shared by ports, and a port that waits holds back all its flows (port_shares.hpp)
//
// It also says what is lost: `loss` on every cable, and with `lossless: false` what finds no room in a switch. The model
// of both is engine/loss.hpp, made by scenario/lossy.hpp. And it says which classes ports serve by weight; they act where
// jobs and flows meet (engine/class_shares.hpp).
//
// Sources and figures are in docs/models/congestion.md. A plain value.
//
// Not modelled: marks and their thresholds other than DCQCN's, and the time that other control loops take to converge.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/engine/dcqcn_settings.hpp"
#include "fabricast/engine/network.hpp"
#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// How senders react to congestion.
enum class CongestionControl { ideal, reactive, none, dcqcn };
template <>
struct EnumNames<CongestionControl> {
  static constexpr std::array<std::string_view, 4> names{"ideal", "reactive", "none", "dcqcn"};
};

/// What a NIC sends again after a lost packet: that packet and all after it, or that packet alone.
enum class Retransmission { by_nic, go_back_n, selective_repeat };
template <>
struct EnumNames<Retransmission> {
  static constexpr std::array<std::string_view, 3> names{"by_nic", "go_back_n", "selective_repeat"};
};

/// What a NIC does with packets that overtake others: puts them where they belong, or asks for all of them again.
enum class Reordering { accepted, sent_again };
template <>
struct EnumNames<Reordering> {
  static constexpr std::array<std::string_view, 2> names{"accepted", "sent_again"};
};

/// One of the traffic classes that ports of switches and NICs serve by weight (ETS).
struct TrafficClass {
  std::string name;
  Ratio weight{1};      ///< weight of the class on a full link, relative to the other classes that send
  bool strict = false;  ///< served before all classes that are not
  std::vector<int> tc;  ///< values of NCCL_IB_TC (RoCE) or NCCL_IB_SL (InfiniBand) that the switches put into it
};
void visit_fields(FieldVisitor& visit, TrafficClass& spec);

struct CongestionSpec {
  CongestionControl control = CongestionControl::ideal;
  Ratio efficiency{0};   ///< of a contended link; 0: by network and routing (Network::contended_efficiency)
  Seconds queue{0};      ///< wait in front of a link that others fill; 0: by control, network and buffer
  bool lossless = true;  ///< whether pauses or credits keep switches from dropping packets of NCCL's class
  Bytes buffer{0};       ///< packet memory that the ports of a switch share; 0: by the rate of its ports
  Retransmission retransmission = Retransmission::by_nic;
  Reordering reordering = Reordering::accepted;
  Ratio loss{0};                      ///< fraction of packets that a cable loses, regardless of its load
  std::vector<TrafficClass> classes;  ///< empty: all traffic is in one class
  DcqcnSettings dcqcn;                ///< with control `dcqcn` only
};

void visit_fields(FieldVisitor& visit, CongestionSpec& spec);
/// Whether nothing is stated, or only what holds anyway.
bool is_default(const CongestionSpec& spec);
/// The fraction of a contended link that flows with such paths reach (NetworkSegment::contended).
double contended_efficiency(const CongestionSpec& spec, const Network& network, PathKind paths);

}  // namespace fabricast
