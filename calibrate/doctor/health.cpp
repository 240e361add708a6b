// Error counters, firmware and drivers of RDMA devices.
//
// Counters count since the driver was loaded or they were cleared, an unknown time. Any count above zero is therefore
// shown, and the fix says to watch whether it rises.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "checks.hpp"

namespace fabricast {

namespace {

struct Counter {
  const char* file;
  FindingStatus status;
  const char* why;
  const char* fix;
};

constexpr const char* cable = "sudo mlxlink -d DEVICE -m -c; clean or swap cable and module; check the switch port too";
constexpr const char* loss =
    "set PFC on the priority of NCCL_IB_TC at NICs and switches, and ECN with DCQCN; look for drops and pauses along "
    "the path: ethtool -S NETDEV, switch counters";
constexpr const char* late =
    "set PFC and ECN as for lost packets; NCCL_IB_TIMEOUT=14 waits 67 ms instead of seconds; check whether the peer is "
    "alive";
constexpr const char* congested = "ethtool -S NETDEV | grep -E 'prio|discards'; switches: ECN marks before PFC pauses";
constexpr const char* peer = "check the peer and the counters of the fabric: ibqueryerrors on InfiniBand";

/// Every count above zero is reported, with a status by its meaning. Names are those of the kernel
/// [Linux-abi-infiniband].
constexpr std::array counters = {
    Counter{"counters/symbol_error", FindingStatus::warning, "bits are misread: cable, module or port", cable},
    Counter{"counters/link_downed", FindingStatus::warning,
            "the link was lost; a count of one or two may be restarts of a switch", cable},
    Counter{"counters/link_error_recovery", FindingStatus::warning,
            "the link was retrained, and no data flowed meanwhile", cable},
    Counter{"counters/port_rcv_errors", FindingStatus::warning, "packets arrived damaged", cable},
    Counter{"counters/local_link_integrity_errors", FindingStatus::warning, "link errors exceeded the threshold",
            cable},
    Counter{"counters/excessive_buffer_overrun_errors", FindingStatus::warning,
            "flow control failed: a buffer overflowed", peer},
    Counter{"counters/port_rcv_remote_physical_errors", FindingStatus::note,
            "packets arrived that were already marked bad elsewhere", peer},
    Counter{"counters/port_xmit_discards", FindingStatus::warning,
            "packets were dropped here: congestion, or port down", peer},
    Counter{"hw_counters/packet_seq_err", FindingStatus::warning, "peers report lost packets, which are retransmitted",
            loss},
    Counter{"hw_counters/local_ack_timeout_err", FindingStatus::warning,
            "no acknowledgement in time: the last packet or a retransmission was lost, or the peer is gone", late},
    Counter{"hw_counters/implied_nak_seq_err", FindingStatus::warning,
            "gaps in acknowledgements: responses were lost, which are requested again", loss},
    Counter{"hw_counters/roce_adp_retrans_to", FindingStatus::warning,
            "lost packets were retransmitted after a long timeout: short timeouts did not help", late},
    Counter{"hw_counters/duplicate_request", FindingStatus::note,
            "peers retransmitted packets that had arrived: acknowledgements were lost or late", loss},
    Counter{"hw_counters/roce_slow_restart", FindingStatus::note, "the NIC started slowly after a loss", congested},
    Counter{"hw_counters/roce_adp_retrans", FindingStatus::warning,
            "lost packets were retransmitted after a short timeout", loss},
    Counter{"hw_counters/out_of_sequence", FindingStatus::note,
            "packets arrived out of order: loss, or adaptive routing, where this is normal", loss},
    Counter{"hw_counters/rnr_nak_retry_err", FindingStatus::note,
            "a receiver had no buffer ready: its process was slow", "look for slow ranks; this is not a network fault"},
    Counter{"hw_counters/rx_icrc_encapsulated", FindingStatus::warning, "RoCE packets arrived with a wrong checksum",
            cable},
};

/// The most frequent value; of equally frequent ones, the newest.
std::string usual(const std::vector<std::string>& values) {
  std::map<std::string, int> count;
  for (const std::string& v : values) ++count[v];
  const auto best = std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : natural_less(a.first, b.first);
  });
  return best->first;
}

}  // namespace

