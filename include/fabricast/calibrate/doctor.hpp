// `fabricast doctor`: is this host ready for fast collectives?
//
// The doctor reads files: sysfs, procfs and a few of /etc, /boot and /usr, below a root that may be a copy of another
// host's files. It also reads output of other tools that the user passes (`nvidia-smi -q`, `dmesg`, ...). It measures
// nothing, changes nothing, and calls no library of NVIDIA's. Something that cannot be read is a finding too,
// `unknown`, with the command that shows it. docs/calibrate/doctor.md lists the checks and their expectations.
//
// Not seen: switches, cables and other hosts; a hypervisor; what a container hides; NVLink, Xids and clocks without the
// output of their tools.
//
// No function keeps state, so calls may run concurrently.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// From good to bad. The text report starts with the worst.
///   ok       as it should be
///   note     worth knowing, and may be intended
///   unknown  cannot be read here; `fix` is the command that shows it
///   warning  costs speed, or shows that something is wrong
///   error    collectives fail, or lose a large part of their rate
enum class FindingStatus { ok, note, unknown, warning, error };

template <>
struct EnumNames<FindingStatus> {
  static constexpr std::array<std::string_view, 5> names{"ok", "note", "unknown", "warning", "error"};
};

/// The path between a GPU and a NIC, nearest first, in the terms of `nvidia-smi topo -m`:
///   pix   one PCIe switch               node  two host bridges of one NUMA node
///   pxb   several PCIe switches         sys   across CPU sockets
///   phb   one host bridge of the CPU
enum class PciDistance { pix, pxb, phb, node, sys };

template <>
struct EnumNames<PciDistance> {
  static constexpr std::array<std::string_view, 5> names{"pix", "pxb", "phb", "node", "sys"};
};

/// The result of one check on one subject. All texts are printable.
struct Finding {
  std::string check;    ///< a name of `doctor_checks()`
  std::string subject;  ///< device, port, variable, or "host"
  FindingStatus status = FindingStatus::ok;
  std::string found, expected;
  std::string why;     ///< why it matters; empty if ok
  std::string fix;     ///< a command or setting; empty if ok
  std::string source;  ///< of the expectation: a key of docs/references.md, and a URL or file
};

/// An NVIDIA GPU on the PCI bus, with or without a driver.
struct DoctorGpu {
  std::string name;     ///< "gpu0", "gpu1", ... in the order of PCI addresses
  std::string address;  ///< "0000:1b:00.0"
  std::string id;       ///< vendor and device: "10de:2330"
  int numa = -1;        ///< NUMA node; -1: unknown
};

/// An RDMA device.
struct DoctorNic {
  std::string name;                           ///< "mlx5_0"
  std::string address, id, driver, firmware;  ///< empty: unknown; a software device has no address
  int numa = -1;                              ///< NUMA node; -1: unknown
};

/// The NIC assigned to a GPU: the nearest one, under the constraint that no NIC serves more GPUs than necessary.
struct DoctorPair {
  std::string gpu, nic;
  PciDistance distance = PciDistance::sys;
};

/// Version of the JSON report. It increases when a field changes its meaning or is removed.
inline constexpr int doctor_schema = 1;

/// What was found on one host.
struct DoctorReport {
  std::string host, kernel;  ///< host name and kernel release; empty: unknown
  std::string root;          ///< that was examined; `/` is this host
  std::vector<DoctorGpu> gpus;
  std::vector<DoctorNic> nics;  ///< RDMA devices
  std::vector<DoctorPair> pairs;
  /// Names and values that should be equal on similar hosts, for comparing a fleet. Unknown ones are left out.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Finding> findings;  ///< in the order of `doctor_checks()`, then of devices

  /// The number of findings with this status.
  std::size_t count(FindingStatus status) const;
  /// The worst status of all findings; ok if there are none.
  FindingStatus worst() const;
};

/// A check. Its name is that of its findings; both texts are constant.
struct DoctorCheck {
  std::string_view name, summary;
};

/// All checks, in the order in which they run.
std::vector<DoctorCheck> doctor_checks();

/// Priority flow control (PFC) of a network interface, as far as it is known.
struct PriorityFlow {
  std::optional<unsigned> pfc;          ///< bit mask of the priorities that are paused instead of dropped
  std::string trust;                    ///< packet field that selects the priority: "dscp" or "pcp"; empty: unknown
  std::map<int, int> priority_of_dscp;  ///< mapped DSCPs; the priority of any other is its upper three bits
};

/// Output of a tool; `name` is for messages.
struct ToolText {
  std::string name, content;
};

/// Facts about the host that its files do not contain.
struct DoctorExtras {
  /// Payload of a packet of an InfiniBand port in bytes, by device and port (port_mtu.hpp).
  std::map<std::pair<std::string, int>, int> active_mtu;
  /// PFC as the kernel reports it by netlink, by network interface (port_flow.hpp).
  std::map<std::string, PriorityFlow> flow;
  /// Output of nvidia-smi, dmesg, systemctl, nvidia-imex-ctl, mlnx_qos or dcb, recognised by its content. One text may
  /// hold the output of several commands.
  std::vector<ToolText> texts;
};

/// Checks the host whose files are below `root`. Files that cannot be read are no error: findings are `unknown` then.
/// \throws UserError if `root` is not a directory, or if a text holds no output of a known tool
DoctorReport doctor(const std::string& root, const DoctorExtras& extras = {});

/// The report as text, the worst findings first. Findings that differ only in their subjects are grouped.
/// \param version  of Fabricast, for the heading
std::string doctor_text(const DoctorReport& report, std::string_view version);
/// The report as JSON (docs/formats.md).
std::string doctor_json(const DoctorReport& report, std::string_view version);

}  // namespace fabricast
