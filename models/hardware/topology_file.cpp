// Reads NCCL's topology XML into a layout [NCCL-xml].
//
// The format is that of NCCL_TOPO_DUMP_FILE. Refused is what the model cannot represent: several hosts in a file, GPUs
// of several kinds, NICs of several rates. Errors are collected with their lines. NCCL's rules are kept where they
// decide paths: chips of one switch are merged, missing values have NCCL's defaults, devices are numbered by rank and
// by `dev`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "fabricast/core/xml.hpp"
#include "fabricast/hardware/layout.hpp"

namespace fabricast {

namespace {

// Limits of scenarios (`node.gpus` and others).
constexpr std::size_t most_gpus = 72, most_nics = 256, most_sockets = 8, most_switches = 64;

/// Reads the elements in file order first, and resolves references between them at the end.
class TopologyReader {
 public:
  NodeLayout read(const XmlElement& root) {
    if (root.name != "system")
      xml_.fault(root, fmt::format("<{}> instead of <system>", root.name), "use a file written by NCCL_TOPO_DUMP_FILE");
    xml_.finish();
    if (const auto version = xml_.integer(root, "version", 0, 1 << 20); version && *version != 1)
      xml_.fault(root, fmt::format("unknown format version {}", *version), "version 1 is supported");
    // Faults of the root stop the reading; all others are collected until the end.
    for (const XmlElement& child : root.children)
      if (child.name == "cpu") read_cpu(child);
    if (layout_.gpus.empty() && !xml_.failed())
      xml_.fault(root, "the file has no <gpu>",
                 "an input file for NCCL lacks what NCCL detects; use a file written by NCCL_TOPO_DUMP_FILE");
    if (!xml_.failed()) check_limits(root);
    xml_.finish();
    sort_gpus();
    sort_nics();
    join(root);
    xml_.finish();
    return std::move(layout_);
  }

 private:
  void read_cpu(const XmlElement& cpu) {
    NodeLayout::Hub hub;
    const std::string* hash = cpu.find("host_hash");
    // In files of several hosts each CPU has the hash of its host.
    hosts_.emplace(hash ? *hash : std::string(), 0);
    if (hosts_.size() == 2)
      xml_.fault(cpu, "the file contains several hosts", "dump one host, and set nvlink_domain.nodes");
    const std::string *arch = xml_.required(cpu, "arch"), *vendor = cpu.find("vendor");
    if (arch && *arch == "arm64")
      hub.cpu = CpuVendor::arm;
    else if (arch && *arch != "x86_64")
      xml_.fault(cpu, fmt::format("CPUs of arch '{}' are not modelled", *arch), "x86_64 and arm64 are supported");
    else if (vendor && *vendor == "AuthenticAMD")
      hub.cpu = CpuVendor::amd;
    else if (arch && (!vendor || *vendor != "GenuineIntel"))
      xml_.fault(cpu, fmt::format("CPUs of vendor '{}' are not modelled", vendor ? *vendor : ""),
                 "GenuineIntel and AuthenticAMD are supported");
    const auto family = xml_.integer(cpu, "familyid", 0, 1 << 20), model = xml_.integer(cpu, "modelid", 0, 1 << 20);
    // NCCL knows model numbers of family 6 only.
    hub.socket_link = nccl_socket_link(hub.cpu, family.value_or(6) == 6 ? static_cast<int>(model.value_or(0)) : 0);
    layout_.hubs.push_back(hub);
    read_devices(cpu, static_cast<int>(layout_.hubs.size()) - 1, nullptr);
  }

  /// Devices below a socket or a switch. `above` is the switch, or null.
  void read_devices(const XmlElement& parent, int hub, const XmlElement* above) {
    for (const XmlElement& child : parent.children) {
      if (child.name == "pci") read_pci(child, hub, above);
      if (child.name == "nic") {  // has no slot of its own in virtual machines and for socket interfaces
        layout_.cards.push_back({hub, {}});
        read_nic(child);
      }
    }
  }

