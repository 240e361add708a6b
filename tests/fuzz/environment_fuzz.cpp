// Variables, one `NAME=VALUE` a line: NCCL's, and those by which launchers tell a rank who it is. `VERSION=` is NCCL's.
#include "fabricast/calibrate/probe_session.hpp"
#include "fabricast/planner/nccl.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_environment(std::string_view bytes) {
  std::map<std::string, std::string> all, nccl;
  const std::string_view text = bytes;
  while (!bytes.empty()) {
    const auto line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(line.substr(0, equals)), value(line.substr(equals + 1));
    all[name] = value;
    if (name.starts_with("NCCL_")) nccl[name] = value;
  }
  const NcclVersion version = parse_nccl_version(all["VERSION"]).value_or(NcclVersion{2, 28, 0});
  std::vector<Diagnostic> warnings;
  const auto settings = taken(text, [&] { return parse_nccl_environment(version, nccl, warnings).qps_per_connection; });
  for (const Diagnostic& warning : warnings) require_stated(warning, text);
  if (settings) require(*settings >= 1);
  const auto place = taken(text, [&] { return place_from(all); });
  if (place) require(place->ranks >= 1 && place->rank >= 0 && place->rank < place->ranks);
  taken(text, [&] { return rdma_settings_from(all).service_level; });
  taken(text, [&] {
    ProbePlace at;
    set_master(at, all["MASTER"]);
    require(at.port > 0 && at.port < 65536 && !at.master.empty());
    return 0;
  });
}

}  // namespace fabricast::fuzz
