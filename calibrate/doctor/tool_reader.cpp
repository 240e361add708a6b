// Parsers for the output of nvidia-smi, dmesg, systemctl, nvidia-imex-ctl, mlnx_qos and dcb. Texts may come from
// anywhere, so everything kept from them is bounded and made printable.
#include "tool_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "fabricast/core/scan.hpp"

namespace fabricast {

namespace {

bool has(std::string_view line, std::string_view mark) { return line.find(mark) != std::string_view::npos; }

constexpr std::size_t most_xids = 100000;

/// Parses "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=python3, GPU has fallen off the bus." and, for an NVSwitch,
/// "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up".
std::optional<XidEvent> xid_of(std::string_view line) {
  const bool of_switch = has(line, "SXid (");
  auto rest = after(line, of_switch ? "SXid (" : "NVRM: Xid (");
  if (!rest) return std::nullopt;
  XidEvent event;
  event.of_switch = of_switch;
  std::string_view address = take_until(*rest, ')');
  if (address.starts_with("PCI:")) address.remove_prefix(4);
  event.address = shown(address, 20);
  // Other lines of the driver also mention an Xid.
  if (!rest->starts_with(": ")) return std::nullopt;
  rest->remove_prefix(2);
  const std::optional<int> code = take_number(*rest);
  if (!code) return std::nullopt;
  event.code = *code;
  if (rest->starts_with(',')) rest->remove_prefix(1);
  event.text = shown(trimmed(*rest), 120);
  return event;
}

/// "[   12.345678] text", "[Tue Nov  3 12:00:01 2026] text" or "Nov 3 12:00:01 host kernel: text".
bool is_kernel_line(std::string_view line) {
  if (has(line, " kernel: ") || has(line, "NVRM: ")) return true;
  if (!line.starts_with('[') || !has(line, "] ")) return false;
  line.remove_prefix(1);
  for (const char* day : {"Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat ", "Sun "})
    if (line.starts_with(day)) return true;
  return take_number(line) && line.starts_with('.');
}

/// Parses "0   - 10.115.14.34   - READY   - Version: 560.35"; stars mark the node that ran the command.
void take_imex_node(ImexDomain& domain, std::string_view text) {
  std::string address, state;
  const std::vector<std::string_view> words = words_of(text);
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string word(words[i]);
    std::erase(word, '*');
    const bool capitals = word.size() > 3 && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string::npos;
    if (capitals && state.empty())
      state = shown(word, 40);
    else if (address.empty() && word.size() > 1 && !capitals)
      address = shown(word, 60);
  }
  if (!words.empty()) domain.nodes[fmt::format("{} ({})", shown(words[0], 8), address)] = state;
}

}  // namespace

void ToolReader::take(std::string_view line) {
  if (take_kernel(line) || take_command(line) || begins(line)) {
    known_ = true;
    return;
  }
  switch (tool_) {
    case Tool::smi: return take_smi(line);
    case Tool::nvlink: return take_nvlink(line);
    case Tool::service: return take_service(line);
    case Tool::imex: return take_imex(line);
    case Tool::qos: return take_qos(line);
    case Tool::none: return;
  }
}

bool ToolReader::take_kernel(std::string_view line) {
  std::optional<XidEvent> event = xid_of(line);
  if (!event && !is_kernel_line(line)) return false;
  facts_.kernel_log = true;
  if (event && facts_.xids.size() < most_xids) facts_.xids.push_back(std::move(*event));
  return true;
}

/// Parses a shell line such as "# mlnx_qos -i eth2". It names the interface, which the output does not.
bool ToolReader::take_command(std::string_view line) {
  const bool qos = has(line, "mlnx_qos "), dcb = has(line, "dcb pfc show");
  if (!qos && !dcb) return false;
  const std::vector<std::string_view> words = words_of(line);
  netdev_.clear();
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "-i" || words[i] == "--interface" || words[i] == "dev") netdev_ = shown(words[i + 1], 32);
  tool_ = Tool::qos;
  return true;
}

bool ToolReader::begin_service(std::string_view line) {
  for (const char* unit : {"nvidia-fabricmanager", "nvidia-imex"}) {
    if (!has(line, std::string(unit) + ".service")) continue;
    // "Loaded: loaded (/lib/systemd/system/nvidia-imex.service; enabled)" follows a line that names the unit.
    if (has(line, "Loaded:")) return tool_ == Tool::service;
    tool_ = Tool::service;
    unit_ = unit;
    facts_.services.try_emplace(unit_, has(line, "could not be found") ? "not installed" : "");
    return true;
  }
  return false;
}

bool ToolReader::begins(std::string_view line) {
  if (has(line, "NVSMI LOG")) {
    begin_smi();
    return true;
  }
  // "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)" heads the links of a GPU, both with -s and with -e.
  if (line.starts_with("GPU ") && has(line, "(UUID: ")) {
    std::string_view rest = line.substr(4);
    const std::optional<int> number = take_number(rest);
    if (!number || !rest.starts_with(':')) return false;
    tool_ = Tool::nvlink;
    number_ = *number;
    facts_.nvlink[number_];
    return true;
  }
  if (has(line, "Connectivity Table Legend") || has(line, "Nodes From\\To") || line.starts_with("Domain State:") ||
      (line.starts_with("Node #") && tool_ != Tool::smi)) {
    tool_ = Tool::imex;
    if (!facts_.imex) facts_.imex.emplace();
    take_imex(line);
    return true;
  }
  if (line.starts_with("DCBX mode:") || line.starts_with("Priority trust state:") ||
      line.starts_with("PFC configuration:") || trimmed(line).starts_with("prio-pfc ")) {
    tool_ = Tool::qos;
    take_qos(line);
    return true;
  }
  return begin_service(line);
}