Findings check_counters(const HostFiles& host) {
  Findings found;
  const std::string expected = "0";
  for (const RdmaNic& nic : host.nics)
    for (const RdmaPort& port : nic.ports) {
      bool read = false, clean = true;
      for (const Counter& c : counters) {
        const std::optional<double> value = host.tree.number(port.folder + "/" + c.file);
        // Which counters exist depends on the driver and on the link layer.
        if (!value) continue;
        read = true;
        if (*value <= 0) continue;
        clean = false;
        std::string fix = c.fix;
        if (const std::size_t at = fix.find("DEVICE"); at != std::string::npos) fix.replace(at, 6, nic.name);
        if (const std::size_t at = fix.find("NETDEV"); at != std::string::npos && !port.netdev.empty())
          fix.replace(at, 6, port.netdev);
        const std::string name = c.file;
        found.push_back({"", port_name(nic, port), c.status,
                         fmt::format("{} {:.0f}, since an unknown time", name.substr(name.find('/') + 1), *value),
                         expected, c.why, fix + "; check after a job whether it rises",
                         std::string(from::kernel_rdma)});
      }
      if (read && clean) found.push_back(good(port_name(nic, port), "all 0", expected, from::kernel_rdma));
      if (!read)
        found.push_back({"", port_name(nic, port), FindingStatus::unknown, "no known error counter in sysfs", expected,
                         "link errors go unnoticed", "sudo perfquery -x; ethtool -S NETDEV",
                         std::string(from::kernel_rdma)});
    }
  return found;
}

Findings check_firmware(const HostFiles& host) {
  std::map<std::string, std::vector<std::string>> by_kind;
  // The host's own NICs are the standard. Which release is best is not judged.
  for (const RdmaNic& nic : host.nics)
    if (!nic.firmware.empty() && !nic.kind().empty()) by_kind[nic.kind()].push_back(nic.firmware);
  Findings found;
  for (const RdmaNic& nic : host.nics) {
    if (nic.firmware.empty() || nic.kind().empty()) continue;
    const std::string expected = usual(by_kind[nic.kind()]), is = nic.firmware + " on " + nic.kind();
    if (nic.firmware == expected)
      found.push_back(good(nic.name, is, expected, from::likeness));
    else
      found.push_back({"", nic.name, FindingStatus::warning, is, expected + ", as on similar NICs",
                       "firmware sets congestion control, retries and PCIe settings: similar NICs behave differently",
                       "sudo mlxfwmanager, or flint -d " + nic.name + " query; update all to one release",
                       std::string(from::likeness)});
  }
  return found;
}

Findings check_rdma_stack(const HostFiles& host) {
  if (host.nics.empty()) return {};
  Findings found;
  const std::string expected = "one release of all RDMA modules, and /dev/infiniband/uverbs*";
  std::set<std::string> releases;
  std::string is;
  for (const char* module : {"mlx5_core", "mlx5_ib"})
    if (const std::string folder = std::string("sys/module/") + module; host.tree.has(folder)) {
      const std::string version = host.tree.line(folder + "/version");
      // Modules of the kernel have no version file, so the empty text stands for "in-tree" and differs from any
      // release.
      releases.insert(version);
      is += fmt::format("{}{} {}", is.empty() ? "" : ", ", module, version.empty() ? "in-tree" : version);
    }
  if (releases.size() > 1)
    found.push_back({"", "host", FindingStatus::warning, is, expected,
                     "in-tree modules and modules of NVIDIA's package are mixed",
                     "ofed_info -s; /etc/init.d/openibd restart, or rebuild the initramfs and reboot",
                     std::string(from::network_guide)});
  else if (!is.empty())
    found.push_back(good("host", is, expected, from::network_guide));
  const auto has_verbs = [&](const std::string& folder) {
    for (const std::string& name : host.tree.names(folder))
      if (name.starts_with("uverbs")) return true;
    return false;
  };
  // A copy of a host has no /dev.
  if (!has_verbs("sys/class/infiniband_verbs") || (host.tree.has("dev") && !has_verbs("dev/infiniband")))
    found.push_back({"", "host", FindingStatus::error, "no uverbs device", expected,
                     "programs cannot use the RDMA devices: NCCL falls back to sockets",
                     "modprobe ib_uverbs; a container needs --device /dev/infiniband",
                     std::string(from::network_guide)});
  return found;
}

}  // namespace fabricast
