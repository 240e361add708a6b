// Hardware: kinds of GPUs, links and networks as data, and the model of one node built from them.
//
// Every number of models/hardware/data/*.json is a Parameter with interval and source. Numbers belong to what they
// describe, and are shared by all that have it: latencies of NCCL's protocols to the GPU architecture, link rates to
// the link's generation, message costs to the kind of network. So a system never seen still gets a forecast, and a
// fit moves few numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/fields.hpp"
#include "fabricast/fabric/node_graph.hpp"
#include "fabricast/hardware/compute.hpp"
#include "fabricast/hardware/parameter.hpp"
#include "fabricast/hardware/serving_stack.hpp"
#include "fabricast/hardware/size_bands.hpp"
#include "fabricast/hardware/stack.hpp"

namespace fabricast {

/// NCCL's protocols, in its order; also the index into the per-protocol arrays.
enum class Protocol { ll, ll128, simple };
template <>
struct EnumNames<Protocol> {
  static constexpr std::array<std::string_view, 3> names{"ll", "ll128", "simple"};
};
template <class T>
using PerProtocol = std::array<T, 3>;

/// The GPU side of NCCL's protocols, by GPU generation.
struct Architecture {
  std::string summary;
  std::string like;             ///< architecture whose parameters count where there are none
  Parameter launch;             ///< fixed time of one collective call, launch to launch
  Parameter issue_gap;          ///< shortest time between two calls when they overlap
  Parameter issue_per_gpu;      ///< host time per GPU when one thread drives several
  Parameter slice;              ///< synchronization of one slice at a GPU
  Parameter ll_burst;           ///< added to an LL step as soon as a second warp takes part
  PerProtocol<Parameter> hop;   ///< store by one GPU to use by the next, over NVLink
  PerProtocol<Parameter> rate;  ///< payload that one channel copies or reduces
  Parameter rate_unaligned;     ///< payload that one channel copies where data do not begin at multiples of 16 B
  Parameter fence_ll128;        ///< rings in LL128 over several nodes: added to a slice at a GPU next to a NIC
  Parameter pcie_hop;           ///< hops over PCIe and through host memory, relative to those of the path
  Parameter network_hop;        ///< hops over a network, relative to those of its kind
  Parameter nvls_hop;           ///< NVLS: copied in by one GPU to reduced by another, and back
  Parameter nvls_slice;         ///< NVLS: synchronization of one loop
  Parameter nvls_rate;          ///< NVLS: payload that one channel copies in and out
  Parameter nvls_fan;           ///< NVLSTree: what a node inside the tree is slower at its heads, relative
  Parameter copy_barrier;       ///< copy engines: flags of all ranks written and waited for by their streams
  Parameter copy_start;         ///< copy engines: from one copy of a call to the next, bytes aside
};
std::vector<ParameterRef> parameters(Architecture& architecture);

/// How two GPUs exchange data over PCIe.
struct PciePath {
  std::string summary;
  PerProtocol<Parameter> hop;
  Parameter efficiency;  ///< share of the PCIe payload rate
};
std::vector<ParameterRef> parameters(PciePath& path);

/// NIC, proxy thread and transport of one kind of network.
struct Network {
  std::string summary;
  std::string like;             ///< network with the same software and hosts: its parameters count where there are none
  Parameter nic_efficiency;     ///< share of the link's payload rate that a NIC reaches
  PerProtocol<Parameter> hop;   ///< data ready at one GPU's buffer to use by the GPU beyond the wire, fabric excluded
  Parameter message;            ///< proxy thread's visit of one message
  Parameter thread_rate;        ///< what a proxy thread moves, where it does so itself (sockets); 0: no bound
  Parameter nic_slice;          ///< added to a slice at a GPU next to a NIC: rings in Simple, sends and receives
  Parameter peer_efficiency;    ///< share of its rate that a NIC reaches in sends and receives
  Parameter peer;               ///< proxy thread, once per message of a pair of ranks
  Parameter peer_small;         ///< added to it for messages of at most 192 B, which some transports copy
  Parameter peer_chunk;         ///< proxy thread, per chunk of such a message, sent and received
  Parameter flush;              ///< added to a Simple hop by GPUDirect RDMA to GPUs before Hopper, which need a flush
  Parameter start;              ///< added once per call that uses the network
  Parameter staged_hop;         ///< added to a hop without GPUDirect RDMA
  Parameter staged_efficiency;  ///< NIC efficiency without GPUDirect RDMA, relative
  Parameter message_threshold;  ///< messages above it take a rendezvous
  Parameter rendezvous;         ///< time of a rendezvous
  Parameter sharp_latency;      ///< SHARP: added to a hop through switches that reduce
  Parameter sharp_efficiency;   ///< SHARP: share of a NIC's rate at which they stream
};
std::vector<ParameterRef> parameters(Network& network);

/// Numbers of NCCL itself and of what times it.
struct Software {
  Parameter channel_launch_old;  ///< per channel and call, NCCL before 2.9
  Parameter channel_launch;
  Parameter ll_check;         ///< payload of LL lines whose flags a proxy thread checks
  Parameter network_hop_old;  ///< hops over a network, NCCL before 2.20, relative to later ones
  Parameter last_receive;     ///< cost of a receive-only step relative to one that also sends
  Parameter issue_group;      ///< host time per GPU for a group of sends and receives, beyond issue_per_gpu
  Parameter both_directions;        ///< what a block copies whose threads go up and down a tree, of what it does one way
  Parameter tree_hop_ll;      ///< a hop in LL along a tree's chain inside a node, relative to one around a ring
  Parameter nvlstree_hop;     ///< a hop over a network in an NVLSTree, relative to other algorithms
  Parameter gdr_by_cpu;       ///< GPUDirect RDMA through a CPU's root complex: share of the PCIe payload rate
  Parameter pytorch;          ///< added when PyTorch times every call by events
  Parameter host_timed;       ///< added when every call is timed and synchronized by the host
};
std::vector<ParameterRef> parameters(Software& software);

/// Standard deviation of ln(measured / forecast) that remains when all parameters are known, by size.
struct ForecastSpread {
  std::array<Parameter, fabricast::bands.size()> bands;
  const Parameter& at(std::int64_t bytes) const { return bands[band_of(bytes)]; }
};
std::vector<ParameterRef> parameters(ForecastSpread& spread);

/// Standard deviation of ln(measured / forecast) of steps when all parameters are known, at sources that no fit has seen.
struct StepSpread {
  Parameter dense, experts;
  const Parameter& of(bool has_experts) const { return has_experts ? experts : dense; }
};
std::vector<ParameterRef> parameters(StepSpread& spread);

/// Standard deviation of ln(measured / forecast) of serving, at sources that no fit has seen.
struct ServingSpread {
  Parameter step, step_experts;  ///< of passes and rates: decode steps, tokens per second, time between tokens
  Parameter wait, wait_experts;  ///< of times to first tokens
  Parameter wait_apart;          ///< the same where prompts have GPUs of their own
  Parameter all_reduce;          ///< of one all-reduce
  Parameter unvalidated;         ///< as many times that, where nothing was measured on such a GPU or engine
};
std::vector<ParameterRef> parameters(ServingSpread& spread);

struct LinkType {
  LinkKind kind = LinkKind::infiniband;
  std::string generation;
  BytesPerSecond rate;   ///< line rate, one direction
  Parameter efficiency;  ///< payload share of the line rate
  Parameter latency;     ///< of the device entered
  std::string source;
  /// What is left of the line rate for payload.
  BytesPerSecond payload_rate() const { return {rate.value * efficiency.value}; }
};

/// What people and drivers call a thing beside its own name. Capitals, blanks and signs do not count.
struct OtherNames {
  std::vector<std::string> aliases;      ///< of it alone
  std::vector<std::string> usual_for;    ///< of several, of which it is the one that is usually meant
  std::vector<std::string> also_called;  ///< of several, of which another is usually meant
};

/// The same chip with other memory.
struct GpuVariant {
  OtherNames names;  ///< the first alias is its own name
  Bytes memory;
  BytesPerSecond memory_rate;
  std::string source;
};

struct GpuKind {
  std::string name, summary, architecture, source;
  std::string like;  ///< kind that a topology file does not tell from it, and that is the usual one
  OtherNames names;
  std::vector<GpuVariant> variants;
  int compute_capability = 0;
  std::string cpu;        ///< intel, amd or arm: what it is usually sold with
  std::string intranode;  ///< default of node.intranode
  int gpus = 8;           ///< default of node.gpus
  std::string nvlink;     ///< link type, empty if none
  int nvlinks = 0;
  std::string bridge_nvlink;  ///< of the bridge that is sold for pairs of these cards; empty: there is none
  int bridge_nvlinks = 0;
  std::string pcie, c2c;
  bool peer_to_peer = true;     ///< whether the driver lets GPUs write to each other over PCIe
  bool unified_memory = false;  ///< GPU and CPU have one memory: what a GPU writes, a NIC can read where it lies
  int pcie_switches = 0;
  int pcie_switches_mesh = 0;  ///< of boards whose GPUs are joined by NVLink alone; as above unless the data say so
  BytesPerSecond nic_rate;
  int nvlink_domain = 1;  ///< hosts that usually share one NVLink domain
  GpuSheet sheet;
  std::string compute;  ///< name of its ComputeModel: the architecture's unless the data say so
};

/// A node that can be named in `node.profile`. What is absent is as usual with its kind of GPU.
struct NodePreset {
  std::string name, summary, gpu, intranode, source;
  std::vector<std::string> aliases;
  int gpus = 8, nics = 8;
  BytesPerSecond nic_rate;
  LinkKind nic_link = LinkKind::infiniband;
  std::string cpu, gdr;
  std::optional<int> sockets, pcie_switches;
  int nvlink_domain = 1;                   ///< default of nvlink_domain.nodes
  std::map<std::string, std::string> env;  ///< NCCL's variables that its provider sets
  std::string env_by;                      ///< who sets them
  std::string note;                        ///< what else its provider brings
};

/// What is no GPU that runs NCCL, or none that is modelled.
struct OtherAccelerator {
  std::string what, instead;
  std::vector<std::string> names;  ///< with a star at the end: what begins so
};

struct Hardware {
  std::map<std::string, Architecture, std::less<>> architectures;
  std::map<std::string, PciePath, std::less<>> pcie_paths;
  std::map<std::string, Network, std::less<>> networks;
  std::map<std::string, LinkType, std::less<>> links;
  std::map<std::string, GpuKind, std::less<>> gpus;
  std::map<std::string, NodePreset, std::less<>> nodes;
  std::vector<OtherAccelerator> other_accelerators;
  /// What kernels reach, by architecture, and by kind of GPU where one differs.
  std::map<std::string, ComputeModel, std::less<>> compute;
  std::map<std::string, Stack, std::less<>> stacks;
  std::map<std::string, ServingStack, std::less<>> serving;
  Software software;
  ForecastSpread spread;
  StepSpread step_spread;
  ServingSpread serving_spread;

