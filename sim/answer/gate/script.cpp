// The script of the health check. It finds columns by the table's header, because they differ between versions of
// nccl-tests. It compares out-of-place times rather than bandwidths, because bus bandwidth prints as 0.00 at small
// sizes.
//
// A test that started and then crashed, hung or gave wrong results means a bad node. A test that never started means a
// bad installation, which all nodes share. The script then gives no verdict, so that one bad image does not drain a
// cluster.
#include "script.hpp"

#include <fmt/format.h>

#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"
#include "gate_rows.hpp"

namespace fabricast {

namespace {

// Settings are environment variables, since arguments are the launcher.
constexpr std::string_view settings =
    R"(#   GATE_TESTS    directory of the nccl-tests programs (default: search PATH)
#   GATE_SUFFIX   suffix of their names, e.g. _mpi
#   GATE_TIMEOUT  time limit of one test in seconds (default: 600)
)";

// Epilogs run without a search path [Slurm-prolog].
constexpr std::string_view opening = R"(set -u
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
)";

//    no_verdict   ends with exit code 2, which drains nothing
//    limited      kills a test that hangs; without `timeout` a hang is left to the caller
//    judge        runs a test and compares its table with ceilings from standard input
//
// The first file of awk has the ceilings, the second the log. A row belongs to a size by its first column. Only the
// first `time` column counts, which is out of place; wrong results count in both.
constexpr std::string_view functions = R"sh(
no_verdict() {
  printf 'gate: no verdict: %s\n' "$1" >&2
  exit 2
}

tests=${GATE_TESTS:+$GATE_TESTS/}
suffix=${GATE_SUFFIX:-}
seconds=${GATE_TIMEOUT:-600}
case $seconds in
  '' | *[!0-9]*) no_verdict 'GATE_TIMEOUT is not a number of seconds' ;;
esac
work=$(mktemp -d) || no_verdict 'cannot create a temporary directory'
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
: >"$work/reasons"

limited() {
  if command -v timeout >/dev/null 2>&1; then
    timeout -k 10 "$seconds" "$@"
  else
    "$@"
  fi
}

# judge COLLECTIVE COMMAND...: runs the command. Standard input has a line per size: bytes and ceiling in microseconds.
judge() {
  collective=$1
  shift
  cat >"$work/ceilings"
  limited "$@" >"$work/log" 2>&1 </dev/null
  code=$?
  hung=0
  case $code in
    124 | 137) hung=1 ;;
    126 | 127) no_verdict "cannot run $*" ;;
  esac
  if [ "$code" -ne 0 ] && [ "$hung" -eq 0 ] && ! grep -q -e '# nThread ' -e 'Test [A-Z]* *failure' "$work/log"; then
    cat "$work/log" >&2
    no_verdict "$collective did not start (exit code $code)"
  fi
  awk -v collective="$collective" -v reasons="$work/reasons" -v code="$code" -v hung="$hung" '
    NR == FNR { ceiling[$1] = $2; size[++sizes] = $1; next }
    /^#/ {
      sub(/^#[ \t]*/, "")
      if ($1 != "size") next
      time_at = wrongs = 0
      for (i = 2; i <= NF; ++i) {
        if ($i == "time" && !time_at) time_at = i
        if ($i == "#wrong") wrong_at[++wrongs] = i
      }
      next
    }
    time_at && ($1 in ceiling) && NF >= time_at && $time_at ~ /^[0-9]+[.]?[0-9]*(e[-+]?[0-9]+)?$/ {
      seen[$1] = 1
      slow = $time_at + 0 > ceiling[$1] + 0
      printf "%s %s B: %s us, ceiling %s us%s\n", collective, $1, $time_at, ceiling[$1], slow ? ": too slow" : ""
      if (slow) printf "%s %s B took %s us, ceiling %s us\n", collective, $1, $time_at, ceiling[$1] >> reasons
      for (i = 1; i <= wrongs; ++i)
        if (wrong_at[i] <= NF && $(wrong_at[i]) ~ /^[0-9.e+]+$/ && $(wrong_at[i]) + 0 > 0)
          printf "%s %s B has %s wrong results\n", collective, $1, $(wrong_at[i]) >> reasons
    }
    END {
      if (hung) printf "%s timed out\n", collective >> reasons
      else if (code != 0) printf "%s failed with exit code %d\n", collective, code >> reasons
      for (i = 1; i <= sizes; ++i) if (!(size[i] in seen)) missing = missing " " size[i]
      if (missing != "" && code == 0) exit 3
    }' "$work/ceilings" "$work/log" || no_verdict "$collective did not print a row for every size"
}
)sh";