  // A PCI element is a GPU, a NIC, or a switch with devices below it, by what it contains and by its class.
  void read_pci(const XmlElement& pci, int hub, const XmlElement* above) {
    const std::string* bus = xml_.required(pci, "busid");
    if (!bus) return;
    const PcieSlot slot = read_slot(pci);
    const auto child = [&](std::string_view name) {
      const auto it =
          std::find_if(pci.children.begin(), pci.children.end(), [&](const XmlElement& e) { return e.name == name; });
      return it == pci.children.end() ? nullptr : &*it;
    };
    if (const XmlElement* gpu = child("gpu")) return read_gpu(*gpu, *bus, hub, slot);
    if (const XmlElement* nic = child("nic")) {
      layout_.cards.push_back({hub, slot});
      return read_nic(*nic);
    }
    const std::string* kind = pci.find("class");
    if (!kind || !kind->starts_with("0x0604")) return;  // another device, without influence on collectives
    // Switches inside one Broadcom chip count as one [NCCL-topo].
    const auto same = [&](std::string_view attribute) {
      const std::string *a = pci.find(attribute), *b = above->find(attribute);
      return a && b && *a == *b;
    };
    const std::string* vendor = pci.find("vendor");
    if (above && vendor && *vendor == "0x1000" && same("vendor") && same("device")) {
      switch_by_bus_[*bus] = hub;
    } else {
      NodeLayout::Hub inner;
      inner.parent = hub;
      inner.up = slot;
      layout_.hubs.push_back(inner);
      hub = static_cast<int>(layout_.hubs.size()) - 1;
      switch_by_bus_[*bus] = hub;
    }
    for (const XmlElement& link : pci.children)
      if (link.name == "pcilink")
        if (const std::string* target = xml_.required(link, "target")) peers_.push_back({hub, *target});
    read_devices(pci, hub, &pci);
  }

  PcieSlot read_slot(const XmlElement& pci) {
    PcieSlot slot;  // NCCL assumes Gen3 x16 if the machine does not state it
    if (const std::string* width = pci.find("link_width"); width && !width->empty())
      if (const auto n = xml_.integer(pci, "link_width", 0, 32); n && *n > 0) slot.width = static_cast<int>(*n);
    const std::string* speed = pci.find("link_speed");
    if (!speed || speed->empty() || speed->starts_with("Unknown")) return slot;
    static const std::map<std::string, int, std::less<>> generations = {
        {"2.5 GT/s", 1},  {"5 GT/s", 2},  {"5.0 GT/s", 2},  {"8 GT/s", 3},  {"8.0 GT/s", 3}, {"16 GT/s", 4},
        {"16.0 GT/s", 4}, {"32 GT/s", 5}, {"32.0 GT/s", 5}, {"64 GT/s", 6}, {"64.0 GT/s", 6}};
    std::string_view word = *speed;
    if (word.ends_with(" PCIe")) word.remove_suffix(5);
    if (const auto it = generations.find(word); it != generations.end())
      slot.generation = it->second;
    else
      xml_.fault(pci, fmt::format("unknown link_speed '{}'", *speed), "e.g. 32.0 GT/s PCIe");
    return slot;
  }

  void read_gpu(const XmlElement& element, const std::string& bus, int hub, PcieSlot slot) {
    NodeLayout::Gpu gpu;
    gpu.hub = hub;
    gpu.slot = slot;
    if (xml_.required(element, "sm"))
      if (const auto sm = xml_.integer(element, "sm", 30, 1000)) gpu.capability = static_cast<int>(*sm);
    gpu.gdr = xml_.integer(element, "gdr", 0, 1).value_or(0) == 1;
    const auto rank = xml_.integer(element, "rank", -1, 1 << 30), dev = xml_.integer(element, "dev", -1, 1 << 20);
    for (const XmlElement& child : element.children) {
      if (child.name == "c2c") {
        const auto bw = xml_.number(child, "bw", 0, 1e9), count = xml_.number(child, "count", 0, 1e6);
        gpu.c2c += bw.value_or(0) * count.value_or(1) / 1000;
      }
      if (child.name == "nvlink") nvlinks_.push_back({layout_.gpus.size(), &child});
    }
    layout_.gpus.push_back(gpu);
    gpu_keys_.push_back({rank.value_or(-1), dev.value_or(-1), bus, &element});
  }