  /// The parameter called e.g. `architectures.hopper.hop_ll`, or null.
  Parameter* find(std::string_view path);
  /// All parameters with their paths, section by section.
  std::vector<std::pair<std::string, ParameterRef>> all_parameters(bool inherited_too = false);
  /// Gives architectures, networks, compute models, stacks and serving engines values of their own, equal for now, for what they inherit
  /// and is so called, or in a group so called.
  void own(std::string_view path);
  /// What a set's parameters begin with, then the paths of what it inherits: of `architectures` and `turing`
  /// `architectures.turing.`, `architectures.volta.hop_ll`, ... \pre it is there
  std::vector<std::string> parameters_of(std::string_view section, std::string_view name) const;
  /// An architecture with what it inherits. \pre it is there
  Architecture architecture(std::string_view name) const;
  /// A network with what it inherits. \pre it is there
  Network network(std::string_view name) const;
  /// A compute model with what it inherits. \pre it is there
  ComputeModel compute_model(std::string_view name) const;
  /// A stack with what it inherits. \pre it is there
  Stack stack(std::string_view name) const;
  /// A serving engine with what it inherits. \pre it is there
  ServingStack serving_stack(std::string_view name) const;
  /// The link type of that kind whose rate is nearest.
  const LinkType& link_type(LinkKind kind, BytesPerSecond rate) const;
};

/// Whether a parameter's path is what `pattern` names: a star stands for any set of a section, `networks.*.message`.
bool names_parameter(std::string_view pattern, std::string_view path);

/// A profile as it could as well be: the given one of the fit's draws, and values from the intervals of what no fit has
/// told. The same number gives the same profile.
Hardware sampled_hardware(const Hardware& hardware, std::size_t sample);

/// What is known of the hardware before any collective is measured: data sheets, studies, assumptions.
const Hardware& prior_hardware();
/// The same with what `calibrate fit` found on the shipped cases (fitted.json) laid over it. Both are compiled into the
/// binary, and parsed once.
const Hardware& shipped_hardware();
/// Lays the parameters of a profile file (JSON, same shape as the data files) over `hardware`.
/// \throws UserError with file, line and the parameter at fault.
void overlay_profile(Hardware& hardware, const std::string& text, const std::string& file);

}  // namespace fabricast
