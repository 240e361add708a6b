// Which devices exist, and how data gets from a GPU to a NIC.
//
// peer_memory asks whether a NIC can access GPU memory at all; distance asks whether NCCL does so by default, which
// depends on the PCIe path between them [NCCL-paths].
#include <fmt/format.h>

#include <algorithm>

#include "checks.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

Findings check_devices(const HostFiles& host) {
  Findings found;
  const std::string what =
      fmt::format("{}, {}", counted(host.gpus.size(), "NVIDIA GPU"), counted(host.nics.size(), "RDMA device"));
  if (host.gpus.empty())
    found.push_back(
        {"", "host", FindingStatus::error, what, "GPUs on the PCI bus", "NCCL has nothing to run on",
         "lspci -d 10de: lists the GPUs on the bus; a container or virtual machine needs its GPUs passed through",
         std::string(from::gpu_guide)});
  if (host.nics.empty())
    found.push_back({"", "host", FindingStatus::warning, what, "RDMA devices in /sys/class/infiniband",
                     "between hosts, NCCL can use only sockets: a fraction of the rate, and the CPU copies every byte",
                     "lspci | grep -i -e mellanox -e infiniband, then load the NIC's RDMA driver (modprobe mlx5_ib); "
                     "a host that runs only single-host jobs needs none",
                     std::string(from::network_guide)});
  if (found.empty()) found.push_back(good("host", what, "GPUs and RDMA devices", from::gpu_guide));
  for (std::size_t g = 0; g < host.gpus.size(); ++g)
    if (host.gpus[g].driver != "nvidia")
      found.push_back({"", device_name(host.gpu_name(g), host.gpus[g]), FindingStatus::error,
                       host.gpus[g].driver.empty() ? "no driver is bound" : "bound to " + host.gpus[g].driver,
                       "bound to nvidia", "CUDA does not see this GPU",
                       "nvidia-smi; dmesg | grep -i -e nvrm -e xid; modprobe nvidia", std::string(from::gpu_guide)});
  return found;
}

Findings check_peer_memory(const HostFiles& host) {
  // EFA and software devices do not need it, and without GPUs or NICs there is nothing to connect.
  const auto needs = [](const RdmaNic& nic) { return nic.pci && nic.pci->driver != "efa"; };
  if (host.gpus.empty() || std::none_of(host.nics.begin(), host.nics.end(), needs)) return {};
  const std::string expected = "module nvidia_peermem, or DMA-BUF: kernel 5.12 and NVIDIA's open kernel module";
  const std::string why =
      "without GPUDirect RDMA every byte between hosts is staged in host memory and crosses PCIe twice";
  // Either module is enough, whatever DMA-BUF needs. nv_peer_mem is the older one, outside the driver.
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"})
    if (host.tree.has(std::string("sys/module/") + module))
      return {good("host", std::string(module) + " is loaded", expected, from::gpu_guide)};
  const std::string version = host.tree.line("proc/driver/nvidia/version");
  std::string missing = "nvidia_peermem is not loaded, and DMA-BUF is unavailable:";
  const std::size_t length = missing.size();
  if (host.kernel.empty() || version_numbers(host.kernel) < std::vector<int>{5, 12})
    missing += fmt::format(" kernel {}", host.kernel.empty() ? "unknown" : host.kernel);
  if (version.find("Open Kernel Module") == std::string::npos)
    missing += fmt::format("{} {}", missing.size() > length ? "," : "",
                           version.empty() ? "no driver is loaded" : "NVIDIA's closed kernel module");
  if (const SetVariable* off = host.variable("NCCL_DMABUF_ENABLE"); off && off->value == "0")
    missing += fmt::format("{} NCCL_DMABUF_ENABLE=0 ({})", missing.size() > length ? "," : "", off->from);
  // All reasons are listed: each of them alone makes DMA-BUF unavailable.
  if (missing.size() > length)
    return {{"", "host", FindingStatus::error, missing, expected, why,
             "modprobe nvidia-peermem, and add the line nvidia-peermem to /etc/modules-load.d/nvidia-peermem.conf",
             std::string(from::gpu_guide)}};
  // The configuration of the kernel is not on every host. Without it nothing is reported.
  const std::vector<std::string> config = host.tree.lines("boot/config-" + host.kernel);
  if (std::find(config.begin(), config.end(), "# CONFIG_DMABUF_MOVE_NOTIFY is not set") != config.end())
    return {{"", "host", FindingStatus::note, "DMA-BUF, with a kernel without CONFIG_DMABUF_MOVE_NOTIFY", expected,
             "buffers are pinned while they are registered, and some RDMA drivers refuse them",
             "NCCL_DEBUG=INFO shows GDRDMA and DMA-BUF if it works; if not, modprobe nvidia-peermem",
             std::string(from::gpu_operator)}};
  return {
      good("host", "DMA-BUF: kernel " + host.kernel + ", NVIDIA's open kernel module", expected, from::gpu_operator)};
}

