// NCCL's own variables, read as NCCL reads them [NCCL-env].
#include "fabricast/planner/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  std::array<int, 3> parts{0, 0, 0};
  std::size_t count = 0;
  while (count < 3) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), parts[count]);
    if (code != std::errc() || parts[count] < 0) return std::nullopt;
    ++count;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty() || text.front() != '.') break;
    text.remove_prefix(1);
  }
  if (count < 2 || !text.empty() || parts[0] != 2) return std::nullopt;
  return NcclVersion{parts[0], parts[1], parts[2]};
}

std::string to_text(const NcclVersion& v) {
  return v.patch ? fmt::format("{}.{}.{}", v.major, v.minor, v.patch) : fmt::format("{}.{}", v.major, v.minor);
}

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// NCCL's names of the first five operations, lower case.
constexpr std::array<std::string_view, 5> function_names = {"broadcast", "reduce", "allgather", "reducescatter",
                                                            "allreduce"};

struct ListEntry {
  std::array<bool, 5> functions{};
  bool inverted = false;
  std::vector<std::string> words;
};

/// The grammar of NCCL_ALGO and NCCL_PROTO: `[list][;func:list]...`; a leading ^ inverts a list [NCCL-tuning-1.6].
std::vector<ListEntry> parse_list(std::string_view text) {
  std::vector<ListEntry> entries;
  for (const std::string& part : split(text, ';')) {
    if (part.empty()) continue;
    ListEntry entry;
    std::string list = part;
    if (const auto colon = part.find(':'); colon != std::string::npos) {
      const std::string function = lower(part.substr(0, colon));
      const auto it = std::find(function_names.begin(), function_names.end(), function);
      if (it == function_names.end())
        throw UserError(fmt::format("'{}' is no NCCL function", part.substr(0, colon)),
                        suggestion(function, function_names));
      entry.functions[static_cast<std::size_t>(it - function_names.begin())] = true;
      list = part.substr(colon + 1);
    } else {
      if (!entries.empty())
        throw UserError("only the first list may leave out its function", "write e.g. ring;allreduce:tree");
      entry.functions.fill(true);
    }
    if (!list.empty() && list.front() == '^') entry.inverted = true, list.erase(0, 1);
    for (const std::string& word : split(list, ',')) entry.words.push_back(lower(word));
    entries.push_back(std::move(entry));
  }
  return entries;
}

class Environment {
 public:
  Environment(const std::map<std::string, std::string>& variables, std::vector<Diagnostic>& warnings)
      : variables_(variables), warnings_(warnings) {}

