// Reads the topology that ibnetdiscover prints [infiniband-diags]. It has a block per device: lines with key=value, a
// line that names the device, and a line for each connected port:
//
//   vendid=0x2c9
//   devid=0xd2f0
//   switchguid=0x900a840300b1c000(900a840300b1c000)
//   Switch  65 "S-900a840300b1c000"         # "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 3 lmc 0
//   [1]     "H-a088c20300ab0000"[1](a088c20300ab0000)       # "node1 mlx5_0" lid 5 4xNDR
//
//   Ca      1 "H-a088c20300ab0000"          # "node1 mlx5_0"
//   [1](a088c20300ab0000)   "S-900a840300b1c000"[1]         # lid 5 lmc 0 "MF0;leaf1:MQM9700/U1" lid 3 4xNDR
//
// --grouping adds headings for chassis and `[ext 3]` after ports. --full adds `s=.. w=.. v=..` at the end of lines.
#include <fmt/format.h>

#include <array>

#include "cursor.hpp"
#include "fabricast/core/scan.hpp"
#include "rates.hpp"
#include "subnet_builder.hpp"
#include "subnet_readers.hpp"

namespace fabricast {

namespace {

constexpr int aggregation_device_id = 0xcf09;  // guess: the number in inventories of such subnets

class IbnetdiscoverReader {
 public:
  explicit IbnetdiscoverReader(FileProblems& problems) : problems_(problems), builder_(problems, true) {}

  // Each line is understood or is an error: a skipped line would silently give another fabric.
  void line(std::string_view text, int number) {
    Cursor at(text, number);
    if (text.front() == '#' || is_heading(text)) return;
    if (text.front() == '[') return port(at);
    if (at.take("Switch")) return device(at, DeviceKind::switch_box, 'S');
    if (at.take("Ca")) return device(at, DeviceKind::adapter, 'H');
    if (at.take("Rt")) return device(at, DeviceKind::router, 'R');
    if (is_fact(text)) return fact(at);
    if (text.front() == '<' || text.front() == '>')
      return fail(at, "this is the output of `ibnetdiscover --diff`", "use the output of a single scan");
    fail(at, "unexpected line in the output of ibnetdiscover", "is the file damaged, or from a different tool?");
  }
  DiscoveredSubnet finish() { return builder_.finish(); }

 private:
  /// Reports a port without a device, but only the first one after each device.
  void orphan(const Cursor& at) {
    if (!orphans_) fail(at, "port without a device", "the line of its device is missing or damaged");
    orphans_ = true;
  }

  void fail(const Cursor& at, std::string message, std::string hint = {}) {
    problems_.error(at.line(), at.column(), std::move(message), std::move(hint));
  }

  // Headings of --grouping, which repeat what the blocks state.
  static bool is_heading(std::string_view text) {
    for (const std::string_view word : {"Chassis", "Non-Chassis", "Hostname:", "Spine", "Line"})
      if (text.starts_with(word)) return true;
    return false;
  }

  static bool is_fact(std::string_view text) {
    for (const std::string_view word : {"vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid="})
      if (text.starts_with(word)) return true;
    return false;
  }

  /// `devid=0xcf09`. The line of the device repeats the other facts.
  void fact(Cursor& at) {
    const bool begins = at.take("vendid=");
    // `vendid` begins the block of a device.
    if (begins) {
      device_.reset();
      orphans_ = false;
      device_id_ = 0;
    }
    const bool is_id = at.take("devid=");
    if (!begins && !is_id) at.until('=');
    const auto value = at.guid();
    if (!value) return fail(at, "invalid hexadecimal number");
    if (is_id) device_id_ = static_cast<int>(std::stoull(*value, nullptr, 16) & 0xFFFF);
  }

  /// `36 "S-..."   # "name" enhanced port 0 lid 3 lmc 0`
  void device(Cursor& at, DeviceKind kind, char letter) {
    device_.reset();
    orphans_ = false;
    at.spaces();
    const auto ports = at.number(0, most_ports);
    if (!ports) return fail(at, "expected the number of ports");
    at.spaces();
    const int column = at.column();
    if (!at.take("\"") || !at.take(std::string(1, letter) + "-"))
      return fail(at, fmt::format("expected \"{}-GUID\"", letter));
    const auto guid = at.guid();
    if (!guid || !at.take("\"")) return fail(at, "expected a GUID in quotes");
    at.spaces();
    if (!at.take("#")) return fail(at, "expected # and the description of the device");
    at.spaces();
    const auto name = at.described();
    if (!name) return fail(at, "expected a description in quotes");
    int lid = 0;
    if (kind == DeviceKind::switch_box) {
      const std::size_t found = at.rest().find("lid ");
      if (found == std::string_view::npos) return fail(at, "expected the LID of the switch", "is the line truncated?");
      at.skip(found + 4);
      const auto stated = at.number(0, most_lid);
      if (!stated) return fail(at, "invalid LID", fmt::format("must be 0 to {}", most_lid));
      lid = *stated;
    }
    const std::size_t d = builder_.device(kind, *guid);
    SubnetDevice& device = builder_.at(d);
    // A GUID that is described twice means two scans in one file.
    if (device.described) {
      problems_.error(at.line(), column, fmt::format("duplicate GUID {}", *guid),
                      fmt::format("the first one is on line {}", device.line));
      return;
    }
    device.described = true;
    device.kind = kind == DeviceKind::adapter && (device_id_ == aggregation_device_id || is_aggregation(*name))
                      ? DeviceKind::aggregation
                      : kind;
    device.guid = *guid;
    device.name = shown(*name);
    device.ports = *ports;
    device.lid = lid;
    device.line = at.line();
    device_ = d;
  }

