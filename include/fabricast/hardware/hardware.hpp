// Hardware as data: kinds of GPUs, links, networks, nodes and software, and their parameters.
//
// Uncertain numbers of models/hardware/data/*.json are Parameters with an interval and a source. A number belongs to
// the thing that it describes and is shared by everything that contains this thing: latencies of NCCL's protocols
// belong to the GPU architecture, link rates to the generation of the link, message costs to the kind of network. This
// gives a forecast for systems that were never measured, and a fit adjusts few numbers.
//
// A set of parameters that is `like` another set inherits the parameters that it does not state. The members
// architecture(), network() and so on return a set with what it inherits.
//
// Three layers lie on top of each other: the prior of each data file, the shipped fits (prior_hardware,
// shipped_hardware), and a user's profiles (overlay_profile). All have the same form, so a fit is read as a profile is.
//
//   Hardware mine = shipped_hardware();                                    // a copy
//   mine.find("architectures.hopper.launch")->value = 6;                   // us
//   const Architecture hopper = mine.architecture("hopper");               // with what it inherits
//
// To add a parameter, add a member here and a line to its list in models/hardware/parameters.cpp: reading, printing,
// fitting and sampling all go through the lists. A parameter of collectives also needs a group (parameter_groups.hpp).
//
// Plain values. Const functions are safe to call concurrently; shipped data is parsed once, on first use. Names are
// keys of the maps: functions with the precondition that a set exists do not check it.
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
enum class Protocol {
  ll,     ///< 4 B of flag for each 4 B of data: lowest latency, half of the rate
  ll128,  ///< 8 B of flag in each line of 128 B; needs stores of 128 B that stay whole
  simple  ///< plain data and a counter of slices: highest rate
};
template <>
struct EnumNames<Protocol> {
  static constexpr std::array<std::string_view, 3> names{"ll", "ll128", "simple"};
};
/// A value for each protocol, indexed by its number.
template <class T>
using PerProtocol = std::array<T, 3>;

/// The GPU side of NCCL's protocols, by GPU generation. Times in us, rates in GB/s.
struct Architecture {
  std::string summary;
  std::string like;             ///< architecture from which missing parameters are inherited
  Parameter launch;             ///< fixed time of one collective call, from launch to launch
  Parameter issue_gap;          ///< minimum time between two overlapping calls
  Parameter issue_per_gpu;      ///< host time per GPU if one thread drives several GPUs
  Parameter slice;              ///< synchronization per slice at a GPU
  Parameter ll_burst;           ///< added to an LL step that uses more than one warp
  PerProtocol<Parameter> hop;   ///< from a store by one GPU to its use by the next, over NVLink
  PerProtocol<Parameter> rate;  ///< payload rate at which one channel copies or reduces
  Parameter rate_unaligned;     ///< payload rate at which one channel copies data that are not aligned to 16 B
  Parameter fence_ll128;        ///< LL128 rings over several nodes: added per slice at a GPU next to a NIC
  Parameter pcie_hop;           ///< hops over PCIe and through host memory, relative to those of the path
  Parameter network_hop;        ///< hops over a network, relative to those of its kind
  Parameter nvls_hop;      ///< NVLS: from the copy into the NVSwitch by one GPU to the reduction by another, and back
  Parameter nvls_slice;    ///< NVLS: synchronization per loop
  Parameter nvls_rate;     ///< NVLS: payload rate at which one channel copies in and out
  Parameter nvls_fan;      ///< NVLSTree: relative slowdown of the heads of an inner node of the tree
  Parameter copy_barrier;  ///< copy engines: barrier in which the streams of all ranks write and wait for flags
  Parameter copy_start;    ///< copy engines: time per copy of a call besides its bytes
};
/// The parameters of a set with names, units and descriptions; likewise below. References are into the argument, in an
/// order that does not change. Inherited parameters are included.
std::vector<ParameterRef> parameters(Architecture& architecture);

/// A path over PCIe between two GPUs.
struct PciePath {
  std::string summary;
  PerProtocol<Parameter> hop;  ///< us
  Parameter efficiency;        ///< fraction of the PCIe payload rate
};
std::vector<ParameterRef> parameters(PciePath& path);