  const std::string* get(const std::string& name) {
    read_.push_back(name);
    const auto it = variables_.find(name);
    return it == variables_.end() ? nullptr : &it->second;
  }
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t low, std::int64_t high) {
    const std::string* text = get(name);
    if (!text) return std::nullopt;
    const auto value = parse_integer(*text);
    if (!value) return refuse(name, value.error), std::nullopt;
    if (value.value < low || value.value > high)
      return refuse(name, fmt::format("must be between {} and {}", low, high)), std::nullopt;
    return value.value;
  }
  void refuse(const std::string& name, std::string message, std::string hint = {}) {
    faults_.push_back({Diagnostic::Severity::error, {}, "nccl.env." + name, std::move(message), std::move(hint)});
  }
  void warn(const std::string& name, std::string message, std::string hint = {}) {
    warnings_.push_back({Diagnostic::Severity::warning, {}, "nccl.env." + name, std::move(message), std::move(hint)});
  }
  /// Reports variables that nobody read.
  void finish() {
    // Real NCCL variables whose effect on time this model does not have.
    static constexpr std::array<std::string_view, 44> inert = {"NCCL_DEBUG",
                                                               "NCCL_DEBUG_SUBSYS",
                                                               "NCCL_DEBUG_FILE",
                                                               "NCCL_IB_HCA",
                                                               "NCCL_IB_GID_INDEX",
                                                               "NCCL_IB_TC",
                                                               "NCCL_IB_SL",
                                                               "NCCL_IB_TIMEOUT",
                                                               "NCCL_IB_RETRY_CNT",
                                                               "NCCL_IB_DISABLE",
                                                               "NCCL_IB_CUDA_SUPPORT",
                                                               "NCCL_IB_PCI_RELAXED_ORDERING",
                                                               "NCCL_IB_ADAPTIVE_ROUTING",
                                                               "NCCL_IB_AR_THRESHOLD",
                                                               "NCCL_IB_ECE_ENABLE",
                                                               "NCCL_IB_USE_INLINE",
                                                               "NCCL_IB_MERGE_NICS",
                                                               "NCCL_SOCKET_IFNAME",
                                                               "NCCL_SOCKET_FAMILY",
                                                               "NCCL_SOCKET_NTHREADS",
                                                               "NCCL_NSOCKS_PERTHREAD",
                                                               "NCCL_NET",
                                                               "NCCL_NET_PLUGIN",
                                                               "NCCL_NET_GDR_READ",
                                                               "NCCL_NET_SHARED_BUFFERS",
                                                               "NCCL_NET_SHARED_COMMS",
                                                               "NCCL_P2P_DISABLE",
                                                               "NCCL_P2P_LEVEL",
                                                               "NCCL_P2P_NET_CHUNKSIZE",
                                                               "NCCL_P2P_PXN_LEVEL",
                                                               "NCCL_PXN_DISABLE",
                                                               "NCCL_SHM_DISABLE",
                                                               "NCCL_TOPO_DUMP_FILE",
                                                               "NCCL_GRAPH_DUMP_FILE",
                                                               "NCCL_TUNER_PLUGIN",
                                                               "NCCL_CHECKS_DISABLE",
                                                               "NCCL_LAUNCH_MODE",
                                                               "NCCL_CUMEM_ENABLE",
                                                               "NCCL_GRAPH_REGISTER",
                                                               "NCCL_LOCAL_REGISTER",
                                                               "NCCL_MNNVL_ENABLE",
                                                               "NCCL_NVLS_CHUNKSIZE",
                                                               "NCCL_IGNORE_CPU_AFFINITY",
                                                               "NCCL_ASYNC_ERROR_HANDLING"};
    std::vector<std::string_view> known(inert.begin(), inert.end());
    known.insert(known.end(), read_.begin(), read_.end());
    for (const auto& [name, value] : variables_) {
      if (std::find(read_.begin(), read_.end(), name) != read_.end()) continue;
      if (std::find(inert.begin(), inert.end(), name) != inert.end())
        warn(name, "accepted, but this model gives it no effect on time");
      else if (name.starts_with("NCCL_"))
        warn(name, "unknown variable", suggestion_or_nothing(name, known));
      else
        refuse(name, "is not a NCCL variable", "names start with NCCL_");
    }
    if (!faults_.empty()) throw UserError(std::move(faults_));
  }

 private:
  static std::string suggestion_or_nothing(std::string_view name, std::span<const std::string_view> known) {
    const auto near = nearest(name, known);
    return near ? fmt::format("did you mean '{}'?", *near) : std::string();
  }
  const std::map<std::string, std::string>& variables_;
  std::vector<Diagnostic>& warnings_;
  std::vector<Diagnostic> faults_;
  std::vector<std::string> read_;
};

void read_algorithms(Environment& env, NcclSettings& settings) {
  for (auto& row : settings.algorithms.of) row.fill(true);
  const std::string* text = env.get("NCCL_ALGO");
  if (!text) return;
  settings.algorithms_given = true;
  try {
    for (const ListEntry& entry : parse_list(*text)) {
      std::array<bool, algorithm_count> listed{};
      for (const std::string& word : entry.words) {
        if (const auto a = enum_from<Algorithm>(word))
          listed[static_cast<std::size_t>(*a)] = true;
        else if (word == "collnet")
          listed[2] = listed[3] = true;  // NCCL's old name of both
        else
          env.refuse("NCCL_ALGO", fmt::format("'{}' is no algorithm", word),
                     suggestion(word, EnumNames<Algorithm>::names));
      }
      for (std::size_t f = 0; f < 5; ++f)
        for (std::size_t a = 0; a < algorithm_count && entry.functions[f]; ++a)
          settings.algorithms.of[f][a] = listed[a] != entry.inverted;
    }
  } catch (const UserError& e) {
    env.refuse("NCCL_ALGO", e.diagnostics().front().message, e.diagnostics().front().hint);
  }
}

void read_protocols(Environment& env, NcclSettings& settings) {
  for (auto& row : settings.protocols.of) row = {ProtocolSwitch::on, ProtocolSwitch::automatic, ProtocolSwitch::on};
  const std::string* text = env.get("NCCL_PROTO");
  if (!text) return;
  settings.protocols_given = true;
  try {
    for (const ListEntry& entry : parse_list(*text)) {
      std::array<bool, 3> listed{};
      for (const std::string& word : entry.words) {
        if (const auto p = enum_from<Protocol>(word))
          listed[static_cast<std::size_t>(*p)] = true;
        else
          env.refuse("NCCL_PROTO", fmt::format("'{}' is no protocol", word),
                     suggestion(word, EnumNames<Protocol>::names));
      }
      // An explicit list turns LL128 from "where it is safe" to a hard yes or no.
      for (std::size_t f = 0; f < 5; ++f)
        for (std::size_t p = 0; p < 3 && entry.functions[f]; ++p)
          settings.protocols.of[f][p] = listed[p] != entry.inverted ? ProtocolSwitch::on : ProtocolSwitch::off;
    }
  } catch (const UserError& e) {
    env.refuse("NCCL_PROTO", e.diagnostics().front().message, e.diagnostics().front().hint);
  }
}

