#include "pci.hpp"

#ifdef FABRICAST_HWLOC
#include <fmt/format.h>
#include <hwloc.h>

#include <memory>
#include <nlohmann/json.hpp>
#endif

namespace fabricast {

#ifndef FABRICAST_HWLOC

std::string pci_devices() { return "null"; }

#else

using OrderedJson = nlohmann::ordered_json;

namespace {

std::string address(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

/// Addresses of the bridges above a device, nearest first. Devices below the same bridge share its link.
OrderedJson bridges(hwloc_obj_t device) {
  OrderedJson list = OrderedJson::array();
  for (hwloc_obj_t o = device->parent; o; o = o->parent)
    if (o->type == HWLOC_OBJ_BRIDGE && o->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
      list.push_back(address(o->attr->bridge.upstream.pci));
  return list;
}

OrderedJson describe(hwloc_topology_t topology, hwloc_obj_t device) {
  const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci = device->attr->pcidev;
  OrderedJson one{{"address", address(pci)},
                  {"class", fmt::format("{:04x}", pci.class_id)},
                  {"id", fmt::format("{:04x}:{:04x}", pci.vendor_id, pci.device_id)}};
  if (pci.linkspeed > 0) one["link_gbps"] = pci.linkspeed;  // GB/s
  if (hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device); near && near->nodeset)
    if (hwloc_bitmap_weight(near->nodeset) == 1) one["numa"] = hwloc_bitmap_first(near->nodeset);
  OrderedJson names = OrderedJson::array();
  for (hwloc_obj_t o = device->io_first_child; o; o = o->next_sibling)
    if (o->type == HWLOC_OBJ_OS_DEVICE && o->name) names.push_back(o->name);
  one["names"] = names;
  one["bridges"] = bridges(device);
  return one;
}

}  // namespace

std::string pci_devices() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return "null";
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, hwloc_topology_destroy);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return "null";
  OrderedJson list = OrderedJson::array();
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_pcidev(raw, o));) {
    const int base = o->attr->pcidev.class_id >> 8;
    if (base == 0x02 || base == 0x03 || base == 0x0b || base == 0x12) list.push_back(describe(raw, o));
  }
  return list.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

#endif

}  // namespace fabricast