/// NIC, proxy thread and transport of one kind of network. Times in us, rates in GB/s.
struct Network {
  std::string summary;
  std::string like;          ///< network with the same software and hosts, from which missing parameters are inherited
  Parameter nic_efficiency;  ///< fraction of the link's payload rate that a NIC reaches
  PerProtocol<Parameter> hop;  ///< from data ready in one GPU's buffer to its use by the remote GPU, without the fabric
  Parameter message;           ///< proxy thread time per message
  Parameter thread_rate;       ///< rate at which a proxy thread copies data itself (sockets); 0: it does not
  Parameter nic_slice;         ///< added per slice at a GPU next to a NIC: Simple rings, sends and receives
  Parameter peer_efficiency;   ///< fraction of its rate that a NIC reaches in sends and receives
  Parameter peer;              ///< proxy thread time per message of a pair of ranks
  Parameter peer_small;        ///< added to it for messages of at most 192 B, which some transports copy
  Parameter peer_chunk;        ///< proxy thread time per chunk of such a message, sent and received
  Parameter flush;             ///< added to a Simple hop with GPUDirect RDMA to GPUs before Hopper, which need a flush
  Parameter start;             ///< added once per call that uses the network
  Parameter staged_hop;        ///< added to a hop without GPUDirect RDMA
  Parameter staged_efficiency;     ///< NIC efficiency without GPUDirect RDMA, relative
  Parameter message_threshold;     ///< messages above it use a rendezvous; KiB
  Parameter rendezvous;            ///< time of a rendezvous
  Parameter sharp_latency;         ///< SHARP: added to a hop through switches that reduce
  Parameter sharp_efficiency;      ///< SHARP: fraction of a NIC's rate at which switches stream
  Parameter contended_efficiency;  ///< fraction of a link between switches that flows of several ports reach
  Parameter sprayed_efficiency;    ///< the same if packets are spread regardless of the load of links
  Parameter queue;                 ///< wait in front of a link that others fill, where senders react
};
std::vector<ParameterRef> parameters(Network& network);

/// Parameters of NCCL itself and of the programs that time it.
struct Software {
  Parameter channel_launch_old;  ///< us per channel and call, NCCL before 2.9
  Parameter channel_launch;      ///< us per channel and call
  Parameter ll_check;            ///< rate of LL payload whose flags a proxy thread checks
  Parameter last_receive;        ///< cost of a receive-only step relative to one that also sends
  Parameter issue_group;         ///< host time per GPU for a group of sends and receives, beyond issue_per_gpu
  Parameter both_directions;     ///< rate of a block whose threads go up and down a tree, relative to one direction
  Parameter tree_hop_ll;         ///< LL hop along the chain of a tree inside a node, relative to a hop of a ring
  Parameter nvlstree_hop;        ///< network hop in an NVLSTree, relative to other algorithms
  Parameter gdr_by_cpu;          ///< GPUDirect RDMA through a CPU's root complex: fraction of the PCIe payload rate
  Parameter pytorch;             ///< us added if PyTorch times every call with events
  Parameter host_timed;          ///< us added if the host times and synchronizes every call
};
std::vector<ParameterRef> parameters(Software& software);

/// Standard deviation of ln(measured / forecast) of collectives that remains if all parameters are known, by size band.
struct ForecastSpread {
  /// Of the band of a size, in the order of fabricast::bands.
  std::array<Parameter, fabricast::bands.size()> bands;
  const Parameter& at(std::int64_t bytes) const { return bands[band_of(bytes)]; }
};
std::vector<ParameterRef> parameters(ForecastSpread& spread);

/// Standard deviation of ln(measured / forecast) of training steps if all parameters are known, at held-out sources.
struct StepSpread {
  Parameter dense, experts;  ///< models without and with experts, whose load differs from step to step
  Parameter unvalidated;     ///< factor on these if nothing was measured on such a GPU or with such software
  const Parameter& of(bool has_experts) const { return has_experts ? experts : dense; }
};
std::vector<ParameterRef> parameters(StepSpread& spread);

