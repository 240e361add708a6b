// The table of causes: name, prior, spread, how to confirm it, and a function that lists its symptoms (symptoms.hpp).
//
// Priors are relative weights by judgement; `healthy` has odds of its own (judge.cpp). docs/models/check.md discusses
// both.
#include "symptoms.hpp"

namespace fabricast {

namespace {

// Causes of a single symptom that is one setting. All others are in symptoms_*.cpp.
Symptoms no_symptom(const World&) { return {}; }
Symptoms nothing(const World&) { return {{"nothing is wrong", {}}}; }
Symptoms no_pxn(const World& w) { return one_symptom(networked(w), "no PXN", {env_word("NCCL_PXN_DISABLE", 1)}); }
Symptoms no_nvls(const World& w) {
  // Heads are the GPUs that reduce through an NVSwitch. Without several of them NVLS was never available.
  return one_symptom(comm_of(w).heads.size() > 1, "no reduction in the NVSwitches", {env_word("NCCL_NVLS_ENABLE", 0)});
}
Symptoms no_sharp(const World& w) {
  return one_symptom(networked(w) && w.planner().settings.collnet_enable && comm_of(w).sharp.available(),
                     "no reduction in the network switches", {env_word("NCCL_COLLNET_ENABLE", 0)});
}

// Columns: cause, summary, prior, spread of its effect (standard deviation of a logarithm), how to confirm it,
// symptoms. A spread of 0 means that the symptoms themselves cover the range, as the rates of a slow NIC do.
constexpr std::array kinds = {
    CauseKind{Cause::healthy, "as fast as the hardware allows", 20, 0, "", nothing},
    CauseKind{Cause::no_gdr, "no GPUDirect RDMA: data are staged in host memory", 2, 0.25,
              "NCCL_DEBUG=INFO shows no GDRDMA; lsmod | grep nvidia_peermem; fabricast doctor", host_staging},
    CauseKind{Cause::sockets, "TCP sockets instead of RDMA", 2, 0.3,
              "NCCL_DEBUG=INFO shows NET/Socket; ibv_devinfo; ls /dev/infiniband", by_sockets},
    CauseKind{Cause::slow_nic, "one NIC, its cable or its switch port is slow", 1.5, 0,
              "ib_write_bw between pairs of nodes, NIC by NIC; rate in ibstat; symbol errors in perfquery", slow_nics},
    CauseKind{Cause::numa_mismatch, "processes use NICs of the other socket", 0.5, 0.15,
              "compare nvidia-smi topo -m with the NICs in NCCL_DEBUG=INFO; NCCL_TOPO_DUMP_FILE", far_nics},
    CauseKind{Cause::ecmp_collision, "ECMP hash collisions: connections share links", 1, 0.1,
              "run again: times change from launch to launch; uplink counters; NCCL_IB_QPS_PER_CONNECTION=4",
              collisions},
    CauseKind{Cause::pxn_off, "PXN is off", 0.3, 0.05, "env | grep NCCL_PXN; NCCL_DEBUG=INFO shows no PXN", no_pxn},
    CauseKind{Cause::nvls_off, "NVLS is off", 0.7, 0.05,
              "NCCL_DEBUG=INFO shows no NVLS multicast; nvidia-smi -q | grep -i fabric; env | grep NCCL_NVLS", no_nvls},
    CauseKind{Cause::sharp_off, "SHARP is off", 0.7, 0.05,
              "NCCL_DEBUG=INFO shows no CollNet; sharp_hello; the aggregation manager's log", no_sharp},
    CauseKind{Cause::algorithm_forced, "an algorithm other than NCCL's choice", 0.5, 0.05,
              "env | grep NCCL_ALGO; /etc/nccl.conf; ~/.nccl.conf; NCCL_TUNER_PLUGIN", other_algorithms},
    CauseKind{Cause::protocol_forced, "a protocol other than NCCL's choice", 0.5, 0.05,
              "env | grep NCCL_PROTO; /etc/nccl.conf; ~/.nccl.conf; NCCL_TUNER_PLUGIN", other_protocols},
    CauseKind{Cause::too_few_channels, "too few channels", 0.5, 0.05,
              "env | grep -E 'NCCL_(MAX|MIN)_(NCHANNELS|CTAS)'; channels in NCCL_DEBUG=INFO", few_channels},
    CauseKind{Cause::fewer_nics, "fewer NICs in use than the nodes have", 2, 0.05,
              "NET/IB lines of NCCL_DEBUG=INFO; env | grep NCCL_IB_HCA; ibstat", few_nics},
    CauseKind{Cause::oversubscription, "leaves have fewer uplinks than the scenario states", 0.7, 0.1,
              "count the uplinks that are up; the same nodes under one leaf are faster", thin_uplinks},
    CauseKind{Cause::degraded_pcie, "a NIC's PCIe slot runs at fewer lanes or an older generation", 0.7, 0,
              "lspci -vv -s NIC | grep LnkSta; fabricast doctor", slow_slots},
    CauseKind{Cause::no_p2p, "no peer-to-peer access between the GPUs of a host", 0.7, 0.2,
              "NCCL_DEBUG=INFO shows SHM instead of P2P; env | grep -E 'NCCL_(P2P|SHM)'; nvidia-smi topo -p2p rw",
              no_peer_to_peer},
    CauseKind{Cause::acs, "peer-to-peer PCIe traffic goes through the root complex (ACS, IOMMU)", 0.7, 0.2,
              "lspci -vvv | grep ACSCtl shows SrcValid+; intel_iommu or amd_iommu in /proc/cmdline; fabricast doctor",
              redirected_pcie},
    CauseKind{Cause::vm_topology, "NCCL sees a flat PCIe tree, as in a virtual machine without a topology file", 0.5,
              0.25, "nvidia-smi topo -m shows PHB or SYS everywhere; systemd-detect-virt; env | grep NCCL_TOPO_FILE",
              flat_topology},
    CauseKind{Cause::one_process, "one thread of one process drives all GPUs of a host", 0.2, 0.2,
              "-g and -t in the header of nccl-tests; ranks per host in the launch command", one_process},
    CauseKind{Cause::no_mnnvl, "NVLink between hosts is not used", 1, 0.1,
              "NCCL_DEBUG=INFO shows MNNVL 0; systemctl status nvidia-imex; ls /dev/nvidia-caps-imex-channels; "
              "env | grep NCCL_MNNVL",
              no_nvlink_across_hosts},
    CauseKind{Cause::power_cap, "GPU clocks or power are capped", 0.5, 0.1,
              "nvidia-smi -q -d CLOCK,POWER,PERFORMANCE: clocks under load, and what limits them", slow_clocks},
    CauseKind{Cause::host_cost, "the hosts add time to every call or network hop", 0.5, 0.1,
              "cpupower frequency-info; processes pinned to cores on their GPU's socket; other load in top", slow_host},
    CauseKind{Cause::congested_fabric, "the fabric is congested: traffic of other jobs shares the uplinks", 0.7, 0.15,
              "run again at a quiet time; uplink counters (PortXmitWait, PFC pauses); fewer nodes are faster",
              busy_uplinks},
    CauseKind{Cause::straggler, "one rank is late or slow, and all others wait for it", 0.5, 0.1,
              "run the test on halves of the hosts; clocks and Xid errors of each GPU; NCCL's RAS or a profiler",
              stragglers},
    CauseKind{Cause::data_corruption, "data are damaged in transit", 0.02, 0.1,
              "dcgmi diag -r 3 on every host; ECC and Xid errors in dmesg; run the test on pairs of hosts",
              damaged_data},
    CauseKind{Cause::known_regression, "a known regression of this version of NCCL", 0.3, 0.2,
              "try another version of NCCL; `fabricast list regressions` has sources and workarounds", regressions},
    CauseKind{Cause::none_of_these, "something that is not in this table", 0, 0,
              "run the test on halves of the hosts, and on one; dcgmi diag -r 3; fabricast doctor", no_symptom},
};
static_assert(kinds.size() == EnumNames<Cause>::names.size());

}  // namespace

std::span<const CauseKind> cause_kinds() { return kinds; }
const CauseKind& kind_of(Cause cause) { return kinds[static_cast<std::size_t>(cause)]; }

}  // namespace fabricast
