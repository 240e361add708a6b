// The checks. Each is a pure function from a host's files to findings; doctor.cpp lists them with their names.
//
// A check returns no finding if it does not apply to the host, and at least one otherwise: `ok`, the fault, or
// `unknown`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host.hpp"

namespace fabricast {

using Findings = std::vector<Finding>;  // doctor() fills in `check`

Findings check_devices(const HostFiles& host);
Findings check_peer_memory(const HostFiles& host);
Findings check_distance(const HostFiles& host);
Findings check_pcie(const HostFiles& host);
Findings check_acs(const HostFiles& host);
Findings check_iommu(const HostFiles& host);
Findings check_link_state(const HostFiles& host);
Findings check_link_rate(const HostFiles& host);
Findings check_mtu(const HostFiles& host);
Findings check_gid_index(const HostFiles& host);
Findings check_flow_control(const HostFiles& host);
Findings check_counters(const HostFiles& host);
Findings check_firmware(const HostFiles& host);
Findings check_rdma_stack(const HostFiles& host);
Findings check_driver(const HostFiles& host);
Findings check_cuda(const HostFiles& host);
Findings check_collective_library(const HostFiles& host);
Findings check_packaged_library(const HostFiles& host);
Findings check_variables(const HostFiles& host);
Findings check_locked_memory(const HostFiles& host);
Findings check_numa_balancing(const HostFiles& host);
Findings check_governor(const HostFiles& host);
Findings check_irq_affinity(const HostFiles& host);
Findings check_socket_buffers(const HostFiles& host);
Findings check_local_ports(const HostFiles& host);
Findings check_socket_mtu(const HostFiles& host);
Findings check_nvlink(const HostFiles& host);
Findings check_fabric_manager(const HostFiles& host);
Findings check_imex(const HostFiles& host);
Findings check_xid(const HostFiles& host);
Findings check_gpu_power(const HostFiles& host);
Findings check_gpu_clocks(const HostFiles& host);

/// A finding with status ok.
Finding good(std::string subject, std::string found, std::string expected, std::string_view source);
/// "mlx5_0 port 1"
std::string port_name(const RdmaNic& nic, const RdmaPort& port);
/// "gpu0 (0000:1b:00.0)"
std::string device_name(const std::string& name, const PciDevice& device);
/// Release of the loaded NVIDIA driver; empty if none is loaded.
std::string driver_release(const HostFiles& host);

/// Files of a library in the order in which the loader finds them, each with its release. The release comes from the
/// file name and is empty if the name has none.
std::vector<std::pair<std::string, std::string>> library_releases(const HostFiles& host, const std::string& soname);

/// Sources of the expectations: keys of docs/references.md, with the URL or file.
namespace from {
inline constexpr std::string_view gpu_guide =
    "[NCCL-gpu-troubleshooting] https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/"
    "gpu_troubleshooting.html";
inline constexpr std::string_view network_guide =
    "[NCCL-network-troubleshooting] https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/"
    "networking_troubleshooting.html";
inline constexpr std::string_view runtime_guide =
    "[NCCL-runtime-troubleshooting] https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/"
    "runtime_and_mpi_issues.html";
inline constexpr std::string_view nccl_env =
    "[NCCL-env] https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html";
inline constexpr std::string_view nccl_paths = "[NCCL-paths] src/graph/paths.cc of NCCL";
inline constexpr std::string_view gpu_operator =
    "[GPU-operator-rdma] https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html";
inline constexpr std::string_view storage_guide =
    "[GDS-best-practices] https://docs.nvidia.com/gpudirect-storage/best-practices-guide";
inline constexpr std::string_view guest_guide =
    "[NVIDIA-guest-ats] https://docs.nvidia.com/ai-enterprise/planning-resource/"
    "optimizing-vm-configuration-ai-inference/latest/appendix.html";
inline constexpr std::string_view cuda_compatibility =
    "[CUDA-compatibility] https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html";
inline constexpr std::string_view grace_guide =
    "[Grace-benchmarking] https://nvidia.github.io/grace-cpu-benchmarking-guide/platform/index.html";
inline constexpr std::string_view flow_control =
    "[MLNX-flow-control] https://docs.nvidia.com/networking/display/MLNXENv571020/Flow+Control";
inline constexpr std::string_view kernel_rdma =
    "[Linux-abi-infiniband] https://kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband";
inline constexpr std::string_view kernel_pci =
    "[Linux-abi-pci] https://kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci";
inline constexpr std::string_view kernel_roce = "[Linux-iboe-mtu] include/rdma/ib_addr.h of Linux";
inline constexpr std::string_view tcp_settings = "[Linux-ip-sysctl] https://docs.kernel.org/networking/ip-sysctl.html";
inline constexpr std::string_view irq_affinity =
    "[Linux-irq-affinity] https://docs.kernel.org/core-api/irq/irq-affinity.html";
inline constexpr std::string_view smi = "[NVIDIA-smi] https://docs.nvidia.com/deploy/nvidia-smi/index.html";
inline constexpr std::string_view clock_reasons =
    "[NVML-clock-reasons] https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html";
inline constexpr std::string_view xid =
    "[NVIDIA-Xid] https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html";
inline constexpr std::string_view fabric_manager =
    "[NVIDIA-fabric-manager] https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html";
inline constexpr std::string_view imex =
    "[NVIDIA-IMEX] https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/cmdservice.html";
inline constexpr std::string_view links = "[FABRICS-2]";
inline constexpr std::string_view pcie = "[FABRICS-3]";
inline constexpr std::string_view likeness = "similar devices of one host should be equal";
}  // namespace from

}  // namespace fabricast