/// Standard deviation of ln(measured / forecast) of serving, at held-out sources.
struct ServingSpread {
  Parameter step, step_experts;  ///< of passes and rates: decode steps, tokens per second, TPOT
  Parameter wait, wait_experts;  ///< of TTFT
  Parameter wait_apart;          ///< the same with disaggregated prefill
  Parameter all_reduce;          ///< of one all-reduce
  Parameter unvalidated;         ///< factor on these if nothing was measured on such a GPU or engine
};
std::vector<ParameterRef> parameters(ServingSpread& spread);

/// A generation of a kind of link, such as InfiniBand NDR or NVLink 4.
struct LinkType {
  LinkKind kind = LinkKind::infiniband;
  std::string generation;  ///< its name among the types of its kind
  BytesPerSecond rate;     ///< line rate, one direction
  Parameter efficiency;    ///< payload fraction of the line rate
  Parameter latency;       ///< us, of the device that the link enters
  std::string source;
  /// The line rate less headers and encoding.
  BytesPerSecond payload_rate() const { return {rate.value * efficiency.value}; }
};

/// Aliases of a thing. Case, blanks and punctuation do not matter.
struct OtherNames {
  std::vector<std::string> aliases;      ///< unambiguous aliases
  std::vector<std::string> usual_for;    ///< ambiguous aliases that usually mean this thing
  std::vector<std::string> also_called;  ///< ambiguous aliases that usually mean another thing
};

/// The same GPU with different memory.
struct GpuVariant {
  OtherNames names;  ///< the first alias is its own name
  Bytes memory;
  BytesPerSecond memory_rate;
  std::string source;
};

/// A kind of GPU and the defaults of nodes with it.
struct GpuKind {
  std::string name, summary, architecture, source;
  std::string like;  ///< more usual kind that a topology file does not distinguish from this one
  OtherNames names;
  std::vector<GpuVariant> variants;
  int compute_capability = 0;
  std::string cpu;        ///< intel, amd or arm: the usual CPU
  std::string intranode;  ///< default of node.intranode
  int gpus = 8;           ///< default of node.gpus
  std::string nvlink;     ///< link type, empty if none
  int nvlinks = 0;
  std::string bridge_nvlink;  ///< link type of the bridge for pairs of these cards; empty: none
  int bridge_nvlinks = 0;
  std::string pcie, c2c;        ///< link types; `c2c` empty: no NVLink-C2C
  bool peer_to_peer = true;     ///< whether the driver lets GPUs write to each other over PCIe
  bool unified_memory = false;  ///< GPU and CPU share one memory, which NICs read directly
  int pcie_switches = 0;        ///< of the usual node
  int pcie_switches_mesh = 0;   ///< of boards whose GPUs are connected by NVLink without NVSwitch
  BytesPerSecond nic_rate;      ///< line rate of the NICs that are usual for the generation
  int nvlink_domain = 1;        ///< hosts that usually share one NVLink domain
  GpuSheet sheet;               ///< data sheet: memory, rates of computation, power
  std::string compute;          ///< name of its ComputeModel; by default that of the architecture
  bool measured = false;        ///< whether kernels, steps or serving of this kind are among the data of the fits
};

/// A node type for `node.profile`, such as a vendor's server or a cloud's instance. Absent properties have the defaults
/// of its kind of GPU.
struct NodePreset {
  std::string name, summary, gpu, intranode, source;
  std::vector<std::string> aliases;
  int gpus = 8, nics = 8;
  BytesPerSecond nic_rate;
  LinkKind nic_link = LinkKind::infiniband;
  std::string cpu, gdr;
  std::optional<int> sockets, pcie_switches;
  int nvlink_domain = 1;                   ///< default of nvlink_domain.nodes
  std::map<std::string, std::string> env;  ///< NCCL variables that the provider sets
  std::string env_by;                      ///< who sets them
  std::string note;                        ///< other changes by the provider
};

