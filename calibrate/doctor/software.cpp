// Releases of driver, CUDA and NCCL, and whether they match.
//
// Releases come from file names and version files: nothing is loaded or run, because the doctor may read a copy of
// another host, and a broken library may crash. LD_LIBRARY_PATH precedes the configured folders, as for the loader.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "checks.hpp"

namespace fabricast {

namespace {

/// Folders that the loader searches: those of LD_LIBRARY_PATH and ld.so.conf.d, and the usual ones.
std::vector<std::string> library_folders(const HostFiles& host) {
  std::vector<std::string> folders;
  if (const SetVariable* path = host.variable("LD_LIBRARY_PATH"))
    for (const std::string& folder : split(path->value, ':')) folders.push_back(folder);
  for (const std::string& file : host.tree.names("etc/ld.so.conf.d"))
    for (const std::string& line : host.tree.lines("etc/ld.so.conf.d/" + file))
      if (line.starts_with('/')) folders.push_back(line);
  for (const char* usual : {"/lib", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                            "/usr/local/lib", "/usr/local/cuda/lib64", "/usr/local/nvidia/lib64"})
    folders.emplace_back(usual);
  return folders;
}

/// The value of the first "version" after "cuda" in version.json, which lists all parts of the toolkit.
std::string toolkit_release(const Tree& tree) {
  const std::string text = tree.content("usr/local/cuda/version.json");
  // A search instead of a JSON parser: the file may be damaged, and only this value matters.
  std::size_t at = text.find("\"cuda\"");
  at = at == std::string::npos ? at : text.find("\"version\"", at);
  at = at == std::string::npos ? at : text.find('"', text.find(':', at));
  const std::size_t end = at == std::string::npos ? at : text.find('"', at + 1);
  return end == std::string::npos ? std::string() : text.substr(at + 1, end - at - 1);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> library_releases(const HostFiles& host, const std::string& soname) {
  std::vector<std::pair<std::string, std::string>> found;
  std::set<std::string> seen;
  for (const std::string& folder : library_folders(host)) {
    const std::string file = host.tree.target(folder + "/" + soname);
    const std::string name = file.substr(file.find_last_of('/') + 1);
    const std::size_t at = name.find(".so.");
    // Several names may lead to one file.
    if (at == std::string::npos || !seen.insert(file).second) continue;
    // A name such as libx.so.1 contains no release.
    const std::string release = name.substr(at + 4);
    found.emplace_back("/" + file, version_numbers(release).size() > 1 ? release : std::string());
  }
  return found;
}

std::string driver_release(const HostFiles& host) {
  const std::vector<std::string> words = split(host.tree.line("proc/driver/nvidia/version"), ' ');
  // The line holds the release among words: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ...".
  for (const std::string& word : words)
    if (version_numbers(word).size() > 1 && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return host.tree.line("sys/module/nvidia/version");
}

Findings check_driver(const HostFiles& host) {
  const std::string loaded = driver_release(host);
  const auto libraries = library_releases(host, "libcuda.so.1");
  if (loaded.empty() && host.gpus.empty()) return {};
  const std::string expected = "kernel module and libcuda of one release";
  if (loaded.empty())
    return {{"", "host", FindingStatus::error, "no NVIDIA driver is loaded", expected, "CUDA does not work",
             "modprobe nvidia; dmesg | grep -i nvrm; install the driver", std::string(from::gpu_guide)}};
  if (libraries.empty())
    return {{"", "host", FindingStatus::unknown, "module " + loaded + ", libcuda not found", expected,
             "CUDA does not start with a library of another release", "nvidia-smi; ldconfig -p | grep libcuda.so",
             std::string(from::cuda_compatibility)}};
  // The first library in the order of the loader is the one that programs use.
  const auto& [file, release] = libraries.front();
  const std::string is = fmt::format("module {}, {}", loaded, file);
  if (release.empty())
    return {{"", "host", FindingStatus::unknown, is + ", whose name contains no release", expected,
             "CUDA does not start with a library of another release", "nvidia-smi",
             std::string(from::cuda_compatibility)}};
  if (release == loaded) return {good("host", is, expected, from::cuda_compatibility)};
  if (file.find("/compat/") != std::string::npos)
    return {{"", "host", FindingStatus::note, is, expected, "CUDA's forward compatibility package is in use",
             "none, if CUDA's compatibility table allows it for this GPU and driver",
             std::string(from::cuda_compatibility)}};
  return {{"", "host", FindingStatus::error, is, expected,
           "CUDA fails to start: driver and library do not match, for example after an update without a reboot",
           "reboot; or stop all processes that use the GPUs, rmmod nvidia_uvm nvidia_peermem nvidia, modprobe nvidia",
           std::string(from::cuda_compatibility)}};
}

Findings check_cuda(const HostFiles& host) {
  struct Least {
    int cuda, driver;
  };
  // Oldest driver branch for each major release by minor version compatibility [CUDA-compatibility].
  constexpr std::array needed = {Least{11, 450}, Least{12, 525}, Least{13, 580}};
  const std::string toolkit = toolkit_release(host.tree), driver = driver_release(host);
  if (toolkit.empty() || driver.empty()) return {};
  const std::vector<int> release = version_numbers(toolkit), loaded = version_numbers(driver);
  const auto it = std::find_if(needed.begin(), needed.end(),
                               [&](const Least& l) { return !release.empty() && l.cuda == release[0]; });
  if (it == needed.end() || loaded.empty()) return {};
  const std::string is = fmt::format("CUDA {} in /usr/local/cuda, driver {}", toolkit, driver);
  const std::string expected = fmt::format("driver {} or later for CUDA {}", it->driver, it->cuda);
  if (loaded[0] >= it->driver) return {good("host", is, expected, from::cuda_compatibility)};
  return {{"", "host", FindingStatus::error, is, expected, "programs built with this toolkit do not start",
           "update the driver, or use CUDA " + std::to_string(it->cuda - 1) + " or its compat package",
           std::string(from::cuda_compatibility)}};
}

Findings check_collective_library(const HostFiles& host) {
  const auto libraries = library_releases(host, "libnccl.so.2");
  const std::string expected = "one release of libnccl.so.2";
  if (libraries.empty())
    return {{"", "host", FindingStatus::note, "no libnccl.so.2 in the loader's folders", expected,
             "frameworks bring their own library, which is not checked",
             "python3 -c 'import torch; print(torch.cuda.nccl.version())'; NCCL_DEBUG=VERSION prints what a job uses",
             std::string(from::nccl_env)}};
  std::set<std::string> releases;
  std::string is;
  for (const auto& [file, release] : libraries)
    if (releases.insert(release).second) is += (is.empty() ? "" : ", ") + file;
  // A copied or renamed library: its release cannot be compared.
  const auto unnamed = std::find_if(libraries.begin(), libraries.end(), [](const auto& l) { return l.second.empty(); });
  if (unnamed != libraries.end())
    return {{"", "host", FindingStatus::unknown, is + ": a file name contains no release", expected,
             "ranks with different releases do not connect",
             fmt::format("strings {} | grep -m1 'NCCL version'", unnamed->first), std::string(from::nccl_env)}};
  if (releases.size() == 1) return {good("host", is, expected, from::nccl_env)};
  return {{"", "host", FindingStatus::warning, is, expected,
           "which one a job uses depends on its library path; ranks with different releases do not connect",
           "remove all but one, or set the same LD_LIBRARY_PATH everywhere; NCCL_DEBUG=VERSION prints what is used",
           std::string(from::nccl_env)}};
}

}  // namespace fabricast
