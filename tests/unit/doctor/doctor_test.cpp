// A made-up healthy host, then one fault at a time.
#include "fabricast/calibrate/doctor.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "fabricast/core/error.hpp"
#include "support/host_tree.hpp"

namespace fabricast {
namespace {

const DoctorExtras all_4096 = [] {
  DoctorExtras extras;
  for (int i = 0; i < 8; ++i) extras.active_mtu[{"mlx5_" + std::to_string(i), 1}] = 4096;
  return extras;
}();

using Fault = std::function<void(const HostTree&)>;

DoctorReport look(
    bool ethernet, const Fault& fault = [](const HostTree&) {}, const DoctorExtras& extras = all_4096) {
  const HostTree tree;
  write_healthy_host(tree, ethernet);
  fault(tree);
  return doctor(tree.root(), extras);
}

/// Findings of at least this status, such as "error link_state mlx5_3 port 1: DOWN (Polling)".
std::vector<std::string> complaints(const DoctorReport& report, FindingStatus least = FindingStatus::warning) {
  std::vector<std::string> list;
  for (const Finding& f : report.findings)
    if (f.status >= least) {
      list.push_back(std::string(name_of(f.status)) + " " + f.check + " " + f.subject + ": " + f.found);
      CHECK_FALSE((f.why.empty() || f.fix.empty() || f.source.empty() || f.expected.empty()));
    }
  return list;
}

std::string environment(const std::string& words) {
  std::string text = words;
  for (char& c : text)
    if (c == ' ') c = '\0';
  return text;
}

TEST_CASE("a healthy InfiniBand host has nothing but good findings", "[doctor]") {
  const DoctorReport report = look(false);
  CHECK(complaints(report, FindingStatus::note).empty());
  CHECK(report.worst() == FindingStatus::ok);
  CHECK(report.host == "dgx-7");
  REQUIRE(report.gpus.size() == 8);
  REQUIRE(report.nics.size() == 8);
  REQUIRE(report.pairs.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(report.gpus[i].numa == static_cast<int>(i / 4));
    CHECK(report.pairs[i].nic == "mlx5_" + std::to_string(i));
    CHECK(report.pairs[i].distance == PciDistance::pix);
  }
  // Each link once: 8 root ports to switches, 8 GPUs, 8 NICs.
  CHECK(std::count_if(report.findings.begin(), report.findings.end(),
                      [](const Finding& f) { return f.check == "pcie"; }) == 24);
  CHECK(std::count_if(report.findings.begin(), report.findings.end(),
                      [](const Finding& f) { return f.check == "acs"; }) == 32);
}

TEST_CASE("a healthy RoCE host leaves only flow control open", "[doctor]") {
  const std::vector<std::string> list = complaints(look(true), FindingStatus::note);
  REQUIRE(list.size() == 8);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(list[i] == "unknown flow_control mlx5_" + std::to_string(i) + " port 1: PFC is not in sysfs");
}

struct Case {
  std::string name;
  Fault fault;
  std::vector<std::string> complaints;
};

void check_cases(bool ethernet, const std::vector<Case>& cases, FindingStatus least = FindingStatus::warning) {
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(complaints(look(ethernet, c.fault), least) == c.complaints);
  }
}

const std::string gpu3 = "sys/devices/" + gpu_folder(3), nic3 = "sys/devices/" + nic_folder(3);
const std::string port3 = "sys/class/infiniband/mlx5_3/ports/1/";

TEST_CASE("one fault of PCIe at a time is found, with its device", "[doctor]") {
  const std::string up3 = "sys/devices/" + switch_folder(3);
  check_cases(false, {{"GPU on 8 lanes",
                       [](const HostTree& t) { t.write(gpu3 + "/current_link_width", "8\n"); },
                       {"warning pcie gpu3 (0000:67:00.0): 32 GT/s x8"}},
                      {"NIC of Gen4",
                       [](const HostTree& t) { t.write(nic3 + "/current_link_speed", "16.0 GT/s PCIe\n"); },
                       {"warning pcie mlx5_3 (0000:68:00.0): 16 GT/s x16",
                        "warning pcie mlx5_3 (0000:68:00.0): 16 GT/s x16 carries 31.5 GB/s"}},
                      {"slot of Gen4",
                       [](const HostTree& t) {
                         for (const char* file : {"/current_link_speed", "/max_link_speed"}) {
                           t.write(nic3 + "/.." + file, "16.0 GT/s PCIe\n");
                           t.write(nic3 + file, "16.0 GT/s PCIe\n");
                         }
                       },
                       {"warning pcie mlx5_3 (0000:68:00.0): 16 GT/s x16 carries 31.5 GB/s"}},
                      {"switch on 4 lanes",
                       [&](const HostTree& t) { t.write(up3 + "/current_link_width", "4\n"); },
                       {"warning pcie switch 0000:65:00.0 above gpu3: 32 GT/s x4"}},
                      {"ACS on",
                       [&](const HostTree& t) { t.write(up3 + "/0000:66:00.0/config", acs_config(0x1d)); },
                       {"warning acs bridge 0000:66:00.0: SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+"}},
                      {"IOMMU translates",
                       [](const HostTree& t) { t.write("sys/kernel/iommu_groups/6/type", "DMA-FQ\n"); },
                       {"warning iommu mlx5_3: addresses are translated (DMA-FQ)"}},
                      {"no driver",
                       [](const HostTree& t) { t.remove(gpu3 + "/driver"); },
                       {"error devices gpu3 (0000:67:00.0): no driver is bound"}}});
}

TEST_CASE("intended or unreadable settings are no warning", "[doctor]") {
  check_cases(
      false,
      {{"idle GPU",
        [](const HostTree& t) { t.write(gpu3 + "/current_link_speed", "2.5 GT/s PCIe\n"); },
        {"note pcie gpu3 (0000:67:00.0): 2.5 GT/s x16"}},
       {"not root",
        [](const HostTree& t) {
          for (int i = 0; i < 8; ++i)
            for (const std::string& device : {gpu_folder(i), nic_folder(i)})
              for (const char* above : {"/..", "/../..", "/../../.."})
                t.write("sys/devices/" + device + above + "/config", acs_config(0).substr(0, 64));
        },
        {"unknown acs host: 32 bridges with unreadable configuration space"}},
       {"powersave",
        [](const HostTree& t) { t.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"); },
        {"note governor host: powersave on 1 of 1 CPUs"}},
       {"exempt from the limit",
        [](const HostTree& t) {
          t.write("proc/self/limits", "Max locked memory         8388608              8388608              bytes\n");
          t.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
        },
        {"note locked_memory host: 8192 KiB, but this process is exempt (CAP_IPC_LOCK)"}},
       {"NCCL without a name",
        [](const HostTree& t) {
          t.remove("usr/lib/x86_64-linux-gnu/libnccl.so.2");
          t.write("usr/lib/x86_64-linux-gnu/libnccl.so.2", "");
        },
        {"unknown nccl host: /usr/lib/x86_64-linux-gnu/libnccl.so.2: a file name contains no release"}},
       {"no NCCL",
        [](const HostTree& t) { t.remove("usr/lib/x86_64-linux-gnu/libnccl.so.2"); },
        {"note nccl host: no libnccl.so.2 in the loader's folders"}}},
      FindingStatus::note);
}

TEST_CASE("a NIC on the wrong socket is found by the GPU that lacks it", "[doctor]") {
  const std::string elsewhere = "pci0000:f8/0000:f8:01.0/0000:f9:00.0";
  const DoctorReport report = look(false, [&](const HostTree& t) {
    t.remove("sys/class/infiniband/mlx5_3");
    t.remove(nic3);
    t.pci("pci0000:f8/0000:f8:01.0", "8086", "352a", "060400", 1, 32, 16);
    t.pci(elsewhere, "15b3", "1021", "020700", 1, 32, 16);
    t.hca("mlx5_3", elsewhere, false);
  });
  CHECK(complaints(report) ==
        std::vector<std::string>{
            "warning distance gpu3 (0000:67:00.0): nearest free NIC mlx5_3 is sys: NUMA nodes 0 and 1"});
  const auto stated = [&](const std::string& words) {
    return look(false, [&](const HostTree& t) {
      t.remove("sys/class/infiniband/mlx5_3");
      t.remove(nic3);
      t.pci("pci0000:f8/0000:f8:01.0", "8086", "352a", "060400", 0, 32, 16);
      t.pci(elsewhere, "15b3", "1021", "020700", 0, 32, 16);
      t.hca("mlx5_3", elsewhere, false);
      t.write("proc/self/environ", environment(words));
    });
  };
  CHECK(complaints(stated("HOME=/root")) ==
        std::vector<std::string>{"warning distance gpu3 (0000:67:00.0): nearest free NIC mlx5_3 is node"});
  CHECK(complaints(stated("NCCL_NET_GDR_LEVEL=PHB")).empty());
  CHECK(complaints(stated("NCCL_NET_GDR_LEVEL=PXB")).size() == 1);
}

TEST_CASE("one fault of a port at a time is found, with its port", "[doctor]") {
  check_cases(false, {{"link down",
                       [](const HostTree& t) {
                         t.write(port3 + "state", "1: DOWN\n");
                         t.write(port3 + "phys_state", "2: Polling\n");
                       },
                       {"error link_state mlx5_3 port 1: DOWN (Polling)"}},
                      {"no subnet manager",
                       [](const HostTree& t) { t.write(port3 + "state", "2: INIT\n"); },
                       {"error link_state mlx5_3 port 1: INIT (LinkUp)"}},
                      {"slower than similar ports",
                       [](const HostTree& t) { t.write(port3 + "rate", "200 Gb/sec (2X NDR)\n"); },
                       {"warning link_rate mlx5_3 port 1: 200 Gb/s (2X NDR)"}},
                      {"symbol errors",
                       [](const HostTree& t) { t.write(port3 + "counters/symbol_error", "17\n"); },
                       {"warning counters mlx5_3 port 1: symbol_error 17, since an unknown time"}},
                      {"lost packets",
                       [](const HostTree& t) { t.write(port3 + "hw_counters/packet_seq_err", "5\n"); },
                       {"warning counters mlx5_3 port 1: packet_seq_err 5, since an unknown time"}},
                      {"timeouts",
                       [](const HostTree& t) {
                         t.write(port3 + "hw_counters/local_ack_timeout_err", "2\n");
                         t.write(port3 + "hw_counters/implied_nak_seq_err", "3\n");
                       },
                       {"warning counters mlx5_3 port 1: local_ack_timeout_err 2, since an unknown time",
                        "warning counters mlx5_3 port 1: implied_nak_seq_err 3, since an unknown time"}},
                      {"firmware",
                       [](const HostTree& t) { t.write(port3 + "../../fw_ver", "28.37.1014\n"); },
                       {"warning firmware mlx5_3: 28.37.1014 on MT_0000000838"}},
                      {"no verbs devices",
                       [](const HostTree& t) { t.remove("sys/class/infiniband_verbs"); },
                       {"error rdma_stack host: no uverbs device"}},
                      {"mixed modules",
                       [](const HostTree& t) { t.remove("sys/module/mlx5_ib/version"); },
                       {"warning rdma_stack host: mlx5_core 24.04-0.6.6, mlx5_ib in-tree"}}});
  const auto low = complaints(look(
      false, [](const HostTree&) {},
      [] {
        DoctorExtras extras = all_4096;
        extras.active_mtu[{"mlx5_3", 1}] = 2048;
        return extras;
      }()));
  CHECK(low == std::vector<std::string>{"warning mtu mlx5_3 port 1: 2048"});
  CHECK(look(false, [](const HostTree&) {}, {}).count(FindingStatus::unknown) == 8);
}

TEST_CASE("on Arm, translation and redirection may be intended", "[doctor]") {
  const auto list = complaints(look(false,
                                    [](const HostTree& t) {
                                      t.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
                                      t.write("sys/kernel/iommu_groups/6/type", "DMA\n");
                                      t.write("sys/devices/" + switch_folder(3) + "/config", acs_config(0x1c));
                                    }),
                               FindingStatus::note);
  CHECK(list == std::vector<std::string>{"note acs bridge 0000:65:00.0: ReqRedir+ CmpltRedir+ UpstreamFwd+",
                                         "note iommu mlx5_3: addresses are translated (DMA)"});
}

TEST_CASE("trust pcp is noted if the driver reports it", "[doctor]") {
  const auto with = [](const std::string& trust) {
    const DoctorReport report =
        look(true, [&](const HostTree& t) { t.write("sys/class/net/eth3/qos/trust", trust + "\n"); });
    return report.count(FindingStatus::note);
  };
  CHECK(with("pcp") == 1);
  CHECK(with("dscp") == 0);
}

TEST_CASE("a NIC that serves no GPU may be down", "[doctor]") {
  const auto with = [](const std::string& board, const std::string& pci, const std::string& vendor) {
    return complaints(look(false,
                           [&](const HostTree& t) {
                             if (!vendor.empty()) t.pci(pci, vendor, "1021", "020700", 1, 32, 16);
                             t.hca("mlx5_8", pci, false);
                             const std::string at = "sys/class/infiniband/mlx5_8/";
                             t.write(at + "board_id", board + "\n");
                             t.write(at + "ports/1/state", "1: DOWN\n");
                             t.write(at + "ports/1/phys_state", "3: Disabled\n");
                           }),
                      FindingStatus::note);
  };
  using List = std::vector<std::string>;
  const std::string slot = "pci0000:f8/0000:f8:00.0";
  CHECK(with("STORAGE", slot, "15b3") == List{"note link_state mlx5_8 port 1: DOWN (Disabled)"});
  CHECK(with("MT_0000000838", slot, "15b3") == List{"warning link_state mlx5_8 port 1: DOWN (Disabled)"});
  // The second function of a card whose first is up.
  std::string second = nic_folder(3);
  second.back() = '1';
  CHECK(with("MT_0000000838", second, "15b3") == List{"note link_state mlx5_8 port 1: DOWN (Disabled)"});
}

TEST_CASE("a virtual machine does not show its switches", "[doctor]") {
  const auto guest = [](const std::string& words) {
    const HostTree t;
    t.write("proc/cpuinfo", "flags\t\t: fpu hypervisor vme\n");
    t.write("proc/sys/kernel/osrelease", "6.8.0\n");
    t.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  R\n");
    t.write("proc/self/environ", environment(words));
    t.write("etc/topo.xml", "<system/>");
    t.write("sys/bus/pci/drivers/nvidia/bind", "");
    t.pci("pci0001:00/0001:00:00.0", "10de", "2330", "030200", 0, 32, 16);
    t.link("sys/devices/pci0001:00/0001:00:00.0/driver", "sys/bus/pci/drivers/nvidia");
    t.pci("pci0101:00/0101:00:00.0", "15b3", "101e", "020700", 0, 0, 0);
    t.hca("mlx5_0", "pci0101:00/0101:00:00.0", false);
    std::vector<std::string> list;
    for (const Finding& f : doctor(t.root(), all_4096).findings)
      if (f.check == "distance" || f.check == "acs" || f.check == "pcie" || f.check == "peer_memory")
        list.push_back(std::string(name_of(f.status)) + " " + f.check + " " + f.subject);
    return list;
  };
  using List = std::vector<std::string>;
  CHECK(guest("HOME=/") == List{"ok peer_memory host", "warning distance gpu0 (0001:00:00.0)",
                                "ok pcie gpu0 (0001:00:00.0)", "unknown pcie mlx5_0 (0101:00:00.0)",
                                "unknown acs host"});
  CHECK(guest("NCCL_TOPO_FILE=/etc/topo.xml").at(1) == "note distance gpu0 (0001:00:00.0)");
}

TEST_CASE("one fault of RoCE at a time is found, with its port", "[doctor]") {
  check_cases(
      true,
      {{"MTU",
        [](const HostTree& t) { t.write("sys/class/net/eth3/mtu", "1500\n"); },
        {"warning mtu mlx5_3 port 1: 1500 on eth3: packets of 1024 bytes"}},
       {"just too small",
        [](const HostTree& t) { t.write("sys/class/net/eth3/mtu", "4191\n"); },
        {"warning mtu mlx5_3 port 1: 4191 on eth3: packets of 2048 bytes"}},
       {"just enough", [](const HostTree& t) { t.write("sys/class/net/eth3/mtu", "4192\n"); }, {}},
       {"no IPv4",
        [](const HostTree& t) { t.remove(port3 + "gids/3"); },
        {"error gid_index mlx5_3 port 1: no index of RoCE v2 over IP"}},
       {"index right", [](const HostTree& t) { t.write("proc/self/environ", environment("NCCL_IB_GID_INDEX=3")); }, {}},
       {"index empty on one port",
        [](const HostTree& t) {
          t.write("proc/self/environ", environment("NCCL_IB_GID_INDEX=3"));
          t.write(port3 + "gids/3", "0000:0000:0000:0000:0000:0000:0000:0000\n");
          t.write(port3 + "gids/5", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
          t.write(port3 + "gid_attrs/types/5", "RoCE v2\n");
        },
        {"error gid_index mlx5_3 port 1: NCCL_IB_GID_INDEX=3 (environment): empty"}}});
  const auto v1 =
      complaints(look(true, [](const HostTree& t) { t.write("etc/nccl.conf", "# ours\nNCCL_IB_GID_INDEX=1\n"); }));
  REQUIRE(v1.size() == 8);
  CHECK(v1[3] == "warning gid_index mlx5_3 port 1: NCCL_IB_GID_INDEX=1 (/etc/nccl.conf): RoCE v2, link-local");
}

TEST_CASE("one fault of software at a time is found", "[doctor]") {
  const std::string closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5\n";
  check_cases(
      false,
      {{"nothing for GPU memory",
        [&](const HostTree& t) {
          t.remove("sys/module/nvidia_peermem");
          t.write("proc/driver/nvidia/version", closed);
        },
        {"error peer_memory host: nvidia_peermem is not loaded, and DMA-BUF is unavailable: NVIDIA's closed kernel "
         "module"}},
       {"old kernel",
        [](const HostTree& t) {
          t.remove("sys/module/nvidia_peermem");
          t.write("proc/sys/kernel/osrelease", "5.4.0-150-generic\n");
        },
        {"error peer_memory host: nvidia_peermem is not loaded, and DMA-BUF is unavailable: kernel 5.4.0-150-generic"}},
       {"DMA-BUF will do", [](const HostTree& t) { t.remove("sys/module/nvidia_peermem"); }, {}},
       {"library of another release",
        [](const HostTree& t) {
          t.write("usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07", "");
          t.link("usr/lib/x86_64-linux-gnu/libcuda.so.1", "usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07");
        },
        {"error driver host: module 550.54.15, /usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07"}},
       {"driver too old for the toolkit",
        [](const HostTree& t) { t.write("usr/local/cuda/version.json", R"({"cuda": {"version": "13.0.0"}})"); },
        {"error cuda host: CUDA 13.0.0 in /usr/local/cuda, driver 550.54.15"}},
       {"two NCCLs",
        [](const HostTree& t) {
          t.write("opt/nccl/lib/libnccl.so.2.27.3", "");
          t.link("opt/nccl/lib/libnccl.so.2", "opt/nccl/lib/libnccl.so.2.27.3");
          t.write("etc/ld.so.conf.d/nccl.conf", "/opt/nccl/lib\n");
        },
        {"warning nccl host: /opt/nccl/lib/libnccl.so.2.27.3, /usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5"}},
       {"little locked memory",
        [](const HostTree& t) {
          t.write("proc/self/limits", "Max locked memory         65536                65536                bytes\n");
        },
        {"error locked_memory host: 64 KiB"}},
       {"NUMA balancing",
        [](const HostTree& t) { t.write("proc/sys/kernel/numa_balancing", "1\n"); },
        {"warning numa_balancing host: on (1)"}}});
}

TEST_CASE("harmful variables are found, with where they are set", "[doctor]") {
  const auto with = [](const std::string& words) {
    return complaints(look(false, [&](const HostTree& t) { t.write("proc/self/environ", environment(words)); }));
  };
  using List = std::vector<std::string>;
  CHECK(with("NCCL_P2P_DISABLE=1") == List{"error variables NCCL_P2P_DISABLE: 1 (environment)"});
  CHECK(with("NCCL_P2P_DISABLE=0").empty());
  CHECK(with("NCCL_IB_DISABLE=1") == List{"error variables NCCL_IB_DISABLE: 1 (environment)"});
  CHECK(with("NCCL_DEBUG=TRACE") == List{"warning variables NCCL_DEBUG: TRACE (environment)"});
  CHECK(with("NCCL_IB_HCA=mlx5").empty());
  CHECK(with("NCCL_IB_HCA=^mlx4").empty());
  CHECK(with("NCCL_IB_HCA=ibp") == List{"error variables NCCL_IB_HCA: ibp (environment)"});
  CHECK(with("NCCL_IB_HCA==mlx5") == List{"error variables NCCL_IB_HCA: =mlx5 (environment)"});
  CHECK(with("NCCL_IB_HCA=mlx5_0:1,mlx5_1:1") ==
        List{"warning variables NCCL_IB_HCA: mlx5_0:1,mlx5_1:1 (environment)"});
  CHECK(with("NCCL_SOCKET_IFNAME=eth").empty());
  CHECK(with("NCCL_SOCKET_IFNAME=bond0") == List{"error variables NCCL_SOCKET_IFNAME: bond0 (environment)"});
  CHECK(with("NCCL_TOPO_FILE=/etc/topo.xml") == List{"error variables NCCL_TOPO_FILE: /etc/topo.xml (environment)"});
  const auto file = complaints(look(false, [](const HostTree& t) {
    t.write("etc/nccl.conf", "NCCL_SHM_DISABLE = 1\nNCCL_DEBUG=TRACE\n");  // the environment has NCCL_DEBUG=WARN
  }));
  CHECK(file == List{"warning variables NCCL_SHM_DISABLE: 1 (/etc/nccl.conf)"});
}

TEST_CASE("a host without devices is reported, and a missing root is rejected", "[doctor]") {
  const HostTree tree;
  const DoctorReport report = doctor(tree.root());
  CHECK(report.gpus.empty());
  CHECK(report.nics.empty());
  const std::vector<std::string> list = complaints(report);
  REQUIRE(list.size() == 2);
  CHECK(list[0] == "error devices host: 0 NVIDIA GPUs, 0 RDMA devices");
  CHECK_THROWS_AS(doctor(tree.root() + "/nowhere"), UserError);
}

TEST_CASE("links out of a copied tree are not followed", "[doctor]") {
  const HostTree tree;
  tree.write("proc/sys/kernel/hostname", "copy\n");
  tree.link("proc/cmdline", "../../../../../../../etc/passwd");
  tree.link("proc/sys/kernel/osrelease", "../../../../../../../../../../proc/sys/kernel/osrelease");
  CHECK(doctor(tree.root()).kernel.empty());
}

TEST_CASE("damaged files do not crash the doctor", "[doctor]") {
  const std::string bad[] = {"", "\n", "x", "-", "99999999999999999999 GT/s", std::string(70000, '9'), "\xff\xfe"};
  for (const std::string& text : bad)
    look(true, [&](const HostTree& t) {
      for (const std::string& file :
           {port3 + "state", port3 + "rate", port3 + "gids/3", port3 + "gid_attrs/types/3",
            port3 + "counters/symbol_error", gpu3 + "/numa_node", gpu3 + "/current_link_speed",
            gpu3 + "/max_link_width", nic3 + "/../config", std::string("proc/self/limits"),
            std::string("proc/self/status"), std::string("proc/self/environ"), std::string("etc/nccl.conf"),
            std::string("proc/cpuinfo"), std::string("proc/driver/nvidia/version"),
            std::string("usr/local/cuda/version.json"), std::string("proc/sys/kernel/osrelease")})
        t.write(file, text);
      CHECK_FALSE(doctor_text(doctor(t.root()), "9.9").empty());
    });
}

TEST_CASE("the worst findings come first, and similar ones are grouped", "[doctor]") {
  const DoctorReport report = look(true, [](const HostTree& t) {
    t.write("sys/class/net/eth3/mtu", "1500\n");
    t.write("sys/class/net/eth5/mtu", "1500\n");
    t.write(port3 + "../../fw_ver", "28.37.1014\n");
    t.write("proc/self/environ", environment("NCCL_P2P_DISABLE=1"));
  });
  const std::string text = doctor_text(report, "9.9");
  CHECK(text.find("# 1 error, 3 warnings, 8 unknown, 0 notes,") != std::string::npos);
  CHECK(text.find("error: variables") < text.find("warning: mtu"));
  CHECK(text.find("warning: mtu") < text.find("warning: firmware"));
  CHECK(text.find("  mlx5_3 port 1: 1500 on eth3: packets of 1024 bytes\n"
                  "  mlx5_5 port 1: 1500 on eth5: packets of 1024 bytes\n    expected:") != std::string::npos);
  CHECK(text.find("#   gpu3   0000:67:00.0  mlx5_3       pix\n") != std::string::npos);
  const auto json = nlohmann::json::parse(doctor_json(report, "9.9"));
  CHECK(json.at("worst") == "error");
  CHECK(json.at("findings").size() == report.findings.size());
  CHECK(json.at("pairs").at(7).at("distance") == "pix");
}

}  // namespace
}  // namespace fabricast