  void read_nic(const XmlElement& nic) {
    for (const XmlElement& net : nic.children) {
      if (net.name != "net" || !net.find("dev")) continue;
      NodeLayout::Nic n;
      n.card = static_cast<int>(layout_.cards.size()) - 1;
      // NCCL assumes 10 Gb/s if the driver does not state the rate.
      n.rate = xml_.number(net, "speed", 0, 1e8).value_or(10000) / 8000;
      if (n.rate <= 0) n.rate = 1.25;
      const auto dev = xml_.integer(net, "dev", 0, 1 << 20);
      // Ports with equal GUID and port number share their rate. Without a GUID each device is on its own.
      n.asic = xml_.hexadecimal(net, "guid").value_or(static_cast<std::uint64_t>(dev.value_or(0)));
      n.port = static_cast<int>(xml_.integer(net, "port", 0, 1 << 20).value_or(0));
      n.latency_us = xml_.number(net, "latency", 0, 1e6).value_or(0);
      n.gdr = xml_.integer(net, "gdr", 0, 1).value_or(0) == 1;
      n.collnet = xml_.integer(net, "coll", 0, 1).value_or(0) == 1;
      layout_.nics.push_back(n);
      nic_keys_.push_back({dev.value_or(0), &net});
    }
  }

  void check_limits(const XmlElement& root) {
    const auto limit = [&](std::string_view what, std::size_t count, std::size_t most) {
      if (count > most) xml_.fault(root, fmt::format("{} {} are more than the maximum of {}", count, what, most));
    };
    limit("GPUs", layout_.gpus.size(), most_gpus);
    limit("NICs", layout_.nics.size(), most_nics);
    limit("CPU sockets", static_cast<std::size_t>(layout_.sockets()), most_sockets);
    limit("PCIe switches", static_cast<std::size_t>(layout_.switches()), most_switches);
    for (std::size_t g = 1; g < layout_.gpus.size(); ++g)
      if (layout_.gpus[g].capability != layout_.gpus[0].capability)
        xml_.fault(*gpu_keys_[g].element,
                   fmt::format("sm {} differs from sm {}", layout_.gpus[g].capability, layout_.gpus[0].capability),
                   "all GPUs of a node must be of one kind");
    for (std::size_t n = 1; n < layout_.nics.size(); ++n)
      if (layout_.nics[n].rate != layout_.nics[0].rate)
        xml_.fault(
            *nic_keys_[n].element,
            fmt::format("speed {:g} differs from {:g} Mb/s", layout_.nics[n].rate * 8000, layout_.nics[0].rate * 8000),
            "all NICs must have one rate; select those that NCCL uses with NCCL_IB_HCA");
  }

