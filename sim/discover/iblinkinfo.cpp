// Reads the links that iblinkinfo prints [infiniband-diags]: a line per port, below a line that names the device,
//
//   Switch: 0x900a840300b1c000 MF0;leaf1:MQM9700/U1:
//              3    1[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>       5    1[  ] "node1 mlx5_0" ( )
//              3    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//   CA: node1 mlx5_0:
//         0xa088c20300ab0000      5    1[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>       3    1[  ]
//         "MF0;leaf1:MQM9700/U1" ( )
//
// or, with --line, all of it in one line, which begins with the GUID and name and also has the GUID of the other end.
// The other end is identified by its LID. With --switches-only, adapters appear only in the lines of their switch,
// without GUID.
#include <fmt/format.h>

#include <charconv>

#include "cursor.hpp"
#include "fabricast/core/scan.hpp"
#include "rates.hpp"
#include "subnet_builder.hpp"
#include "subnet_readers.hpp"

namespace fabricast {

namespace {

/// With --line the kind of a device is not stated. A device with more ports is a switch, because an HCA has few.
constexpr int most_adapter_ports = 4;

class IblinkinfoReader {
 public:
  explicit IblinkinfoReader(FileProblems& problems) : problems_(problems), builder_(problems, false) {}

  void line(std::string_view text, int number) {
    Cursor at(text, number);
    if (text.front() == '#') return;
    if (at.take("Switch: ")) return switch_heading(at);
    if (at.take("CA: ") || at.take("Ca: ")) return other_heading(at, DeviceKind::adapter);
    if (at.take("Router: ") || at.take("RT: ")) return other_heading(at, DeviceKind::router);
    const std::size_t begin = text.find("==("), end = text.find("==>");
    // The arrow is in every line of a port, in all forms of the output.
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
      return fail(at, "unexpected line in the output of iblinkinfo", "is the file damaged, or from a different tool?");
    port(at, text.substr(begin + 3, end - begin - 3), begin, end + 3);
  }

  DiscoveredSubnet finish() {
    for (const auto& [device, ports] : lines_of_)
      // With --line the kind is only known when all lines have been counted. A switch's LID belongs to the device, an
      // adapter's to its port.
      if (ports > most_adapter_ports) builder_.at(device).kind = DeviceKind::switch_box;
    for (PortSight& sight : sights_) {
      if (builder_.at(sight.device).kind == DeviceKind::switch_box) {
        builder_.at(sight.device).lid = sight.lid;
        sight.lid = 0;
      }
      builder_.add(std::move(sight));
    }
    return builder_.finish();
  }

 private:
  /// Reports a port without a device, but only the first one after each heading.
  void orphan(const Cursor& at) {
    if (!orphans_) fail(at, "port without a device", "the line of its device is missing or damaged");
    orphans_ = true;
  }

  void fail(const Cursor& at, std::string message, std::string hint = {}) {
    problems_.error(at.line(), at.column(), std::move(message), std::move(hint));
  }

  std::string_view heading_name(Cursor& at) {
    std::string_view name = trimmed(at.rest());
    if (name.ends_with(':')) name.remove_suffix(1);
    return name;
  }

  void switch_heading(Cursor& at) {
    device_.reset();
    orphans_ = false;
    heading_ = false;
    at.spaces();
    const auto guid = at.guid();
    if (!guid) return fail(at, "expected a GUID");
    const std::string_view name = heading_name(at);
    const std::size_t d = builder_.device(DeviceKind::switch_box, *guid);
    if (builder_.at(d).described)
      return fail(at, fmt::format("duplicate GUID {}", *guid),
                  fmt::format("the first one is on line {}", builder_.at(d).line));
    describe(d, DeviceKind::switch_box, *guid, name, at.line());
    device_ = d;
    heading_ = true;
  }

  /// The heading of an adapter or router. Its GUID is in the lines of its ports.
  void other_heading(Cursor& at, DeviceKind kind) {
    device_.reset();
    orphans_ = false;
    heading_ = true;
    name_ = shown(heading_name(at));
    kind_ = kind;
  }

  void describe(std::size_t d, DeviceKind kind, const std::string& guid, std::string_view name, int line) {
    SubnetDevice& device = builder_.at(d);
    if (device.described) return;
    device.described = true;
    device.kind = kind == DeviceKind::adapter && is_aggregation(name) ? DeviceKind::aggregation : kind;
    device.guid = guid;
    device.name = shown(name);
    device.line = line;
  }

  /// The device of a line, from the beginning of the line or from the heading above it.
  std::optional<std::size_t> near_device(Cursor& at) {
    at.spaces();
    if (!at.rest().starts_with("0x")) {
      if (!device_) orphan(at);
      return device_;
    }
    const auto guid = at.guid();
    if (!guid) return fail(at, "expected a GUID"), std::nullopt;
    at.spaces();
    DeviceKind kind = kind_;
    std::string name = name_;
    if (at.take("\"")) {
      const auto inside = at.until('"');
      if (!inside) return fail(at, "missing closing quote"), std::nullopt;
      name = shown(*inside);
      kind = DeviceKind::adapter;
    } else if (!heading_ || device_) {
      return orphan(at), std::nullopt;
    }
    const std::size_t d = builder_.device(kind, *guid);
    describe(d, kind, *guid, name, at.line());
    return d;
  }

