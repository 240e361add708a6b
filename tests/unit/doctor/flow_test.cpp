// PFC: the priorities that it protects, and the priority of NCCL's packets.
#include <catch2/catch.hpp>

#include "fabricast/calibrate/doctor.hpp"
#include "support/host_tree.hpp"

namespace fabricast {
namespace {

/// As `mlnx_qos -i DEV` prints it, with DSCP mapped by its upper three bits.
std::string mlnx_qos(const std::string& command, const std::string& trust, const std::string& enabled) {
  std::string text = command + "DCBX mode: OS controlled\nPriority trust state: " + trust + "\ndscp2prio mapping:\n";
  for (int p = 0; p < 8; ++p) {
    text += "\tprio:" + std::to_string(p) + " dscp:";
    for (int d = 7; d >= 0; --d) text += std::to_string(8 * p + d) + ",";
    text += "\n";
  }
  return text + "default priority:\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     " +
         enabled +
         "\n\tbuffer      0   0   0   1   0   0   0   0\ntc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  1\n";
}

/// Findings of a host whose one NIC is mlx5_3, on RoCE.
std::vector<std::string> port3(const HostTree& tree, const DoctorExtras& extras) {
  std::vector<std::string> list;
  for (const Finding& f : doctor(tree.root(), extras).findings)
    if (f.check == "flow_control" && f.subject == "mlx5_3 port 1")
      list.push_back(std::string(name_of(f.status)) + ": " + f.found);
  return list;
}

struct Host {
  Host() {
    tree.pci("pci0000:00/0000:00:01.0", "15b3", "1021", "020000", 0, 32, 16);
    tree.hca("mlx5_3", "pci0000:00/0000:00:01.0", true);
  }
  std::vector<std::string> with(const std::string& text) const { return port3(tree, {{}, {}, {{"qos.txt", text}}}); }
  HostTree tree;
};

using Words = std::vector<std::string>;

TEST_CASE("RoCE without PFC is found in the output of mlnx_qos", "[doctor]") {
  const Host host;
  CHECK(host.with(mlnx_qos("", "dscp", "0   0   0   0   0   0   0   0")) ==
        Words{"warning: PFC on priority none; packets of class 0 (NCCL_IB_TC is not set) have priority 0"});
  // The classic fault: PFC is on, but NCCL's packets have another priority.
  CHECK(host.with(mlnx_qos("", "dscp", "0   0   0   1   0   0   0   0")) ==
        Words{"warning: PFC on priority 3; packets of class 0 (NCCL_IB_TC is not set) have priority 0"});
  // Class 106 is DSCP 26, priority 3.
  host.tree.write("etc/nccl.conf", "NCCL_IB_TC=106\n");
  CHECK(host.with(mlnx_qos("", "dscp", "0   0   0   1   0   0   0   0")) ==
        Words{"ok: PFC on priority 3; packets of class 106 (NCCL_IB_TC) have priority 3"});
  CHECK(host.with(mlnx_qos("", "dscp", "0   0   0   0   1   0   0   0")).at(0).starts_with("warning"));
}

TEST_CASE("a class set for the port overrides NCCL_IB_TC, and trust pcp gives all packets one priority", "[doctor]") {
  const Host host;
  host.tree.write("sys/class/infiniband/mlx5_3/tc/1/traffic_class", "Global tclass=106\n");
  CHECK(host.with(mlnx_qos("", "dscp", "0   0   0   1   0   0   0   0")) ==
        Words{"ok: PFC on priority 3; packets of class 106 (set for the port) have priority 3"});
  const Words pcp = host.with(mlnx_qos("", "pcp", "0   0   0   1   0   0   0   0"));
  CHECK(
      pcp ==
      Words{"warning: PFC on priority 3; packets of class 106 (set for the port) have priority 0, because trust is pcp",
            "note: trust pcp"});
}

TEST_CASE("tool output counts for the interface that its command names", "[doctor]") {
  const Host host;
  const std::string on = "0   0   0   1   0   0   0   0", off = "0   0   0   0   0   0   0   0";
  host.tree.write("etc/nccl.conf", "NCCL_IB_TC=106\n");
  const std::string both = mlnx_qos("# mlnx_qos -i eth2\n", "dscp", off) + mlnx_qos("# mlnx_qos -i eth3\n", "dscp", on);
  CHECK(host.with(both).at(0).starts_with("ok"));
  CHECK(host.with(mlnx_qos("# mlnx_qos -i eth2\n", "dscp", on)) == Words{"unknown: PFC is not in sysfs"});
}

TEST_CASE("the output of dcb is read as well", "[doctor]") {
  const Host host;
  host.tree.write("etc/nccl.conf", "NCCL_IB_TC=106\n");
  CHECK(host.with("# dcb pfc show dev eth3\npfc-cap 8 macsec-bypass off delay 0\n"
                  "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n") ==
        Words{"ok: PFC on priority 3; packets of class 106 (NCCL_IB_TC) have priority 3"});
}

TEST_CASE("ECN is reported if the driver package shows it", "[doctor]") {
  const Host host;
  host.tree.write("sys/class/net/eth3/ecn/roce_np/enable/0", "1\n");
  host.tree.write("sys/class/net/eth3/ecn/roce_rp/enable/0", "1\n");
  const std::string none = mlnx_qos("", "dscp", "0   0   0   0   0   0   0   0");
  CHECK(host.with(none).at(0).ends_with("have priority 0; ECN on for 0"));
  host.tree.write("sys/class/net/eth3/ecn/roce_rp/enable/0", "0\n");
  CHECK(host.with(none).at(0).ends_with("have priority 0; ECN off for 0"));
}

TEST_CASE("the kernel's answer overrides tool output", "[doctor]") {
  const Host host;
  host.tree.write("etc/nccl.conf", "NCCL_IB_TC=106\n");
  DoctorExtras extras;
  extras.flow["eth3"] = {1u << 3, "dscp", {}};
  extras.texts = {{"qos.txt", mlnx_qos("", "dscp", "0   0   0   0   0   0   0   0")}};
  CHECK(port3(host.tree, extras).at(0).starts_with("ok"));
  // DSCP 26 may be mapped elsewhere.
  extras.flow["eth3"] = {1u << 3, "dscp", {{26, 5}}};
  CHECK(port3(host.tree, extras) ==
        Words{"warning: PFC on priority 3; packets of class 106 (NCCL_IB_TC) have priority 5"});
}

}  // namespace
}  // namespace fabricast
