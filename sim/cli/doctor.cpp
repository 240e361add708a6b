// `doctor`: checks whether hosts are ready for fast collectives.
#include "fabricast/calibrate/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "commands.hpp"
#include "fabricast/calibrate/doctor_fleet.hpp"
#include "fabricast/calibrate/port_flow.hpp"
#include "fabricast/calibrate/port_mtu.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/scan.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// The reports in a directory, in the order of their names.
std::vector<std::string> reports_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code gone;
  std::vector<std::string> files;
  for (fs::directory_iterator it(folder, gone), end; !gone && it != end; it.increment(gone))
    if (it->path().extension() == ".json") files.push_back(it->path().string());
  if (gone)
    throw UserError(fmt::format("--fleet '{}': {}", shown(folder), system_reason(gone.value())),
                    "DIR must be a directory of reports");
  if (files.empty())
    throw UserError(fmt::format("--fleet '{}' has no *.json files", shown(folder)),
                    "run `fabricast doctor --json DIR/$(hostname).json` on each host");
  std::sort(files.begin(), files.end());
  return files;
}

// With hundreds of hosts, differences between them matter more than the findings of each: a host that differs is
// usually the one that is wrong.
int compare_hosts(const std::string& folder, const std::string& json) {
  constexpr std::size_t most_report = std::size_t{1} << 26;
  Fleet fleet;
  for (const std::string& file : reports_in(folder)) {
    try {
      fleet.add(file, read_file(file, most_report));
    } catch (const UserError& e) {
      // An unreadable report does not hide the others.
      fleet.leave_out(file, e.diagnostics().front().message);
    }
  }
  const FleetReport report = fleet.report();
  if (report.hosts.empty()) {
    std::vector<Diagnostic> faults = report.left_out;
    for (Diagnostic& d : faults) d.severity = Diagnostic::Severity::error;
    throw UserError(std::move(faults));
  }
  for (const Diagnostic& d : report.left_out) print_diagnostic(d);
  if (!json.empty()) emit(json, fleet_json(report, version_text()));
  if (json != "-") emit("-", fleet_text(report, version_text()));
  return report.differing.empty() && report.findings.empty() && report.left_out.empty() ? 0 : 1;
}

}  // namespace

int doctor_verb(const std::vector<std::string>& arguments) {
  Options options("doctor",
                  "Checks whether this host is ready for fast collectives, and shows how to fix what is not. Exits "
                  "with 1 if there are warnings or errors.",
                  {});
  options.example("fabricast doctor");
  options.example("dmesg | fabricast doctor --text -");
  options.example("fabricast doctor --fleet reports");
  options.add()("root", takes("DIR")->default_value("/"),
                "examine the files below DIR, a copy of the file system of another host")(
      "text", takes_many("FILE"),
      "output of nvidia-smi -q, nvidia-smi nvlink, dmesg, systemctl status, nvidia-imex-ctl -N or mlnx_qos; - reads "
      "standard input; may be repeated")(
      "fleet", takes("DIR"), "compare hosts: DIR holds a report of each, written by `doctor --json` (*.json)")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
  const std::string root = options.text("root");
  if (options.has("fleet")) {
    if (root != "/" || options.has("text"))
      throw UserError("--fleet cannot be combined with --root or --text", "it compares reports and examines no host");
    return compare_hosts(options.text("fleet"), json);
  }
  DoctorExtras extras;
  if (root == "/") {  // libraries and the kernel only know this host
    extras.active_mtu = active_mtu_of_ports();
    extras.flow = flow_of_ports(hardware_netdevs());
  }
  constexpr std::size_t most_text = std::size_t{1} << 26;
  for (const std::string& file : options.list("text"))
    extras.texts.push_back(
        {file == "-" ? "standard input" : file, read_file(file == "-" ? "/dev/stdin" : file, most_text)});
  const DoctorReport report = doctor(root, extras);
  if (!json.empty()) emit(json, doctor_json(report, version_text()));
  if (json != "-") emit("-", doctor_text(report, version_text()));
  // After the report, which may still say why there are none.
  if (report.gpus.empty() && report.nics.empty()) throw Unavailable("this host has no NVIDIA GPU and no RDMA device");
  return report.worst() >= FindingStatus::warning ? 1 : 0;
}

}  // namespace fabricast
