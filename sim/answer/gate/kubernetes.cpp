// Kubernetes manifests: a ConfigMap with floors and script, and the object that runs it. For one host this is a Job
// [Kubernetes-job]. For several it is an MPIJob of Kubeflow's MPI Operator, whose launcher starts the test on all
// workers [MPI-Operator].
//
// Manifests are text, not a tree, because they carry comments for the reader who edits them. Values from the scenario
// occur only in the script and the record, both indented as block scalars, which need no escapes.
#include <fmt/format.h>

#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"
#include "gate_rows.hpp"
#include "script.hpp"

namespace fabricast {

namespace {

constexpr std::string_view image = "nccl-tests:latest";

std::string indented(const std::string& text, std::size_t depth) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += line.empty() ? "\n" : std::string(depth, ' ') + line + "\n";
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

/// Writes the reason to the termination log, which `kubectl describe pod` shows.
constexpr std::string_view termination_report = R"(
report() {
  printf '%s\n' "$1" >&2
  [ ! -w /dev/termination-log ] || printf '%s\n' "$1" >/dev/termination-log
}
)";

/// The container's command as a YAML flow sequence. It needs no escapes: all words are our own or names of variables.
std::string command_list(const TestCommand& command) {
  std::string out = R"(["sh", "/gate/gate.sh")";
  if (!command.launched()) return out + "]";
  out += fmt::format(R"(, "mpirun", "-np", "{}", "-N", "{}")", command.processes, command.processes_per_host());
  for (const auto& [name, value] : command.environment) out += fmt::format(R"(, "-x", "{}")", name);
  return out + "]";
}

// NCCL needs shared memory, more than the 64 MB that a container has by default, so /dev/shm is a volume in memory.
// Only containers with GPUs have it.
std::string container(const std::string& name, const std::string& command, std::int64_t gpus, bool is_launcher) {
  std::string out = fmt::format("- name: {}\n  image: {}  # an image with nccl-tests in its PATH\n", name, image);
  if (!command.empty()) out += fmt::format("  command: {}\n", command);
  if (is_launcher)
    out +=
        "  env:  # Open MPI runs as root\n    - {name: OMPI_ALLOW_RUN_AS_ROOT, value: \"1\"}\n"
        "    - {name: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM, value: \"1\"}\n";
  if (gpus > 0) out += fmt::format("  resources:\n    limits:\n      nvidia.com/gpu: {}\n", gpus);
  out += "  volumeMounts:\n";
  if (!command.empty()) out += "    - {name: gate, mountPath: /gate}\n";
  if (gpus > 0) out += "    - {name: shm, mountPath: /dev/shm}\n";
  return out;
}

std::string volumes(bool gate, bool shm) {
  std::string out = "volumes:\n";
  if (gate) out += "  - name: gate\n    configMap: {name: fabricast-gate}\n";
  if (shm) out += "  - name: shm\n    emptyDir: {medium: Memory}\n";
  return out;
}

// No retries: a node that fails the test should fail it visibly, and a second try would hide a fault that comes and
// goes.
std::string job(const TestCommand& command, std::int64_t gpus, std::int64_t deadline) {
  std::string out = fmt::format(
      "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: fabricast-gate\nspec:\n  backoffLimit: 0\n"
      "  activeDeadlineSeconds: {}\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n",
      deadline);
  out += indented(container("gate", command_list(command), gpus, command.launched()), 8);
  return out + indented(volumes(true, true), 6);
}

// The launcher needs no GPU; workers run sshd and wait for it.
std::string mpi_job(const TestCommand& command, std::int64_t gpus, std::int64_t deadline) {
  std::string out = fmt::format(
      "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: fabricast-gate\nspec:\n  slotsPerWorker: {}\n"
      "  runPolicy:\n    cleanPodPolicy: Running\n    backoffLimit: 0\n    activeDeadlineSeconds: {}\n  "
      "mpiReplicaSpecs:\n",
      command.processes_per_host(), deadline);
  out +=
      "    Launcher:\n      replicas: 1\n      restartPolicy: Never\n      template:\n        spec:\n          "
      "containers:\n";
  out += indented(container("gate", command_list(command), 0, true), 12) + indented(volumes(true, false), 10);
  out += fmt::format("    Worker:\n      replicas: {}\n      template:\n        spec:\n          containers:\n",
                     command.hosts);
  return out + indented(container("worker", "", gpus, false), 12) + indented(volumes(false, true), 10);
}

}  // namespace

std::string gate_kubernetes(const Gate& gate) {
  const World& world = gate.world;
  const std::int64_t ranks = world.planner().comm.ranks(), gpus = ranks / world.scenario().cluster.nodes;
  const TestCommand command = test_command(world.scenario(), ranks);
  // Seconds: the script's own limit of a test, and the time to pull an image and start.
  constexpr std::int64_t of_a_test = 600, of_start = 600;
  const std::int64_t deadline = of_start + of_a_test * static_cast<std::int64_t>(gate.sweeps.size());
  const std::string usage =
      "#   sh gate.sh [LAUNCHER...]    LAUNCHER starts the processes of a test\n#\n# Environment variables:\n";
  std::string out =
      fmt::format("# Floors and health check by fabricast {}: {}\n", version_text(), plain_name(world.scenario()));
  out += "# The Job fails if a size exceeds its ceiling; `kubectl describe pod` then shows the reason.\n";
  out += "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fabricast-gate\ndata:\n  floors.yaml: |\n";
  out += indented(gate_yaml(gate), 4) + "  gate.sh: |\n";
  out += indented(gate_script(world, gate, usage, std::string(termination_report), ""), 4);
  return out + "---\n" + (command.hosts > 1 ? mpi_job(command, gpus, deadline) : job(command, gpus, deadline));
}

}  // namespace fabricast
