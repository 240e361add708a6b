// The health check. It finds columns by the table's header, as versions of nccl-tests differ in them, and compares the
// times out of place: at small sizes the bus bandwidth prints as 0.00.
//
// A test that began and then crashed, hung or was wrong is a bad node. One that never began is a bad installation, which all
// nodes share: that gives no verdict, so that it does not drain a cluster.
#include "script.hpp"

#include <fmt/format.h>

#include "fabricast/report/report.hpp"
#include "gate_rows.hpp"

namespace fabricast {

namespace {

constexpr std::string_view settings =
    R"(#   GATE_TESTS    folder of the programs of nccl-tests (default: they are in PATH)
#   GATE_SUFFIX   what follows their names, e.g. _mpi
#   GATE_TIMEOUT  seconds that one test may take (default: 600)
)";

// Epilogs have no search path [Slurm-prolog].
constexpr std::string_view opening = R"(set -u
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
)";

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
work=$(mktemp -d) || no_verdict 'there is no room for temporary files'
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

# judge COLLECTIVE COMMAND...: runs it; its ceilings are on standard input, a line of bytes and microseconds for each size.
judge() {
  collective=$1
  shift
  cat >"$work/ceilings"
  limited "$@" >"$work/log" 2>&1 </dev/null
  code=$?
  hung=0
  case $code in
    124 | 137) hung=1 ;;
    126 | 127) no_verdict "can not run $*" ;;
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
      if (slow) printf "%s %s B took %s us over %s us\n", collective, $1, $time_at, ceiling[$1] >> reasons
      for (i = 1; i <= wrongs; ++i)
        if (wrong_at[i] <= NF && $(wrong_at[i]) ~ /^[0-9.e+]+$/ && $(wrong_at[i]) + 0 > 0)
          printf "%s %s B has %s wrong results\n", collective, $1, $(wrong_at[i]) >> reasons
    }
    END {
      if (hung) printf "%s did not end in time\n", collective >> reasons
      else if (code != 0) printf "%s failed with exit code %d\n", collective, code >> reasons
      for (i = 1; i <= sizes; ++i) if (!(size[i] in seen)) missing = missing " " size[i]
      if (missing != "" && code == 0) exit 3
    }' "$work/ceilings" "$work/log" || no_verdict "$collective printed no row of some size"
}
)sh";

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

std::string sweep_lines(const World& world, const GateSweep& sweep) {
  std::string out = fmt::format("\njudge {} \"$@\" \"${{tests}}{}$suffix\" {} <<'END'\n", name_of(sweep.op),
                                test_program(sweep.op), test_arguments(world.scenario, sweep));
  for (const GateRow& row : sweep.rows) out += fmt::format("{} {:.2f}\n", row.bytes, row.ceiling * 1e6);
  return out + "END\n";
}

}  // namespace

std::string gate_script(const World& world, const Gate& gate, const std::string& usage, const std::string& report,
                        const std::string& launch) {
  const Communicator& comm = world.planner.comm;
  std::string out =
      fmt::format("#!/bin/sh\n# Health check by fabricast {}: {}\n", version_text(), plain_name(world.scenario));
  out += fmt::format("# {} ranks = {} hosts x {} {}, NCCL {}, given {} measured rows\n", comm.ranks(),
                     world.scenario.cluster.nodes, comm.ranks() / world.scenario.cluster.nodes, comm.node.gpu.name,
                     to_text(comm.version), gate.measured);
  out += fmt::format("# A row of a healthy cluster is over its ceiling with probability {}.\n#\n",
                     chance_text(gate.probability));
  out += usage;
  out += settings;
  out +=
      "#\n# Exit code: 0 all sizes are within their ceilings; 1 one is not, a result is wrong, or a test crashed or "
      "hung;\n"
      "# 2 a test could not be started or read: no verdict.\n";
  out += opening;
  for (const auto& [name, value] : test_command(world.scenario, comm.ranks()).environment)
    out += fmt::format("export {}={}\n", name, shell_quoted(value));
  if (!launch.empty()) out += fmt::format("[ \"$#\" -gt 0 ] || set -- {}\n", launch);
  out += functions;
  out += report;
  for (const GateSweep& sweep : gate.sweeps) out += sweep_lines(world, sweep);
  out += ending;
  return out;
}

std::string gate_slurm(const World& world, const Gate& gate) {
  const TestCommand command = test_command(world.scenario, world.planner.comm.ranks());
  const bool one_host = command.hosts == 1;
  std::string usage = "#   sh THIS_FILE [LAUNCHER...]    LAUNCHER starts the processes of a test";
  std::string launch;
  if (command.launched()) {
    launch = fmt::format("srun --nodes={} --ntasks={} --ntasks-per-node={}", command.hosts, command.processes,
                         command.processes_per_host());
    usage += fmt::format("; default:\n#   {}", launch);
  }
  usage += "\n#\n# From the environment:\n";
  usage += one_host
               ? "#   GATE_NODE     node to drain (default: this one)\n"
               : "#   GATE_NODE     nodes to drain (default: none, as a slow run does not tell which node it is)\n";
  usage += "#   GATE_DRAIN    0: drain nothing. As an Epilog, whose exit code drains the node already\n";
  std::string report =
      one_host ? "\nnode=${GATE_NODE:-${SLURMD_NODENAME:-$(hostname -s)}}\n" : "\nnode=${GATE_NODE:-}\n";
  report += R"(
report() {
  printf '%s\n' "$1" >&2
  [ "${GATE_DRAIN:-1}" != 0 ] || return 0
  if [ -z "$node" ]; then
    printf 'gate: nothing is drained: GATE_NODE names no node\n' >&2
    return 0
  fi
  scontrol update NodeName="$node" State=DRAIN Reason="$1" || printf 'gate: can not drain %s\n' "$node" >&2
}
)";
  return gate_script(world, gate, usage, report, launch);
}

}  // namespace fabricast
