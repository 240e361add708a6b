// What other tools print, as the user gives it: recognised by its content, several commands in one text.
//
//   nvidia-smi -q                                clocks, power, state of the NVLink fabric
//   nvidia-smi nvlink -s, -e                     links and their errors
//   dmesg, journalctl -k                         Xid and SXid
//   systemctl status nvidia-fabricmanager        also nvidia-imex
//   nvidia-imex-ctl -N                           nodes of an NVLink domain
//   mlnx_qos -i DEV, dcb pfc show dev DEV        PFC
//
// Formats are those of the tools' documentation; lines that are not known are passed over.
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
  /// Empty: not told.
  std::string value(const std::string& path) const;
  /// The number that a value begins with.
  std::optional<double> number(const std::string& path) const;
};

/// A GPU of `nvidia-smi nvlink`.
struct NvlinkGpu {
  std::map<int, double> gbps;               ///< by link; 0: inactive
  std::map<std::string, long long> errors;  ///< those that are not 0, by "Link 4: Replay Errors"
  std::size_t active() const;
};

struct XidEvent {
  std::string address;  ///< "0000:3b:00"
  int code = 0;
  std::string text;
  bool of_switch = false;  ///< SXid: an NVSwitch's
};

struct ImexDomain {
  std::string state;                         ///< "UP"
  std::map<std::string, std::string> nodes;  ///< states, by "0 (10.0.0.1)"
  int connected = 0, broken = 0;             ///< entries of the table of connections
};

struct ToolFacts {
  std::vector<SmiGpu> gpus;
  std::map<int, NvlinkGpu> nvlink;  ///< by number
  bool kernel_log = false;
  std::vector<XidEvent> xids;
  std::map<std::string, std::string> services;  ///< "active (running)", "not installed", by unit
  std::optional<ImexDomain> imex;
  std::map<std::string, PriorityFlow> flow;  ///< by network interface; "": one that the text does not name
};

/// \throws UserError naming each text in which nothing is known
ToolFacts read_tool_texts(const std::vector<ToolText>& texts);

}  // namespace fabricast
