// PCIe links, and what redirects their traffic to the CPU: ACS and the IOMMU.
//
// A link trains at what both ends support, or below if a lane or contact is bad, without an error. The expectation is
// therefore the lower capability of its two ends. ACS and the IOMMU do not slow a link, but send peer traffic up to the
// root complex, where it shares the links to the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checks.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

struct Named {
  std::string name;
  const PciDevice* device;
  bool gpu;
};

/// GPUs and NICs. Several RDMA devices may share one PCI function.
std::vector<Named> physical_devices(const HostFiles& host) {
  std::vector<Named> list;
  for (std::size_t g = 0; g < host.gpus.size(); ++g) list.push_back({host.gpu_name(g), &host.gpus[g], true});
  for (const RdmaNic& nic : host.nics)
    if (nic.pci && !nic.pci->virtual_function) list.push_back({nic.name, &*nic.pci, false});
  return list;
}

std::string link_text(double speed, int width) {
  return fmt::format("{} x{}", speed > 0 ? fmt::format("{:g} GT/s", speed) : "unknown speed",
                     width > 0 ? std::to_string(width) : "?");
}

/// The lower capability of two ends; 0 means unknown.
template <class T>
T both(T a, T b) {
  return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

Finding judge_link(const std::string& subject, const PcieLink& link, double speed, int width, bool gpu) {
  const std::string found = link_text(link.speed, link.width), expected = link_text(speed, width);
  const auto stated = [&](FindingStatus status, std::string why, std::string fix) {
    return Finding{"", subject, status, found, expected, std::move(why), std::move(fix), std::string(from::kernel_pci)};
  };
  const auto rates = [&] {
    return fmt::format("{:.3g} GB/s of {:.3g}: ", pcie_gbps(link.speed, link.width), pcie_gbps(speed, width));
  };
  // A hypervisor may hide link state.
  if (link.width == 0 || width == 0 || link.speed <= 0 || speed <= 0)
    return stated(FindingStatus::unknown, "a degraded link costs half of the rate or more",
                  "sudo lspci -vv | grep -e LnkSta: -e LnkCap:; in a virtual machine, on its host");
  // An idle GPU lowers the speed of its link but not the width, so missing lanes are a fault.
  if (link.width < width)
    return stated(
        FindingStatus::warning, rates() + "lanes are missing",
        "reseat the card or riser; compare with its slot (sudo lspci -vv: LnkCap, LnkSta); look for bent pins");
  if (link.speed < speed && gpu)
    return stated(FindingStatus::note, "an idle GPU lowers the speed of its link; under load it must rise",
                  "nvidia-smi -q -d PERFORMANCE,CLOCK while a job runs; nvidia-smi --query-gpu=pcie.link.gen.current "
                  "--format=csv");
  if (link.speed < speed)
    return stated(
        FindingStatus::warning, rates() + "the link trained at a lower generation",
        "set the slot's speed to Auto or to its generation in the BIOS; reseat the card; look for AER errors in "
        "dmesg");
  return good(subject, found, expected, from::kernel_pci);
}

/// Reports a slot that is slower than the active ports of its NIC, whatever card and slot are capable of.
void add_slot(Findings& list, const RdmaNic& nic) {
  double gbit = 0;
  for (const RdmaPort& port : nic.ports)
    if (port.active()) gbit += port.gbit;
  const PcieLink& link = nic.pci->link;
  const double slot = pcie_gbps(link.speed, link.width), wanted = gbit / 8;
  // The link may be as its two ends support and still be too narrow for the ports: a card in a slot for another one.
  if (slot <= 0 || slot >= wanted) return;
  list.push_back({"", device_name(nic.name, *nic.pci), FindingStatus::warning,
                  fmt::format("{} carries {:.3g} GB/s", link_text(link.speed, link.width), slot),
                  fmt::format("{:.3g} GB/s, the rate of its ports", wanted), "PCIe is slower than the network port",
                  "move the card to a slot of its generation and x16", std::string(from::pcie)});
}

unsigned byte_at(const std::string& bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

constexpr std::size_t no_capability = 0;

/// Offset of the ACS capability (id 0x000d) in a device's extended configuration space.
std::size_t acs_at(const std::string& config) {
  std::size_t at = 0x100;
  // Extended capabilities form a linked list from 0x100 on: 16 bits of id, 4 of version, 12 of the next offset. The
  // limit ends a list that a damaged file turns into a cycle.
  for (int hops = 0; hops < 48 && at >= 0x100 && at + 8 <= config.size(); ++hops) {
    const unsigned id = byte_at(config, at) | byte_at(config, at + 1) << 8;
    if (id == 0x000d) return at;
    at = (byte_at(config, at + 2) | byte_at(config, at + 3) << 8) >> 4;
  }
  return no_capability;
}

std::string acs_words(unsigned control) {
  // Names as lspci prints them, by bit of the ACS control register.
  constexpr const char* words[] = {"SrcValid",    "TransBlk",   "ReqRedir",   "CmpltRedir",
                                   "UpstreamFwd", "EgressCtrl", "DirectTrans"};
  std::string text;
  for (unsigned bit = 0; bit < 7; ++bit)
    if (control >> bit & 1) text += fmt::format("{}{}+", text.empty() ? "" : " ", words[bit]);
  return text.empty() ? "all off" : text;
}

}  // namespace

Findings check_pcie(const HostFiles& host) {
  Findings found;
  std::set<std::string> done;
  for (const Named& named : physical_devices(host)) {
    const std::vector<std::string>& chain = named.device->chain;
    // From the root port down, each pair of entries is a link. Between pairs is the inside of a switch.
    for (std::size_t i = 1; i < chain.size(); i += 2) {
      // Devices below one switch share the links above it, which are judged once.
      if (!done.insert(chain[i]).second) continue;
      const bool last = i + 1 == chain.size();
      // The lower end of the link reports its current state; both ends report what they support.
      const PcieLink& lower = last ? named.device->link : host.bridges.at(chain[i]).link;
      const PcieLink& upper = host.bridges.at(chain[i - 1]).link;
      const std::string subject =
          last ? device_name(named.name, *named.device) : fmt::format("switch {} above {}", chain[i], named.name);
      found.push_back(judge_link(subject, lower, both(lower.most_speed, upper.most_speed),
                                 both(lower.most_width, upper.most_width), last && named.gpu));
    }
    // In a virtual machine there is no port above a device.
    if (chain.size() % 2 == 1 && done.insert(chain.back()).second) {
      const PcieLink& link = named.device->link;
      found.push_back(
          judge_link(device_name(named.name, *named.device), link, link.most_speed, link.most_width, named.gpu));
    }
  }
  for (const RdmaNic& nic : host.nics)
    if (nic.pci && !nic.pci->virtual_function) add_slot(found, nic);
  return found;
}

Findings check_acs(const HostFiles& host) {
  Findings found;
  std::size_t hidden = 0;
  const std::string expected = "redirection off (ReqRedir- CmpltRedir- UpstreamFwd-)";
  for (const auto& [address, bridge] : host.bridges) {
    const std::string config = host.tree.content("sys/bus/pci/devices/" + address + "/config");
    // Without root the kernel returns only the first 64 bytes; extended capabilities begin at 256.
    if (config.size() <= 0x100) {
      ++hidden;
      continue;
    }
    const std::size_t at = acs_at(config);
    // A bridge without ACS cannot redirect.
    if (at == no_capability) continue;
    // Header and capability register, 6 bytes, precede the control register.
    const unsigned control = byte_at(config, at + 6) | byte_at(config, at + 7) << 8;
    const std::string subject = "bridge " + address;
    // Only these three bits send requests or completions up to the root complex.
    constexpr unsigned redirects = 1 << 2 | 1 << 3 | 1 << 4;
    if (!(control & redirects)) {
      found.push_back(good(subject, acs_words(control), expected, from::gpu_guide));
      continue;
    }
    Finding f{
        "",
        subject,
        FindingStatus::warning,
        acs_words(control),
        expected,
        "traffic between GPU and NIC or between GPUs goes up to the CPU instead of across the switch",
        fmt::format("sudo setpci -s {} ECAP_ACS+0x6.w=0000 after each boot, or turn IO virtualization off in the BIOS",
                    address),
        std::string(from::gpu_guide)};
    if (host.arm) {
      f.status = FindingStatus::note;
      f.why = "systems with Grace CPUs need some of it, as set by the vendor";
    }
    found.push_back(std::move(f));
  }
  if (hidden > 0)
    found.push_back({"", "host", FindingStatus::unknown,
                     fmt::format("{} with unreadable configuration space", counted(hidden, "bridge")), expected,
                     "redirection at a switch costs GPUDirect most of its rate",
                     "run as root, or sudo lspci -vvv | grep -e PCI.bridge -e ACSCtl", std::string(from::gpu_guide)});
  if (host.virtual_machine && !physical_devices(host).empty())
    found.push_back({"", "host", FindingStatus::unknown, "a virtual machine does not see its host's switches",
                     "address translation by the NIC (ATS), and ACS configured for it",
                     "without ATS peer traffic goes through the host's IOMMU",
                     "on the host: mlxconfig -d DEVICE q | grep ATS_ENABLED; lspci -vvv | grep ACSCtl",
                     std::string(from::guest_guide)});
  return found;
}

Findings check_iommu(const HostFiles& host) {
  const std::vector<Named> devices = physical_devices(host);
  if (devices.empty()) return {};
  const std::string expected = "off, or passing addresses through (iommu=pt)";
  std::string command_line = " " + host.tree.line("proc/cmdline") + " ";
  // Kernels without a file for the type of a group state the mode on their command line only.
  const bool passes = command_line.find(" iommu=pt ") != std::string::npos ||
                      command_line.find(" iommu.passthrough=1 ") != std::string::npos;
  std::map<std::string, std::vector<std::string>> by_type;
  for (const Named& d : devices) {
    const std::string group = host.tree.target("sys/bus/pci/devices/" + d.device->address + "/iommu_group");
    if (group.empty()) continue;
    const std::string type = host.tree.line(group + "/type");
    by_type[type.empty() ? passes ? "identity" : "unknown" : type].push_back(d.name);
  }
  if (by_type.empty()) return {good("host", "no IOMMU between devices and memory", expected, from::gpu_guide)};
  Findings found;
  for (const auto& [type, names] : by_type) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : " ") + name;
    if (type == "identity") {
      found.push_back(good(list, "addresses pass through", expected, from::gpu_guide));
    } else if (type == "unknown") {
      found.push_back({"", list, FindingStatus::unknown, "behind an IOMMU in an unknown mode", expected,
                       "translation sends peer traffic through the CPU",
                       "cat /sys/kernel/iommu_groups/*/type; dmesg | grep -i iommu", std::string(from::gpu_guide)});
    } else if (host.arm) {
      found.push_back({"", list, FindingStatus::note, "addresses are translated (" + type + ")", expected,
                       "systems with Grace CPUs need translation; on others it slows peer traffic",
                       "leave it on with Grace; else iommu.passthrough=1 on the kernel's command line",
                       std::string(from::storage_guide)});
    } else {
      found.push_back(
          {"", list, FindingStatus::warning, "addresses are translated (" + type + ")", expected,
           "translation sends traffic between GPU and NIC through the CPU and can make it hang",
           "iommu=pt on the kernel's command line (GRUB_CMDLINE_LINUX, update-grub, reboot), or turn VT-d or "
           "AMD-Vi off in the BIOS",
           std::string(from::gpu_guide)});
    }
  }
  return found;
}

}  // namespace fabricast
