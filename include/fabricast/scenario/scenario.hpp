// The scenario: the user's file with every unit parsed and every default filled in.
//
// One visit_fields serves the reader, `--dump-effective` and `describe`. Sections whose fields depend on a kind
// (fabric, routing) hold the spec of the registered kind.
#pragma once

#include <any>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/graph.hpp"
#include "fabricast/planner/sharp.hpp"
#include "fabricast/scenario/jobs.hpp"
#include "fabricast/scenario/measured.hpp"
#include "fabricast/scenario/reliability.hpp"
#include "fabricast/scenario/site.hpp"
#include "fabricast/topology/topology.hpp"
#include "fabricast/trace/trace.hpp"
#include "fabricast/workload/inference_spec.hpp"
#include "fabricast/workload/step_spec.hpp"

namespace fabricast {

struct NodeSection {
  NodeSpec spec;
  const Hardware* hardware = nullptr;  ///< where defaults come from
  const NodeLayout* layout = nullptr;  ///< of a topology file; defaults come from it, too
};

struct NvlinkDomainSpec {
  int nodes = 1;
};

struct ClusterSpec {
  int nodes = 1;
  int size = 0;  ///< nodes on the fabric; 0: as many as the job takes
  Placement placement = Placement::in_order;
  std::int64_t seed = 1;
  std::vector<int> order;          ///< of placement `list`
  std::string hosts;               ///< the same by names of the fabric file, as Slurm writes lists
  std::vector<std::string> taken;  ///< hosts that the job can not have: ranges
  Ratio filled{0};                 ///< part of all hosts that others have: `taken`, and random ones
  std::int64_t filled_seed = 1;
};

struct FabricSection {
  std::size_t kind = 0;  ///< index into topologies()
  std::any spec;
  FabricBasics basics;  ///< defaults from the hardware
};

struct RoutingSection {
  std::size_t kind = 0;  ///< index into routing_policies()
  std::any spec;
};

/// Which of the usable algorithms and protocols runs a call: the one that NCCL picks, or the one that takes least time.
enum class Selection { nccl, best };
template <>
struct EnumNames<Selection> {
  static constexpr std::array<std::string_view, 2> names{"nccl", "best"};
};

struct NcclSection {
  std::string version = "2.28";
  Selection selection = Selection::nccl;
  bool version_given = false;  ///< and readable: not only implied by the GPU
  std::map<std::string, std::string> env;
  bool provider_env = true;            ///< whether what the network's provider sets counts too
  std::optional<SearchGraphs> graphs;  ///< what stands in NCCL_GRAPH_FILE
};

enum class WorkloadKind { collective, training_step, inference, trace };
template <>
struct EnumNames<WorkloadKind> {
  static constexpr std::array<std::string_view, 4> names{"collective", "training_step", "inference", "trace"};
};

/// What times the collective: it decides what a small message's time means.
enum class Tool { nccl_tests, pytorch, host_timed, isolated };
template <>
struct EnumNames<Tool> {
  static constexpr std::array<std::string_view, 4> names{"nccl_tests", "pytorch", "host_timed", "isolated"};
};

struct HarnessSpec {
  Tool tool = Tool::nccl_tests;
  int ranks_per_process = 1;
  int threads = 1;
  int iterations = 20;
};

/// The largest message; far beyond any GPU's memory.
constexpr Bytes largest_size{std::int64_t{1} << 50};

struct WorkloadSection {
  WorkloadKind kind = WorkloadKind::collective;
  CollectiveOp collective = CollectiveOp::all_reduce;
  Buffers buffers = Buffers::plain;
  Bytes from{8}, to{std::int64_t{1} << 33};
  double factor = 2;
  std::vector<Bytes> sizes;  ///< if not empty, instead of from, to, factor
  HarnessSpec harness;
  TrainingSpec training;    ///< of kind training_step
  InferenceSpec inference;  ///< of kind inference
  TraceSpec trace;          ///< of kind trace
};

/// A part that is slow or down. One of `link`, `host`, `gpu` and `nic` names it.
struct FaultSpec {
  std::string link;
  std::int64_t host = -1;  ///< of the fabric; all its NICs and all links inside it
  std::string gpu, nic;    ///< `node3.gpu2`, `node3.nic1`
  Ratio rate{0};
  Ratio clock{1};  ///< of a host or a GPU: computation of steps there takes 1 / clock times as long
  Seconds at{0};
  Seconds until{0};  ///< 0: for ever
  /// What is named, as resolve_fault knows it; empty: nothing.
  std::string target() const { return host >= 0 ? "node" + std::to_string(host) : link + gpu + nic; }
};

struct NetworkSection {
  EngineKind engine = EngineKind::flow;
};

struct Scenario {
  int version = 1;
  std::string name;
  std::string file;  ///< where it was read from; relative paths in it start there
  NodeSection node;
  std::string profile;  ///< file of a fitted one, beside that of `node`; empty: none
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
  std::vector<JobSpec> jobs;               ///< beside the scenario's own
  std::vector<BackgroundSpec> background;  ///< flows between hosts and storage
  SiteSpec site;
  std::string prices;                 ///< file of prices; empty: none
  Hardware hardware;                  ///< shipped, with the profile laid over it
  std::vector<std::string> unstated;  ///< keys that nobody stated and that can be otherwise (scenario/unstated.hpp)
  std::map<std::string, SourceSpan> places;  ///< where each key stands, for messages about it

  std::map<std::string, SourceSpan> fabric_places;  ///< the same of a fabric file

  /// Where a key stands; if it does not, the nearest thing around it that does.
  SourceSpan place(std::string path) const;
  /// Gives a fault or warning its place, if it has none and its path has.
  void locate(Diagnostic& diagnostic) const;

  std::vector<std::int64_t> sizes() const;
};

/// The kind of its GPUs.
const GpuKind& gpu_of(const Scenario& scenario);

void visit_fields(FieldVisitor& visit, NodeSection& section);
void visit_fields(FieldVisitor& visit, WorkloadSection& section);
void visit_fields(FieldVisitor& visit, Scenario& scenario);

/// What was read, besides the scenario itself.
struct ReadResult {
  Scenario scenario;
  std::vector<Diagnostic> warnings;
};

/// The file that a scenario names, which is relative to its own.
std::string beside(const std::string& scenario, const std::string& path);

/// Reads a scenario file. `overrides` are `path=value` words that win over the file.
/// \throws UserError with every fault of the file at once.
ReadResult read_scenario(const std::string& path, const std::vector<std::string>& overrides = {});
/// The same from a text; `path` is for messages and for relative paths.
ReadResult parse_scenario(const std::string& text, const std::string& path,
                          const std::vector<std::string>& overrides = {});

/// The effective scenario as YAML, which reads back to the same scenario.
std::string to_yaml(const Scenario& scenario);

}  // namespace fabricast
