// Facts for comparing hosts: devices, releases, settings.
//
// `doctor --fleet` compares these texts for equality, so a fact must not depend on the order of devices or on anything
// that legitimately differs between equal hosts, such as addresses, names and load.
#include "facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checks.hpp"

namespace fabricast {

namespace {

/// Counts equal values; the most frequent comes first.
class Counted {
 public:
  void add(const std::string& value) {
    if (!value.empty()) ++count_[value];
  }
  std::string text() const {
    std::vector<std::pair<std::string, int>> order(count_.begin(), count_.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (const auto& [value, count] : order) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, value);
    return text;
  }

 private:
  std::map<std::string, int> count_;
};

template <class Things, class F>
std::string counted_values(const Things& things, F value) {
  Counted all;
  for (const auto& thing : things) all.add(value(thing));
  return all.text();
}

template <class F>
std::string counted_ports(const HostFiles& host, F value) {
  Counted all;
  for (const RdmaNic& nic : host.nics)
    for (const RdmaPort& port : nic.ports) all.add(value(port));
  return all.text();
}

/// The highest speed and the current width: an idle GPU lowers the speed of its link, but not the width.
std::string gpu_link(const PciDevice& gpu) {
  return gpu.link.width > 0 ? fmt::format("{:g} GT/s x{}", gpu.link.most_speed, gpu.link.width) : "";
}

std::string nic_link(const RdmaNic& nic) {
  // Unlike GPUs, NICs do not lower their speed when idle, so the current speed counts.
  return nic.pci && nic.pci->link.width > 0 ? fmt::format("{:g} GT/s x{}", nic.pci->link.speed, nic.pci->link.width)
                                            : "";
}

/// The model that the driver reports, from "Model: NVIDIA H100 80GB HBM3".
std::string model(const Tree& tree, const PciDevice& gpu) {
  for (const std::string& line : tree.lines("proc/driver/nvidia/gpus/" + gpu.address + "/information"))
    if (line.starts_with("Model:")) return trimmed(line.substr(6));
  return {};
}

std::string after_key(const Tree& tree, const std::string& file, const std::string& key) {
  for (const std::string& line : tree.lines(file))
    if (line.starts_with(key)) return trimmed(line.substr(std::min(line.find(':') + 1, line.size())));
  return {};
}

/// Words of the kernel's command line, sorted, without those that differ from host to host, such as a disk or an image.
std::string kernel_parameters(const Tree& tree) {
  std::vector<std::string> words = split(tree.line("proc/cmdline"), ' ');
  std::erase_if(words, [](const std::string& word) {
    for (const char* own : {"BOOT_IMAGE=", "root=", "initrd=", "resume=", "ip=", "nfsroot=", "ostree=", "rd."})
      if (word.starts_with(own)) return true;
    return false;
  });
  std::sort(words.begin(), words.end());
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string iommu(const HostFiles& host) {
  std::vector<std::string> addresses;
  // The mode of the group that a device is in counts, not that of the kernel's command line: it may differ by device.
  for (const PciDevice& gpu : host.gpus) addresses.push_back(gpu.address);
  for (const RdmaNic& nic : host.nics)
    if (nic.pci) addresses.push_back(nic.pci->address);
  return counted_values(addresses, [&](const std::string& address) {
    const std::string group = host.tree.target("sys/bus/pci/devices/" + address + "/iommu_group");
    return group.empty() ? std::string("none") : host.tree.line(group + "/type");
  });
}

std::string variables(const HostFiles& host) {
  std::string text;
  for (const auto& [name, v] : host.variables)
    // Other variables hold names of users, jobs and paths.
    if (name.starts_with("NCCL_")) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, v.value);
  return text;
}

std::string power_limit(const SmiGpu& gpu) {
  const std::string now = gpu.value("GPU Power Readings/Current Power Limit");
  return now.empty() ? gpu.value("GPU Power Readings/Power Limit") : now;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> host_facts(const HostFiles& host) {
  const Tree& tree = host.tree;
  const auto libraries = library_releases(host, "libnccl.so.2");
  const std::string module = tree.line("proc/driver/nvidia/version");
  std::vector<std::pair<std::string, std::string>> facts = {
      {"gpus", counted_values(host.gpus, [](const PciDevice& g) { return g.id; })},
      {"gpu_model", counted_values(host.gpus, [&](const PciDevice& g) { return model(tree, g); })},
      {"gpu_link", counted_values(host.gpus, gpu_link)},
      {"gpu_power_limit", counted_values(host.tools.gpus, power_limit)},
      {"nics", counted_values(host.nics, [](const RdmaNic& n) { return n.kind(); })},
      {"nic_firmware", counted_values(host.nics, [](const RdmaNic& n) { return n.firmware; })},
      {"nic_link", counted_values(host.nics, nic_link)},
      {"nic_state", counted_ports(host, [](const RdmaPort& p) { return p.state; })},
      // The rate of a port that is down is that of its last or default link, and says nothing.
      {"nic_rate",
       counted_ports(host, [](const RdmaPort& p) { return p.active() ? fmt::format("{:g} Gb/s", p.gbit) : ""; })},
      {"nic_mtu", counted_ports(host,
                                [&](const RdmaPort& p) {
                                  return p.netdev.empty() ? std::string()
                                                          : tree.line("sys/class/net/" + p.netdev + "/mtu");
                                })},
      // NVIDIA's driver package states a version; the module of the kernel does not.
      {"nic_module", tree.has("sys/module/mlx5_core") && tree.line("sys/module/mlx5_core/version").empty()
                         ? "in-tree"
                         : tree.line("sys/module/mlx5_core/version")},
      {"driver", driver_release(host)},
      // DMA-BUF requires the open kernel module.
      {"driver_kind", module.empty()                                           ? ""
                      : module.find("Open Kernel Module") == std::string::npos ? "closed"
                                                                               : "open"},
      {"nccl", libraries.empty() ? std::string() : libraries.front().second},
      {"kernel", host.kernel},
      {"kernel_parameters", kernel_parameters(tree)},
      {"cpu", after_key(tree, "proc/cpuinfo", "model name")},
      {"numa_nodes", host.numa_nodes > 0 ? std::to_string(host.numa_nodes) : std::string()},
      {"iommu", iommu(host)},
      {"numa_balancing", tree.line("proc/sys/kernel/numa_balancing")},
      {"governor", tree.line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
      {"tcp_rmem", tree.line("proc/sys/net/ipv4/tcp_rmem")},
      {"tcp_wmem", tree.line("proc/sys/net/ipv4/tcp_wmem")},
      {"local_ports", tree.line("proc/sys/net/ipv4/ip_local_port_range")},
      {"variables", variables(host)}};
  // A fact that is absent on all hosts is no fact. One absent on some hosts shows as "not reported" (fleet.cpp).
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

}  // namespace fabricast
