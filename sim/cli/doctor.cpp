// `doctor`: is this host ready for fast collectives?
#include "fabricast/calibrate/doctor.hpp"

#include "commands.hpp"
#include "fabricast/calibrate/port_flow.hpp"
#include "fabricast/calibrate/port_mtu.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

int doctor_verb(const std::vector<std::string>& arguments) {
  Options options("doctor", "Says whether this host is ready for fast collectives and, if not, how to mend it.", {});
  options.add()("root", po::value<std::string>()->default_value("/"),
                "look at the files below this folder: a copy of another host's")(
      "text", po::value<std::vector<std::string>>()->composing(),
      "what nvidia-smi -q, nvidia-smi nvlink, dmesg, systemctl status, nvidia-imex-ctl -N or mlnx_qos printed; `-` is "
      "standard "
      "input; may be repeated")("json", po::value<std::string>(),
                                "write JSON to a file, or `-` for standard output alone");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
  const std::string root = options.text("root");
  DoctorExtras extras;
  if (root == "/") {  // library and kernel know this host alone
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
  if (report.gpus.empty() && report.nics.empty()) throw Unavailable("this host has no NVIDIA GPU and no RDMA device");
  return report.worst() >= FindingStatus::warning ? 1 : 0;
}

}  // namespace fabricast