void ToolReader::begin_smi() {
  tool_ = Tool::smi;
  gpu_ = nullptr;
}

void ToolReader::take_smi(std::string_view line) {
  // "GPU 00000000:1B:00.0" without indentation begins the next GPU.
  if (line.starts_with("GPU ") && has(line, ":")) {
    facts_.gpus.push_back({shown(trimmed(line.substr(4)), 24), {}});
    gpu_ = &facts_.gpus.back();
    section_.clear();
    return;
  }
  if (!gpu_ || trimmed(line).empty()) return;
  // Each level is indented by four blanks. A key with a value may also head a section, as HW Slowdown does.
  const std::size_t blanks = line.find_first_not_of(' ');
  std::string_view rest = line;
  const std::string key(trimmed(take_until(rest, ':')));
  const bool has_value = has(line, " : ");
  // Only the first level names a section. Deeper ones are merged into it, because the keys that are read are unique
  // there.
  if (blanks <= 4) section_ = has_value ? std::string() : key;
  if (!has_value) return;
  // Older drivers use other section names.
  std::string section = section_;
  if (section == "Clocks Throttle Reasons") section = "Clocks Event Reasons";
  if (section == "Power Readings") section = "GPU Power Readings";
  gpu_->values.try_emplace(section + "/" + key, shown(trimmed(rest), 80));
}

/// "Link 0: 26.562 GB/s", "Link 1: <inactive>", "Link 0: Replay Errors: 0".
void ToolReader::take_nvlink(std::string_view line) {
  std::string_view rest = trimmed(line);
  if (!rest.starts_with("Link ")) return;
  rest.remove_prefix(5);
  const std::optional<int> link = take_number(rest);
  if (!link || !rest.starts_with(':')) return;
  rest = trimmed(rest.substr(1));
  NvlinkGpu& gpu = facts_.nvlink[number_];
  if (has(rest, "GB/s")) {
    gpu.gbps[*link] = std::strtod(std::string(rest).c_str(), nullptr);
  } else if (has(rest, "inactive")) {
    gpu.gbps[*link] = 0;
  } else if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    const std::string_view what = trimmed(rest.substr(0, colon));
    const std::optional<std::int64_t> count = whole_number(trimmed(rest.substr(colon + 1)));
    // Errors that forward error correction repairs lose no data.
    if (count && *count > 0 && what.ends_with("Errors") && !has(what, "FEC"))
      gpu.errors[fmt::format("Link {}: {}", *link, shown(what, 60))] = *count;
  }
}

void ToolReader::take_service(std::string_view line) {
  // "Active: active (running) since Tue 2026-11-03 12:00:01 UTC; 2 days ago"
  const auto state = after(line, "Active: ");
  if (state && !unit_.empty()) facts_.services[unit_] = shown(state->substr(0, state->find(" since ")), 60);
}

/// "Node #0   - 10.115.14.34   - READY   - Version: 560.35", "   0   C   C   N" and "Domain State: UP".
void ToolReader::take_imex(std::string_view line) {
  ImexDomain& domain = *facts_.imex;
  const std::string_view text = trimmed(line);
  if (const auto state = after(text, "Domain State:")) {
    domain.state = shown(trimmed(*state), 20);
    return;
  }
  if (text.starts_with("Node #")) return take_imex_node(domain, text.substr(6));
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2 || !small_number(words[0])) return;
  constexpr std::string_view states[] = {"I", "N", "R", "D", "A", "!V!", "!M!", "C"};
  const auto known = [&](std::string_view w) {
    return std::find(std::begin(states), std::end(states), w) != std::end(states);
  };
  if (!std::all_of(words.begin() + 1, words.end(), known)) return;
  // The table of connections: C is connected, all other letters are not.
  for (std::size_t i = 1; i < words.size(); ++i) ++(words[i] == "C" ? domain.connected : domain.broken);
}

void ToolReader::take_qos(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty()) return;
  // The empty name stands for output without its command.
  PriorityFlow& flow = facts_.flow[netdev_];
  if (const auto trust = after(line, "Priority trust state:")) flow.trust = shown(trimmed(*trust), 8);
  // "enabled 0 0 0 1 0 0 0 0" of mlnx_qos, "prio-pfc 0:off 1:off 2:off 3:on ..." of dcb.
  if (words[0] == "enabled" && words.size() == 9) {
    unsigned mask = 0;
    for (unsigned p = 0; p < 8; ++p) mask |= (words[p + 1] == "1" ? 1u : 0u) << p;
    flow.pfc = mask;
  }
  if (words[0] == "prio-pfc") {
    unsigned mask = 0;
    for (std::string_view word : words)
      if (const std::optional<int> priority = take_number(word); priority && *priority < 8 && *priority >= 0)
        mask |= (word == ":on" ? 1u : 0u) << *priority;
    flow.pfc = mask;
  }
  // "prio:3 dscp:31,30,29,28,": a long list continues on another line of this form.
  if (words[0].starts_with("prio:") && words.size() == 2 && words[1].starts_with("dscp:")) {
    std::string_view number = words[0].substr(5), list = words[1].substr(5);
    const std::optional<int> priority = take_number(number);
    while (priority && !list.empty())
      if (const std::optional<int> dscp = small_number(take_until(list, ',')); dscp && *dscp >= 0 && *dscp < 64)
        flow.priority_of_dscp[*dscp] = *priority;
  }
}

}  // namespace fabricast