  // GPUs of the job in the order of their ranks; without any rank in the order of `dev`. Everything that refers to a
  // GPU is resolved by its bus after that.
  void sort_gpus() {
    std::vector<std::size_t> order(layout_.gpus.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // If some GPUs have a rank, those without one are on the host and not in the job.
    const bool ranks = std::any_of(gpu_keys_.begin(), gpu_keys_.end(), [](const GpuKey& k) { return k.rank >= 0; });
    if (ranks) std::erase_if(order, [&](std::size_t g) { return gpu_keys_[g].rank < 0; });
    const auto number = [&](std::size_t g) { return ranks ? gpu_keys_[g].rank : gpu_keys_[g].dev; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return number(a) < number(b); });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (number(order[i]) >= 0 && number(order[i]) == number(order[i - 1]))
        xml_.fault(*gpu_keys_[order[i]].element,
                   fmt::format("{} {} is given twice", ranks ? "rank" : "dev", number(order[i])));
    std::vector<NodeLayout::Gpu> sorted;
    new_gpu_.assign(layout_.gpus.size(), -1);
    for (const std::size_t g : order) {
      new_gpu_[g] = static_cast<int>(sorted.size());
      if (!gpu_by_bus_.emplace(gpu_keys_[g].bus, static_cast<int>(sorted.size())).second)
        xml_.fault(*gpu_keys_[g].element, fmt::format("busid {} is given twice", gpu_keys_[g].bus));
      sorted.push_back(layout_.gpus[g]);
    }
    layout_.gpus = std::move(sorted);
  }

  // NCCL's device numbers are the numbers that graph files and NCCL_IB_HCA refer to.
  void sort_nics() {
    std::vector<std::size_t> order(layout_.nics.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return nic_keys_[a].dev < nic_keys_[b].dev; });
    std::vector<NodeLayout::Nic> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && nic_keys_[order[i]].dev == nic_keys_[order[i - 1]].dev)
        xml_.fault(*nic_keys_[order[i]].element, fmt::format("dev {} is given twice", nic_keys_[order[i]].dev));
      sorted.push_back(layout_.nics[order[i]]);
    }
    layout_.nics = std::move(sorted);
  }

  /// Resolves NVLinks and links between switches, whose other ends may be anywhere in the file.
  void join(const XmlElement& root) {
    for (const auto& [gpu, link] : nvlinks_) {
      const int g = new_gpu_[gpu];
      const std::string *target = xml_.required(*link, "target"), *kind = link->find("tclass");
      const auto count = xml_.integer(*link, "count", 0, 1024);
      if (g < 0 || !target || !count || *count == 0) continue;
      auto& links = layout_.gpus[static_cast<std::size_t>(g)].nvlinks;
      if (kind && kind->starts_with("0x0680")) {
        if (*kind == "0x068000") links.push_back({NodeLayout::nvswitch, static_cast<double>(*count)});
        continue;  // NVLink to a CPU is listed separately as C2C
      }
      // Links to GPUs that are not part of the job do not count.
      if (const auto it = gpu_by_bus_.find(*target); it != gpu_by_bus_.end() && it->second != g)
        links.push_back({it->second, static_cast<double>(*count)});
    }
    for (const auto& [hub, target] : peers_) {
      const auto it = switch_by_bus_.find(target);
      if (it == switch_by_bus_.end())
        xml_.fault(root, fmt::format("<pcilink> names '{}', which is not a PCIe switch in the file", target));
      // Each link is listed at both switches.
      else if (hub < it->second)
        layout_.peer_links.push_back({hub, it->second});
    }
  }

  struct GpuKey {
    std::int64_t rank, dev;
    std::string bus;
    const XmlElement* element;
  };
  struct NicKey {
    std::int64_t dev;
    const XmlElement* element;
  };
  struct Peer {
    int hub;
    std::string target;
  };
  struct NvLinkKey {
    std::size_t gpu;
    const XmlElement* element;
  };

  XmlReader xml_;
  NodeLayout layout_;
  std::map<std::string, int> hosts_, switch_by_bus_, gpu_by_bus_;
  std::vector<GpuKey> gpu_keys_;
  std::vector<NicKey> nic_keys_;
  std::vector<NvLinkKey> nvlinks_;
  std::vector<Peer> peers_;
  std::vector<int> new_gpu_;  ///< by position in the file; -1: not part of the job
};

}  // namespace

NodeLayout read_topology(const std::string& text, const std::string& file) {
  return TopologyReader().read(parse_xml(text, file));
}

}  // namespace fabricast
