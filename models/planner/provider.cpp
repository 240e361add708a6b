// Variables that users of a network usually find already set. NCCL's defaults are then what nobody runs, so a forecast
// with them would answer the wrong question. Those of single machines are data of the profiles (models/hardware/data);
// this file has those that come with the network itself, wherever it is.
#include "fabricast/planner/provider.hpp"

#include "fabricast/planner/ofi_plugin.hpp"

namespace fabricast {

namespace {

/// Variables for A3 High, with four NICs for eight GPUs [GPUDirect-TCPX].
std::map<std::string, std::string> tcpx() {
  return {{"NCCL_ALGO", "Ring"},
          {"NCCL_PROTO", "Simple"},
          {"NCCL_CROSS_NIC", "0"},
          {"NCCL_P2P_PXN_LEVEL", "0"},
          {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
          {"NCCL_P2P_PCI_CHUNKSIZE", "524288"},
          {"NCCL_P2P_NVL_CHUNKSIZE", "1048576"}};
}

/// Variables for A3 Mega, with one NIC per GPU. Google's NCCL shim checks them [GPUDirect-TCPXO].
std::map<std::string, std::string> tcpxo() {
  return {{"NCCL_ALGO", "Ring,Tree"},
          {"NCCL_PROTO", "Simple"},
          {"NCCL_CROSS_NIC", "0"},
          {"NCCL_MIN_NCHANNELS", "4"},
          {"NCCL_BUFFSIZE", "8388608"},
          {"NCCL_NVLS_ENABLE", "0"},
          {"NCCL_P2P_NET_CHUNKSIZE", "524288"},
          {"NCCL_P2P_PCI_CHUNKSIZE", "524288"},
          {"NCCL_P2P_NVL_CHUNKSIZE", "1048576"}};
}

}  // namespace

ProviderEnvironment provider_environment(const NodeSpec& host, const GpuKind& gpu, const NcclVersion& version) {
  // The two generations of TCPX differ in their NICs: A3 High has fewer NICs than GPUs, A3 Mega one for each GPU.
  if (host.nics.count == 0) return {};
  if (host.nics.link == LinkKind::efa) return {"the OFI plugin", ofi_variables(ofi_platform(host, gpu), version)};
  if (host.nics.link == LinkKind::gpudirect_tcpx)
    return host.nics.count < host.gpus ? ProviderEnvironment{"the instructions for GPUDirect-TCPX", tcpx()}
                                       : ProviderEnvironment{"the instructions for GPUDirect-TCPXO", tcpxo()};
  return {};
}

}  // namespace fabricast
