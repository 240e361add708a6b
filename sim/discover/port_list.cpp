// Reads the list of ports that `ibnetdiscover --ports` prints [infiniband-diags]. A line has both ends of a link, with
// LID, port, GUID, width and speed. The line of a port that is down has one end.
//
//   SW     3  1 0x900a840300b1c000 4x NDR - CA     5  1 0xa088c20300ab0000 ( 'leaf1' - 'node1 mlx5_0' )
//   SW     3  2 0x900a840300b1c000 4x SDR                                    'leaf1'
//
// The GUID is that of the port. All ports of a switch have the same one, and each port of an HCA has its own.
#include <fmt/format.h>

#include "cursor.hpp"
#include "fabricast/core/scan.hpp"
#include "subnet_builder.hpp"
#include "subnet_readers.hpp"

namespace fabricast {

namespace {

class PortListReader {
 public:
  explicit PortListReader(FileProblems& problems) : problems_(problems), builder_(problems, true) {}

  void line(std::string_view text, int number) {
    if (text.front() == '#') return;
    Cursor at(text, number);
    End near, far;
    if (!end(at, near)) return;
    const auto words = speed(at);
    if (!words) return;
    at.spaces();
    if (!at.take("- ")) return;  // not connected
    if (!end(at, far)) return;
    at.spaces();
    if (!at.take("( '")) return fail(at, "expected two descriptions", "is the line truncated?");
    // Names may contain quotes and dashes, so the marks between and behind them are searched for from both sides.
    const std::size_t middle = at.rest().find("' - '"), last = at.rest().rfind("' )");
    if (middle == std::string_view::npos || last == std::string_view::npos || last < middle + 5)
      return fail(at, "expected two descriptions in quotes");
    const std::string_view mine = at.rest().substr(0, middle), other = at.rest().substr(middle + 5, last - middle - 5);
    const auto rate = infiniband_rate(words->first, words->second);
    if (!rate) return fail(at, fmt::format("unknown width and speed '{}x {}'", words->first, words->second));
    PortSight sight;
    sight.device = device_of(near, mine, number, true);
    sight.peer = device_of(far, other, number, false);
    sight.port = near.port;
    sight.peer_port = far.port;
    sight.line = number;
    sight.column = 1;
    if (near.kind != DeviceKind::switch_box) sight.lid = near.lid;
    if (far.kind != DeviceKind::switch_box) sight.peer_lid = far.lid;
    sight.rate = *rate;
    sight.speed = fmt::format("{}x{}", words->first, words->second);
    builder_.add(std::move(sight));
  }
  DiscoveredSubnet finish() { return builder_.finish(); }

 private:
  struct End {
    DeviceKind kind = DeviceKind::adapter;
    int lid = 0, port = 0;
    std::string guid;
  };

  void fail(const Cursor& at, std::string message, std::string hint = {}) {
    problems_.error(at.line(), at.column(), std::move(message), std::move(hint));
  }

  /// `SW     3  1 0x900a840300b1c000 `
  bool end(Cursor& at, End& end) {
    at.spaces();
    if (at.take("SW "))
      end.kind = DeviceKind::switch_box;
    else if (at.take("RT "))
      end.kind = DeviceKind::router;
    else if (!at.take("CA "))
      return fail(at, "expected SW, CA or RT"), false;
    at.spaces();
    const auto lid = at.number(0, 0xFFFF);
    if (!lid) return fail(at, "expected a LID"), false;
    at.spaces();
    const auto port = at.number(0, most_ports);
    if (!port) return fail(at, "expected a port"), false;
    at.spaces();
    const auto guid = at.guid();
    if (!guid) return fail(at, "expected a GUID"), false;
    end.lid = *lid;
    end.port = *port;
    end.guid = *guid;
    return true;
  }

  /// `4x HDR`, or question marks for a port that is down.
  std::optional<std::pair<int, std::string>> speed(Cursor& at) {
    at.spaces();
    if (at.take("?")) return std::pair(0, std::string());
    const auto width = at.number(1, 12);
    if (!width || !at.take("x")) return fail(at, "expected a width", "e.g. 4x HDR"), std::nullopt;
    at.spaces();
    const std::size_t size = std::min(at.rest().find_first_of(" \t\r"), at.rest().size());
    const std::string name = shown(at.rest().substr(0, size), 20);
    at.skip(size);
    return std::pair(*width, name);
  }

  std::size_t device_of(const End& end, std::string_view name, int line, bool own) {
    const std::size_t d = builder_.device(end.kind, end.guid);
    SubnetDevice& device = builder_.at(d);
    // A line of the device itself states more about it than lines in which it is the peer.
    if (device.guid.empty() || (own && !device.described)) {
      device.guid = end.guid;
      device.line = line;
      device.name = shown(name);
      device.kind = end.kind == DeviceKind::adapter && is_aggregation(name) ? DeviceKind::aggregation : end.kind;
      if (end.kind == DeviceKind::switch_box) device.lid = end.lid;
    }
    device.described = device.described || own;
    return d;
  }

  FileProblems& problems_;
  SubnetBuilder builder_;
};

}  // namespace

DiscoveredSubnet read_port_list(std::istream& in, FileProblems& problems) {
  PortListReader reader(problems);
  each_line(in, problems, [&](std::string_view text, int line) { reader.line(text, line); });
  return reader.finish();
}

}  // namespace fabricast
