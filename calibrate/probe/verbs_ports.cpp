#include "verbs_ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "verbs_device.hpp"

namespace fabricast {

using namespace probe;

namespace {

constexpr unsigned ndr = 128;
constexpr double bytes_of_gbit = 0.125e9;

/// Number of lanes; 0 for an unknown code.
int lanes_of(unsigned width) {
  constexpr std::pair<unsigned, int> codes[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
  for (const auto& [code, lanes] : codes)
    if (code == width) return lanes;
  return 0;
}

/// Payload rate of a lane in Gb/s: SDR DDR QDR FDR10 FDR EDR HDR NDR XDR; 0 for an unknown code.
double lane_gbit(unsigned speed) {
  constexpr std::pair<unsigned, double> codes[] = {{1, 2},   {2, 4},   {4, 8},     {8, 10},   {16, 13.64},
                                                   {32, 25}, {64, 50}, {ndr, 100}, {256, 200}};
  for (const auto& [code, rate] : codes)
    if (code == speed) return rate;
  return 0;
}

/// The rate in the kernel's file in Gb/s; 0 if it states none.
double stated_gbit(const std::string& file) {
  char* end = nullptr;
  const double gbit = std::strtod(file.c_str(), &end);
  return std::string_view(end).starts_with(" Gb/sec") && gbit > 0 && gbit < 1e6 ? gbit : 0;
}

/// Since rdma-core 49, codes of more than 8 bits have a field of their own, which is zero for other codes.
template <class Port>
concept HasWideSpeed = requires(const Port& port) {
  port.active_speed_ex;
};

template <class Port>
unsigned speed_of(const Port& port) {
  if constexpr (HasWideSpeed<Port>)
    if (port.active_speed_ex) return port.active_speed_ex;
  return port.active_speed;
}

std::string rate_file(const std::string& root, const std::string& device, int port) {
  std::ifstream in(fmt::format("{}/sys/class/infiniband/{}/ports/{}/rate", root, device, port));
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

BytesPerSecond port_rate(unsigned speed, unsigned width, const std::string& file) {
  const double coded = lane_gbit(speed) * lanes_of(width);
  if (coded > 0 && speed != ndr) return {coded * bytes_of_gbit};
  return {std::max(coded, stated_gbit(file)) * bytes_of_gbit};
}

std::vector<ProbePort> verbs_ports(const VerbsCalls& calls, const std::string& root) {
  const DeviceList devices(calls);
  std::vector<ProbePort> ports;
  for (int i = 0; i < devices.count(); ++i) {
    const Context context = open_device(calls, devices[i]);
    const int count = query_device(calls, context.get()).phys_port_cnt;
    for (int p = 1; p <= count; ++p) {
      const ibv_port_attr port = query_port(calls, context.get(), static_cast<std::uint8_t>(p));
      if (port.state != IBV_PORT_ACTIVE) continue;
      const std::string device = calls.get_device_name(devices[i]);
      ports.push_back({fmt::format("{}/{}", device, p),
                       port.link_layer == IBV_LINK_LAYER_ETHERNET ? "roce" : "infiniband",
                       port_rate(speed_of(port), port.active_width, rate_file(root, device, p))});
    }
  }
  return ports;
}

}  // namespace fabricast
