#include <algorithm>

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

namespace {

/// How much likelier a cause is where NCCL states it, and where it states the opposite: more than times can outweigh.
constexpr double stated = 1e12, ruled_out = 1e-12;
/// The same where it only seems so: a variable that is not listed, or fewer NICs listed than there are.
constexpr double hinted = 50, unlikely = 0.02;

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
  const auto tell = [&](Cause cause, double yes, bool is, double no, bool is_not) {
    if (is) weights[cause] = yes;
    if (is_not) weights[cause] = no;
  };
  const auto state = [&](Cause cause, bool is, bool is_not) { tell(cause, stated, is, ruled_out, is_not); };
  const auto forced = [&](const char* name) { return has(log, name) && !given(name); };
  // NCCL lists what it found set: what is not there is most likely not set.
  const bool lists = !log.env.empty();
  tell(Cause::algorithm_forced, stated, forced("NCCL_ALGO"), unlikely, lists && !has(log, "NCCL_ALGO"));
  tell(Cause::protocol_forced, stated, forced("NCCL_PROTO"), unlikely, lists && !has(log, "NCCL_PROTO"));
  tell(Cause::too_few_channels, hinted, forced("NCCL_MAX_NCHANNELS") || forced("NCCL_MAX_CTAS"), unlikely,
       log.channels > 0 && log.channels >= comm.channels);
  const NcclConnections net = log.over_network();
  const bool socket =
      net.sockets > 0 || std::any_of(log.networks.begin(), log.networks.end(),
                                     [](const std::string& n) { return n.find("Socket") != std::string::npos; });
  const bool sockets_alone = socket && net.other == 0;
  state(Cause::sockets, sockets_alone, !socket && (net.other > 0 || !log.networks.empty()));
  // What each connection says counts for more than what GPUs and NICs could do. Sockets never have it: they are the cause then.
  const bool connected = net.gdr + net.staged > 0;
  const bool staged = connected ? net.gdr == 0 : log.gdr_disabled > 0 && log.gdr_enabled == 0;
  state(Cause::no_gdr, staged && !sockets_alone,
        connected ? net.staged == 0 : log.gdr_enabled > 0 && log.gdr_disabled == 0);
  if (log.pxn) state(Cause::pxn_off, !*log.pxn, *log.pxn);
  if (log.nvls_multicast) state(Cause::nvls_off, !*log.nvls_multicast, *log.nvls_multicast && log.nvls_channels > 0);
  // An interface that sockets go over is no NIC of the fabric.
  const auto nics = static_cast<int>(
      std::count_if(log.nics.begin(), log.nics.end(), [](const NcclNic& nic) { return nic.kind != "Socket"; }));
  tell(Cause::fewer_nics, stated, nics > 0 && nics < comm.node.nics, unlikely, nics >= comm.node.nics);
  return weights;
}

}  // namespace fabricast
