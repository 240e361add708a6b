// Sections `jobs` and `background`: what else runs on the fabric.
//
// A job has hosts of its own, by a placement policy, and repeats its collective or training step for ever. Background
// flows go between hosts, whoever has them, and hosts that hold storage, which no job gets. Node, NCCL and routing are those
// of the scenario: all hosts are alike, storage hosts too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/topology/placement.hpp"
#include "fabricast/workload/step_spec.hpp"

namespace fabricast {

enum class JobKind { collective, training_step };
template <>
struct EnumNames<JobKind> {
  static constexpr std::array<std::string_view, 2> names{"collective", "training_step"};
};

struct JobWorkload {
  JobKind kind = JobKind::collective;
  CollectiveOp collective = CollectiveOp::all_reduce;
  Bytes size{std::int64_t{1} << 30};
  Ratio duty{1};          ///< part of the time in which a call runs, were the job alone
  TrainingSpec training;  ///< of kind training_step
};

struct JobSpec {
  std::string name;
  int nodes = 1;
  Placement placement = Placement::in_order;
  std::int64_t seed = 1;
  std::vector<int> order;  ///< of placement `list`
  JobWorkload workload;
};

enum class FlowKind { checkpoint_write, dataset_read, flows };
template <>
struct EnumNames<FlowKind> {
  static constexpr std::array<std::string_view, 3> names{"checkpoint_write", "dataset_read", "flows"};
};

/// Whether flows have a network of their own.
enum class FlowNetwork { compute, own };
template <>
struct EnumNames<FlowNetwork> {
  static constexpr std::array<std::string_view, 2> names{"compute", "own"};
};

struct BackgroundSpec {
  std::string name;
  FlowKind kind = FlowKind::dataset_read;
  std::string job;                   ///< whose hosts; empty: the main job's
  std::vector<std::string> hosts;    ///< ranges; if not empty, these instead
  std::vector<std::string> targets;  ///< ranges
  BytesPerSecond rate{0}, total{0};  ///< of each host, of all; one of them
  Ratio duty{1};                     ///< part of the time in which they flow
  int connections = 1;               ///< queue pairs of a host with each target
  FlowNetwork network = FlowNetwork::compute;
};

void visit_fields(FieldVisitor& visit, JobWorkload& workload);
void visit_fields(FieldVisitor& visit, JobSpec& job);
void visit_fields(FieldVisitor& visit, BackgroundSpec& flows);

/// Hosts by number: `[0-31, 40]`, rising. \throws UserError (that path) if a range is none, or a host is there twice
std::vector<std::uint32_t> parse_hosts(const std::vector<std::string>& ranges, const std::string& path);
/// The shortest such text: `0-31, 40`.
std::string hosts_text(std::vector<std::uint32_t> hosts);

}  // namespace fabricast