Findings check_distance(const HostFiles& host) {
  Findings found;
  const std::string expected = "behind one or more PCIe switches (pix, pxb)";
  const SetVariable* file = host.variable("NCCL_TOPO_FILE");
  const std::string virtual_file = "var/run/nvidia-topologyd/virtualTopology.xml";
  const SetVariable* level = host.variable("NCCL_NET_GDR_LEVEL");
  const auto allowed = [&](PciDistance d) {
    if (!level) return false;
    const std::string& v = level->value;
    // NCCL accepts names and the numbers of older versions.
    return v == "SYS" || v == "4" || v == "5" || (d != PciDistance::sys && (v == "PHB" || v == "3"));
  };
  for (const DoctorPair& pair : host.pairs) {
    // Names of GPUs are "gpu" and their index.
    const PciDevice& gpu = host.gpus[static_cast<std::size_t>(std::stoi(pair.gpu.substr(3)))];
    const auto nic =
        std::find_if(host.nics.begin(), host.nics.end(), [&](const auto& n) { return n.name == pair.nic; });
    std::string text = fmt::format("nearest free NIC {} is {}", pair.nic, name_of(pair.distance));
    const std::string subject = device_name(pair.gpu, gpu);
    // Up to pxb the path stays below one root port, and NCCL uses GPUDirect RDMA.
    if (pair.distance <= PciDistance::pxb) {
      found.push_back(good(subject, text, expected, from::nccl_paths));
      continue;
    }
    if (pair.distance == PciDistance::sys)
      text += fmt::format(": NUMA nodes {} and {}", gpu.numa < 0 ? "unknown" : std::to_string(gpu.numa),
                          nic->pci->numa < 0 ? "unknown" : std::to_string(nic->pci->numa));
    Finding f{
        "",
        subject,
        FindingStatus::warning,
        text,
        expected,
        "NCCL does not use GPUDirect RDMA through a CPU by default: data are staged in host memory",
        "move the NIC to a slot behind the GPU's switch (nvidia-smi topo -m; lspci -tv); if the platform supports "
        "peer traffic through the CPU, try NCCL_NET_GDR_LEVEL=PHB or SYS",
        std::string(from::nccl_paths)};
    if (pair.distance == PciDistance::sys) f.why += "; data also cross the link between sockets";
    // A topology file replaces what sysfs shows, so the finding may not be what NCCL sees.
    if (file || host.tree.has(virtual_file)) {
      f.status = FindingStatus::note;
      f.why = "NCCL reads distances from " + (file ? "NCCL_TOPO_FILE=" + file->value : "/" + virtual_file);
      f.fix = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH shows the distances that NCCL uses";
    } else if (allowed(pair.distance)) {
      f.status = FindingStatus::note;
      f.why = fmt::format("NCCL_NET_GDR_LEVEL={} allows GPUDirect RDMA on this path; its rate depends on the CPU",
                          level->value);
    } else if (host.arm) {
      // Grace connects GPU and CPU by NVLink, so the path through the CPU is fast there.
      f.status = FindingStatus::note;
      f.why = "with NVLink-C2C, NCCL goes through the CPU (P2C); without it, data are staged in host memory";
    } else if (host.virtual_machine) {
      f.why += "; a virtual machine often hides existing switches";
      f.fix = "set NCCL_TOPO_FILE to the cloud provider's topology file, if there is one";
    }
    found.push_back(std::move(f));
  }
  return found;
}

}  // namespace fabricast
