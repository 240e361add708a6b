// Reads a host from sysfs, procfs and configuration files [Linux-abi-pci] [Linux-abi-infiniband].
//
// Nothing is judged here, and nothing is required: a file that is missing leaves its field empty, so that a virtual
// machine, a container or a partial copy can be read as well.
#include "host.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace fabricast {

namespace {

const std::string devices = "sys/bus/pci/devices/";

int whole(const std::optional<double>& number, int otherwise) {
  return number && *number >= -1 && *number < 1e6 ? static_cast<int>(*number) : otherwise;
}

/// A device without a link reports 255 lanes, and its speed as a word.
PcieLink read_link(const Tree& tree, const std::string& folder) {
  const auto lanes = [&](const char* file) {
    const int width = whole(tree.number(folder + file), 0);
    return width > 0 && width <= 32 ? width : 0;
  };
  return {tree.number(folder + "/current_link_speed").value_or(0), tree.number(folder + "/max_link_speed").value_or(0),
          lanes("/current_link_width"), lanes("/max_link_width")};
}

/// "0000:1b:00.0", or a domain of more digits as on virtual machines: the last eight characters are ":1b:00.0" in form.
bool is_address(const std::string& part) {
  return part.size() >= 12 && part.find(':') == part.size() - 8 && part[part.size() - 5] == ':' &&
         part[part.size() - 2] == '.';
}

/// The device of a sysfs folder. The path of the folder names the bridges above it.
PciDevice read_device(const Tree& tree, const std::string& folder) {
  PciDevice d;
  // A path such as /sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0 lists the bridges from the root port down.
  for (const std::string& part : split(folder, '/'))
    if (part.starts_with("pci") && part.find(':') != std::string::npos) {
      d.root_bus = part;
      d.chain.clear();
    } else if (is_address(part))
      d.chain.push_back(part);
  d.address = d.chain.empty() ? std::string() : d.chain.back();
  const auto hex = [&](const char* file) {
    const std::string text = tree.line(folder + file);
    return text.starts_with("0x") ? text.substr(2) : text;
  };
  d.id = hex("/vendor") + ":" + hex("/device");
  d.numa = whole(tree.number(folder + "/numa_node"), -1);
  d.virtual_function = tree.has(folder + "/physfn");
  const std::string driver = tree.target(folder + "/driver");
  d.driver = driver.substr(driver.find_last_of('/') + 1);
  d.link = read_link(tree, folder);
  return d;
}

std::vector<PciDevice> read_gpus(const Tree& tree) {
  std::vector<PciDevice> gpus;
  for (const std::string& address : tree.names(devices)) {
    const std::string folder = devices + address;
    // PCI class 03: display and 3D controllers.
    if (tree.line(folder + "/vendor") == "0x10de" && tree.line(folder + "/class").starts_with("0x03"))
      gpus.push_back(read_device(tree, tree.target(folder)));
  }
  // Addresses are hexadecimal: 0000:9f comes before 0000:a0. Domains may have more than four digits.
  std::sort(gpus.begin(), gpus.end(), [](const PciDevice& a, const PciDevice& b) {
    return std::pair(a.address.size(), a.address) < std::pair(b.address.size(), b.address);
  });
  return gpus;
}

/// "ACTIVE" of "4: ACTIVE".
std::string after_colon(const std::string& text) { return trimmed(text.substr(text.find(':') + 1)); }

RdmaPort read_port(const Tree& tree, const std::string& folder, int number) {
  RdmaPort port;
  port.number = number;
  port.folder = folder;
  port.state = after_colon(tree.line(folder + "/state"));
  port.physical = after_colon(tree.line(folder + "/phys_state"));
  port.layer = tree.line(folder + "/link_layer");
  port.gbit = tree.number(folder + "/rate").value_or(0);
  if (const std::string rate = tree.line(folder + "/rate"); rate.ends_with(')') && rate.find('(') != std::string::npos)
    port.lanes = rate.substr(rate.find('(') + 1, rate.size() - rate.find('(') - 2);
  for (const std::string& index : tree.names(folder + "/gids")) {
    const RdmaGid gid{std::atoi(index.c_str()), tree.line(folder + "/gids/" + index),
                      tree.line(folder + "/gid_attrs/types/" + index)};
    // Unused entries of the table are zero.
    if (gid.gid.find_first_not_of("0:") == std::string::npos) continue;
    port.gids.push_back(gid);
    if (port.netdev.empty()) port.netdev = tree.line(folder + "/gid_attrs/ndevs/" + index);
  }
  return port;
}

std::vector<RdmaNic> read_nics(const Tree& tree) {
  std::vector<RdmaNic> nics;
  for (const std::string& name : tree.names("sys/class/infiniband")) {
    const std::string folder = "sys/class/infiniband/" + name;
    RdmaNic nic{
        name, tree.line(folder + "/fw_ver"), tree.line(folder + "/hca_type"), tree.line(folder + "/board_id"), {}, {}};
    // The path of a software device contains no PCI address.
    if (const std::string device = tree.target(folder + "/device"); !device.empty())
      if (PciDevice pci = read_device(tree, device); !pci.address.empty()) nic.pci = pci;
    for (const std::string& port : tree.names(folder + "/ports"))
      nic.ports.push_back(read_port(tree, folder + "/ports/" + port, std::atoi(port.c_str())));
    nics.push_back(std::move(nic));
  }
  return nics;
}

std::map<std::string, PciDevice> read_bridges(const Tree& tree, const HostFiles& host) {
  std::map<std::string, PciDevice> bridges;
  const auto add = [&](const PciDevice& device) {
    // The last entry of a chain is the device itself.
    for (const std::string& address : device.chain)
      if (address != device.address && !bridges.contains(address))
        bridges[address] = read_device(tree, tree.target(devices + address));
  };
  for (const PciDevice& gpu : host.gpus) add(gpu);
  for (const RdmaNic& nic : host.nics)
    if (nic.pci) add(*nic.pci);
  return bridges;
}

/// Assigns a NIC to each GPU, greedily by distance. At the same distance, NICs that are up go first. No NIC serves more
/// GPUs than an even distribution requires.
std::vector<DoctorPair> pair_up(const HostFiles& host) {
  struct Candidate {
    PciDistance distance;
    bool down;
    std::size_t gpu, nic;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  std::size_t count = 0;
  for (std::size_t n = 0; n < host.nics.size(); ++n) {
    // A virtual function shares the NIC of its physical function.
    if (!host.nics[n].pci || host.nics[n].pci->virtual_function) continue;
    ++count;
    for (std::size_t g = 0; g < host.gpus.size(); ++g)
      candidates.push_back({pci_distance(host.gpus[g], *host.nics[n].pci), !host.nics[n].active(), g, n});
  }
  std::sort(candidates.begin(), candidates.end());
  const std::size_t most = count ? (host.gpus.size() + count - 1) / count : 0;
  std::vector<std::size_t> served(host.nics.size(), 0);
  std::vector<const Candidate*> chosen(host.gpus.size(), nullptr);
  // NCCL's own search may choose otherwise; the pairs only show what is possible at best for all GPUs at once.
  for (const Candidate& c : candidates)
    if (!chosen[c.gpu] && served[c.nic] < most) {
      chosen[c.gpu] = &c;
      ++served[c.nic];
    }
  std::vector<DoctorPair> pairs;
  for (std::size_t g = 0; g < chosen.size(); ++g)
    if (chosen[g]) pairs.push_back({host.gpu_name(g), host.nics[chosen[g]->nic].name, chosen[g]->distance});
  return pairs;
}

/// The environment overrides the user's file, which overrides the machine's [NCCL-env].
std::map<std::string, SetVariable> read_variables(const Tree& tree) {
  std::map<std::string, SetVariable> variables;
  const auto add = [&](const std::string& text, char separator, const std::string& from) {
    for (const std::string& assignment : split(text, separator)) {
      const std::size_t equals = assignment.find('=');
      if (assignment[0] == '#' || equals == std::string::npos) continue;
      // try_emplace keeps the first value, so sources are added in the order of precedence.
      variables.try_emplace(trimmed(assignment.substr(0, equals)),
                            SetVariable{trimmed(assignment.substr(equals + 1)), from});
    }
  };
  // The environment as the kernel holds it, which also works for a copy of another host's files.
  add(tree.content("proc/self/environ"), '\0', "environment");
  const auto text_of = [&](const char* name) {
    return variables.contains(name) ? variables[name].value : std::string();
  };
  const std::string own = text_of("NCCL_CONF_FILE"), home = text_of("HOME");
  for (const std::string& file :
       {own.empty() && !home.empty() ? home + "/.nccl.conf" : own, std::string("/etc/nccl.conf")})
    if (file.starts_with('/')) add(tree.content(file.substr(1)), '\n', file);
  return variables;
}

bool cpu_says(const Tree& tree, const std::string& key, const std::string& word) {
  for (const std::string& line : tree.lines("proc/cpuinfo"))
    if (line.starts_with(key)) return (line + " ").find(word) != std::string::npos;
  return false;
}

}  // namespace

double pcie_gbps(double speed, int width) {
  // Line coding: 8b/10b up to Gen2, 128b/130b up to Gen5, and 242 of 256 bytes of a flit from Gen6 on.
  const double coding = speed < 6 ? 0.8 : speed < 60 ? 128.0 / 130 : 242.0 / 256;
  return speed * width * coding / 8;
}

bool RdmaNic::active() const {
  return std::any_of(ports.begin(), ports.end(), [](const RdmaPort& p) { return p.active(); });
}

bool HostFiles::paired(const RdmaNic& nic) const {
  return std::any_of(pairs.begin(), pairs.end(), [&](const DoctorPair& p) { return p.nic == nic.name; });
}

const SetVariable* HostFiles::variable(const std::string& wanted) const {
  const auto it = variables.find(wanted);
  return it == variables.end() ? nullptr : &it->second;
}

PciDistance pci_distance(const PciDevice& a, const PciDevice& b) {
  // Devices below different root ports of one host bridge have no bridge in common: phb.
  if (a.root_bus == b.root_bus) {
    const std::size_t least = std::min(a.chain.size(), b.chain.size());
    std::size_t common = 0;
    while (common < least && a.chain[common] == b.chain[common]) ++common;
    if (common == 0) return PciDistance::phb;
    // Below the upstream port that both share, each device has one downstream port of the same switch.
    return common + 2 >= std::max(a.chain.size(), b.chain.size()) ? PciDistance::pix : PciDistance::pxb;
  }
  // Different host bridges: of one CPU socket, or of two.
  return a.numa == b.numa && a.numa >= 0 ? PciDistance::node : PciDistance::sys;
}

HostFiles read_host(const std::string& root, const DoctorExtras& extras) {
  HostFiles host{Tree(root), {}, {}, false, false, 0, {}, {}, {}, {}, {}, extras, read_tool_texts(extras.texts)};
  const Tree& tree = host.tree;
  host.name = tree.line("proc/sys/kernel/hostname");
  host.kernel = tree.line("proc/sys/kernel/osrelease");
  // Only Arm's cpuinfo has this key. The flag `hypervisor` is set by x86 hypervisors.
  host.arm = cpu_says(tree, "CPU implementer", ":");
  host.virtual_machine = cpu_says(tree, "flags", " hypervisor ");
  for (const std::string& name : tree.names("sys/devices/system/node"))
    host.numa_nodes += name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos;
  host.gpus = read_gpus(tree);
  host.nics = read_nics(tree);
  host.bridges = read_bridges(tree, host);
  host.pairs = pair_up(host);
  host.variables = read_variables(tree);
  return host;
}

}  // namespace fabricast