void read_channels(Environment& env, NcclSettings& settings) {
  const auto limit = [&](std::initializer_list<const char*> names, auto better) {
    std::optional<int> found;
    for (const char* name : names)
      if (const auto n = env.integer(name, 1, 64))
        found = found ? better(*found, static_cast<int>(*n)) : static_cast<int>(*n);
    return found;
  };
  settings.min_channels =
      limit({"NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS", "NCCL_MIN_CTAS"}, [](int a, int b) { return std::max(a, b); });
  settings.max_channels =
      limit({"NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS", "NCCL_MAX_CTAS"}, [](int a, int b) { return std::min(a, b); });
}

void read_gdr_level(Environment& env, NcclSettings& settings) {
  const std::string* text = env.get("NCCL_NET_GDR_LEVEL");
  if (!text) return;
  // Digits are NCCL's old spelling [NCCL-env].
  constexpr std::array old = {PathType::LOC, PathType::PIX, PathType::PXB, PathType::PHB, PathType::SYS, PathType::SYS};
  if (const auto n = parse_integer(*text); n && n.value >= 0 && n.value < static_cast<std::int64_t>(old.size()))
    settings.gdr_level = old[static_cast<std::size_t>(n.value)];
  else if (const auto type = enum_from<PathType>(*text); type && *type <= PathType::SYS)
    settings.gdr_level = *type;
  else
    env.refuse("NCCL_NET_GDR_LEVEL", fmt::format("'{}' is no distance", *text), "LOC, PIX, PXB, P2C, PXN, PHB or SYS");
}

}  // namespace

NcclSettings parse_nccl_environment(const NcclVersion& version, const std::map<std::string, std::string>& environment,
                                    std::vector<Diagnostic>& warnings) {
  NcclSettings settings;
  settings.version = version;
  Environment env(environment, warnings);
  read_algorithms(env, settings);
  read_protocols(env, settings);
  read_channels(env, settings);
  read_gdr_level(env, settings);
  if (const auto n = env.integer("NCCL_BUFFSIZE", 4096, std::int64_t{1} << 30)) settings.buffer_size = Bytes{*n};
  if (const auto n = env.integer("NCCL_NTHREADS", 64, 512)) {
    if (*n % 32) env.refuse("NCCL_NTHREADS", "must be a multiple of 32");
    settings.threads = static_cast<int>(*n);
  }
  if (const auto n = env.integer("NCCL_IB_QPS_PER_CONNECTION", 1, 128))
    settings.qps_per_connection = static_cast<int>(*n);
  if (const auto n = env.integer("NCCL_IB_SPLIT_DATA_ON_QPS", 0, 1)) settings.split_data_on_qps = *n == 1;
  if (const auto n = env.integer("NCCL_CROSS_NIC", 0, 2)) settings.cross_nic = static_cast<int>(*n);
  if (const auto n = env.integer("NCCL_NVLS_ENABLE", 0, 2)) settings.nvls_enable = static_cast<int>(*n);
  if (const auto n = env.integer("NCCL_COLLNET_ENABLE", 0, 1)) settings.collnet_enable = *n == 1;
  if (const auto n = env.integer("NCCL_PAT_ENABLE", 0, 2)) settings.pat_enable = static_cast<int>(*n);
  for (const auto& [name, path] :
       {std::pair("NCCL_TOPO_FILE", &settings.topology_file), std::pair("NCCL_GRAPH_FILE", &settings.graph_file)})
    if (const std::string* text = env.get(name)) {
      *path = *text;
      if (text->empty()) env.refuse(name, "names no file");
    }
  if (const auto n = env.integer("NCCL_NET_OVERHEAD", 0, 1000000))
    settings.net_overhead_us = static_cast<double>(*n) * 1e-3;
  if (settings.min_channels && settings.max_channels && *settings.min_channels > *settings.max_channels)
    env.refuse("NCCL_MIN_NCHANNELS",
               fmt::format("{} channels at least and {} at most", *settings.min_channels, *settings.max_channels));
  env.finish();
  return settings;
}

}  // namespace fabricast
