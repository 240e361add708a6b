// Settings of the kernel and of this process.
//
// Limits are those of the process that runs the doctor, so it must be started as a job is.
#include <fmt/format.h>

#include <cstdlib>

#include "checks.hpp"

namespace fabricast {

namespace {

/// The soft limit: "unlimited" or bytes; empty if unknown.
std::string locked_limit(const Tree& tree) {
  const std::string name = "Max locked memory";
  for (const std::string& line : tree.lines("proc/self/limits"))
    if (line.starts_with(name)) {
      const std::vector<std::string> words = split(line.substr(name.size()), ' ');
      return words.empty() ? std::string() : words[0];
    }
  return {};
}

/// Whether this process has CAP_IPC_LOCK (bit 14), so that limits on locked memory do not apply to it.
bool may_lock(const Tree& tree) {
  for (const std::string& line : tree.lines("proc/self/status"))
    if (line.starts_with("CapEff:")) return std::strtoull(line.substr(7).c_str(), nullptr, 16) >> 14 & 1;
  return false;
}

}  // namespace

Findings check_locked_memory(const HostFiles& host) {
  const std::string limit = locked_limit(host.tree), expected = "unlimited";
  if (limit.empty())
    return {{"", "host", FindingStatus::unknown, "unknown", expected, "RDMA needs locked memory", "ulimit -l",
             std::string(from::runtime_guide)}};
  // "unlimited" is the word of the kernel.
  if (limit == expected) return {good("host", limit, expected, from::runtime_guide)};
  const double bytes = std::strtod(limit.c_str(), nullptr);
  const std::string is = fmt::format("{:.0f} KiB", bytes / 1024);
  const std::string fix =
      "'* soft memlock unlimited' and '* hard memlock unlimited' in /etc/security/limits.conf; "
      "LimitMEMLOCK=infinity in the unit of slurmd or the container runtime; docker: --ulimit "
      "memlock=-1";
  if (may_lock(host.tree))
    return {{"", "host", FindingStatus::note, is + ", but this process is exempt (CAP_IPC_LOCK)", expected,
             "the limit may apply to jobs of other users", fix, std::string(from::runtime_guide)}};
  // A channel of the Simple protocol registers 4 MiB to send and 4 MiB to receive.
  const bool small = bytes <= 8.0 * (1 << 20);
  return {{"", "host", small ? FindingStatus::error : FindingStatus::warning, is, expected,
           small ? "NCCL cannot register its buffers: 'ibv_reg_mr ... Cannot allocate memory'"
                 : "registering buffers fails when a job needs more",
           fix, std::string(from::runtime_guide)}};
}

Findings check_numa_balancing(const HostFiles& host) {
  const std::string setting = host.tree.line("proc/sys/kernel/numa_balancing");
  // With one NUMA node there is nowhere to move pages to.
  if (setting.empty() || host.numa_nodes < 2) return {};
  if (setting == "0") return {good("host", "off", "off", from::grace_guide)};
  return {{"", "host", FindingStatus::warning, "on (" + setting + ")", "off",
           "the kernel unmaps pages to see who uses them, and moves them: this adds jitter to threads that are pinned",
           "sudo sysctl kernel.numa_balancing=0, and the same line in /etc/sysctl.d/", std::string(from::grace_guide)}};
}

Findings check_governor(const HostFiles& host) {
  const std::string folder = "sys/devices/system/cpu/";
  std::size_t all = 0, others = 0;
  std::string other;
  for (const std::string& cpu : host.tree.names(folder))
    if (const std::string governor = host.tree.line(folder + cpu + "/cpufreq/scaling_governor"); !governor.empty()) {
      // The governor is a setting of each CPU.
      ++all;
      if (governor != "performance") {
        ++others;
        other = governor;
      }
    }
  if (all == 0) return {};
  if (others == 0) return {good("host", "performance", "performance", from::grace_guide)};
  return {{"", "host", FindingStatus::note, fmt::format("{} on {} of {} CPUs", other, others, all), "performance",
           "NCCL's proxy threads wake up on slow cores, which adds latency to small messages",
           "sudo cpupower frequency-set -g performance", std::string(from::grace_guide)}};
}

}  // namespace fabricast
