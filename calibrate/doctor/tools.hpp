// Facts from the output of other tools, which the user passes as text. Output is recognised by its content, and one
// text may hold that of several commands:
//
//   nvidia-smi -q                                clocks, power, state of the NVLink fabric
//   nvidia-smi nvlink -s, -e                     links and their errors
//   dmesg, journalctl -k                         Xid and SXid
//   systemctl status nvidia-fabricmanager        also nvidia-imex
//   nvidia-imex-ctl -N                           nodes of an NVLink domain
//   mlnx_qos -i DEV, dcb pfc show dev DEV        PFC
//
// The formats follow the tools' documentation. Unknown lines are ignored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/calibrate/doctor.hpp"

namespace fabricast {

/// A GPU of `nvidia-smi -q`.
struct SmiGpu {
  std::string address;                        ///< "00000000:1B:00.0"
  std::map<std::string, std::string> values;  ///< by "Section/Key"; keys without a section are "/Key"
  /// The value at "Section/Key"; empty if there is none.
  std::string value(const std::string& path) const;
  /// The number at the start of a value; empty if it does not start with one.
  std::optional<double> number(const std::string& path) const;
};

/// A GPU of `nvidia-smi nvlink`.
struct NvlinkGpu {
  std::map<int, double> gbps;               ///< GB/s by link; 0: inactive
  std::map<std::string, long long> errors;  ///< those that are not 0, by "Link 4: Replay Errors"
  /// The number of active links.
  std::size_t active() const;
};

/// An error that the NVIDIA driver wrote to the kernel log [NVIDIA-Xid].
struct XidEvent {
  std::string address;  ///< "0000:3b:00"
  int code = 0;
  std::string text;
  bool of_switch = false;  ///< SXid, the error of an NVSwitch
};

/// The nodes of an NVLink domain, from `nvidia-imex-ctl -N`.
struct ImexDomain {
  std::string state;                         ///< "UP"
  std::map<std::string, std::string> nodes;  ///< states, by "0 (10.0.0.1)"
  int connected = 0, broken = 0;             ///< entries of the connectivity table
};

struct ToolFacts {
  std::vector<SmiGpu> gpus;
  std::map<int, NvlinkGpu> nvlink;  ///< by the GPU's number in nvidia-smi
  bool kernel_log = false;          ///< whether some text holds lines of the kernel log
  std::vector<XidEvent> xids;
  std::map<std::string, std::string> services;  ///< state by unit: "active (running)", "not installed"; empty: unknown
  std::optional<ImexDomain> imex;
  std::map<std::string, PriorityFlow> flow;  ///< by network interface; "": the text does not name it
};

/// Reads all texts into one set of facts.
/// \throws UserError that names each text without a recognised line
ToolFacts read_tool_texts(const std::vector<ToolText>& texts);

}  // namespace fabricast