  void port(Cursor& at, std::string_view state, std::size_t begin, std::size_t end) {
    PortSight sight;
    sight.line = at.line();
    sight.column = 1;
    const auto device = near_device(at);
    if (!device) return;
    sight.device = *device;
    at.spaces();
    const auto lid = at.number(0, 0xFFFF);
    if (!lid) return fail(at, "expected a LID");
    at.spaces();
    const auto number = at.number(0, most_ports);
    if (!number) return fail(at, "expected a port");
    if (!at.take("[")) return fail(at, "expected a bracket");
    sight.lid = *lid;
    sight.port = *number;
    ++lines_of_[*device];
    if (builder_.at(*device).kind == DeviceKind::switch_box) {
      builder_.at(*device).lid = *lid;
      builder_.at(*device).ports = std::max(builder_.at(*device).ports, *number);
    }
    if (state.find("Active/") == std::string_view::npos) return not_active(sight, state);
    Cursor link(state, at.line());
    if (!speed(link, begin, sight)) return;
    at.skip(end - static_cast<std::size_t>(at.column()) + 1);
    far_side(at, sight);
  }

  // Ports that are down have no cable, or no device behind it. Ports that a subnet manager has not activated yet would
  // carry traffic later, so they are mentioned.
  void not_active(const PortSight& sight, std::string_view state) {
    if (state.find("Init") == std::string_view::npos && state.find("Armed") == std::string_view::npos) return;
    problems_.warning(sight.line, fmt::format("left out port {} of '{}', which is up but not active", sight.port,
                                              builder_.at(sight.device).name));
  }

  /// ` 4X         106.25 Gbps Active/  LinkUp`
  bool speed(Cursor& link, std::size_t begin, PortSight& sight) {
    const auto wrong = [&] {
      problems_.error(link.line(), static_cast<int>(begin) + 4, "expected width and speed of the link",
                      "e.g. 4X 53.125 Gbps");
      return false;
    };
    link.spaces();
    const auto width = link.number(1, 12);
    if (!width || !(link.take("X") || link.take("x"))) return wrong();
    link.spaces();
    const std::size_t size = std::min(link.rest().find(' '), link.rest().size());
    const std::string_view word = link.rest().substr(0, size);
    double signalled = 0;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), signalled);
    if (error != std::errc() || last != word.data() + word.size()) return wrong();
    // The tool prints the signalling rate of a lane, and marks FDR10 by name.
    const LaneSpeed* lane =
        link.rest().find("FDR10") != std::string_view::npos ? lane_speed("FDR10") : lane_speed(signalled);
    if (!lane) return wrong();
    const auto rate = infiniband_rate(*width, lane->name);
    if (!rate) return wrong();
    sight.rate = *rate;
    sight.speed = fmt::format("{}x{}", *width, lane->name);
    return true;
  }

  /// `      5    1[  ] "node1 mlx5_0" ( )`; with --line a GUID precedes it.
  void far_side(Cursor& at, PortSight& sight) {
    at.spaces();
    if (at.rest().starts_with("0x") && !at.guid()) return fail(at, "expected a GUID");
    at.spaces();
    const auto lid = at.number(0, most_lid);
    if (!lid) return fail(at, "expected the LID of the other end", "is the line truncated?");
    at.spaces();
    const auto port = at.number(1, most_ports);
    if (!port) return fail(at, "expected the port of the other end");
    if (!at.take("[") || !at.until(']')) return fail(at, "expected a bracket");
    at.spaces();
    const auto name = at.described();
    if (!name) return fail(at, "expected the description of the other end", "is the line truncated?");
    if (*lid == 0) return fail(at, "the other end has no LID", "is a subnet manager running?");
    sight.peer_lid = *lid;
    sight.peer_port = *port;
    sight.peer_name = shown(*name);
    sights_.push_back(std::move(sight));
  }

  FileProblems& problems_;
  SubnetBuilder builder_;
  std::optional<std::size_t> device_;  ///< of the heading, if it is that of a switch
  bool heading_ = false, orphans_ = false;
  std::string name_;  ///< of the heading, if it is that of another device
  DeviceKind kind_ = DeviceKind::adapter;
  std::map<std::size_t, int> lines_of_;
  std::vector<PortSight> sights_;
};

}  // namespace

DiscoveredSubnet read_iblinkinfo(std::istream& in, FileProblems& problems) {
  IblinkinfoReader reader(problems);
  each_line(in, problems, [&](std::string_view text, int line) { reader.line(text, line); });
  return reader.finish();
}

}  // namespace fabricast
