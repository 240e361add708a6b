// NCCL variables with harmful values, or that name devices or files that do not exist [NCCL-env].
//
// Status says what a value costs: an error where a transport is turned off, a warning where data are slowed, a note
// where a setting may well be intended. Variables that merely differ from a default are not listed.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checks.hpp"

namespace fabricast {

namespace {

struct Rule {
  const char* name;
  bool (*hurts)(const std::string& value);
  FindingStatus status;
  const char* expected;
  const char* why;
};

bool on(const std::string& v) { return v == "1"; }
bool off(const std::string& v) { return v == "0"; }
bool any(const std::string& v) { return !v.empty(); }
bool local(const std::string& v) { return v == "LOC" || v == "0"; }

constexpr FindingStatus note = FindingStatus::note, warning = FindingStatus::warning, error = FindingStatus::error;

constexpr std::array rules = {
    Rule{"NCCL_P2P_DISABLE", on, error, "unset",
         "GPUs of a host no longer access each other directly: NVLink is not used"},
    Rule{"NCCL_P2P_LEVEL", local, error, "unset",
         "GPUs of a host no longer access each other directly: NVLink is not used"},
    Rule{"NCCL_IB_DISABLE", on, error, "unset", "NCCL uses sockets instead of RDMA"},
    Rule{"NCCL_SHM_DISABLE", on, warning, "unset", "GPUs without peer access use the network within a host"},
    Rule{"NCCL_NET_GDR_LEVEL", local, error, "unset", "GPUDirect RDMA is off: data are staged in host memory"},
    Rule{"NCCL_NET_GDR_READ", off, warning, "unset", "sent data are staged in host memory"},
    Rule{"NCCL_DMABUF_ENABLE", off, note, "unset", "GPU memory can only be registered by nvidia_peermem"},
    Rule{"NCCL_NVLS_ENABLE", off, note, "unset",
         "NVSwitches do not reduce: collectives are slower on Hopper and later"},
    Rule{"NCCL_PXN_DISABLE", on, note, "unset", "alltoall crosses rails in the fabric instead of over NVLink"},
    Rule{"NCCL_CUMEM_ENABLE", off, note, "unset", "registered and symmetric buffers are not used"},
    Rule{"NCCL_ALGO", any, note, "unset", "all sizes use an algorithm that is best only for some"},
    Rule{"NCCL_PROTO", any, note, "unset",
         "all sizes use a protocol that is best only for some; LL128 corrupts data where it is not safe"},
    Rule{"NCCL_MAX_NCHANNELS", any, note, "unset", "fewer channels than NCCL's search found have less bandwidth"},
    Rule{"NCCL_MAX_CTAS", any, note, "unset", "fewer channels than NCCL's search found have less bandwidth"},
    Rule{"NCCL_NTHREADS", any, note, "unset", "NCCL's search chooses the best number for the GPU"},
    Rule{"NCCL_BUFFSIZE", any, note, "unset", "NCCL's tuning assumes 4 MiB"},
    Rule{"NCCL_DEBUG", [](const std::string& v) { return v == "TRACE"; }, warning, "WARN or INFO",
         "every call is printed; builds without tracing still print INFO messages"},
    Rule{"NCCL_CHECK_POINTERS", on, warning, "unset", "every call checks its pointers with CUDA"},
    Rule{"CUDA_LAUNCH_BLOCKING", on, warning, "unset", "kernels no longer overlap: collectives wait for the CPU"},
};

Finding finding(const std::string& name, const SetVariable& v, FindingStatus status, std::string expected,
                std::string why, std::string fix = {}) {
  if (fix.empty()) fix = v.from == "environment" ? "unset " + name : fmt::format("remove {} from {}", name, v.from);
  return {"",
          name,
          status,
          fmt::format("{} ({})", v.value, v.from),
          std::move(expected),
          std::move(why),
          std::move(fix),
          std::string(from::nccl_env)};
}

/// Whether one of NCCL's device lists names a device. `=` compares whole names instead of prefixes, and `:port` may
/// follow a name. A leading `^`, which inverts the list, is not applied here.
bool selects(const std::string& list, const std::string& name) {
  const std::size_t start = list.find_first_not_of("^=");
  if (start == std::string::npos) return false;
  const bool exact = list.substr(0, start).find('=') != std::string::npos;
  for (const std::string& item : split(list.substr(start), ',')) {
    const std::string wanted = item.substr(0, item.find(':'));
    if (exact ? name == wanted : name.starts_with(wanted)) return true;
  }
  return false;
}

/// The names that NCCL may use under a list.
std::vector<std::string> chosen(const std::string& list, const std::vector<std::string>& names) {
  std::vector<std::string> left;
  // `^` excludes the devices of the list.
  for (const std::string& name : names)
    if (selects(list, name) != list.starts_with('^')) left.push_back(name);
  return left;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

void check_lists(const HostFiles& host, Findings& found) {
  std::vector<std::string> nics, netdevs = host.tree.names("sys/class/net");
  for (const RdmaNic& nic : host.nics) nics.push_back(nic.name);
  // A file of the bonding driver in a folder of interfaces.
  std::erase(netdevs, "bonding_masters");
  if (const SetVariable* v = host.variable("NCCL_IB_HCA"); v && !nics.empty()) {
    const std::vector<std::string> used = chosen(v->value, nics);
    std::string idle;
    // Only NICs next to GPUs matter: a list usually leaves out those of storage and management.
    for (const RdmaNic& nic : host.nics)
      if (host.paired(nic) && std::find(used.begin(), used.end(), nic.name) == used.end())
        idle += (idle.empty() ? "" : " ") + nic.name;
    if (used.empty())
      found.push_back(finding("NCCL_IB_HCA", *v, error, "one of " + joined(nics),
                              "names no device of this host: NCCL falls back to sockets"));
    else if (!idle.empty())
      found.push_back(
          finding("NCCL_IB_HCA", *v, warning, "all NICs next to GPUs", idle + ": next to GPUs but not used"));
  }
  if (const SetVariable* v = host.variable("NCCL_SOCKET_IFNAME"); v && !netdevs.empty() && !v->value.empty())
    if (chosen(v->value, netdevs).empty())
      found.push_back(finding("NCCL_SOCKET_IFNAME", *v, error, "one of " + joined(netdevs),
                              "names no interface of this host: NCCL does not start"));
}

}  // namespace

Findings check_variables(const HostFiles& host) {
  Findings found;
  for (const Rule& rule : rules)
    if (const SetVariable* v = host.variable(rule.name); v && rule.hurts(v->value))
      found.push_back(finding(rule.name, *v, rule.status, rule.expected, rule.why));
  // Without RDMA devices sockets are the only choice.
  if (const SetVariable* v = host.variable("NCCL_NET"); v && v->value == "Socket" && !host.nics.empty())
    found.push_back(finding("NCCL_NET", *v, error, "unset", "NCCL uses sockets instead of RDMA"));
  for (const char* name : {"NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"})
    if (const SetVariable* v = host.variable(name); v && v->value.starts_with('/') && !host.tree.has(v->value))
      found.push_back(
          finding(name, *v, error, "a file", "the file does not exist: NCCL continues without it, or fails"));
  check_lists(host, found);
  if (found.empty()) found.push_back(good("host", "no harmful variable", "no harmful variable", from::nccl_env));
  return found;
}

}  // namespace fabricast
