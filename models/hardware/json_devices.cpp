// Reads GPUs, node presets and accelerators of other vendors from the data files. Missing keys, unknown references and
// unreadable quantities are internal errors, because the files are part of the binary.
#include "json_devices.hpp"

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/device_names.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

// Quantities are written with units, as in scenarios, and read by the same functions (core/quantity.hpp).
Bytes bytes_of_json(const json& j) {
  const auto bytes = parse_bytes(j.get<std::string>());
  if (!bytes) bad_data(bytes.error);
  return bytes.value;
}

Watts watts_of_json(const json& j) {
  const auto watts = parse_watts(j.get<std::string>());
  if (!watts) bad_data(watts.error);
  return watts.value;
}

std::vector<std::string> texts_of_json(const json& j, const char* key) {
  return j.value(key, std::vector<std::string>());
}

// Absent: the preset leaves the value to the kind of GPU.
std::optional<int> number_of_json(const json& j, const char* key) {
  return j.contains(key) ? std::optional(j.at(key).get<int>()) : std::nullopt;
}

/// Peaks are in TFLOP/s. The GPU does not support precisions that are absent.
GpuSheet read_sheet(const json& j) {
  GpuSheet sheet;
  for (const auto& [name, tflops] : j.at("tflops").items()) {
    const auto precision = enum_from<Precision>(name);
    if (!precision) bad_data("precision " + name);
    sheet.peak[static_cast<std::size_t>(*precision)] = tflops.get<double>() * 1e12;
  }
  sheet.multiprocessors = j.at("multiprocessors");
  sheet.memory = bytes_of_json(j.at("memory"));
  sheet.memory_rate = rate_of_json(j.at("memory_rate"));
  sheet.power = watts_of_json(j.at("power"));
  sheet.source = j.at("source");
  return sheet;
}

OtherNames read_other_names(const json& j, const char* own) {
  return {texts_of_json(j, own), texts_of_json(j, "usual_for"), texts_of_json(j, "also_called")};
}

GpuVariant read_variant(const json& j) {
  GpuVariant variant;
  variant.names = read_other_names(j, "names");
  if (variant.names.aliases.empty()) bad_data("a variant has no name");
  variant.memory = bytes_of_json(j.at("memory"));
  variant.memory_rate = rate_of_json(j.at("memory_rate"));
  variant.source = j.at("source");
  return variant;
}

/// NVLinks of a PCIe card are those of its bridge.
void read_bridge(const json& j, GpuKind& gpu) {
  if (j.contains("bridge")) {
    gpu.bridge_nvlink = j["bridge"].at("nvlink");
    gpu.bridge_nvlinks = j["bridge"].at("nvlinks");
  } else if (gpu.intranode == "pcie") {
    gpu.bridge_nvlink = gpu.nvlink;
    gpu.bridge_nvlinks = gpu.nvlinks;
  }
}

// A kind states everything. `like` names the more usual kind that a topology file does not distinguish from it; nothing
// is inherited.
GpuKind read_gpu(const std::string& name, const json& j) {
  GpuKind g;
  g.name = name;
  g.summary = j.at("summary");
  g.architecture = j.at("architecture");
  g.source = j.at("source");
  g.like = j.value("like", std::string());
  g.names = read_other_names(j, "aliases");
  if (j.contains("variants"))
    for (const json& variant : j.at("variants")) g.variants.push_back(read_variant(variant));
  g.compute_capability = j.at("compute_capability");
  g.cpu = j.at("cpu");
  g.intranode = j.at("intranode");
  g.gpus = j.at("gpus");
  g.nvlink = j.at("nvlink");
  g.nvlinks = j.at("nvlinks");
  read_bridge(j, g);
  g.pcie = j.at("pcie");
  g.c2c = j.at("c2c");
  g.peer_to_peer = j.at("peer_to_peer");
  g.unified_memory = j.value("unified_memory", false);
  g.pcie_switches = j.at("pcie_switches");
  g.nic_rate = rate_of_json(j.at("nic_rate"));
  g.pcie_switches_mesh = j.value("pcie_switches_mesh", g.pcie_switches);
  g.nvlink_domain = j.at("nvlink_domain");
  g.sheet = read_sheet(j.at("sheet"));
  g.compute = j.value("compute", g.architecture);
  g.measured = j.value("measured", false);
  return g;
}

// A preset states the devices of a machine. What it does not state is the default of its kind of GPU. `env` has the
// variables that the provider sets on it, with their origin in `env_by`.
NodePreset read_node(const std::string& name, const json& j) {
  NodePreset n;
  n.name = name;
  n.summary = j.at("summary");
  n.gpu = j.at("gpu");
  n.intranode = j.at("intranode");
  n.source = j.value("source", std::string());
  n.aliases = texts_of_json(j, "aliases");
  n.gpus = j.at("gpus");
  n.nics = j.at("nics");
  n.nic_rate = rate_of_json(j.at("nic_rate"));
  n.nic_link = link_kind_of_json(j.at("nic_link"));
  n.cpu = j.value("cpu", std::string());
  n.gdr = j.value("gdr", std::string());
  n.sockets = number_of_json(j, "sockets");
  n.pcie_switches = number_of_json(j, "pcie_switches");
  n.nvlink_domain = j.value("nvlink_domain", 1);
  n.env = j.value("env", n.env);
  n.env_by = j.value("env_by", std::string());
  n.note = j.value("note", std::string());
  return n;
}

}  // namespace

void bad_data(const std::string& what) { throw InternalError("shipped hardware data: " + what); }

BytesPerSecond rate_of_json(const json& j) {
  const auto rate = parse_rate(j.get<std::string>());
  if (!rate) bad_data(rate.error);
  return rate.value;
}

LinkKind link_kind_of_json(const json& j) {
  const auto kind = enum_from<LinkKind>(j.get<std::string>());
  if (!kind) bad_data("link kind " + j.get<std::string>());
  return *kind;
}

void read_gpus(const json& file, Hardware& hardware) {
  for (const auto& [name, j] : file.items()) {
    const GpuKind& g = hardware.gpus[name] = read_gpu(name, j);
    if (!hardware.architectures.contains(g.architecture)) bad_data(name + ": architecture");
    if (!hardware.compute.contains(g.compute)) bad_data(name + ": compute");
    if (!g.like.empty() && !file.contains(g.like)) bad_data(name + ": like " + g.like);
  }
}

void read_nodes(const json& file, Hardware& hardware) {
  for (const auto& [name, j] : file.items()) {
    const NodePreset& n = hardware.nodes[name] = read_node(name, j);
    if (!find_gpu(hardware, n.gpu)) bad_data(name + ": gpu");
    if (n.env.empty() != n.env_by.empty()) bad_data(name + ": env and env_by");
  }
}

void read_other_accelerators(const json& file, Hardware& hardware) {
  for (const json& j : file) {
    OtherAccelerator other{j.at("what"), j.at("instead"), texts_of_json(j, "names")};
    hardware.other_accelerators.push_back(std::move(other));
  }
}

}  // namespace fabricast