// The reason is one line, as Slurm and Kubernetes show it: the first fault, and how many others there are.
constexpr std::string_view ending = R"sh(
if [ -s "$work/reasons" ]; then
  IFS= read -r reason <"$work/reasons"
  count=$(wc -l <"$work/reasons")
  [ "$count" -le 1 ] || reason="$reason (and $((count - 1)) more)"
  report "fabricast gate: $reason"
  exit 1
fi
printf 'gate: all sizes are within their ceilings\n'
)sh";

// The delimiter is quoted, so the shell expands nothing in the lines.
std::string sweep_lines(const World& world, const GateSweep& sweep) {
  std::string out = fmt::format("\njudge {} \"$@\" \"${{tests}}{}$suffix\" {} <<'END'\n", name_of(sweep.op),
                                test_program(sweep.op), test_arguments(world.scenario(), sweep));
  for (const GateRow& row : sweep.rows) out += fmt::format("{} {:.2f}\n", row.bytes, microseconds(row.ceiling));
  return out + "END\n";
}

}  // namespace

std::string gate_script(const World& world, const Gate& gate, const std::string& usage, const std::string& report,
                        const std::string& launch) {
  const Communicator& comm = world.planner().comm;
  std::string out =
      fmt::format("#!/bin/sh\n# Health check by fabricast {}: {}\n", version_text(), plain_name(world.scenario()));
  out += fmt::format("# {} ranks = {} x {} {}, NCCL {}, conditioned on {} measured rows\n", comm.ranks(),
                     counted(world.scenario().cluster.nodes, "host"), comm.ranks() / world.scenario().cluster.nodes,
                     comm.node.gpu.name, to_text(comm.version), gate.measured);
  out += fmt::format("# A row of a healthy cluster exceeds its ceiling with probability {}.\n#\n",
                     chance_text(gate.probability));
  out += usage;
  out += settings;
  out +=
      "#\n# Exit code: 0 all sizes are within their ceilings; 1 a size exceeds its ceiling, a result is wrong, or\n"
      "# a test crashed or hung; 2 no verdict, because a test could not be started or read.\n";
  out += opening;
  for (const auto& [name, value] : test_command(world.scenario(), comm.ranks()).environment)
    out += fmt::format("export {}={}\n", name, shell_quoted(value));
  if (!launch.empty()) out += fmt::format("[ \"$#\" -gt 0 ] || set -- {}\n", launch);
  out += functions;
  out += report;
  for (const GateSweep& sweep : gate.sweeps) out += sweep_lines(world, sweep);
  out += ending;
  return out;
}

std::string gate_slurm(const Gate& gate) {
  const World& world = gate.world;
  const TestCommand command = test_command(world.scenario(), world.planner().comm.ranks());
  // On one host, the node that runs the script is the one that failed. Several hosts may be slow by any of them.
  const bool one_host = command.hosts == 1;
  std::string usage = "#   sh THIS_FILE [LAUNCHER...]    LAUNCHER starts the processes of a test";
  std::string launch;
  if (command.launched()) {
    launch = fmt::format("srun --nodes={} --ntasks={} --ntasks-per-node={}", command.hosts, command.processes,
                         command.processes_per_host());
    usage += fmt::format("; default:\n#   {}", launch);
  }
  usage += "\n#\n# Environment variables:\n";
  usage +=
      one_host
          ? "#   GATE_NODE     node to drain (default: this node)\n"
          : "#   GATE_NODE     nodes to drain (default: none, because a slow run does not show which node is slow)\n";
  usage += "#   GATE_DRAIN    0: do not drain, e.g. in an Epilog, whose exit code drains the node\n";
  std::string report =
      one_host ? "\nnode=${GATE_NODE:-${SLURMD_NODENAME:-$(hostname -s)}}\n" : "\nnode=${GATE_NODE:-}\n";
  report += R"(
report() {
  printf '%s\n' "$1" >&2
  [ "${GATE_DRAIN:-1}" != 0 ] || return 0
  if [ -z "$node" ]; then
    printf 'gate: no node drained: GATE_NODE is not set\n' >&2
    return 0
  fi
  scontrol update NodeName="$node" State=DRAIN Reason="$1" || printf 'gate: cannot drain %s\n' "$node" >&2
}
)";
  return gate_script(world, gate, usage, report, launch);
}

}  // namespace fabricast
