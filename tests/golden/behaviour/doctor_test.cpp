// `doctor` as a user runs it: text, JSON and exit codes on made-up hosts.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/command_line.hpp"
#include "support/host_tree.hpp"

namespace fabricast {
namespace {

/// The report without its first two lines, which hold the version and the directory.
std::string body(const std::string& text) {
  const std::size_t first = text.find('\n') + 1;
  return text.substr(text.find('\n', first) + 1);
}

TEST_CASE("faults of a host are reported in full, with exit code 1", "[doctor]") {
  const HostTree tree;
  write_healthy_host(tree, true);
  const std::string port = "sys/class/infiniband/mlx5_3/ports/1/";
  tree.write(port + "state", "1: DOWN\n");
  tree.write(port + "phys_state", "3: Disabled\n");
  tree.write("sys/class/net/eth5/mtu", "1500\n");
  const Ran ran = run_fabricast("doctor --root " + tree.root());
  INFO(ran.err);
  CHECK(ran.code == 1);
  CHECK(ran.err.empty());
  CHECK(body(ran.out) == R"(# 1 error, 1 warning, 7 unknown, 0 notes, 118 ok
#
# NIC nearest to each GPU
#   gpu0   0000:13:00.0  mlx5_0       pix
#   gpu1   0000:2f:00.0  mlx5_1       pix
#   gpu2   0000:4b:00.0  mlx5_2       pix
#   gpu3   0000:67:00.0  mlx5_3       pix
#   gpu4   0000:83:00.0  mlx5_4       pix
#   gpu5   0000:9f:00.0  mlx5_5       pix
#   gpu6   0000:bb:00.0  mlx5_6       pix
#   gpu7   0000:d7:00.0  mlx5_7       pix

error: link_state
  mlx5_3 port 1: DOWN (Disabled)
    expected: ACTIVE
    why: the GPU that it serves must use another NIC, which is then shared
    fix: ibstat mlx5_3; ip link set eth3 up; check cable, module and switch port: sudo mlxlink -d mlx5_3 -m
    source: [NCCL-network-troubleshooting] https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html

warning: mtu
  mlx5_5 port 1: 1500 on eth5: packets of 1024 bytes
    expected: 4200 or more on the netdev, for RDMA packets of 4096 bytes
    why: RoCE adds 82 bytes to each packet: 92.6 % of the line rate is data, instead of 98.0 %, and the NIC handles 4 times as many packets
    fix: ip link set eth5 mtu 9000, and the same on every switch of the fabric
    source: [FABRICS-2], [Linux-iboe-mtu] include/rdma/ib_addr.h of Linux

unknown: flow_control
  mlx5_0 port 1: PFC is not in sysfs
  mlx5_1 port 1: PFC is not in sysfs
  mlx5_2 port 1: PFC is not in sysfs
  mlx5_4 port 1: PFC is not in sysfs
  mlx5_5 port 1: PFC is not in sysfs
  mlx5_6 port 1: PFC is not in sysfs
  mlx5_7 port 1: PFC is not in sysfs
    expected: PFC on the priority of RoCE packets and trust dscp, as on the switches
    why: without flow control RoCE loses packets under load, and retransmits everything after a loss
    fix (for the first): sudo mlnx_qos -i eth0, or dcb pfc show dev eth0; ethtool -S eth0 | grep -e pause -e discard
    source: [MLNX-flow-control] https://docs.nvidia.com/networking/display/MLNXENv571020/Flow+Control

ok: devices 1, peer_memory 1, distance 8, pcie 24, acs 32, iommu 1, link_state 7, link_rate 7, mtu 6, gid_index 7, counters 8, firmware 8, rdma_stack 1, driver 1, cuda 1, nccl 1, variables 1, locked_memory 1, numa_balancing 1, governor 1
)");
}

TEST_CASE("exit codes of doctor: healthy host, host without devices, bad command", "[doctor]") {
  const HostTree tree;
  write_healthy_host(tree, true);
  const Ran well = run_fabricast("doctor --json - --root " + tree.root());
  CHECK(well.code == 0);
  const auto json = nlohmann::json::parse(well.out);
  CHECK(json.at("host") == "dgx-7");
  CHECK(json.at("worst") == "unknown");
  CHECK(json.at("gpus").size() == 8);
  const HostTree bare;
  const Ran none = run_fabricast("doctor --root " + bare.root());
  CHECK(none.code == 3);
  CHECK(none.err == "unavailable: this host has no NVIDIA GPU and no RDMA device\n");
  CHECK(none.out.find("error: devices\n") != std::string::npos);
  const Ran nowhere = run_fabricast("doctor --root " + bare.root() + "/x");
  CHECK(nowhere.code == 2);
  CHECK(nowhere.err.find("is not a directory") != std::string::npos);
}

TEST_CASE("doctor reads tool output from files and from a pipe", "[doctor]") {
  const HostTree tree;
  write_healthy_host(tree, false);
  tree.write("xid.txt", "NVRM: Xid (PCI:0000:67:00): 79, GPU has fallen off the bus.\n");
  tree.write("link.txt", "GPU 0: NVIDIA H100 (UUID: GPU-0)\n\t Link 0: <inactive>\n");
  const std::string root = tree.root();
  const Ran both =
      run_fabricast("doctor --root " + root + " --text " + root + "/link.txt --text - < " + root + "/xid.txt");
  CHECK(both.code == 1);
  CHECK(both.out.find("error: nvlink\n  GPU 0 of nvidia-smi: 0 of 1 links active\n") != std::string::npos);
  CHECK(both.out.find("error: xid\n  gpu3 (0000:67:00): Xid 79: the GPU has fallen off the bus\n") !=
        std::string::npos);
  tree.write("other.txt", "hello\n");
  const Ran other = run_fabricast("doctor --root " + root + " --text " + root + "/other.txt");
  CHECK(other.code == 2);
  CHECK(other.err.find("other.txt:1:1: error: this is not the output of a command that doctor knows") !=
        std::string::npos);
  CHECK(run_fabricast("doctor --root " + root + " --text " + root + "/nowhere.txt").code == 2);
}

TEST_CASE("exit codes of doctor --fleet: equal hosts, an odd one, a damaged report, none", "[doctor]") {
  const HostTree tree;
  const auto report = [](const std::string& host, const std::string& driver) {
    return R"({"fabricast": "1", "schema": 1, "host": ")" + host + R"(", "facts": {"driver": ")" + driver +
           R"("}, "findings": []})";
  };
  tree.write("fleet/a.json", report("a", "550"));
  tree.write("fleet/b.json", report("b", "550"));
  tree.write("fleet/notes.txt", "not a report");
  const std::string fleet = "doctor --fleet " + tree.root() + "/fleet";
  const Ran alike = run_fabricast(fleet);
  CHECK(alike.code == 0);
  CHECK(alike.out.find("# 0 of 1 facts differ, 0 findings on some hosts, 0 on all; 0 files left out\n") !=
        std::string::npos);
  tree.write("fleet/c.json", report("c", "535"));
  const Ran odd = run_fabricast(fleet);
  CHECK(odd.code == 1);
  CHECK(odd.out.find("\ndiffers: driver\n  550: 2 hosts\n  535: 1 host: c\n") != std::string::npos);
  tree.remove("fleet/c.json");
  tree.write("fleet/d.json", "{\n \"fabricast\": ");
  const Ran damaged = run_fabricast(fleet);
  CHECK(damaged.code == 1);
  CHECK(damaged.err.find("fleet/d.json:2:") != std::string::npos);
  // A directory with the name of a report is left out as well.
  tree.write("fleet/e.json/x", "");
  const Ran folder = run_fabricast(fleet);
  CHECK(folder.code == 1);
  CHECK(folder.out.find("2 files left out\n") != std::string::npos);
  tree.remove("fleet/e.json");
  tree.remove("fleet/a.json");
  tree.remove("fleet/b.json");
  CHECK(run_fabricast(fleet).code == 2);
  tree.remove("fleet/d.json");
  CHECK(run_fabricast(fleet).code == 2);
  CHECK(run_fabricast(fleet + " --root /tmp").code == 2);
  CHECK(run_fabricast("doctor --fleet " + tree.root() + "/nowhere").code == 2);
}

}  // namespace
}  // namespace fabricast
