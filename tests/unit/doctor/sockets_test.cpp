// Interrupts, sockets, and NCCL in Python packages, on made-up hosts.
#include <algorithm>
#include <catch2/catch.hpp>

#include "fabricast/calibrate/doctor.hpp"
#include "support/host_tree.hpp"

namespace fabricast {
namespace {

using Words = std::vector<std::string>;

/// All findings of a check: "warning eth0: 1500 at 100 Gb/s".
Words of_check(const HostTree& tree, const std::string& check) {
  Words list;
  for (const Finding& f : doctor(tree.root()).findings)
    if (f.check == check) {
      list.push_back(std::string(name_of(f.status)) + " " + f.subject + ": " + f.found);
      CHECK((f.status == FindingStatus::ok) == f.fix.empty());
      CHECK_FALSE(f.expected.empty());
      CHECK_FALSE(f.source.empty());
    }
  return list;
}

/// A netdev on a PCI device of node 1.
void write_netdev(const HostTree& t, const std::string& name, int mbit, int mtu) {
  const std::string pci = "pci0000:80/0000:80:01.0";
  t.pci(pci, "1d0f", "ec20", "020000", 1, 16, 16);
  t.write("sys/class/net/" + name + "/speed", std::to_string(mbit) + "\n");
  t.write("sys/class/net/" + name + "/operstate", "up\n");
  t.write("sys/class/net/" + name + "/mtu", std::to_string(mtu) + "\n");
  t.link("sys/class/net/" + name + "/device", "sys/devices/" + pci);
}

void write_sysctl(const HostTree& t, const std::string& rmem, const std::string& wmem) {
  t.write("proc/sys/net/ipv4/tcp_rmem", rmem + "\n");
  t.write("proc/sys/net/ipv4/tcp_wmem", wmem + "\n");
}

TEST_CASE("unreadable socket settings are not a finding", "[doctor]") {
  const HostTree tree;
  write_healthy_host(tree, false);
  for (const char* check : {"irq_affinity", "socket_buffers", "local_ports", "socket_mtu", "packaged_nccl"})
    CHECK(of_check(tree, check).empty());
}

TEST_CASE("socket buffers are compared with the bandwidth-delay product", "[doctor]") {
  const HostTree tree;
  write_netdev(tree, "ens5", 100000, 9001);
  // Linux's defaults: tabs between, 6 MiB and 4 MiB. 100 Gb/s times 0.5 ms is 6.25e6 bytes, 5.96 MiB.
  write_sysctl(tree, "4096\t131072\t6291456", "4096\t16384\t4194304");
  CHECK(of_check(tree, "socket_buffers") == Words{"warning host: tcp_rmem up to 6 MiB, tcp_wmem up to 4 MiB"});
  write_sysctl(tree, "4096 131072 12500000", "4096 16384 6250000");
  CHECK(of_check(tree, "socket_buffers") == Words{"ok host: tcp_rmem up to 11.9 MiB, tcp_wmem up to 5.96 MiB"});
  write_sysctl(tree, "4096 131072 12499999", "4096 16384 6250000");
  CHECK(of_check(tree, "socket_buffers").at(0).starts_with("warning"));
  // The defaults suffice for 25 Gb/s: 1.5 MiB in flight. A link of 10 Gb/s, or one that is down, is not checked.
  write_sysctl(tree, "4096 131072 6291456", "4096 16384 4194304");
  tree.write("sys/class/net/ens5/speed", "25000\n");
  CHECK(of_check(tree, "socket_buffers").at(0).starts_with("ok"));
  tree.write("sys/class/net/ens5/speed", "10000\n");
  CHECK(of_check(tree, "socket_buffers").empty());
  tree.write("sys/class/net/ens5/speed", "100000\n");
  tree.write("sys/class/net/ens5/operstate", "down\n");
  CHECK(of_check(tree, "socket_buffers").empty());
  for (const char* bad : {"", "x y z", "1 2", "4096 131072 -5"}) {
    tree.write("sys/class/net/ens5/operstate", "up\n");
    write_sysctl(tree, bad, "4096 16384 4194304");
    CHECK(of_check(tree, "socket_buffers").empty());
  }
}

TEST_CASE("if RDMA carries the data, findings on sockets are notes", "[doctor]") {
  const HostTree tree;
  write_healthy_host(tree, false);
  write_netdev(tree, "ens5", 100000, 1500);
  write_sysctl(tree, "4096 131072 6291456", "4096 16384 4194304");
  CHECK(of_check(tree, "socket_buffers").at(0).starts_with("note"));
  CHECK(of_check(tree, "socket_mtu") == Words{"note ens5: 1500 at 100 Gb/s"});
}

TEST_CASE("the kernel must allow the buffer sizes that NCCL requests", "[doctor]") {
  const HostTree tree;
  write_netdev(tree, "ens5", 25000, 9001);
  write_sysctl(tree, "4096 131072 6291456", "4096 16384 4194304");
  tree.write("proc/sys/net/core/rmem_max", "212992\n");
  tree.write("proc/sys/net/core/wmem_max", "212992\n");
  CHECK(of_check(tree, "socket_buffers").size() == 1);
  tree.write("etc/nccl.conf", "NCCL_SOCKET_RCVBUF=4194304\nNCCL_SOCKET_SNDBUF=131072\n");
  CHECK(of_check(tree, "socket_buffers") ==
        Words{"ok host: tcp_rmem up to 6 MiB, tcp_wmem up to 4 MiB",
              "warning NCCL_SOCKET_RCVBUF: 4 MiB requested, but net.core.rmem_max allows 0.203 MiB"});
}

TEST_CASE("a short range of ports is found", "[doctor]") {
  const auto with = [](const std::string& range) {
    const HostTree tree;
    tree.write("proc/sys/net/ipv4/ip_local_port_range", range + "\n");
    return of_check(tree, "local_ports");
  };
  CHECK(with("32768\t60999") == Words{"ok host: 28232 ports (32768 to 60999)"});
  CHECK(with("60000\t61000") == Words{"warning host: 1001 ports (60000 to 61000)"});
  CHECK(with("61000 60000") == Words{"warning host: 0 ports (61000 to 60000)"});
  CHECK(with("").empty());
}

TEST_CASE("socket_mtu checks interfaces of sockets, not of RoCE", "[doctor]") {
  const HostTree tree;
  write_netdev(tree, "ens5", 100000, 1500);
  CHECK(of_check(tree, "socket_mtu") == Words{"warning ens5: 1500 at 100 Gb/s"});
  tree.write("sys/class/net/ens5/mtu", "9001\n");
  CHECK(of_check(tree, "socket_mtu") == Words{"ok ens5: 9001 at 100 Gb/s"});
  const HostTree roce;
  write_healthy_host(roce, true);
  roce.write("sys/class/net/eth3/speed", "400000\n");
  roce.write("sys/class/net/eth3/operstate", "up\n");
  CHECK(of_check(roce, "socket_mtu").empty());
}

/// Two interrupts of a NIC of node 0, whose CPUs are 0 to 3, and these lists.
void write_interrupts(const HostTree& t, const std::string& first, const std::string& second) {
  t.write("sys/devices/system/node/node0/cpulist", "0-3\n");
  t.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  t.write("sys/devices/" + nic_folder(0) + "/msi_irqs/40", "msix\n");
  t.write("sys/devices/" + nic_folder(0) + "/msi_irqs/41", "msix\n");
  t.write("proc/irq/40/smp_affinity_list", first + "\n");
  t.write("proc/irq/41/smp_affinity_list", second + "\n");
}

TEST_CASE("interrupts of a NIC are expected on its NUMA node", "[doctor]") {
  const HostTree tree;
  write_healthy_host(tree, false);
  const std::string nic = "mlx5_0 (0000:14:00.0): ";
  write_interrupts(tree, "0-1", "3");
  CHECK(of_check(tree, "irq_affinity") == Words{"ok " + nic + "2 of 2 there"});
  write_interrupts(tree, "0-7", "5,6");
  CHECK(of_check(tree, "irq_affinity") ==
        Words{"note " + nic + "1 of 2 on CPUs of other NUMA nodes; irqbalance was not found"});
  // The effective affinity counts, not the allowed one.
  tree.write("proc/irq/40/effective_affinity_list", "4\n");
  tree.write("proc/1234/comm", "irqbalance\n");
  CHECK(of_check(tree, "irq_affinity") ==
        Words{"note " + nic + "2 of 2 on CPUs of other NUMA nodes; irqbalance is running"});
  tree.remove("proc/1234");
  tree.write("etc/systemd/system/multi-user.target.wants/irqbalance.service", "");
  CHECK(of_check(tree, "irq_affinity").at(0).ends_with("irqbalance starts with the host"));
  for (const char* bad : {"", "x", "3-1", "-", "0-999999999999"}) {
    tree.remove("proc/irq/40/effective_affinity_list");
    write_interrupts(tree, bad, bad);
    CHECK(of_check(tree, "irq_affinity").empty());
  }
}

TEST_CASE("without RDMA, distant interrupts of a netdev are a warning", "[doctor]") {
  const HostTree tree;
  write_netdev(tree, "ens5", 100000, 9001);
  tree.write("sys/devices/system/node/node0/cpulist", "0-3\n");
  tree.write("sys/devices/system/node/node1/cpulist", "4-7\n");
  tree.write("sys/devices/pci0000:80/0000:80:01.0/msi_irqs/50", "msix\n");
  tree.write("proc/irq/50/smp_affinity_list", "0\n");
  CHECK(of_check(tree, "irq_affinity") ==
        Words{"warning ens5 (0000:80:01.0): 1 of 1 on CPUs of other NUMA nodes; irqbalance was not found"});
}

/// The system's NCCL, as a package installs it.
void write_library(const HostTree& t) {
  t.write("usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "");
  t.link("usr/lib/x86_64-linux-gnu/libnccl.so.2", "usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5");
}

/// A wheel of NCCL as pip installs it.
void write_wheel(const HostTree& t, const std::string& prefix, const std::string& release) {
  const std::string packages = prefix + "/lib/python3.11/site-packages";
  t.write(packages + "/nvidia/nccl/lib/libnccl.so.2", "");
  t.write(packages + "/nvidia_nccl_cu12-" + release + ".dist-info/METADATA", "");
}

TEST_CASE("NCCL of wheels is compared with that of the system", "[doctor]") {
  const HostTree tree;
  write_library(tree);
  const std::string wheel = "/opt/conda/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2";
  write_wheel(tree, "opt/conda", "2.21.5");
  CHECK(of_check(tree, "packaged_nccl") == Words{"ok host: " + wheel + " (2.21.5)"});
  tree.remove("opt/conda");
  write_wheel(tree, "opt/conda", "2.27.3");
  CHECK(of_check(tree, "packaged_nccl") ==
        Words{"note host: " + wheel +
              " (2.27.3); programs without Python load /usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5 (2.21.5)"});
  // LD_LIBRARY_PATH goes before the RUNPATH of a wheel's libraries.
  tree.write("proc/self/environ", std::string("LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu\0", 42));
  CHECK(of_check(tree, "packaged_nccl") ==
        Words{"warning host: " + wheel +
              " (2.27.3); LD_LIBRARY_PATH loads /usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5 (2.21.5)"});
}

TEST_CASE("conda environments and the user's environments are searched", "[doctor]") {
  const HostTree tree;
  write_library(tree);
  tree.write("proc/self/environ", std::string("HOME=/home/ada\0VIRTUAL_ENV=/srv/venv\0", 37));
  write_wheel(tree, "home/ada/miniconda3/envs/train", "2.21.5");
  write_wheel(tree, "srv/venv", "2.26.2");
  // conda's own package has the release in the name of the file.
  tree.write("opt/conda/lib/libnccl.so.2.23.4", "");
  tree.link("opt/conda/lib/libnccl.so.2", "opt/conda/lib/libnccl.so.2.23.4");
  const Words list = of_check(tree, "packaged_nccl");
  REQUIRE(list.size() == 1);
  CHECK(list[0].starts_with("note host: "));
  for (const char* part : {"/home/ada/miniconda3/envs/train/", "(2.21.5)", "/srv/venv/", "(2.26.2)",
                           "/opt/conda/lib/libnccl.so.2.23.4 (2.23.4)"})
    CHECK(list[0].find(part) != std::string::npos);
}

}  // namespace
}  // namespace fabricast
