// Doctor: is this host ready for fast collectives?
//
// All is read from files: sysfs, procfs, a few of /etc, /boot and /usr, below a root that may be a copy of another
// host's; and from what the user's tools have printed (`nvidia-smi -q`, `dmesg`, ...). Nothing is measured, nothing is changed,
// no library of NVIDIA's is called. What can not be read is a finding too: `unknown`, with the command that tells.
//
// What it does not see: switches, cables and the other hosts; a hypervisor around the host; what a container hides.
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

/// From good to bad; text is sorted by it.
///   note     worth knowing, and may be meant
///   unknown  can not be read here; `fix` is the command that tells
///   warning  costs speed, or shows that something is not well
///   error    collectives fail, or lose a large part of their rate
enum class FindingStatus { ok, note, unknown, warning, error };

template <>
struct EnumNames<FindingStatus> {
  static constexpr std::array<std::string_view, 5> names{"ok", "note", "unknown", "warning", "error"};
};

/// How a GPU and a NIC are joined, nearest first; words of `nvidia-smi topo -m`.
///   pix   one PCIe switch               node  two host bridges of one NUMA node
///   pxb   several PCIe switches         sys   across sockets
///   phb   one host bridge of the CPU
enum class PciDistance { pix, pxb, phb, node, sys };

template <>
struct EnumNames<PciDistance> {
  static constexpr std::array<std::string_view, 5> names{"pix", "pxb", "phb", "node", "sys"};
};

struct Finding {
  std::string check;    ///< a name of `doctor_checks()`
  std::string subject;  ///< device, port, variable, or "host"
  FindingStatus status = FindingStatus::ok;
  std::string found, expected;
  std::string why;     ///< what it costs; empty if ok
  std::string fix;     ///< a command or setting; empty if ok
  std::string source;  ///< of the expectation: a key of docs/references.md, and an address
};

struct DoctorGpu {
  std::string name;     ///< "gpu0": in order of PCI addresses
  std::string address;  ///< "0000:1b:00.0"
  std::string id;       ///< "10de:2330"
  int numa = -1;        ///< -1: not told
};

struct DoctorNic {
  std::string name;                           ///< "mlx5_0"
  std::string address, id, driver, firmware;  ///< empty: not told; a software device has no address
  int numa = -1;
};

/// The NIC that serves a GPU best if each NIC serves as few GPUs as can be.
struct DoctorPair {
  std::string gpu, nic;
  PciDistance distance = PciDistance::sys;
};

/// Of the report as JSON; it changes when a field changes its meaning or goes.
inline constexpr int doctor_schema = 1;

struct DoctorReport {
  std::string host, kernel, root;
  std::vector<DoctorGpu> gpus;
  std::vector<DoctorNic> nics;  ///< RDMA devices
  std::vector<DoctorPair> pairs;
  /// What should be alike on like hosts, name and value; what is not told is left out.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Finding> findings;  ///< in the order of `doctor_checks()`, then of devices

  std::size_t count(FindingStatus status) const;
  FindingStatus worst() const;
};

struct DoctorCheck {
  std::string_view name, summary;
};

/// What is checked, in order.
std::vector<DoctorCheck> doctor_checks();

/// Priority flow control of a network interface, as far as it is told.
struct PriorityFlow {
  std::optional<unsigned> pfc;          ///< a bit for each priority that is paused instead of dropped
  std::string trust;                    ///< "dscp" or "pcp": what of a packet names its priority; empty: not told
  std::map<int, int> priority_of_dscp;  ///< where it is not the upper three bits
};

/// What a tool printed; `name` is for messages.
struct ToolText {
  std::string name, content;
};

/// What files do not tell.
struct DoctorExtras {
  /// Bytes that a packet of an InfiniBand port carries, by device and port.
  std::map<std::pair<std::string, int>, int> active_mtu;
  /// What the kernel says by netlink, by network interface.
  std::map<std::string, PriorityFlow> flow;
  /// Of nvidia-smi, dmesg, systemctl, nvidia-imex-ctl, mlnx_qos, dcb; recognised by their content.
  std::vector<ToolText> texts;
};

/// Looks at the host whose files are below `root`.
/// \throws UserError if that is not a folder, or a text is of no tool that is known
DoctorReport doctor(const std::string& root, const DoctorExtras& extras = {});

/// The worst first; findings that differ in their subject alone are told together.
std::string doctor_text(const DoctorReport& report, std::string_view version);
std::string doctor_json(const DoctorReport& report, std::string_view version);

}  // namespace fabricast
