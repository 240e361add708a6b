#include "fabricast/calibrate/port_mtu.hpp"

#ifdef FABRICAST_VERBS
#include "port_mtu.hpp"
#endif

namespace fabricast {

#ifdef FABRICAST_VERBS

std::map<std::pair<std::string, int>, int> active_mtu_of_ports(const VerbsCalls& verbs) {
  std::map<std::pair<std::string, int>, int> found;
  int count = 0;
  ibv_device** const list = verbs.get_device_list(&count);
  if (!list) return found;
  for (int i = 0; i < count; ++i) {
    ibv_context* const context = verbs.open_device(list[i]);
    if (!context) continue;
    ibv_device_attr device{};
    if (verbs.query_device(context, &device) == 0)
      for (int number = 1; number <= device.phys_port_cnt; ++number) {
        ibv_port_attr port{};
        // IBV_MTU_256 is 1, and each further value stands for twice the size.
        if (verbs.query_port(context, static_cast<std::uint8_t>(number), &port) == 0 && port.state == IBV_PORT_ACTIVE &&
            port.active_mtu >= IBV_MTU_256 && port.active_mtu <= IBV_MTU_4096)
          found[{verbs.get_device_name(list[i]), number}] = 128 << port.active_mtu;
      }
    verbs.close_device(context);
  }
  verbs.free_device_list(list);
  return found;
}

std::map<std::pair<std::string, int>, int> active_mtu_of_ports() { return active_mtu_of_ports(library_verbs()); }

#else

std::map<std::pair<std::string, int>, int> active_mtu_of_ports() { return {}; }

#endif

}  // namespace fabricast
