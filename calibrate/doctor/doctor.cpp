// Runs all checks on a host.
//
// host.hpp reads all files first; each check then is a pure function of what was read (checks.hpp). A test can
// therefore describe a host as a folder of files, and a host can be judged from a copy of its files (--root).
#include "fabricast/calibrate/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "checks.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/text.hpp"
#include "facts.hpp"

namespace fabricast {

namespace {

struct Check {
  std::string_view name, summary;
  Findings (*run)(const HostFiles& host);
};

// The order of reports of equal status: from devices and buses over ports and software to settings and tools' output.
constexpr std::array checks = {
    Check{"devices", "GPUs and RDMA devices exist and have drivers", check_devices},
    Check{"peer_memory", "GPUDirect RDMA: nvidia_peermem or DMA-BUF", check_peer_memory},
    Check{"distance", "each GPU has a NIC nearby", check_distance},
    Check{"pcie", "generation and lanes of PCIe links", check_pcie},
    Check{"acs", "PCIe switches do not redirect peer-to-peer traffic to the CPU", check_acs},
    Check{"iommu", "the IOMMU is off or passes addresses through", check_iommu},
    Check{"link_state", "ports are up", check_link_state},
    Check{"link_rate", "ports run at the rate of similar ports", check_link_rate},
    Check{"mtu", "packets of 4096 bytes", check_mtu},
    Check{"gid_index", "a GID of RoCE v2 over IPv4 exists and is selected", check_gid_index},
    Check{"flow_control", "PFC protects RoCE packets from loss", check_flow_control},
    Check{"counters", "ports have counted no errors", check_counters},
    Check{"firmware", "similar NICs have the same firmware", check_firmware},
    Check{"rdma_stack", "RDMA modules of one release, and verbs devices", check_rdma_stack},
    Check{"driver", "NVIDIA's kernel module and library are of one release", check_driver},
    Check{"cuda", "the driver is new enough for the toolkit", check_cuda},
    Check{"nccl", "the loader finds one release of NCCL", check_collective_library},
    Check{"packaged_nccl", "Python packages and the system have the same NCCL", check_packaged_library},
    Check{"variables", "no harmful NCCL variable is set", check_variables},
    Check{"locked_memory", "memory can be locked", check_locked_memory},
    Check{"numa_balancing", "the kernel does not move pages", check_numa_balancing},
    Check{"governor", "CPUs run at full clock", check_governor},
    Check{"irq_affinity", "NIC interrupts are handled on CPUs near the NIC", check_irq_affinity},
    Check{"socket_buffers", "socket buffers cover the bandwidth-delay product", check_socket_buffers},
    Check{"local_ports", "enough local ports for many connections", check_local_ports},
    Check{"socket_mtu", "jumbo frames for sockets", check_socket_mtu},
    Check{"nvlink", "all NVLinks are active and without errors", check_nvlink},
    Check{"fabric_manager", "GPUs have joined the NVLink fabric", check_fabric_manager},
    Check{"imex", "all nodes of the NVLink domain are ready", check_imex},
    Check{"xid", "no Xid in the kernel log", check_xid},
    Check{"gpu_power", "power limits are not lowered", check_gpu_power},
    Check{"gpu_clocks", "nothing lowers GPU clocks", check_gpu_clocks},
};

}  // namespace

Finding good(std::string subject, std::string found, std::string expected, std::string_view source) {
  return {"", std::move(subject), FindingStatus::ok, std::move(found), std::move(expected), "",
          "", std::string(source)};
}

std::string port_name(const RdmaNic& nic, const RdmaPort& port) {
  return fmt::format("{} port {}", nic.name, port.number);
}

std::string device_name(const std::string& name, const PciDevice& device) {
  return fmt::format("{} ({})", name, device.address);
}

std::size_t DoctorReport::count(FindingStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.status == status; }));
}

FindingStatus DoctorReport::worst() const {
  FindingStatus worst = FindingStatus::ok;
  for (const Finding& f : findings) worst = std::max(worst, f.status);
  return worst;
}

std::vector<DoctorCheck> doctor_checks() {
  std::vector<DoctorCheck> list;
  for (const Check& c : checks) list.push_back({c.name, c.summary});
  return list;
}

DoctorReport doctor(const std::string& root, const DoctorExtras& extras) {
  if (std::error_code gone; !std::filesystem::is_directory(root, gone))
    throw UserError(fmt::format("'{}' is not a directory", root),
                    "--root takes a directory that contains sys/ and proc/");
  const HostFiles host = read_host(root, extras);
  DoctorReport report;
  report.facts = host_facts(host);
  for (auto& [name, value] : report.facts) value = printable(value);
  report.host = printable(host.name);
  report.kernel = printable(host.kernel);
  report.root = root;
  report.pairs = host.pairs;
  for (std::size_t g = 0; g < host.gpus.size(); ++g)
    report.gpus.push_back({host.gpu_name(g), host.gpus[g].address, host.gpus[g].id, host.gpus[g].numa});
  // Software devices, such as Soft-RoCE, have no PCI function; their fields stay empty.
  for (const RdmaNic& nic : host.nics) {
    const PciDevice pci = nic.pci.value_or(PciDevice{});
    report.nics.push_back({nic.name, pci.address, pci.id, pci.driver, nic.firmware, pci.numa});
  }
  for (const Check& check : checks)
    // A check does not know its own name; it is filled in here.
    for (Finding& f : check.run(host)) {
      f.check = check.name;
      // Variables, names and tool output may hold control characters.
      for (std::string* text : {&f.subject, &f.found, &f.expected, &f.why, &f.fix}) *text = printable(*text);
      report.findings.push_back(std::move(f));
    }
  return report;
}

}  // namespace fabricast
