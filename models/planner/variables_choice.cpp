// Variables that decide how a call runs: algorithm, protocol, channels, threads, buffers, chunks.
//
// Each row states what users see (`list variables`, docs/nccl-variables.md) and how a value changes NcclSettings.
// Ranges are NCCL's own where it has any; most values that NCCL would silently ignore are errors here, so that no
// forecast is for another value than the one written.
#include <algorithm>
#include <limits>

#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "variable_value.hpp"

namespace fabricast {

namespace {

/// NCCL's names of the first five operations, in lower case.
constexpr std::array<std::string_view, 5> function_names = {"broadcast", "reduce", "allgather", "reducescatter",
                                                            "allreduce"};

/// One list of NCCL_ALGO or NCCL_PROTO, and the operations to which it applies.
struct ListEntry {
  std::array<bool, 5> functions{};
  bool inverted = false;
  std::vector<std::string> words;
};

/// The grammar of NCCL_ALGO and NCCL_PROTO: `[list][;func:list]...`; a leading ^ inverts a list [NCCL-tuning-1.6].
std::vector<ListEntry> parse_list(std::string_view text, const NcclVersion& version) {
  std::vector<ListEntry> entries;
  for (const std::string& part : split(text, ';')) {
    if (part.empty()) continue;
    ListEntry entry;
    std::string list = part;
    if (const auto colon = part.find(':'); colon != std::string::npos) {
      const std::string function = lower_case(part.substr(0, colon));
      const auto it = std::find(function_names.begin(), function_names.end(), function);
      if (it == function_names.end())
        throw UserError(fmt::format("'{}' is not an NCCL function", part.substr(0, colon)),
                        suggestion(function, function_names));
      if (version < strict_lists)
        throw UserError(fmt::format("NCCL {} does not support lists by function", to_text(version)),
                        "before 2.24 one list applies to all functions");
      entry.functions[static_cast<std::size_t>(it - function_names.begin())] = true;
      list = part.substr(colon + 1);
    } else {
      if (!entries.empty())
        throw UserError("only the first list may omit its function", "write e.g. ring;allreduce:tree");
      entry.functions.fill(true);
    }
    if (!list.empty() && list.front() == '^') {
      entry.inverted = true;
      list.erase(0, 1);
    }
    for (const std::string& word : split(list, ',')) entry.words.push_back(lower_case(word));
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Calls `take(entry)` for each list of the value.
template <class Take>
void read_lists(VariableValue& v, const NcclVersion& version, Take take) {
  try {
    // Later lists override earlier ones for their functions, because entries are applied in order.
    for (const ListEntry& entry : parse_list(v.text(), version)) take(entry);
  } catch (const UserError& e) { v.refuse(e.diagnostics().front().message, e.diagnostics().front().hint); }
}

void read_algorithms(VariableValue& v, NcclSettings& s) {
  s.algorithms_given = true;
  read_lists(v, s.version, [&](const ListEntry& entry) {
    std::array<bool, algorithm_count> listed{};
    for (const std::string& word : entry.words) {
      if (const auto a = enum_from<Algorithm>(word); a && static_cast<std::size_t>(*a) < algorithm_count)
        listed[static_cast<std::size_t>(*a)] = true;
      else if (word == "collnet")
        listed[2] = listed[3] = true;  // NCCL's old name for both
      else
        v.refuse(fmt::format("'{}' is not an algorithm", word),
                 suggestion(word, std::span(EnumNames<Algorithm>::names).first(algorithm_count)));
    }
    for (std::size_t f = 0; f < 5; ++f)
      for (std::size_t a = 0; a < algorithm_count && entry.functions[f]; ++a)
        // An algorithm is on if it is listed in a plain list, or not listed in an inverted one.
        s.algorithms.of[f][a] = listed[a] != entry.inverted;
  });
}

void read_protocols(VariableValue& v, NcclSettings& s) {
  s.protocols_given = true;
  read_lists(v, s.version, [&](const ListEntry& entry) {
    std::array<bool, 3> listed{};
    for (const std::string& word : entry.words) {
      if (const auto p = enum_from<Protocol>(word))
        listed[static_cast<std::size_t>(*p)] = true;
      else
        v.refuse(fmt::format("'{}' is not a protocol", word), suggestion(word, EnumNames<Protocol>::names));
    }
    // By default LL128 is used where it is safe. An explicit list forces it on or off.
    for (std::size_t f = 0; f < 5; ++f)
      for (std::size_t p = 0; p < 3 && entry.functions[f]; ++p)
        s.protocols.of[f][p] = listed[p] != entry.inverted ? ProtocolSwitch::on : ProtocolSwitch::off;
  });
}

/// Several variables limit the channels; the strictest limit applies.
void read_least(VariableValue& v, NcclSettings& s) {
  if (const auto n = v.integer(1, most_channels))
    s.min_channels = std::max(s.min_channels.value_or(1), static_cast<int>(*n));
}
void read_most(VariableValue& v, NcclSettings& s) {
  if (const auto n = v.integer(1, most_channels))
    s.max_channels = std::min(s.max_channels.value_or(most_channels), static_cast<int>(*n));
}

void read_thread_thresholds(VariableValue& v, NcclSettings& s) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : split(v.text(), ' ')) {
    if (word.empty()) continue;
    const auto n = parse_integer(word);
    if (!n) return v.refuse(n.error);
    if (n.value < -2 || n.value > (std::int64_t{1} << 30))
      return v.refuse(fmt::format("must be between -2 and {}", std::int64_t{1} << 30));
    numbers.push_back(n.value);
  }
  if (numbers.size() != 6)
    return v.refuse(fmt::format("has {} numbers instead of 6", numbers.size()),
                    "tree LL, LL128, Simple, then ring LL, LL128, Simple; -2 keeps NCCL's default");
  // NCCL's order: three protocols of the tree, then three of the ring. Negative values keep the default.
  for (std::size_t i = 0; i < 6; ++i) s.thread_thresholds[i / 3][i % 3] = numbers[i];
}

/// Kernels that are not simulated: over the network, and with TMA, which NCCL does not use by default.
constexpr std::array<std::string_view, 7> other_symmetric_kernels = {
    "AllReduce_RSxTmaLD_AGxTmaST",  "AllGather_TmaST",     "AllGather_TmaSTMC",
    "AllGather_RailRing_LsaSTMC",   "ReduceScatter_TmaLD", "ReduceScatter_RailA2A_LsaLD",
    "ReduceScatter_RailA2A_LsaLDMC"};

/// NCCL treats ^ as unset. It silently ignores unknown names; here they are errors.
void read_symmetric_kernel(VariableValue& v, NcclSettings& s) {
  if (v.text() == "^") return;
  constexpr auto names = EnumNames<SymmetricKernel>::names;
  const auto is_in = [&](const auto& list) { return std::find(list.begin(), list.end(), v.text()) != list.end(); };
  if (is_in(other_symmetric_kernels))
    v.warn(fmt::format("{} is not simulated: NCCL's algorithms are forecast", v.text()));
  else if (!is_in(names))
    return v.refuse(fmt::format("'{}' is not a kernel", v.text()), suggestion(v.text(), names));
  s.symmetric_kernel = std::string(v.text());
}

/// Before 2.29 NCCL accepts one digit only. Later versions also accept words, and several of them.
void read_cta_policy(VariableValue& v, NcclSettings& s) {
  constexpr std::array<std::string_view, 3> policies = {"default", "efficiency", "zero"};
  for (const std::string& word : split(v.text(), '|')) {
    const auto named = std::find(policies.begin(), policies.end(), lower_case(word)) - policies.begin();
    const auto digit = parse_integer(word);
    const bool by_digit = digit && digit.value >= 0 && digit.value <= 2;
    if (!by_digit && named == std::ssize(policies))
      return v.refuse(fmt::format("'{}' is not a policy", word), suggestion(lower_case(word), policies));
    if (!by_digit && s.version < NcclVersion{2, 29, 0})
      return v.warn(fmt::format("NCCL {} accepts 0, 1 or 2, but no words", to_text(s.version)));
    const std::int64_t policy = by_digit ? digit.value : named;
    // Several words may be joined by bars.
    s.few_blocks |= policy == 1;
    s.zero_blocks |= policy == 2;
  }
  // With both, NCCL drops EFFICIENCY [NCCL-registered-channels].
  s.few_blocks &= !s.zero_blocks;
}

/// Recognizes the OFI plugin by its file names. The choice of other tuners is unknown.
void read_tuner(VariableValue& v, NcclSettings& s) {
  const std::string name = lower_case(v.text());
  if (name.empty()) return v.refuse("names no library", "remove it, or write none");
  // The plugin is installed under its own name, or under the name that NCCL looks for by default.
  s.ofi_tuner = name.find("ofi") != std::string::npos || name == "libnccl-net.so";
  if (!s.ofi_tuner && name != "none" && !names_own_tuner(name))
    v.warn(fmt::format("{} is not simulated: NCCL's own choice is forecast", v.text()),
           "use `none` for NCCL's own choice, a name that contains `ofi` for the OFI plugin, or `fabricast` for "
           "libnccl-tuner-fabricast.so");
}

/// NCCL 2.4 runs trees up to a size of its own, and 0 turns them off. 2.5 removed the variable.
void read_tree_threshold(VariableValue& v, NcclSettings& s) {
  const auto bytes = v.integer(-2, std::numeric_limits<std::int64_t>::max());
  if (!bytes || *bytes == -2) return;  // -2 keeps NCCL's own
  if (s.version >= NcclVersion{2, 5, 0})
    return v.warn("removed in NCCL 2.5: it does not change the forecast", "see NCCL_ALGO");
  if (*bytes != 0) return v.refuse("only 0, which turns trees off, is simulated");
  constexpr auto tree = static_cast<std::size_t>(Algorithm::tree);
  for (auto& of_operation : s.algorithms.of) of_operation[tree] = false;
}

// Limits and texts that several rows share.
constexpr std::int64_t largest_buffer = std::int64_t{1} << 30;
constexpr std::string_view buffer_values = "4096 to 1073741824, bytes";
constexpr std::string_view channel_values = "1 to 64";
constexpr std::string_view fewest = "minimum channels of ring, tree and NVLS; additional channels repeat others";
constexpr std::string_view most = "maximum channels of ring, tree and NVLS";

constexpr std::array choice_variables = {
    NcclVariable{"NCCL_ALGO", "all", "[list][;function:list]..., ^ inverts a list", "algorithms that may run",
                 "the choice; if nothing is left: an error from NCCL 2.24 on, NCCL's own choice before",
                 read_algorithms},
    NcclVariable{"NCCL_PROTO", "LL, Simple; LL128 where 128 B stores stay whole",
                 "[list][;function:list]..., ^ inverts a list", "protocols that may run",
                 "the choice; a list forces LL128 on or off", read_protocols},
    NcclVariable{"NCCL_TREE_THRESHOLD", "by NCCL", "0 or -2", "NCCL 2.4: largest size of trees",
                 "0: no trees; removed in NCCL 2.5, see NCCL_ALGO", read_tree_threshold},
    NcclVariable{"NCCL_TUNER_PLUGIN", "none; on EFA the OFI plugin", "none or a name",
                 "tuner library that changes the choice", "none: on EFA the choice is NCCL's own, not the OFI plugin's",
                 read_tuner},
    // The scenario reads the file, because it knows where its paths start.
    NcclVariable{"NCCL_TUNER_CONFIG_FILE", "nccl_tuner.conf", "a file", "file that a tuner plugin reads",
                 "the profile of libnccl-tuner-fabricast.so: the choice by size; files of other plugins are not read",
                 [](VariableValue& v, NcclSettings&) {
                   if (v.text().empty()) v.refuse("names no file", "remove it");
                 }},
    NcclVariable{"NCCL_NVLS_ENABLE", "2; on EFA 0 from 2.18 to 2.18.4", "0 off, 1 on, 2 where it works", "NVLink SHARP",
                 "0 removes NVLS and NVLSTree from the choice",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.nvls_enable, 0, 2); }},
    NcclVariable{"NCCL_COLLNET_ENABLE", "0", "0 or 1", "aggregation in the switches (SHARP)",
                 "1 adds CollNet and NVLS over several nodes to the choice",
                 [](VariableValue& v, NcclSettings& s) {
                   if (const auto n = v.integer(0, 1)) s.collnet_enable = *n == 1;
                 }},
    NcclVariable{"NCCL_COLLNET_NODE_THRESHOLD", "2", "1 to 4000000", "minimum number of nodes for CollNet",
                 "the choice", [](VariableValue& v, NcclSettings& s) { v.read(s.collnet_node_threshold, 1, 4000000); }},
    NcclVariable{"NCCL_PAT_ENABLE", "2", "0 off, 1 on, 2 with one rank per node", "PAT",
                 "the choice for all_gather and reduce_scatter",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.pat_enable, 0, 2); }},
    NcclVariable{"NCCL_NET_OVERHEAD", "by CPU: 1000, AMD 2000", "0 to 1000000, ns",
                 "cost of a message in NCCL's cost model", "the choice between rings and other algorithms",
                 [](VariableValue& v, NcclSettings& s) {
                   if (const auto n = v.integer(0, 1000000)) s.net_overhead_us = static_cast<double>(*n) * 1e-3;
                 }},
    NcclVariable{"NCCL_MIN_NCHANNELS", "none", channel_values, "minimum channels", fewest, read_least},
    NcclVariable{"NCCL_MAX_NCHANNELS", "64", channel_values, "maximum channels", most, read_most},
    NcclVariable{"NCCL_MIN_NRINGS", "none", channel_values, "old name of NCCL_MIN_NCHANNELS", fewest, read_least},
    NcclVariable{"NCCL_MAX_NRINGS", "64", channel_values, "old name of NCCL_MAX_NCHANNELS", most, read_most},
    NcclVariable{"NCCL_MIN_CTAS", "none", channel_values, "minimum thread blocks: one per channel", fewest, read_least},
    NcclVariable{"NCCL_MAX_CTAS", "64", channel_values, "maximum thread blocks: one per channel", most, read_most},
    NcclVariable{"NCCL_NVLS_NCHANNELS", "16; Blackwell 24, on several nodes 32", channel_values, "channels of NVLS",
                 "channels of NVLS and NVLSTree",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.nvls_channels, 1, most_channels); }},
    NcclVariable{"NCCL_NVLS_CHUNKSIZE", "131072; on EFA by instance 524288", buffer_values, "maximum chunk of NVLS",
                 "chunks of NVLS and NVLSTree",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.nvls_chunk, 4096, largest_buffer); }},
    NcclVariable{"NCCL_NVLSTREE_MAX_CHUNKSIZE",
                 "65536 from four nodes on, else NCCL_NVLS_CHUNKSIZE; on EFA by instance 524288", buffer_values,
                 "maximum chunk of NVLSTree", "chunks of NVLSTree",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.nvlstree_chunk, 4096, largest_buffer); }},
    NcclVariable{"NCCL_BUFFSIZE", "4194304; on EFA by instance 8388608", buffer_values,
                 "buffer of a connection with Simple", "chunks and slices of Simple: a slot is an eighth of it",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.buffer_size, 4096, largest_buffer); }},
    NcclVariable{"NCCL_LL_BUFFSIZE", "524288", buffer_values, "buffer of a connection with LL",
                 "a chunk of LL is a sixteenth of it",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.ll_buffer_size, 4096, largest_buffer); }},
    NcclVariable{"NCCL_LL128_BUFFSIZE", "4915200", buffer_values, "buffer of a connection with LL128",
                 "a chunk of LL128 is 15/128 of it",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.ll128_buffer_size, 4096, largest_buffer); }},
    NcclVariable{"NCCL_NTHREADS", "512", "64 to 512, a multiple of 32", "threads of a channel with LL or Simple",
                 "channels of small calls: each thread needs its threshold of bytes",
                 [](VariableValue& v, NcclSettings& s) { v.threads(s.threads, 64, 512); }},
    NcclVariable{"NCCL_LL128_NTHREADS", "640", "160 to 640, a multiple of 32", "threads of a channel with LL128",
                 "channels of small calls with LL128",
                 [](VariableValue& v, NcclSettings& s) { v.threads(s.ll128_threads, 160, 640); }},
    NcclVariable{"NCCL_THREAD_THRESHOLDS", "8 8 64 8n 8 64, n ranks",
                 "six numbers: tree LL, LL128, Simple, ring LL, LL128, Simple; -2 keeps the default",
                 "bytes per thread below which a call uses fewer channels", "channels of small calls",
                 read_thread_thresholds},
    NcclVariable{"NCCL_LOCAL_REGISTER", "1", "0 or 1", "registration of buffers",
                 "0: workload.buffers: registered acts as plain",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.local_register); }},
    NcclVariable{"NCCL_WIN_ENABLE", "1", "0 or 1", "windows of symmetric memory",
                 "0: workload.buffers: symmetric acts as plain",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.window_enable); }},
    NcclVariable{"NCCL_CTA_POLICY", "DEFAULT",
                 "DEFAULT, EFFICIENCY, ZERO, or 0 to 2; from 2.29 on several words, separated by bars",
                 "thread blocks or copy engines",
                 "ZERO: all_gather on symmetric memory uses copy engines, from 2.28 on; EFFICIENCY: all_gather and "
                 "reduce_scatter on registered buffers use NVLS if that takes fewer channels, from 2.27 on",
                 read_cta_policy},
    NcclVariable{"NCCL_SYM_KERNEL", "the fastest by NCCL's estimate", "name of a kernel, e.g. AllReduce_AGxLL_R",
                 "the only kernel that may run on symmetric memory",
                 "the kernel; operations without one use other algorithms", read_symmetric_kernel},
    NcclVariable{"NCCL_SYM_CTAS", "0: the fewest that keep 97.5 % of the speed", "0 to 64",
                 "thread blocks of kernels on symmetric memory",
                 "number of thread blocks, and so the choice of the kernel",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.symmetric_blocks, 0, most_channels); }},
    NcclVariable{"NCCL_MIN_P2P_NCHANNELS", "1", channel_values, "minimum channels of send and receive",
                 "channels of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.min_p2p_channels, 1, most_channels); }},
    NcclVariable{"NCCL_MAX_P2P_NCHANNELS", "64", channel_values, "maximum channels of send and receive",
                 "channels of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.max_p2p_channels, 1, most_channels); }},
    NcclVariable{"NCCL_NCHANNELS_PER_NET_PEER", "by NICs", channel_values, "channels to a peer of another node",
                 "channels of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.channels_per_net_peer, 1, most_channels); }},
    NcclVariable{"NCCL_P2P_NET_CHUNKSIZE", "131072; on EFA by instance 524288", buffer_values,
                 "chunk of send and receive over the network", "chunks of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.p2p_net_chunk, 4096, largest_buffer); }},
    NcclVariable{"NCCL_P2P_PCI_CHUNKSIZE", "131072", buffer_values, "chunk of send and receive over PCIe",
                 "chunks of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.p2p_pci_chunk, 4096, largest_buffer); }},
    NcclVariable{"NCCL_P2P_NVL_CHUNKSIZE", "524288", buffer_values, "chunk of send and receive over NVLink",
                 "chunks of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.p2p_nvl_chunk, 4096, largest_buffer); }},
    NcclVariable{"NCCL_P2P_LL_THRESHOLD", "16384", "0 to 1073741824, bytes", "maximum message per channel that uses LL",
                 "protocol of alltoall and sendrecv",
                 [](VariableValue& v, NcclSettings& s) { v.read(s.p2p_ll_threshold, 0, largest_buffer); }},
};

}  // namespace

std::span<const NcclVariable> variables_of_choice() { return choice_variables; }

}  // namespace fabricast
