// Reports of two hosts, parted by a NUL; without one, a report twice. What is damaged is told and left out.
#include "fabricast/calibrate/doctor_fleet.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_fleet(std::string_view bytes) {
  const auto end = bytes.find('\0');
  const std::string_view first = bytes.substr(0, end);
  Fleet fleet;
  fleet.add("file", first);
  fleet.add("other", end == std::string_view::npos ? bytes : bytes.substr(end + 1));
  const FleetReport report = fleet.report();
  require(report.hosts.size() + report.left_out.size() == 2);
  for (const Diagnostic& d : report.left_out) require_stated(d, first);
  if (end == std::string_view::npos) require(report.differing.empty());
  require_clean(fleet_text(report, "1"));
  require_clean(fleet_json(report, "1"));
}

}  // namespace fabricast::fuzz
