// Errors that the driver wrote into the kernel log: Xid of GPUs, SXid of NVSwitches [NVIDIA-Xid].
//
// An Xid explains failures that otherwise look like a problem of NCCL: a collective hangs on all ranks if one GPU or
// link is lost. The kernel log needs root on many systems, so it is passed as text.
#include <fmt/format.h>

#include <array>
#include <map>

#include "checks.hpp"

namespace fabricast {

namespace {

struct Known {
  int first, last;
  FindingStatus status;
  const char* words;
  const char* why;
  const char* fix;
};

constexpr FindingStatus mild = FindingStatus::note, bad = FindingStatus::warning, worst = FindingStatus::error;

constexpr const char* program = "the program on this GPU ended, and with it the job";
constexpr const char* lost = "the GPU is unusable until it is reset: its jobs hang or end";
constexpr const char* link_lost = "a link is down or loses data: collectives hang or take a slower path";
constexpr const char* look_at_program = "run the program under compute-sanitizer; the GPU itself is usually fine";
constexpr const char* reset =
    "drain the host; nvidia-smi --gpu-reset, or reboot; if the error returns, replace the GPU";
constexpr const char* memory_reset =
    "drain the host and reset the GPU; nvidia-smi -q -d ROW_REMAPPER,ECC; dcgmi diag -r 3";
constexpr const char* check_links =
    "nvidia-smi nvlink -s and -e; reset the GPUs and restart Fabric Manager; then contact the vendor";

/// The Xids that matter to collectives, from NVIDIA's catalog; the wording is ours.
constexpr std::array catalogue = {
    Known{13, 13, bad, "graphics engine exception", program, look_at_program},
    Known{31, 31, bad, "GPU memory page fault", program, look_at_program},
    Known{32, 32, bad, "corrupted command stream", program, "check PCIe: dmesg | grep -i aer; run compute-sanitizer"},
    Known{43, 43, mild, "the GPU stopped a program after its fault", program, look_at_program},
    Known{45, 45, mild, "work was removed because a program ended or after an earlier error", program,
          "look at earlier lines of the log"},
    Known{46, 46, worst, "the GPU stopped processing", lost, reset},
    Known{48, 48, worst, "double-bit ECC error", lost, memory_reset},
    Known{61, 62, worst, "the GPU's microcontroller halted", lost, reset},
    Known{63, 63, bad, "a row or page of memory will be retired",
          "it is retired at the next reset; until then the GPU uses it", memory_reset},
    Known{64, 64, worst, "a row or page of memory could not be retired", lost, memory_reset},
    Known{69, 69, bad, "graphics engine class error", program, look_at_program},
    Known{74, 74, worst, "NVLink error", link_lost, check_links},
    Known{79, 79, worst, "the GPU has fallen off the bus", lost,
          "reboot; check power, cables and temperature; reseat the card; if the error returns, replace the GPU"},
    Known{92, 92, bad, "many single-bit ECC errors", "they are corrected, but worse errors may follow", memory_reset},
    Known{94, 94, bad, "contained ECC error", program, memory_reset},
    Known{95, 95, worst, "uncontained ECC error", lost, memory_reset},
    Known{109, 109, bad, "context switch timeout", program, reset},
    Known{119, 119, worst, "the GPU system processor (GSP) does not respond", lost, reset},
    Known{120, 120, worst, "GPU system processor (GSP) error", lost, reset},
    Known{121, 121, mild, "corrected error between GPU and Grace", "many of them reduce performance", reset},
    Known{136, 136, worst, "NVLink training failed", link_lost, check_links},
    Known{137, 137, bad, "fault of memory accessed over NVLink", program,
          "look for the first Xid on the other GPUs; run the program under compute-sanitizer"},
    Known{140, 140, worst, "uncorrected ECC error", lost, memory_reset},
    Known{143, 143, worst, "GPU initialization failed", lost, reset},
    Known{144, 150, worst, "NVLink error", link_lost, check_links},
    Known{154, 154, mild, "the driver changed its recommended recovery action", "the log line names the action",
          "do what the log line says: reset, reboot or drain"},
};

const Known* known(int code) {
  for (const Known& k : catalogue)
    if (code >= k.first && code <= k.last) return &k;
  return nullptr;
}

/// "gpu2 (0000:3b:00)", or the address alone if it is of no GPU of the host.
std::string subject_of(const HostFiles& host, const XidEvent& event) {
  // The driver prints the address without the function: 0000:3b:00 for 0000:3b:00.0.
  for (std::size_t g = 0; g < host.gpus.size(); ++g)
    if (!event.address.empty() && host.gpus[g].address.starts_with(event.address))
      return fmt::format("{} ({})", host.gpu_name(g), event.address);
  return event.address;
}

Finding of_switch(const XidEvent& e, const std::string& times) {
  // The driver states the severity of an SXid, so its codes are not tabulated.
  const bool fatal = e.text.starts_with("Fatal");
  return {"",
          "NVSwitch " + e.address,
          fatal ? worst : bad,
          fmt::format("SXid {}{}: {}", e.code, times, e.text),
          "no SXid",
          fatal ? "the NVSwitch lost a link: jobs on its GPUs end" : "a link of the NVSwitch had to recover",
          check_links,
          std::string(from::xid)};
}

Finding of_gpu(const HostFiles& host, const XidEvent& e, const std::string& times) {
  const Known* k = known(e.code);
  return {"", subject_of(host, e),
          // An unknown code is a warning: new drivers add codes.
          k ? k->status : bad, fmt::format("Xid {}{}: {}", e.code, times, k ? k->words : e.text), "no Xid",
          k ? k->why : "an Xid that doctor does not know", k ? k->fix : "look it up in NVIDIA's Xid catalog",
          std::string(from::xid)};
}

}  // namespace

Findings check_xid(const HostFiles& host) {
  // Without a log nothing can be said, not even that there is no Xid.
  if (!host.tools.kernel_log) return {};
  std::map<std::tuple<std::string, bool, int>, std::pair<const XidEvent*, int>> events;
  for (const XidEvent& e : host.tools.xids) {
    // A fault repeats its line, often thousands of times; the first text of each code is shown with the count.
    auto& [first, count] = events[{e.address, e.of_switch, e.code}];
    if (!first) first = &e;
    ++count;
  }
  Findings found;
  for (const auto& [key, event] : events) {
    const auto& [first, count] = event;
    const std::string times = count > 1 ? fmt::format(" ({} times)", count) : "";
    found.push_back(first->of_switch ? of_switch(*first, times) : of_gpu(host, *first, times));
  }
  if (found.empty()) found.push_back(good("host", "none in the given log", "no Xid", from::xid));
  return found;
}

}  // namespace fabricast
