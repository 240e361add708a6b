// Variables that decide which paths data take: between the GPUs of a node, through which NICs, over which network.
//
// node_use.cpp applies them to a host before its graph is built, the search takes crossNic and PXN from them, and
// plan.cpp GPUDirect RDMA and queue pairs.
#include "fabricast/core/names.hpp"
#include "variable_value.hpp"

namespace fabricast {

void VariableValue::distance(std::optional<PathType>& target) const {
  // Digits are NCCL's old spelling [NCCL-env].
  constexpr std::array old = {PathType::LOC, PathType::PIX, PathType::PXB, PathType::PHB, PathType::SYS, PathType::SYS};
  if (const auto n = parse_integer(text_); n && n.value >= 0 && n.value < static_cast<std::int64_t>(old.size()))
    target = old[static_cast<std::size_t>(n.value)];
  // NET and DIS are path types of NCCL, too, but no distances that a user may state.
  else if (const auto type = enum_from<PathType>(text_); type && *type <= PathType::SYS)
    target = *type;
  else
    refuse(fmt::format("'{}' is not a distance", text_), "use LOC, NVL, PIX, PXB, P2C, PXN, PHB or SYS");
}

namespace {

constexpr std::string_view distances = "LOC, NVL, PIX, PXB, P2C, PXN, PHB, SYS, or the old digits 0 to 5";

void read_text(VariableValue& v, std::optional<std::string>& target) {
  if (v.text().empty()) return v.refuse("is empty");
  target = std::string(v.text());
}

/// Only the name is checked here. The file is read with the scenario, because its path may be relative to it.
void check_file(VariableValue& v, NcclSettings&) {
  if (v.text().empty()) v.refuse("names no file");
}

// Old names of a variable have rows of their own, since users still set them and NCCL still reads them.
constexpr std::array network_variables = {
    NcclVariable{"NCCL_TOPO_FILE", "none", "a file", "topology of a host, as XML",
                 "GPUs, NICs and their wiring, as node.topology", check_file},
    NcclVariable{"NCCL_GRAPH_FILE", "none", "a file", "rings and trees, as XML",
                 "replaces the search for the graphs in the file", check_file},
    NcclVariable{"NCCL_P2P_DISABLE", "0", "0 or 1", "no direct access between GPUs",
                 "GPUs of a host use host memory: no NVLink, no NVLS; hosts of an NVLink domain are separate nodes",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.p2p_disable); }},
    NcclVariable{"NCCL_P2P_LEVEL", "PXB; SYS with two GPUs of an AMD host", distances,
                 "maximum distance between GPUs that access each other directly",
                 "whether PCIe traffic goes through host memory; LOC acts as NCCL_P2P_DISABLE",
                 [](VariableValue& v, NcclSettings& s) { v.distance(s.p2p_level); }},
    NcclVariable{"NCCL_SHM_DISABLE", "0", "0 or 1", "no transfers through host memory",
                 "GPUs without another path inside the host form separate nodes on the network; an error for steps",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.shm_disable); }},
    NcclVariable{"NCCL_MNNVL_ENABLE", "2", "0 off, 1 on, 2 where it works", "NVLink across hosts",
                 "0: each host of an NVLink domain is a node; 1: an error without a domain of several hosts",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.mnnvl_enable, 0, 2); }},
    NcclVariable{"NCCL_IB_HCA", "all", "comma-separated names, name:port; = exact match, ^ exclude",
                 "InfiniBand and RoCE devices to use", "the NICs of a host: NIC i is mlx5_i",
                 [](VariableValue& v, NcclSettings& s) { read_text(v, s.ib_hca); }},
    NcclVariable{"NCCL_IB_DISABLE", "0", "0 or 1", "no InfiniBand and RoCE", "1: TCP sockets on the same NICs",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.ib_disable); }},
    NcclVariable{"NCCL_NET", "the first that finds a device", "IB, Socket, or the name of a plugin",
                 "the network to use", "Socket: TCP sockets on the same NICs",
                 [](VariableValue& v, NcclSettings& s) { read_text(v, s.net); }},
    NcclVariable{"NCCL_NET_MERGE_LEVEL", "PORT", "PORT, LOC, NVL, PIX, PXB, P2C, PXN, PHB, SYS",
                 "distance up to which NICs are merged into one", "LOC keeps the ports of a card separate",
                 [](VariableValue& v, NcclSettings& s) {
                   // PORT is no path type: it merges the ports of a card, which is also what every level beyond LOC
                   // does here, because different cards are never merged.
                   std::optional<PathType> level;
                   if (v.text() == "PORT")
                     s.merge_nics = true;
                   else if (v.distance(level); level)
                     s.merge_nics = *level != PathType::LOC;
                 }},
    NcclVariable{"NCCL_IB_MERGE_NICS", "1", "0 or 1", "merge the ports of a card into one NIC", "0 keeps them separate",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.merge_nics); }},
    NcclVariable{"NCCL_NET_GDR_LEVEL", "P2C", distances, "maximum distance between GPU and NIC for GPUDirect RDMA",
                 "GPUDirect RDMA if node.gdr is auto",
                 [](VariableValue& v, NcclSettings& s) { v.distance(s.gdr_level); }},
    NcclVariable{"NCCL_IB_GDR_LEVEL", "P2C", distances, "old name of NCCL_NET_GDR_LEVEL",
                 "GPUDirect RDMA if node.gdr is auto",
                 [](VariableValue& v, NcclSettings& s) { v.distance(s.gdr_level); }},
    NcclVariable{"NCCL_NET_GDR_READ", "1; 0 on PCIe nodes before Ampere", "0 or 1", "GPUDirect RDMA for sent data",
                 "0: data is sent from host memory, and received in GPU memory",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.gdr_read); }},
    NcclVariable{"NCCL_CROSS_NIC", "2", "0 never, 1 always, 2 where needed",
                 "whether a ring may leave a node through another NIC than it entered", "0: the same NIC",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.cross_nic, 0, 2); }},
    NcclVariable{"NCCL_IB_QPS_PER_CONNECTION", "1", "1 to 128", "queue pairs per connection",
                 "flows that ECMP hashes; messages use them in turn",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.qps_per_connection, 1, 128); }},
    NcclVariable{"NCCL_IB_SPLIT_DATA_ON_QPS", "0", "0 or 1", "split each message over all queue pairs",
                 "1: the flows of a connection carry equal parts concurrently",
                 [](VariableValue& v, NcclSettings& s) {
                   if (const auto n = v.integer(0, 1)) s.split_data_on_qps = *n == 1;
                 }},
    NcclVariable{"NCCL_IB_ADAPTIVE_ROUTING", "InfiniBand 1, RoCE 0", "0 or 1", "send data and notification separately",
                 "0 on InfiniBand: with adaptive routing messages keep static paths",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.adaptive_routing); }},
    NcclVariable{"NCCL_IB_AR_THRESHOLD", "8192", "0 to 1073741824, bytes", "messages above it may be routed adaptively",
                 "at or above a slice of Simple: acts as NCCL_IB_ADAPTIVE_ROUTING=0",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.ar_threshold, 0, std::int64_t{1} << 30); }},
    NcclVariable{"NCCL_SOCKET_NTHREADS", "0", "0 to 16", "helper threads per socket connection",
                 "sockets: threads x sockets per thread multiply the rate, up to 0.9 of the line rate",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.socket_threads, 0, 16); }},
    NcclVariable{"NCCL_NSOCKS_PERTHREAD", "1", "1 to 64", "sockets per helper thread",
                 "with NCCL_SOCKET_NTHREADS; at most 64 in total",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.sockets_per_thread, 1, 64); }},
    NcclVariable{"NCCL_PXN_DISABLE", "0", "0 or 1", "no path to a NIC through another GPU",
                 "GPUs reach distant NICs over PCIe and CPU sockets",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.pxn_disable); }},
    NcclVariable{"NCCL_P2P_PXN_LEVEL", "2", "0 never, 1 where needed, 2 always", "PXN for send and receive",
                 "alltoall and sendrecv: 2 sends through the NIC of the receiver's rail, else through the GPU's own",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.p2p_pxn_level, 0, 2); }},
};

}  // namespace

std::span<const NcclVariable> variables_of_network() { return network_variables; }

}  // namespace fabricast
