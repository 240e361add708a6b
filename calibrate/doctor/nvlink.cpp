// NVLink, Fabric Manager and IMEX, from the output of their tools.
//
// sysfs does not show NVLink, so these checks exist only with `--text`. What is expected is what the best GPU of the
// host has: the number of links differs by generation and is not tabulated here.
#include <fmt/format.h>

#include <algorithm>

#include "checks.hpp"

namespace fabricast {

namespace {

constexpr const char* restart =
    "sudo systemctl enable --now nvidia-fabricmanager, of the driver's release; journalctl -u nvidia-fabricmanager";

Finding link_errors(const std::string& subject, const NvlinkGpu& gpu) {
  std::string is;
  // A GPU has up to 18 links with several counters each. The first ones are shown, and their number.
  for (const auto& [what, count] : gpu.errors)
    if (is.size() < 100) is += fmt::format("{}{} {}", is.empty() ? "" : ", ", what, count);
  if (gpu.errors.size() > 1) is += fmt::format(" ({} counters)", gpu.errors.size());
  return {"",
          subject,
          FindingStatus::warning,
          is,
          "no errors",
          "lost packets are retransmitted; many errors end in Xid 74",
          "check after a job whether they rise; reseat the GPU board; then contact the vendor",
          std::string(from::smi)};
}

}  // namespace

Findings check_nvlink(const HostFiles& host) {
  const auto& gpus = host.tools.nvlink;
  std::size_t most = 0;
  double fastest = 0;
  for (const auto& [number, gpu] : gpus) {
    most = std::max(most, gpu.active());
    for (const auto& [link, gbps] : gpu.gbps) fastest = std::max(fastest, gbps);
  }
  Findings found;
  for (const auto& [number, gpu] : gpus) {
    const std::string subject = fmt::format("GPU {} of nvidia-smi", number);
    if (!gpu.errors.empty()) found.push_back(link_errors(subject, gpu));
    if (gpu.gbps.empty()) continue;
    // Inactive links have a rate of 0 and are counted separately.
    const std::size_t slow = static_cast<std::size_t>(std::count_if(
        gpu.gbps.begin(), gpu.gbps.end(), [&](const auto& l) { return l.second > 0 && l.second < fastest; }));
    const std::string is = fmt::format("{} of {} links active{}", gpu.active(), gpu.gbps.size(),
                                       slow > 0 ? fmt::format(", {} slower than {:g} GB/s", slow, fastest) : "");
    const std::string expected =
        fmt::format("{} links at {:g} GB/s, as on similar GPUs", std::max(most, gpu.gbps.size()), fastest);
    if (gpu.active() == gpu.gbps.size() && gpu.active() == most && slow == 0)
      found.push_back(good(subject, is, expected, from::smi));
    else
      found.push_back(
          // Fewer links than other GPUs is a fault of this GPU. Inactive links on all GPUs alike may be the design of
          // the board.
          {"", subject, gpu.active() == 0 || gpu.active() < most ? FindingStatus::error : FindingStatus::warning, is,
           expected,
           gpu.active() == 0 ? "this GPU has no NVLink: collectives go over PCIe"
                             : "rings and trees of all GPUs run at the rate of the slowest GPU",
           fmt::format("nvidia-smi nvlink -s -i {}; reset the GPUs; {}", number, restart), std::string(from::smi)});
  }
  return found;
}

Findings check_fabric_manager(const HostFiles& host) {
  Findings found;
  bool fabric = false;
  for (const SmiGpu& gpu : host.tools.gpus) {
    const std::string state = gpu.value("Fabric/State"), status = gpu.value("Fabric/Status");
    // GPUs without NVSwitch have no fabric to join.
    if (state.empty() || state == "N/A") continue;
    fabric = true;
    const std::string is =
        fmt::format("state {}{}", state, status.empty() || status == "N/A" ? "" : ", status " + status);
    // Older drivers report a state without a status.
    const bool well = state == "Completed" && (status.empty() || status == "Success" || status == "N/A");
    if (well)
      found.push_back(good("GPU " + gpu.address, is, "state Completed, status Success", from::fabric_manager));
    else
      found.push_back({"", "GPU " + gpu.address, FindingStatus::error, is, "state Completed, status Success",
                       "the GPU has not joined the NVLink fabric: CUDA reports 'system not yet initialized' (802)",
                       restart, std::string(from::fabric_manager)});
  }
  const auto service = host.tools.services.find("nvidia-fabricmanager");
  if (service == host.tools.services.end()) return found;
  const std::string is = service->second.empty() ? "state unknown" : service->second, expected = "active (running)";
  if (is.starts_with("active"))
    found.push_back(good("nvidia-fabricmanager", is, expected, from::fabric_manager));
  else
    found.push_back({"", "nvidia-fabricmanager",
                     // A host whose GPUs report a fabric needs the service.
                     is == "not installed" && !fabric ? FindingStatus::note : FindingStatus::error, is, expected,
                     is == "not installed" ? "hosts without NVSwitch and hosts of an NVLink rack do not need it"
                                           : "without it, GPUs behind NVSwitches do not start (CUDA error 802)",
                     restart, std::string(from::fabric_manager)});
  return found;
}

Findings check_imex(const HostFiles& host) {
  Findings found;
  const std::string restarts =
      "sudo systemctl restart nvidia-imex on all nodes, with the same nodes_config.cfg; journalctl -u nvidia-imex";
  const std::string why = "NCCL cannot reach GPUs of other trays over NVLink and uses the network";
  if (const auto& domain = host.tools.imex) {
    const std::string is = fmt::format(
        "domain {}, {} nodes{}", domain->state.empty() ? "state unknown" : domain->state, domain->nodes.size(),
        domain->broken > 0
            ? fmt::format(", {} of {} connections missing", domain->broken, domain->broken + domain->connected)
            : "");
    if (domain->state == "UP" && domain->broken == 0)
      found.push_back(good("host", is, "domain UP", from::imex));
    else
      found.push_back({"", "host",
                       // Only part of the output was given.
                       domain->state.empty() && domain->broken == 0 ? FindingStatus::unknown : FindingStatus::error, is,
                       "domain UP", why, restarts, std::string(from::imex)});
    for (const auto& [node, state] : domain->nodes)
      if (state != "READY")
        found.push_back({"", "node " + node, FindingStatus::error, state.empty() ? "state unknown" : state, "READY",
                         why, restarts, std::string(from::imex)});
  }
  if (const auto it = host.tools.services.find("nvidia-imex"); it != host.tools.services.end()) {
    const std::string is = it->second.empty() ? "state unknown" : it->second;
    if (is.starts_with("active"))
      found.push_back(good("nvidia-imex", is, "active (running)", from::imex));
    else
      found.push_back({"", "nvidia-imex", FindingStatus::note, is, "active (running) on hosts of an NVLink rack",
                       why + "; other hosts do not need it", restarts, std::string(from::imex)});
  }
  return found;
}

}  // namespace fabricast
