// NCCL inside Python packages (wheels, conda environments), compared with that of the system.
//
// PyTorch's wheels bring their own NCCL, so a benchmark that is built against the system's library may measure another
// release than training runs. Environments that are not below the listed prefixes are not found.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checks.hpp"

namespace fabricast {

namespace {

/// A libnccl.so.2 of a wheel or of a conda environment.
struct Packaged {
  std::string file, release;  ///< release: empty if unknown
};

/// Prefixes below which Python packages may be: the system's, the user's, and those of environments.
std::vector<std::string> prefixes(const HostFiles& host) {
  std::vector<std::string> found = {"/usr", "/usr/local"};
  const auto value = [&](const char* name) {
    const SetVariable* v = host.variable(name);
    return v && v->value.starts_with('/') ? v->value : std::string();
  };
  const std::string home = value("HOME");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (!value(name).empty()) found.push_back(value(name));
  if (!home.empty()) found.push_back(home + "/.local");
  std::vector<std::string> condas = {"/opt/conda", "/opt/miniconda3"};
  if (!home.empty())
    for (const char* folder : {"/miniconda3", "/anaconda3", "/miniforge3", "/mambaforge", "/.conda"})
      condas.push_back(home + folder);
  for (const std::string& conda : condas) {
    found.push_back(conda);
    for (const std::string& name : host.tree.names(conda + "/envs")) found.push_back(conda + "/envs/" + name);
  }
  return found;
}

/// The release of a wheel, from a name such as "nvidia_nccl_cu12-2.21.5.dist-info": the library's name has none.
std::string release_of_wheel(const Tree& tree, const std::string& packages) {
  for (const std::string& name : tree.names(packages))
    if (name.starts_with("nvidia_nccl") && name.ends_with(".dist-info"))
      if (const std::size_t dash = name.find('-'); dash != std::string::npos)
        return name.substr(dash + 1, name.size() - dash - 1 - std::string(".dist-info").size());
  return {};
}

std::vector<Packaged> packaged(const HostFiles& host) {
  std::vector<Packaged> found;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path, const std::string& release) {
    const std::string file = host.tree.target(path);
    // Environments may link to one another.
    if (!file.empty() && seen.insert(file).second) found.push_back({"/" + file, release});
  };
  for (const std::string& prefix : prefixes(host)) {
    for (const char* lib : {"/lib/", "/lib64/"})
      for (const std::string& python : host.tree.names(prefix + lib)) {
        if (!python.starts_with("python3")) continue;
        for (const char* kind : {"/site-packages", "/dist-packages"}) {
          const std::string packages = prefix + lib + python + kind;
          add(packages + "/nvidia/nccl/lib/libnccl.so.2", release_of_wheel(host.tree, packages));
        }
      }
    // Another check covers the system's folders, which the loader searches.
    if (prefix == "/usr" || prefix == "/usr/local") continue;
    const std::string file = host.tree.target(prefix + "/lib/libnccl.so.2");
    const std::size_t at = file.rfind(".so.");
    const std::string release = at == std::string::npos ? std::string() : file.substr(at + 4);
    add(prefix + "/lib/libnccl.so.2", version_numbers(release).size() > 1 ? release : std::string());
  }
  return found;
}

std::string named(const std::string& file, const std::string& release) {
  return fmt::format("{} ({})", file, release.empty() ? "release unknown" : release);
}

/// The library that LD_LIBRARY_PATH names. It takes precedence over the path inside a wheel's libraries, which is a
/// RUNPATH.
Packaged forced(const HostFiles& host) {
  const SetVariable* path = host.variable("LD_LIBRARY_PATH");
  if (!path) return {};
  for (const auto& [file, release] : library_releases(host, "libnccl.so.2"))
    for (const std::string& folder : split(path->value, ':'))
      if (const std::string at = host.tree.target(folder + "/libnccl.so.2"); !at.empty() && "/" + at == file)
        return {file, release};
  return {};
}

}  // namespace

Findings check_packaged_library(const HostFiles& host) {
  const std::vector<Packaged> wheels = packaged(host);
  if (wheels.empty()) return {};
  const std::string expected = "the same release of NCCL in Python packages and in the system";
  // The three cases below are exclusive, the most harmful one first.
  const Packaged over = forced(host);
  const auto libraries = library_releases(host, "libnccl.so.2");
  std::set<std::string> releases;
  for (const Packaged& w : wheels) releases.insert(w.release);
  Findings found;
  std::string is;
  for (const Packaged& w : wheels) is += (is.empty() ? "" : ", ") + named(w.file, w.release);
  if (!over.file.empty() && (releases.size() > 1 || *releases.begin() != over.release))
    found.push_back({"", "host", FindingStatus::warning,
                     is + "; LD_LIBRARY_PATH loads " + named(over.file, over.release), expected,
                     "Python programs then run an NCCL other than the one that they were built and tested with",
                     "remove its folder from LD_LIBRARY_PATH; NCCL_DEBUG=VERSION prints what is used",
                     std::string(from::nccl_env)});
  else if (releases.size() > 1)
    found.push_back({"", "host", FindingStatus::note, is, expected,
                     "ranks that start from different environments do not connect",
                     "start all ranks of a job from one environment; NCCL_DEBUG=VERSION prints what is used",
                     std::string(from::nccl_env)});
  else if (!libraries.empty() && libraries.front().second != *releases.begin())
    found.push_back(
        {"", "host", FindingStatus::note,
         is + "; programs without Python load " + named(libraries.front().first, libraries.front().second), expected,
         "nccl-tests of the system measures an NCCL other than the one that training runs",
         "build nccl-tests with the wheel's NCCL (NCCL_HOME), or install one release; ldd and readelf -d show "
         "which one a program uses",
         std::string(from::nccl_env)});
  else
    found.push_back(good("host", is, expected, from::nccl_env));
  return found;
}

}  // namespace fabricast
