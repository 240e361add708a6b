// The scenario: the user's file with every unit parsed and every default filled in.
//
// Each section is a struct with a visit_fields (core/fields.hpp), which serves the reader, `--dump-effective`,
// `describe` and the JSON Schema. Sections whose keys depend on a kind (`fabric`, `routing`) hold the spec of the
// registered kind as std::any. docs/formats.md describes every key.
//
// After reading, a Scenario is a plain value: copies are independent, it holds no pointers into itself, and its members
// may be changed:
//
//     Scenario s = plain_scenario("hgx-h100");
//     s.cluster.nodes = 16;
//     s.nccl.env["NCCL_ALGO"] = "ring";
//     const Forecast f = run_forecast(build_world(s));
//
// build_world checks what depends on several sections. What the reader derives from a key when it reads it does not
// follow a later change: defaults that depend on `node`, and the split of a step. `--set` words given to the reader do.
//
// Quantities are in SI units. The hardware parameters and the content of files are part of a Scenario, except for
// traces and prices, which are read when they are needed.
//
// Copies share the hardware parameters (core/shared.hpp); `s.hardware.change()` gives one its own.
//
// Reading is safe concurrently. A Scenario may be read from several threads.
#pragma once

#include <any>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/shared.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/graph.hpp"
#include "fabricast/planner/sharp.hpp"
#include "fabricast/scenario/congestion.hpp"
#include "fabricast/scenario/jobs.hpp"
#include "fabricast/scenario/measured.hpp"
#include "fabricast/scenario/reliability.hpp"
#include "fabricast/scenario/site.hpp"
#include "fabricast/topology/topology.hpp"
#include "fabricast/trace/trace.hpp"
#include "fabricast/workload/inference_spec.hpp"
#include "fabricast/workload/step_spec.hpp"

namespace fabricast {

/// The section `node`: one host. The pointers are set only while a file is read.
struct NodeSection {
  NodeSpec spec;
  const Hardware* hardware = nullptr;  ///< source of defaults
  const NodeLayout* layout = nullptr;  ///< of a topology file; overrides those defaults
};

/// The section `nvlink_domain`.
struct NvlinkDomainSpec {
  int nodes = 1;  ///< hosts that share one NVLink domain
};

/// The section `cluster`: the job's hosts and where they are.
struct ClusterSpec {
  int nodes = 1;  ///< hosts of the job
  int size = 0;   ///< hosts on the fabric; 0: as many as are needed (`hosts_on_fabric`), and never 0 in a World
  Placement placement = Placement::in_order;
  std::int64_t seed = 1;           ///< of a random placement
  std::vector<int> order;          ///< host numbers in rank order, for placement `list`
  std::string hosts;               ///< the same by names of the fabric file, as a Slurm host list
  std::vector<std::string> taken;  ///< ranges of hosts that are not available
  Ratio filled{0};                 ///< fraction of all hosts that are not available: `taken` and random ones
  std::int64_t filled_seed = 1;    ///< of the random choice for `filled`
};

/// The section `fabric`: the switches.
struct FabricSection {
  std::size_t kind = 0;       ///< index into topologies()
  std::any spec;              ///< of the type that this topology defines
  FabricBasics basics;        ///< defaults from the hardware
  CongestionSpec congestion;  ///< what keeps the queues of switches short
};

/// The section `routing`.
struct RoutingSection {
  std::size_t kind = 0;  ///< index into routing_policies()
  std::any spec;         ///< of the type that this policy defines
};

/// Which of the usable algorithms and protocols runs a call: the one that NCCL selects, or the fastest.
enum class Selection {
  nccl,
  best  ///< simulates every usable one for each size: about five times the work
};
template <>
struct EnumNames<Selection> {
  static constexpr std::array<std::string_view, 2> names{"nccl", "best"};
};

/// The section `nccl`.
struct NcclSection {
  std::string version = "2.28";  ///< a version, a range such as 2.18-2.21, or `unknown`
  Selection selection = Selection::nccl;
  bool version_given = false;              ///< whether a valid version was given, rather than implied by the GPU
  std::map<std::string, std::string> env;  ///< NCCL_* variables of the user, verbatim
  bool provider_env = true;                ///< whether variables that the network's provider sets count, too
  std::optional<SearchGraphs> graphs;      ///< content of the file that NCCL_GRAPH_FILE names
  std::vector<TunerRules> tuner;           ///< content of the file that NCCL_TUNER_CONFIG_FILE names; empty: none
};

/// What runs.
enum class WorkloadKind {
  collective,     ///< one operation, at several sizes
  training_step,  ///< step_spec.hpp
  inference,      ///< inference_spec.hpp
  trace           ///< a recorded step, as an execution trace (trace/trace.hpp)
};
template <>
struct EnumNames<WorkloadKind> {
  static constexpr std::array<std::string_view, 4> names{"collective", "training_step", "inference", "trace"};
};

/// What times the collective. Tools differ in what the time of a small message includes (report/harness.hpp).
enum class Tool {
  nccl_tests,  ///< calls back to back
  pytorch,     ///< each call by events of the GPU
  host_timed,  ///< each call by the host, which waits for it
  isolated     ///< one call without the host
};
template <>
struct EnumNames<Tool> {
  static constexpr std::array<std::string_view, 4> names{"nccl_tests", "pytorch", "host_timed", "isolated"};
};

/// `workload.harness`: how a collective is timed.
struct HarnessSpec {
  Tool tool = Tool::nccl_tests;
  int ranks_per_process = 1;  ///< GPUs that one process drives
  int threads = 1;            ///< threads of a process that drive them
  int iterations = 20;        ///< calls issued back to back
};

/// The largest message size, 1 PiB: far more than the memory of any GPU.
constexpr Bytes largest_size{std::int64_t{1} << 50};

/// The section `workload`. Only the fields of its kind matter.
struct WorkloadSection {
  WorkloadKind kind = WorkloadKind::collective;
  CollectiveOp collective = CollectiveOp::all_reduce;
  Buffers buffers = Buffers::plain;          ///< not for traces
  Bytes from{8}, to{std::int64_t{1} << 33};  ///< both included, as in nccl-tests; 8 B to 8 GiB
  double factor = 2;                         ///< ratio of each size to the previous one, above 1
  std::vector<Bytes> sizes;                  ///< replaces from, to and factor if not empty
  HarnessSpec harness;
  TrainingSpec training;    ///< for kind training_step
  InferenceSpec inference;  ///< for kind inference
  TraceSpec trace;          ///< for kind trace
};

/// An element of `faults`: a part that is slower or down for a while. Exactly one of `link`, `host`, `gpu` and `nic`
/// names it.
struct FaultSpec {
  std::string link;        ///< a cable, NIC, switch, `uplinks`, or a link inside a node
  std::int64_t host = -1;  ///< of the fabric; all its NICs and all links inside it
  std::string gpu, nic;    ///< `node3.gpu2`, `node3.nic1`
  Ratio rate{0};           ///< remaining fraction of its rate; 0: down
  Ratio clock{1};          ///< of a host or a GPU: computation of steps there takes 1 / clock times as long
  Seconds at{0};           ///< start, after the start of the collective
  Seconds until{0};        ///< end; 0: permanent
  /// The part's name, as resolve_fault knows it; empty if none is given.
  std::string target() const { return host >= 0 ? "node" + std::to_string(host) : link + gpu + nic; }
};

/// The section `network`: how it is simulated.
struct NetworkSection {
  EngineKind engine = EngineKind::flow;  ///< engine/engine.hpp
};

/// A complete scenario.
struct Scenario {
  int version = 1;   ///< of the format
  std::string name;  ///< for reports
  std::string file;  ///< the file it was read from; relative paths in it are relative to that file's directory
  NodeSection node;
  std::string profile;  ///< file of a fitted profile, in addition to that of `node`; empty: none
  NvlinkDomainSpec nvlink_domain;
  ClusterSpec cluster;
  FabricSection fabric;
  RoutingSection routing;
  SharpSpec sharp;
  NcclSection nccl;
  WorkloadSection workload;
  MeasuredSection measured;
  std::vector<FaultSpec> faults;
  ReliabilitySpec reliability;
  NetworkSection network;
  std::vector<JobSpec> jobs;               ///< other jobs, in addition to the scenario's own
  std::vector<BackgroundSpec> background;  ///< flows between hosts and storage
  SiteSpec site;
  std::string prices;                        ///< price file; empty: none
  Shared<Hardware> hardware;                 ///< the shipped parameters, overridden by the profiles
  std::vector<std::string> unstated;         ///< keys whose values are only assumed (scenario/unstated.hpp)
  std::map<std::string, SourceSpan> places;  ///< position of each given key, for messages

