// What the driver wrote into the kernel's log: Xid of GPUs, SXid of NVSwitches.
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

constexpr const char* program = "the program that ran there ended, and with it its job";
constexpr const char* lost = "the GPU works for nobody until it is reset: its jobs hang or end";
constexpr const char* link_lost = "a link is down or loses data: collectives hang, or take a slower path";
constexpr const char* look_at_program = "compute-sanitizer on the program; the GPU itself is mostly well";
constexpr const char* reset = "drain the host; nvidia-smi --gpu-reset, or reboot; if it comes back, replace the GPU";
constexpr const char* memory_reset =
    "drain the host and reset the GPU; nvidia-smi -q -d ROW_REMAPPER,ECC; dcgmi diag -r 3";
constexpr const char* check_links =
    "nvidia-smi nvlink -s and -e; reset the GPUs and restart Fabric Manager; then the vendor";

/// Those that matter to collectives, from NVIDIA's catalogue; words are ours.
constexpr std::array catalogue = {
    Known{13, 13, bad, "exception of the graphics engine", program, look_at_program},
    Known{31, 31, bad, "page fault of GPU memory", program, look_at_program},
    Known{32, 32, bad, "damaged stream of commands", program, "look at PCIe: dmesg | grep -i aer; compute-sanitizer"},
    Known{43, 43, mild, "the GPU stopped a program after its fault", program, look_at_program},
    Known{45, 45, mild, "work was removed, as a program ended or another error came before", program,
          "look at what stands before it in the log"},
    Known{46, 46, worst, "the GPU stopped processing", lost, reset},
    Known{48, 48, worst, "ECC error of two bits", lost, memory_reset},
    Known{61, 62, worst, "the GPU's microcontroller halted", lost, reset},
    Known{63, 63, bad, "a row or page of memory is to be taken out of use",
          "it is so from the next reset on; until then the GPU works with it", memory_reset},
    Known{64, 64, worst, "a row or page of memory could not be taken out of use", lost, memory_reset},
    Known{69, 69, bad, "error of the graphics engine's class", program, look_at_program},
    Known{74, 74, worst, "NVLink error", link_lost, check_links},
    Known{79, 79, worst, "the GPU has fallen off the bus", lost,
          "reboot; look at power, cables and temperature; reseat the card; if it comes back, replace the GPU"},
    Known{92, 92, bad, "many ECC errors of one bit", "they are mended, and announce worse", memory_reset},
    Known{94, 94, bad, "ECC error that was contained", program, memory_reset},
    Known{95, 95, worst, "ECC error that was not contained", lost, memory_reset},
    Known{109, 109, bad, "a context switch took too long", program, reset},
    Known{119, 119, worst, "the GPU's system processor (GSP) does not answer", lost, reset},
    Known{120, 120, worst, "error of the GPU's system processor (GSP)", lost, reset},
    Known{121, 121, mild, "a corrected error between GPU and Grace", "speed is lost if there are many", reset},
    Known{136, 136, worst, "an NVLink did not train", link_lost, check_links},
    Known{137, 137, bad, "a fault of memory that was reached over NVLink", program,
          "look for the first Xid on the other GPUs; compute-sanitizer on the program"},
    Known{140, 140, worst, "ECC error that was not mended", lost, memory_reset},
    Known{143, 143, worst, "the GPU did not start", lost, reset},
    Known{144, 150, worst, "NVLink error", link_lost, check_links},
    Known{154, 154, mild, "the driver changed what it asks for to recover the GPU", "the text says what is to be done",
          "do what the text of the log says: reset, reboot, drain"},
};

const Known* known(int code) {
  for (const Known& k : catalogue)
    if (code >= k.first && code <= k.last) return &k;
  return nullptr;
}

/// "0000:3b:00 (gpu2)".
std::string subject_of(const HostFiles& host, const XidEvent& event) {
  for (std::size_t g = 0; g < host.gpus.size(); ++g)
    if (!event.address.empty() && host.gpus[g].address.starts_with(event.address))
      return fmt::format("{} ({})", host.gpu_name(g), event.address);
  return event.address;
}

Finding of_switch(const XidEvent& e, const std::string& times) {
  const bool fatal = e.text.starts_with("Fatal");
  return {"",
          "NVSwitch " + e.address,
          fatal ? worst : bad,
          fmt::format("SXid {}{}: {}", e.code, times, e.text),
          "no SXid",
          fatal ? "a link of the NVSwitch is lost: jobs on its GPUs end" : "a link of the NVSwitch had to recover",
          check_links,
          std::string(from::xid)};
}

Finding of_gpu(const HostFiles& host, const XidEvent& e, const std::string& times) {
  const Known* k = known(e.code);
  return {"",
          subject_of(host, e),
          k ? k->status : bad,
          fmt::format("Xid {}{}: {}", e.code, times, k ? k->words : e.text),
          "no Xid",
          k ? k->why : "not one of those that doctor knows",
          k ? k->fix : "look it up in NVIDIA's catalogue",
          std::string(from::xid)};
}

}  // namespace

Findings check_xid(const HostFiles& host) {
  if (!host.tools.kernel_log) return {};
  std::map<std::tuple<std::string, bool, int>, std::pair<const XidEvent*, int>> events;
  for (const XidEvent& e : host.tools.xids) {
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
  if (found.empty()) found.push_back(good("host", "none in the log that was given", "no Xid", from::xid));
  return found;
}

}  // namespace fabricast