  /// `[22]` or `[22][ext 3]`, and for adapters `(guid)`.
  std::optional<int> port_number(Cursor& at) {
    if (!at.take("[")) return fail(at, "expected a port in brackets"), std::nullopt;
    const auto port = at.number(1, most_ports);
    if (!port || !at.take("]")) return fail(at, fmt::format("invalid port: must be 1 to {}", most_ports)), std::nullopt;
    if (at.take("[ext") && !at.until(']')) return fail(at, "missing closing bracket"), std::nullopt;
    if (at.take("(") && (!at.guid() || !at.take(")"))) return fail(at, "expected a GUID in parentheses"), std::nullopt;
    return port;
  }

  void port(Cursor& at) {
    if (!device_) return orphan(at);
    PortSight sight;
    sight.device = *device_;
    sight.line = at.line();
    sight.column = 1;
    const auto near = port_number(at);
    if (!near) return;
    at.spaces();
    if (!at.take("\"")) return fail(at, "expected a GUID in quotes");
    const auto kind = at.take("S-")   ? std::optional(DeviceKind::switch_box)
                      : at.take("H-") ? std::optional(DeviceKind::adapter)
                      : at.take("R-") ? std::optional(DeviceKind::router)
                                      : std::nullopt;
    if (!kind) return fail(at, "expected S-, H- or R-");
    const auto guid = at.guid();
    if (!guid || !at.take("\"")) return fail(at, "expected a GUID in quotes");
    const auto far = port_number(at);
    if (!far) return;
    at.spaces();
    if (!at.take("#")) return fail(at, "expected #");
    sight.port = *near;
    sight.peer_port = *far;
    if (!far_side(at, sight)) return;
    const SubnetDevice& device = builder_.at(sight.device);
    if (device.ports > 0 && sight.port > device.ports)
      return fail(at, fmt::format("port {} of a device with {} ports", sight.port, device.ports));
    sight.peer = builder_.device(*kind, *guid);
    // The peer's own block may follow, or be missing; until then its name is that of this line.
    if (SubnetDevice& peer = builder_.at(*sight.peer); peer.guid.empty()) {
      peer.guid = *guid;
      peer.name = sight.peer_name;
    }
    builder_.add(std::move(sight));
  }

  /// `"name" lid 4 4xSDR`, and for adapters before it `lid 5 lmc 0`.
  bool far_side(Cursor& at, PortSight& sight) {
    at.spaces();
    if (at.take("lid ")) {
      const auto lid = at.number(0, most_lid);
      if (!lid) return fail(at, "invalid LID", fmt::format("must be 0 to {}", most_lid)), false;
      at.spaces();
      if (!at.take("lmc ")) return fail(at, "expected lmc"), false;
      const auto lmc = at.number(0, 7);
      if (!lmc) return fail(at, "invalid LMC", "must be 0 to 7"), false;
      sight.lid = *lid;
      sight.lmc = *lmc;
      at.spaces();
    } else if (builder_.at(sight.device).kind != DeviceKind::switch_box) {
      return fail(at, "expected the LID of the port"), false;
    }
    const auto name = at.described();
    if (!name) return fail(at, "expected a description in quotes"), false;
    sight.peer_name = shown(*name);
    at.spaces();
    if (!at.take("lid ")) return fail(at, "expected the LID of the other end", "is the line truncated?"), false;
    const auto lid = at.number(0, most_lid);
    if (!lid) return fail(at, "invalid LID", fmt::format("must be 0 to {}", most_lid)), false;
    // A switch's end has the LID of the switch.
    if (builder_.at(sight.device).kind == DeviceKind::switch_box) sight.peer_lid = *lid;
    at.spaces();
    return speed(at, sight);
  }

  bool speed(Cursor& at, PortSight& sight) {
    const std::size_t size = std::min(at.rest().find_first_of(" \t\r"), at.rest().size());
    const std::string_view word = at.rest().substr(0, size);
    const auto width = at.number(1, 12);
    if (!width || !at.take("x")) return fail(at, "expected width and speed of the link", "e.g. 4xHDR"), false;
    const std::string_view name = word.substr(word.find('x') + 1);
    const auto rate = infiniband_rate(*width, name);
    if (!rate) return fail(at, fmt::format("unknown width and speed '{}'", shown(word, 20)), "e.g. 4xHDR"), false;
    sight.rate = *rate;
    sight.speed = word;
    return true;
  }

  FileProblems& problems_;
  SubnetBuilder builder_;
  std::optional<std::size_t> device_;
  int device_id_ = 0;
  bool orphans_ = false;
};

}  // namespace

DiscoveredSubnet read_ibnetdiscover(std::istream& in, FileProblems& problems) {
  IbnetdiscoverReader reader(problems);
  each_line(in, problems, [&](std::string_view text, int line) { reader.line(text, line); });
  return reader.finish();
}

}  // namespace fabricast