  std::map<std::string, SourceSpan> fabric_places;  ///< the same for keys of a fabric file

  /// The position of a key, or of the innermost section around it that is in the file.
  SourceSpan place(std::string path) const;
  /// Sets the position of a diagnostic from its path, if it has none: in the scenario's file, or in the fabric file
  /// that the diagnostic names.
  void locate(Diagnostic& diagnostic) const;

  /// The message sizes of a collective in bytes, ascending unless listed otherwise. Sizes that follow from `factor` are
  /// rounded to whole bytes, equal ones are given once, and there are at most 100,001 of them.
  std::vector<std::int64_t> sizes() const;
};

/// The kind of the scenario's GPUs.
/// \pre node.spec.gpu is a known kind, as after reading
const GpuKind& gpu_of(const Scenario& scenario);

/// The keys of the sections with their texts and limits (core/fields.hpp). Kinds and presets are visited before the
/// keys that depend on them: visiting one that has changed replaces the spec behind it.
void visit_fields(FieldVisitor& visit, NodeSection& section);
void visit_fields(FieldVisitor& visit, WorkloadSection& section);
void visit_fields(FieldVisitor& visit, Scenario& scenario);

/// A scenario and the warnings of its reader.
struct ReadResult {
  Scenario scenario;
  std::vector<Diagnostic> warnings;
};

/// Resolves a path in a scenario file: relative paths are relative to the directory of the scenario.
std::string beside(const std::string& scenario, const std::string& path);

/// Reads a scenario file of at most 4 MiB, and the files that it names, except traces and prices. A `sweep` section is
/// ignored with a warning.
/// \param overrides  `path=value` words that override the file, as of `--set`
/// \throws UserError with all errors of the file at once
ReadResult read_scenario(const std::string& path, const std::vector<std::string>& overrides = {});
/// The same from a text.
/// \param path  name of the file, for messages and for relative paths
ReadResult parse_scenario(const std::string& text, const std::string& path,
                          const std::vector<std::string>& overrides = {});

/// A scenario in which everything has its default: one node of a kind, one all-reduce per size.
/// \param node  a node profile, as `fabricast list nodes` names them
/// \throws UserError if there is no such profile
Scenario plain_scenario(const std::string& node = "hgx-h100");

/// The sizes that the value of a word `workload.sizes=VALUE` gives; nothing if a reader would refuse it.
std::optional<std::vector<Bytes>> sizes_of_word(const std::string& value);

/// The effective scenario as YAML: every default is filled in. Reading it gives the same scenario. Paths of files are
/// absolute.
std::string to_yaml(const Scenario& scenario);

}  // namespace fabricast
