// Facts about this host, for the line of provenance.
#include <sys/utsname.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/probe_session.hpp"
#include "gpu.hpp"
#include "nccl_calls.hpp"
#include "pci.hpp"
#include "rendezvous.hpp"

namespace fabricast {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code gone;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, gone)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string cpu_model(const fs::path& root) {
  std::ifstream in(root / "proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") || line.starts_with("CPU implementer"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return {};
}

/// HCAs with driver and firmware. Missing files are left out.
OrderedJson hcas(const fs::path& root) {
  OrderedJson list = OrderedJson::array();
  for (const fs::path& device : entries(root / "sys/class/infiniband")) {
    OrderedJson hca{{"name", device.filename().string()}};
    for (const auto& [key, file] : {std::pair("firmware", "fw_ver"), {"type", "hca_type"}, {"board", "board_id"}})
      if (const std::string text = first_line(device / file); !text.empty()) hca[key] = text;
    std::error_code gone;
    if (const fs::path driver = fs::read_symlink(device / "device/driver", gone); !gone)
      hca["driver"] = driver.filename().string();
    list.push_back(hca);
  }
  return list;
}

OrderedJson modules(const fs::path& root) {
  OrderedJson found = OrderedJson::object();
  for (const char* module : {"nvidia", "nvidia_peermem", "mlx5_core", "mlx5_ib", "bnxt_en", "efa", "ice", "rdma_rxe"})
    if (fs::exists(root / "sys/module" / module)) {
      const std::string version = first_line(root / "sys/module" / module / "version");
      found[module] = version.empty() ? "of the kernel" : version;
    }
  return found;
}

OrderedJson interfaces(const fs::path& root) {
  OrderedJson list = OrderedJson::array();
  for (const fs::path& device : entries(root / "sys/class/net")) {
    OrderedJson one{{"name", device.filename().string()}};
    for (const auto& [key, file] : {std::pair("mtu", "mtu"), {"speed_mbps", "speed"}}) {
      const std::string text = first_line(device / file);
      if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) one[key] = std::stoll(text);
    }
    list.push_back(one);
  }
  return list;
}

/// NCCL's version, e.g. "2.28.9", or why there is none.
std::string nccl_version() {
  const NcclCalls& calls = library_nccl();
  if (std::string reason = calls.missing(); !reason.empty()) return reason;
  int version = 0;
  const int error = calls.version(&version);
  return error == 0 ? nccl_version_text(version) : "ncclGetVersion: " + calls.reason(error);
}

}  // namespace

std::string host_provenance(const std::map<std::string, std::string>& environment, const RdmaSettings& rdma,
                            const std::string& root) {
  utsname kernel{};
  uname(&kernel);
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC, &resolution);
  OrderedJson variables = OrderedJson::object();
  for (const auto& [name, value] : environment)
    if (name.starts_with("NCCL_")) variables[name] = value;
  OrderedJson host{
      {"host", host_name()},
      {"kernel", std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine},
      {"cpu", cpu_model(root)},
      {"clock",
       {{"name", "CLOCK_MONOTONIC"},
        {"source", first_line(fs::path(root) / "sys/devices/system/clocksource/clocksource0/current_clocksource")},
        {"resolution_ns", resolution.tv_sec * 1000000000LL + resolution.tv_nsec}}},
      {"environment", variables},
      {"rdma",
       {{"traffic_class", rdma.traffic_class},
        {"service_level", rdma.service_level},
        {"partition", rdma.partition},
        {"relaxed_ordering", rdma.relaxed_ordering}}},
      {"hcas", hcas(root)},
      {"interfaces", interfaces(root)},
      {"modules", modules(root)},
      {"pci", OrderedJson::parse(pci_devices())},
      {"cuda", OrderedJson::parse(gpu_provenance(library_gpu()))},
      {"nccl", nccl_version()}};
  return host.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace fabricast
