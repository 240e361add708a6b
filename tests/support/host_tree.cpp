#include "host_tree.hpp"

#include <fmt/format.h>

#include <fstream>

namespace fabricast {

namespace fs = std::filesystem;

void HostTree::write(const std::string& path, const std::string& content) const {
  fs::create_directories((scratch_.path / path).parent_path());
  std::ofstream(scratch_.path / path, std::ios::binary) << content;
}

void HostTree::link(const std::string& path, const std::string& target) const {
  const fs::path folder = (scratch_.path / path).parent_path();
  fs::create_directories(folder);
  fs::remove(scratch_.path / path);
  fs::create_symlink((scratch_.path / target).lexically_relative(folder), scratch_.path / path);
}

void HostTree::remove(const std::string& path) const { fs::remove_all(scratch_.path / path); }

void HostTree::pci(const std::string& folder, const std::string& vendor, const std::string& device,
                   const std::string& klass, int numa, double speed, int width) const {
  const std::string at = "sys/devices/" + folder;
  write(at + "/vendor", "0x" + vendor + "\n");
  write(at + "/device", "0x" + device + "\n");
  write(at + "/class", "0x" + klass + "\n");
  write(at + "/numa_node", fmt::format("{}\n", numa));
  for (const char* end : {"current", "max"}) {
    write(fmt::format("{}/{}_link_speed", at, end), fmt::format("{:.1f} GT/s PCIe\n", speed));
    write(fmt::format("{}/{}_link_width", at, end), fmt::format("{}\n", width));
  }
  write(at + "/config", acs_config(0));
  link("sys/bus/pci/devices/" + fs::path(folder).filename().string(), at);
}

void HostTree::hca(const std::string& name, const std::string& pci_folder, bool ethernet) const {
  const std::string device = "sys/devices/" + pci_folder, at = device + "/infiniband/" + name, port = at + "/ports/1";
  write(at + "/fw_ver", "28.39.1002\n");
  write(at + "/hca_type", "MT4129\n");
  write(at + "/board_id", "MT_0000000838\n");
  link(at + "/device", device);
  write(port + "/state", "4: ACTIVE\n");
  write(port + "/phys_state", "5: LinkUp\n");
  write(port + "/rate", "400 Gb/sec (4X NDR)\n");
  write(port + "/link_layer", ethernet ? "Ethernet\n" : "InfiniBand\n");
  for (const char* counter : {"counters/symbol_error", "counters/link_downed", "counters/port_rcv_errors",
                              "hw_counters/out_of_sequence", "hw_counters/packet_seq_err"})
    write(port + "/" + counter, "0\n");
  const std::string number = name.substr(name.find('_') + 1);
  const auto gid = [&](int index, const std::string& value, const std::string& type) {
    write(fmt::format("{}/gids/{}", port, index), value + "\n");
    write(fmt::format("{}/gid_attrs/types/{}", port, index), type + "\n");
    write(fmt::format("{}/gid_attrs/ndevs/{}", port, index), "eth" + number + "\n");
  };
  if (ethernet) {
    gid(0, "fe80:0000:0000:0000:5e25:73ff:fe12:3401", "IB/RoCE v1");
    gid(1, "fe80:0000:0000:0000:5e25:73ff:fe12:3401", "RoCE v2");
    gid(2, "0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1");
    gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2");
    write(port + "/gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    write("sys/class/net/eth" + number + "/mtu", "9000\n");
  }
  link("sys/class/infiniband/" + name, at);
  link("sys/class/infiniband_verbs/uverbs" + number, at);
}

std::string switch_folder(int i) {
  const int bus = 0x10 + 0x1c * i;
  return fmt::format("pci0000:{0:02x}/0000:{0:02x}:01.0/0000:{1:02x}:00.0", bus, bus + 1);
}

std::string gpu_folder(int i) {
  const int bus = 0x10 + 0x1c * i;
  return fmt::format("{}/0000:{:02x}:00.0/0000:{:02x}:00.0", switch_folder(i), bus + 2, bus + 3);
}

std::string nic_folder(int i) {
  const int bus = 0x10 + 0x1c * i;
  return fmt::format("{}/0000:{:02x}:01.0/0000:{:02x}:00.0", switch_folder(i), bus + 2, bus + 4);
}

void write_healthy_host(const HostTree& tree, bool ethernet) {
  tree.write("proc/sys/kernel/hostname", "dgx-7\n");
  tree.write("proc/sys/kernel/osrelease", "5.15.0-1042-nvidia\n");
  tree.write("proc/sys/kernel/numa_balancing", "0\n");
  tree.write("proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/md0 ro iommu=pt\n");
  tree.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de\n");
  tree.write("proc/self/environ", std::string("HOME=/root\0NCCL_DEBUG=WARN\0", 27));
  tree.write("proc/self/limits",
             "Limit                     Soft Limit           Hard Limit           Units\n"
             "Max locked memory         unlimited            unlimited            bytes\n");
  tree.write("proc/self/status", "CapEff:\t0000000000000000\n");
  tree.write("proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n");
  tree.write("usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", "");
  tree.link("usr/lib/x86_64-linux-gnu/libcuda.so.1", "usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15");
  tree.write("usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "");
  tree.link("usr/lib/x86_64-linux-gnu/libnccl.so.2", "usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5");
  tree.write("usr/local/cuda/version.json", R"({"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}})");
  for (const char* module : {"mlx5_core", "mlx5_ib"})
    tree.write(fmt::format("sys/module/{}/version", module), "24.04-0.6.6\n");
  tree.write("sys/module/nvidia_peermem/refcnt", "0\n");
  tree.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  for (const int node : {0, 1}) tree.write(fmt::format("sys/devices/system/node/node{}/cpulist", node), "0-55\n");
  for (const char* driver : {"nvidia", "mlx5_core", "pcieport"})
    tree.write(fmt::format("sys/bus/pci/drivers/{}/module/refcnt", driver), "1\n");
  tree.write("sys/class/net/eth100/mtu", "1500\n");
  for (int i = 0; i < 8; ++i) {
    const int numa = i / 4;
    const std::string up = switch_folder(i), gpu = gpu_folder(i), nic = nic_folder(i);
    for (const std::string& bridge : {up.substr(0, up.find_last_of('/')), up, gpu.substr(0, gpu.find_last_of('/')),
                                      nic.substr(0, nic.find_last_of('/'))})
      tree.pci(bridge, "1000", "c030", "060400", numa, 32, 16);
    tree.pci(gpu, "10de", "2330", "030200", numa, 32, 16);
    tree.link("sys/devices/" + gpu + "/driver", "sys/bus/pci/drivers/nvidia");
    tree.pci(nic, "15b3", "1021", ethernet ? "020000" : "020700", numa, 32, 16);
    tree.link("sys/devices/" + nic + "/driver", "sys/bus/pci/drivers/mlx5_core");
    tree.hca(fmt::format("mlx5_{}", i), nic, ethernet);
    for (const std::string& device : {gpu, nic}) {
      const std::string group = "sys/kernel/iommu_groups/" + std::to_string(2 * i + (device == gpu));
      tree.write(group + "/type", "identity\n");
      tree.link("sys/devices/" + device + "/iommu_group", group);
    }
  }
}

std::string acs_config(unsigned control) {
  std::string config(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value) {
    config[at] = static_cast<char>(value & 0xff), config[at + 1] = static_cast<char>(value >> 8 & 0xff);
  };
  put(0x100, 0x0001), put(0x102, 0x1481);  // error reporting, then at 0x148
  put(0x148, 0x000d), put(0x14a, 0x0001);  // ACS, the last one
  put(0x14e, control);
  return config;
}

}  // namespace fabricast
