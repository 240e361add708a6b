// The keys of `fabric.congestion`, and what they mean for links.
#include "fabricast/scenario/congestion.hpp"

namespace fabricast {

namespace {
constexpr Range rates = between(0.125e6, 125e9);  // 1 Mb/s to 1 Tb/s
}

void visit_fields(FieldVisitor& visit, CongestionSpec& spec) {
  visit("control", spec.control,
        "ideal: links are shared fairly and used fully; reactive: senders react (DCQCN, NSCC and others), which costs "
        "a fraction of the rate of contended links; dcqcn: the cost is simulated from DCQCN's parameters; none: only "
        "flow control (PFC, credits), which slows down bystanders");
  visit("efficiency", spec.efficiency,
        "fraction of a link between switches that flows of several NIC ports reach; 0: by control, network and routing",
        between(0, 1));
  visit("queue", spec.queue,
        "queueing delay of a packet at a link that other flows fill; 0us: by control, network and buffer",
        between(0, 10));
  visit("lossless", spec.lossless,
        "whether PFC or credits keep switches from dropping packets of NCCL's traffic; if not, buffers overflow and "
        "packets are retransmitted");
  visit("buffer", spec.buffer, "packet memory that the ports of a switch share; 0B: by the rate of its ports",
        between(0, 1e12));
  visit("retransmission", spec.retransmission,
        "what a NIC retransmits after a loss; go_back_n: the lost packet and all that followed it; selective_repeat: "
        "only the lost packet; by_nic: by the generation of the NIC");
  visit("reordering", spec.reordering,
        "what happens to packets that arrive out of order because routing spreads them: accepted, or sent_again with "
        "all that follow");
  visit("loss", spec.loss, "fraction of packets that a cable loses, regardless of its load", between(0, 0.5));
  visit("classes", spec.classes, "traffic classes that ports serve by weight; empty: all traffic is in one class");
  visit("dcqcn", spec.dcqcn, "settings of switches and NICs for control: dcqcn, with NVIDIA's names");
}

void visit_fields(FieldVisitor& visit, DcqcnSettings& dcqcn) {
  constexpr Range times = between(1e-7, 1), queues = between(1, 1e12);
  visit("kmin", dcqcn.kmin, "queue length of a port above which switches mark packets", queues);
  visit("kmax", dcqcn.kmax, "queue length above which they mark all packets", queues);
  visit("pmax", dcqcn.pmax, "fraction that they mark at kmax, rising from 0 at kmin", between(0, 1));
  visit("xoff", dcqcn.xoff, "bytes from one port in a switch above which it pauses that port (PFC)", queues);
  visit("min_time_between_cnps", dcqcn.min_time_between_cnps, "minimum time between two notifications of a flow",
        times);
  visit("rate_reduce_monitor_period", dcqcn.rate_reduce_monitor_period,
        "minimum time between two cuts of a flow's rate", times);
  visit("rpg_min_dec_fac", dcqcn.rpg_min_dec_fac, "minimum fraction of the rate that a cut leaves", between(0, 1));
  visit("clamp_tgt_rate", dcqcn.clamp_tgt_rate,
        "whether each cut lowers the target of the rate, not only the first one after a rise");
  visit("dce_tcp_rtt", dcqcn.dce_tcp_rtt, "interval at which alpha, the depth of cuts, decays", times);
  visit("dce_tcp_g", dcqcn.dce_tcp_g, "weight of a notification in alpha; 1 - dce_tcp_g/1024 of the NIC's setting",
        between(0, 1));
  visit("rpg_time_reset", dcqcn.rpg_time_reset, "time after which a rate rises", times);
  visit("rpg_byte_reset", dcqcn.rpg_byte_reset, "bytes after which a rate rises", queues);
  visit("rpg_threshold", dcqcn.rpg_threshold, "number of rises halfway to the target before the target rises",
        between(1, 31));
  visit("rpg_ai_rate", dcqcn.rpg_ai_rate, "amount by which the target rises", rates);
  visit("rpg_hai_rate", dcqcn.rpg_hai_rate,
        "amount by which it rises when time and bytes have both passed rpg_threshold", rates);
  visit("rpg_min_rate", dcqcn.rpg_min_rate, "minimum rate of a flow", rates);
}

void visit_fields(FieldVisitor& visit, TrafficClass& spec) {
  visit("name", spec.name, "name of the class, to which `class` of `jobs` and `background` refers");
  visit("weight", spec.weight, "weight of the class on a full link, relative to the other classes that send",
        between(0.001, 1));
  visit("strict", spec.strict, "whether the class is served before all classes that are not strict");
  visit("tc", spec.tc, "values of NCCL_IB_TC, on InfiniBand NCCL_IB_SL, that switches put into this class",
        between(0, 255));
}

bool is_default(const CongestionSpec& spec) {
  return spec.control == CongestionControl::ideal && spec.efficiency.value == 0 && spec.queue.value == 0 &&
         spec.lossless && spec.buffer.value == 0 && spec.retransmission == Retransmission::by_nic &&
         spec.reordering == Reordering::accepted && spec.loss.value == 0 && spec.classes.empty();
}

double contended_efficiency(const CongestionSpec& spec, const Network& network, PathKind paths) {
  if (spec.efficiency.value > 0) return spec.efficiency.value;
  if (spec.control != CongestionControl::reactive) return 1;  // dcqcn: simulated call by call
  // Sprayed packets meet queues whatever they do; the others avoid them by their path or by reacting.
  return (paths == PathKind::in_turn ? network.sprayed_efficiency : network.contended_efficiency).value;
}

}  // namespace fabricast
