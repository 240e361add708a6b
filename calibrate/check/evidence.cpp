#include <algorithm>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

namespace {

/// How much likelier a cause is where the log says so, and where it says the opposite: logs may hold other runs.
constexpr double said = 50, denied = 0.02;

bool has(const NcclFacts& log, const char* name) { return log.env.contains(name); }

}  // namespace

std::map<Cause, double> evidence(const NcclFacts& log, const World& world) {
  std::map<Cause, double> weights;
  if (log.line == 0) return weights;
  const Communicator& comm = world.planner.comm;
  const auto given = [&](const char* name) {
    const auto it = world.scenario.nccl.env.find(name), told = log.env.find(name);
    return it != world.scenario.nccl.env.end() && told != log.env.end() && it->second == told->second;
  };
  const auto tell = [&](Cause cause, bool yes, bool no) {
    if (yes) weights[cause] = said;
    if (no) weights[cause] = denied;
  };
  const auto forced = [&](const char* name) { return has(log, name) && !given(name); };
  // NCCL lists what it found set: what is not there is not set.
  const bool lists = !log.env.empty();
  tell(Cause::algorithm_forced, forced("NCCL_ALGO"), lists && !has(log, "NCCL_ALGO"));
  tell(Cause::protocol_forced, forced("NCCL_PROTO"), lists && !has(log, "NCCL_PROTO"));
  tell(Cause::too_few_channels, forced("NCCL_MAX_NCHANNELS") || forced("NCCL_MAX_CTAS"),
       log.channels > 0 && log.channels >= comm.channels);
  const bool socket = std::any_of(log.networks.begin(), log.networks.end(),
                                  [](const std::string& n) { return n.find("Socket") != std::string::npos; });
  tell(Cause::sockets, socket, !log.networks.empty() && !socket);
  tell(Cause::no_gdr, log.gdr_disabled > 0 && log.gdr_enabled == 0, log.gdr_enabled > 0 && log.gdr_disabled == 0);
  if (log.pxn) tell(Cause::pxn_off, !*log.pxn, *log.pxn);
  if (log.nvls_multicast) tell(Cause::nvls_off, !*log.nvls_multicast, *log.nvls_multicast && log.nvls_channels > 0);
  const auto nics = static_cast<int>(log.nics.size());
  tell(Cause::fewer_nics, nics > 0 && nics < comm.node.nics, nics >= comm.node.nics);
  return weights;
}

}  // namespace fabricast
