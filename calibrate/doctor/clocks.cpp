// Power limits and clocks of GPUs, from `nvidia-smi -q`.
//
// A collective runs at the pace of its slowest GPU, so one GPU with a lowered limit or clock slows all of them. Reasons
// are judged by whether they are normal under load: a power cap is, heat and the power brake are not.
#include <fmt/format.h>

#include <array>

#include "checks.hpp"

namespace fabricast {

namespace {

struct Reason {
  const char* name;
  FindingStatus status;
  const char* why;
  const char* fix;
};

constexpr std::array reasons = {
    Reason{"HW Thermal Slowdown", FindingStatus::error, "the GPU is too hot and runs at half its clock or less",
           "check fans, air flow or coolant: nvidia-smi -q -d TEMPERATURE"},
    Reason{"HW Power Brake Slowdown", FindingStatus::error,
           "the host's power supply asserts the power brake, and the GPU runs at half its clock or less",
           "check the power supplies and the power caps of the BMC (ipmitool, Redfish)"},
    Reason{"SW Thermal Slowdown", FindingStatus::warning, "the GPU is warm and lowers its clock",
           "check fans, air flow or coolant: nvidia-smi -q -d TEMPERATURE"},
    Reason{"SW Power Cap", FindingStatus::note,
           "clocks are lowered to stay below the power limit, which is usual under full load",
           "nvidia-smi -q -d POWER: is the limit the default?"},
    Reason{"Applications Clocks Setting", FindingStatus::note, "clocks are fixed by a setting",
           "sudo nvidia-smi -rac; sudo nvidia-smi -rgc"},
    Reason{"Sync Boost", FindingStatus::note, "clocks follow the slowest GPU of a group", "dcgmi config --get"},
};

bool active(const SmiGpu& gpu, const std::string& reason) {
  return gpu.value("Clocks Event Reasons/" + reason) == "Active";
}

}  // namespace

Findings check_gpu_power(const HostFiles& host) {
  Findings found;
  for (const SmiGpu& gpu : host.tools.gpus) {
    const std::string section = "GPU Power Readings/", subject = "GPU " + gpu.address;
    std::optional<double> limit = gpu.number(section + "Current Power Limit");
    // The name that older drivers print.
    if (!limit) limit = gpu.number(section + "Power Limit");
    const std::optional<double> usual = gpu.number(section + "Default Power Limit"),
                                most = gpu.number(section + "Max Power Limit");
    // Absent where the GPU does not report it, as in a virtual machine.
    if (!limit || !usual) continue;
    const std::string is = fmt::format("limit {:g} W", *limit);
    const std::string expected = fmt::format("{:g} W, the default{}", *usual,
                                             most && *most > *usual ? fmt::format("; maximum {:g} W", *most) : "");
    if (*limit >= *usual)
      found.push_back(good(subject, is, expected, from::smi));
    else
      found.push_back({"", subject, FindingStatus::warning, is, expected,
                       "clocks fall under load; the other GPUs of a collective wait for this one",
                       fmt::format("sudo nvidia-smi -i {} -pl {:g}, unless the rack's power budget requires the limit",
                                   gpu.address, *usual),
                       std::string(from::smi)});
  }
  return found;
}

Findings check_gpu_clocks(const HostFiles& host) {
  Findings found;
  for (const SmiGpu& gpu : host.tools.gpus) {
    const std::string subject = "GPU " + gpu.address;
    const std::size_t before = found.size();
    // Reasons count, not current clocks: an idle GPU runs at low clocks.
    for (const Reason& r : reasons)
      if (active(gpu, r.name))
        found.push_back({"", subject, r.status, std::string(r.name) + " is active", "no reason to lower clocks", r.why,
                         r.fix, std::string(from::clock_reasons)});
    // The general reason is active together with a specific one. It is reported only if none names the cause.
    if (active(gpu, "HW Slowdown") && found.size() == before)
      found.push_back({"", subject, FindingStatus::error, "HW Slowdown is active", "no reason to lower clocks",
                       "the GPU runs at half its clock or less, because of heat, the power brake or a power peak",
                       "nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE", std::string(from::clock_reasons)});
    const std::optional<double> set = gpu.number("Applications Clocks/Graphics"),
                                usual = gpu.number("Default Applications Clocks/Graphics"),
                                most = gpu.number("Max Clocks/Graphics");
    if (set && usual && *set < *usual)
      found.push_back(
          {"", subject, FindingStatus::warning, fmt::format("applications clock {:g} MHz", *set),
           fmt::format("{:g} MHz, the default{}", *usual, most ? fmt::format("; maximum {:g} MHz", *most) : ""),
           "kernels of NCCL and of the model run slower than on other hosts",
           fmt::format("sudo nvidia-smi -i {} -rac", gpu.address), std::string(from::smi)});
    // Only if the output contains the reasons at all.
    if (found.size() == before && !gpu.value("Clocks Event Reasons/HW Slowdown").empty())
      found.push_back(good(subject, "nothing lowers its clocks", "no reason to lower clocks", from::clock_reasons));
  }
  return found;
}

}  // namespace fabricast
