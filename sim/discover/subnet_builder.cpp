// Finds the two ends of each cable and checks that they agree (subnet_builder.hpp).
//
// Every cable is described by two lines, one at each end, and both must agree. This detects most damage to a file: a
// lost line leaves a cable with one end, a line from another scan contradicts its far end.
#include "subnet_builder.hpp"

#include <fmt/format.h>

namespace fabricast {

bool is_aggregation(std::string_view name) { return name.find("Aggregation Node") != std::string_view::npos; }

std::size_t SubnetBuilder::device(DeviceKind kind, const std::string& key) {
  // A device may be named as a peer before its own lines come.
  const auto [it, fresh] = by_key_.emplace(key, subnet_.devices.size());
  if (fresh) subnet_.devices.emplace_back().kind = kind;
  return it->second;
}

std::string SubnetBuilder::text(std::size_t device, int port) const {
  const SubnetDevice& d = subnet_.devices[device];
  return fmt::format("port {} of '{}'", port, d.name.empty() ? d.guid : d.name);
}

void SubnetBuilder::add(PortSight sight) {
  const auto [it, fresh] = by_port_.emplace(std::pair(sight.device, sight.port), sights_.size());
  if (!fresh) {
    problems_.error(sight.line, sight.column, fmt::format("duplicate entry for {}", text(sight.device, sight.port)),
                    fmt::format("the first one is on line {}", sights_[it->second].line));
    return;
  }
  sights_.push_back(std::move(sight));
}

void SubnetBuilder::find_peers_by_lid() {
  // iblinkinfo names the far end by LID only. A switch has one LID for all ports, an adapter one for each port.
  std::unordered_map<int, std::size_t> by_lid;
  const auto note = [&](int lid, std::size_t device, int line) {
    if (lid == 0) return;
    const auto [it, fresh] = by_lid.emplace(lid, device);
    if (!fresh && it->second != device)
      problems_.error(line, 0,
                      fmt::format("LID {} belongs to both '{}' and '{}'", lid, subnet_.devices[it->second].name,
                                  subnet_.devices[device].name));
  };
  for (std::size_t d = 0; d < subnet_.devices.size(); ++d) note(subnet_.devices[d].lid, d, subnet_.devices[d].line);
  for (const PortSight& s : sights_) note(s.lid, s.device, s.line);
  std::unordered_map<int, int> port_of_lid;  // for adapters without lines of their own
  for (PortSight& s : sights_) {
    if (s.peer) continue;
    const auto it = by_lid.find(s.peer_lid);
    if (it != by_lid.end()) {
      s.peer = it->second;
    } else if (s.peer_lid > 0 && !whole_) {
      // A LID of an adapter belongs to one port. A LID with several ports belongs to a switch, and so does a name in
      // the form of managed switches. The file should list such a device.
      const auto [first, fresh] = port_of_lid.emplace(s.peer_lid, s.peer_port);
      if (first->second != s.peer_port || s.peer_name.starts_with("MF0;")) {
        problems_.error(s.line, s.column,
                        fmt::format("'{}' is a switch, but the file does not list its ports", s.peer_name),
                        "is the file truncated?");
        continue;
      }
      s.peer = device(is_aggregation(s.peer_name) ? DeviceKind::aggregation : DeviceKind::adapter,
                      fmt::format("lid {}", s.peer_lid));
      at(*s.peer).name = s.peer_name;
      at(*s.peer).line = s.line;
    } else {
      problems_.error(s.line, s.column, fmt::format("no device in the file has LID {}", s.peer_lid));
    }
  }
}

const PortSight* SubnetBuilder::far_end(const PortSight& near) const {
  const auto it = by_port_.find({*near.peer, near.peer_port});
  return it == by_port_.end() ? nullptr : &sights_[it->second];
}

/// Whether the two ends of a cable are consistent. Reports if they are not, and if their speeds differ.
bool SubnetBuilder::agree(const PortSight& near, const PortSight& far) {
  if (!far.peer || *far.peer != near.device || far.peer_port != near.port) {
    problems_.error(near.line, near.column,
                    fmt::format("{} connects to {}, which states a different peer", text(near.device, near.port),
                                text(*near.peer, near.peer_port)),
                    fmt::format("see line {}; does the file combine several scans?", far.line));
    return false;
  }
  if (near.peer_lid > 0 && far.lid > 0 && near.peer_lid != far.lid) {
    problems_.error(near.line, near.column,
                    fmt::format("{} has LID {} here, but LID {} on line {}", text(far.device, far.port), near.peer_lid,
                                far.lid, far.line));
    return false;
  }
  // Both ends pass here, so the warning is given at one of them.
  if (near.rate != far.rate && near.line < far.line)
    problems_.warning(std::max(near.line, far.line),
                      fmt::format("the ends of a cable differ: {} runs at {}, {} at {}; the slower speed is used",
                                  text(near.device, near.port), near.speed, text(far.device, far.port), far.speed));
  return true;
}

DiscoveredSubnet SubnetBuilder::finish() {
  find_peers_by_lid();
  for (const PortSight& near : sights_) {
    if (!near.peer) continue;
    const PortSight* far = far_end(near);
    if (far == &near) {
      problems_.error(near.line, near.column, fmt::format("{} is connected to itself", text(near.device, near.port)));
      continue;
    }
    if (!far && (whole_ || at(*near.peer).described)) {
      problems_.error(near.line, near.column,
                      fmt::format("the link is listed at one end only: there is no line about {}",
                                  text(*near.peer, near.peer_port)),
                      at(*near.peer).described ? "" : "is the file truncated?");
      continue;
    }
    if (far && !agree(near, *far)) continue;
    if (far && std::pair(near.device, near.port) > std::pair(far->device, far->port))
      continue;  // added from its other end
    // A link runs at the speed of its slower end.
    const bool slower = far && far->rate < near.rate;
    SubnetCable cable;
    cable.a = {near.device, near.port, near.lid, near.lmc};
    cable.b = {*near.peer, near.peer_port, far ? far->lid : near.peer_lid, far ? far->lmc : 0};
    cable.rate = slower ? far->rate : near.rate;
    cable.speed = slower ? far->speed : near.speed;
    cable.line = near.line;
    subnet_.cables.push_back(std::move(cable));
  }
  if (subnet_.devices.empty() && !problems_.failed())
    problems_.error(1, 0, "the file has no device", "is it truncated?");
  subnet_.file = problems_.file();
  return std::move(subnet_);
}

}  // namespace fabricast