/// An accelerator that is not modelled. Its names are known so that an error can say why instead of suggesting a GPU of
/// similar spelling.
struct OtherAccelerator {
  std::string what, instead;       ///< what it is, and why it is not modelled or what to use
  std::vector<std::string> names;  ///< a trailing star matches any continuation
};

/// All hardware and software data.
struct Hardware {
  std::map<std::string, Architecture, std::less<>> architectures;
  std::map<std::string, PciePath, std::less<>> pcie_paths;
  std::map<std::string, Network, std::less<>> networks;
  std::map<std::string, LinkType, std::less<>> links;
  std::map<std::string, GpuKind, std::less<>> gpus;
  std::map<std::string, NodePreset, std::less<>> nodes;
  std::vector<OtherAccelerator> other_accelerators;
  /// By architecture, and by kind of GPU if it differs from its architecture.
  std::map<std::string, ComputeModel, std::less<>> compute;
  std::map<std::string, Stack, std::less<>> stacks;
  std::map<std::string, ServingStack, std::less<>> serving;
  Software software;
  ForecastSpread spread;
  StepSpread step_spread;
  ServingSpread serving_spread;

  /// The parameter with a path such as `architectures.hopper.hop_ll`, inherited ones included. Null if there is none.
  /// Lists all parameters first, so it is for settings and not for loops.
  Parameter* find(std::string_view path);
  /// All parameters with their paths, section by section. The references are into this object.
  /// \param inherited_too  whether to list inherited ones
  std::vector<std::pair<std::string, ParameterRef>> all_parameters(bool inherited_too = false);
  /// Turns inherited parameters of architectures, networks, compute models, stacks and serving engines into parameters
  /// of their own with the same value, so that a fit can move them without moving those of the set that they are like.
  /// Applies to the parameter `path`, or to all parameters below it; a path that names nothing has no effect.
  void own(std::string_view path);
  /// Common prefix of a set's own parameters, then the paths of those that it inherits. For `architectures` and
  /// `turing`: `architectures.turing.`, `architectures.volta.hop_ll`, and so on. \pre the set exists
  std::vector<std::string> parameters_of(std::string_view section, std::string_view name) const;
  /// An architecture with what it inherits. \pre it exists
  Architecture architecture(std::string_view name) const;
  /// A network with what it inherits. \pre it exists
  Network network(std::string_view name) const;
  /// A compute model with what it inherits. \pre it exists
  ComputeModel compute_model(std::string_view name) const;
  /// A stack with what it inherits. \pre it exists
  Stack stack(std::string_view name) const;
  /// A serving engine with what it inherits. \pre it exists
  ServingStack serving_stack(std::string_view name) const;
  /// The link type of a kind whose rate is nearest, on a logarithmic scale. \pre the kind has a type
  const LinkType& link_type(LinkKind kind, BytesPerSecond rate) const;
};

/// Whether a pattern matches the path of a parameter. A star in it matches any set, as in `networks.*.message`. Without
/// a star only the path itself matches.
bool names_parameter(std::string_view pattern, std::string_view path);

/// A posterior sample of all parameters: fitted ones take the fit's sample of that number, others a value from their
/// interval: log-normal with this 90 % interval, clamped to its ends. The same number gives the same sample, and a
/// value does not depend on which other parameters exist. A number beyond the samples of a fit wraps around.
Hardware sampled_hardware(const Hardware& hardware, std::size_t sample);

/// The hardware before any fit of collectives: data sheets, studies, assumptions. Compiled into the binary, parsed
/// once.
/// \throws InternalError if the data is inconsistent
const Hardware& prior_hardware();
/// The same, overridden by the parameters that fits to the shipped measurements found (fitted.json, fitted_steps.json
/// and fitted_serving.json). Compiled into the binary, parsed once.
const Hardware& shipped_hardware();
/// Overrides parameters of `hardware` by those of a profile file (JSON, same shape as the data files).
/// \throws UserError with file and line of everything that is invalid. Valid parameters are set even then.
void overlay_profile(Hardware& hardware, const std::string& text, const std::string& file);

}  // namespace fabricast
