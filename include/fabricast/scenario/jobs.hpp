// The sections `jobs` and `background` of a scenario: what else runs on the fabric.
//
// A job has hosts of its own, chosen by a placement policy, and repeats its collective or training step indefinitely.
// Background flows go between hosts of any owner and storage hosts, which no job gets. Node, NCCL and routing are those
// of the scenario: all hosts are identical, including storage hosts.
//
// docs/models/jobs.md describes how jobs slow each other down. Not modelled: jobs with other hardware or another NCCL
// version, and jobs that start or end.
//
// Pure functions; safe to call concurrently on different objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/topology/placement.hpp"
#include "fabricast/workload/step_spec.hpp"

namespace fabricast {

/// What a job repeats.
enum class JobKind { collective, training_step };
template <>
struct EnumNames<JobKind> {
  static constexpr std::array<std::string_view, 2> names{"collective", "training_step"};
};

/// `jobs[].workload`.
struct JobWorkload {
  JobKind kind = JobKind::collective;
  CollectiveOp collective = CollectiveOp::all_reduce;
  Bytes size{std::int64_t{1} << 30};
  Ratio duty{1};          ///< fraction of the time in which a call runs if the job were alone; 1: back to back
  TrainingSpec training;  ///< for kind training_step
};

/// An element of `jobs`.
struct JobSpec {
  std::string name;  ///< unique; never empty after reading
  int nodes = 1;
  Placement placement = Placement::in_order;
  std::int64_t seed = 1;
  std::vector<int> order;     ///< host numbers in rank order, for placement `list`
  std::string traffic_class;  ///< name of one of fabric.congestion.classes; empty: that of NCCL's variables
  JobWorkload workload;
};

/// What background flows do: hosts write to storage, storage sends to hosts, or hosts send to any targets.
enum class FlowKind { checkpoint_write, dataset_read, flows };
template <>
struct EnumNames<FlowKind> {
  static constexpr std::array<std::string_view, 3> names{"checkpoint_write", "dataset_read", "flows"};
};

/// Whether flows use the fabric of the jobs or a separate network, where they disturb nobody.
enum class FlowNetwork { compute, own };
template <>
struct EnumNames<FlowNetwork> {
  static constexpr std::array<std::string_view, 2> names{"compute", "own"};
};

/// An element of `background`.
struct BackgroundSpec {
  std::string name;  ///< unique; never empty after reading
  FlowKind kind = FlowKind::dataset_read;
  std::string job;                   ///< the job whose hosts take part; empty: the scenario's own job
  std::vector<std::string> hosts;    ///< ranges of hosts instead of a job's, if not empty
  std::vector<std::string> targets;  ///< ranges of hosts at the other end
  BytesPerSecond rate{0}, total{0};  ///< of each host, or of all together; exactly one is above 0
  Ratio duty{1};                     ///< fraction of the time in which the flows are active
  int connections = 1;               ///< queue pairs between a host and each target
  FlowNetwork network = FlowNetwork::compute;
  std::string traffic_class;  ///< name of one of fabric.congestion.classes; empty: the first
};

void visit_fields(FieldVisitor& visit, JobWorkload& workload);
void visit_fields(FieldVisitor& visit, JobSpec& job);
void visit_fields(FieldVisitor& visit, BackgroundSpec& flows);

/// The host numbers of ranges such as `[0-31, 40]`, in ascending order.
/// \param path  the key they are from, for messages
/// \throws UserError if a range is invalid or a host occurs twice
std::vector<std::uint32_t> parse_hosts(const std::vector<std::string>& ranges, const std::string& path);
/// The shortest text for a set of hosts: `0-31, 40`.
std::string hosts_text(std::vector<std::uint32_t> hosts);

}  // namespace fabricast
