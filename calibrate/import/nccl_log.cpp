// Lines that NCCL prints with NCCL_DEBUG=VERSION, WARN or INFO [NCCL-log].
//
// The lines changed over the years. Each reader below states the form that it expects and accepts the older ones it
// knows. A line of a known form that is malformed becomes a problem; a line of unknown form is ignored, because NCCL
// prints hundreds of kinds. Every rank prints its own lines, so each fact is stored once and looked up by a compact
// key.
#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/text.hpp"
#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

/// Compact key of an edge for the set of known edges. Logs of many ranks repeat most lines, so a lookup must be cheap.
struct EdgeKey {
  std::uint64_t ends, rest;
  auto operator<=>(const EdgeKey&) const = default;
};

constexpr std::size_t most_warnings = 50;
/// A line that names more ranks is malformed.
constexpr int most_ranks = 1 << 24;

bool within(int value, int low, int high) { return value >= low && value <= high; }

/// The collective of one of NCCL's functions. Empty if it has no CollectiveOp.
std::string operation_of(std::string_view function) {
  constexpr std::array<std::pair<std::string_view, CollectiveOp>, 8> functions = {
      {{"Broadcast", CollectiveOp::broadcast},
       {"Reduce", CollectiveOp::reduce},
       {"AllGather", CollectiveOp::all_gather},
       {"ReduceScatter", CollectiveOp::reduce_scatter},
       {"AllReduce", CollectiveOp::all_reduce},
       {"AlltoAll", CollectiveOp::alltoall},
       {"Scatter", CollectiveOp::scatter},
       {"Gather", CollectiveOp::gather}}};
  for (const auto& [name, op] : functions)
    if (name == function) return std::string(name_of(op));
  return {};
}

/// The name of an algorithm that NCCL prints as TREE, NVLS_TREE, CollNetDirect, or by its number in NCCL's enum. Empty
/// if it is unknown.
std::string algorithm_of(std::string_view word) {
  if (const auto number = small_number(word))
    return within(*number, 0, static_cast<int>(algorithm_count) - 1)
               ? std::string(name_of(static_cast<Algorithm>(*number)))
               : std::string();
  std::string plain = lower_case(word);
  std::erase(plain, '_');
  return enum_from<Algorithm>(plain) ? plain : std::string();
}

std::string protocol_of(std::string_view word) {
  if (const auto number = small_number(word))
    return within(*number, 0, 2) ? std::string(name_of(static_cast<Protocol>(*number))) : std::string();
  const std::string plain = lower_case(word);
  return enum_from<Protocol>(plain) ? plain : std::string();
}

template <class T>
void add_once(std::vector<T>& list, T value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(std::move(value));
}

std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  return text.substr(0, text.find_first_of(" \t"));
}

std::optional<int> number_after(std::string_view text, std::string_view mark) {
  auto rest = after(text, mark);
  return rest ? take_number(*rest) : std::nullopt;
}

}  // namespace

struct NcclLog::State {
  explicit State(ImportSink& s) : sink(s), facts(s.out.nccl) {}

  void info(std::string_view text, int line);
  void version(std::string_view text);
  bool channel(std::string_view text, int line);
  void edge(int channel, std::string_view text, int line);
  void ring(int channel, int channels, std::string_view text, int line);
  void trees(std::string_view text, int line);
  void communicator(std::string_view text);
  void nics(std::string_view text);
  void choice(std::string_view text, int line);
  void plugins(std::string_view text);
  void variable(std::string_view text, std::size_t mark);
  void channel_counts(std::string_view text);

  ImportSink& sink;
  NcclFacts& facts;
  std::set<NcclRing> rings;
  std::set<EdgeKey> edges;
  std::set<NcclTreeNode> tree_nodes;
  std::set<NcclChoice> choices;
  std::map<std::string, std::uint64_t, std::less<>> transports;
};

NcclLog::NcclLog(ImportSink& sink) : state_(std::make_unique<State>(sink)) {}
NcclLog::~NcclLog() = default;

bool NcclLog::read(std::string_view text, int line, std::string_view& before) {
  before = {};
  // The mark may appear earlier in the line, for example in the name of a host or in a message of a program.
  std::size_t at = text.find("NCCL ");
  while (at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + 5);
    const bool info = rest.starts_with("INFO "), warn = rest.starts_with("WARN ");
    if (info || warn || (rest.starts_with("version ") && rest.size() > 8 && is_digit(rest[8]))) break;
    at = text.find("NCCL ", at + 1);
  }
  if (at == std::string_view::npos) return false;
  NcclFacts& facts = state_->facts;
  if (facts.line == 0) facts.line = line;
  before = text.substr(0, at);
  while (!before.empty() && is_space(before.back())) before.remove_suffix(1);
  const std::string_view rest = text.substr(at + 5);
  if (rest.starts_with("version ")) {
    state_->version(rest.substr(8));
    return true;
  }
  if (rest.starts_with("WARN ")) {
    // A failing job may print the same warning from every rank.
    if (facts.warnings.size() < most_warnings) add_once(facts.warnings, shown(rest.substr(5)));
    read_nccl_hint(trimmed(rest.substr(5)), facts);
    return true;
  }
  state_->info(trimmed(rest.substr(5)), line);
  return true;
}

void NcclLog::finish() {
  NcclFacts& facts = state_->facts;
  std::sort(facts.nics.begin(), facts.nics.end());
  std::sort(facts.communicators.begin(), facts.communicators.end(), std::greater<>());
}

void NcclLog::State::version(std::string_view text) {
  if (facts.version.empty()) facts.version = shown(text.substr(0, text.find_first_not_of("0123456789.")), 20);
}

void NcclLog::State::info(std::string_view text, int line) {
  if (text.starts_with("Channel ")) {
    if (channel(text.substr(8), line)) return;
  } else if (text.starts_with("Ring ") &&
             (text.find(" via ") != std::string_view::npos || text.find("->") == std::string_view::npos)) {
    // NCCL 2.4 and older call a channel a ring. Newer versions print a rank's neighbours in a similar line.
    if (channel(text.substr(5), line)) return;
  } else if (text.starts_with("NCCL version ")) {
    return version(text.substr(13));
  } else if (text.starts_with("Trees ")) {
    return trees(text.substr(6), line);
  }
  if (const std::size_t mark = text.find(" set by environment to "); mark != std::string_view::npos)
    return variable(text, mark);
  if (text.find("Bytes -> Algo ") != std::string_view::npos) return choice(text, line);
  // The letter case changed between versions.
  if (text.find("nRanks ") != std::string_view::npos || text.find("nranks ") != std::string_view::npos)
    return communicator(text);
  if (text.starts_with("NET/")) {
    if (text.find(": Using [") != std::string_view::npos) return nics(text);
    if (auto provider = after(text, "Selected provider is ")) {
      const std::string_view name = provider->substr(0, provider->find_first_of(", \t"));
      if (facts.provider.empty()) facts.provider = shown(name, 40);
      return;
    }
    // One line for each pair of a GPU and a NIC that NCCL considered, whether or not a connection uses it.
    if (text.find("GPU Direct RDMA Enabled") != std::string_view::npos) ++facts.gdr_enabled;
    if (text.find("GPU Direct RDMA Disabled") != std::string_view::npos) ++facts.gdr_disabled;
  }
  constexpr std::size_t most_networks = 20;
  if (text.starts_with("Using network ")) {
    if (facts.networks.size() < most_networks) add_once(facts.networks, shown(text.substr(14), 60));
    return;
  }
  if (text.find(" p2p channels") != std::string_view::npos) return channel_counts(text);
  if (text.starts_with("NVLS multicast support is ")) {
    const bool there = text.find("is available") != std::string_view::npos;
    // One line for each GPU.
    facts.nvls_multicast = facts.nvls_multicast.value_or(false) || there;
    return;
  }
  // In newer versions the summary of the rings states whether they use PXN and GPUDirect RDMA.
  if (text.starts_with("Connected all rings")) {
    if (const auto pxn = number_after(text, " PXN ")) facts.pxn = *pxn != 0;
    if (const auto gdr = number_after(text, " GDR ")) facts.gdr = *gdr != 0;
    return;
  }
  read_nccl_hint(text, facts);
  plugins(text);
}

/// `00/16 : 0 7 6 ...`, or `00/0 : 0[0] -> 1[1] via P2P/CUMEM`
bool NcclLog::State::channel(std::string_view text, int line) {
  const auto channel = take_number(text);
  if (!channel) return false;
  int channels = 0;
  if (text.starts_with('/')) {
    text.remove_prefix(1);
    const auto n = take_number(text);
    if (!n) return false;
    channels = *n;
  }
  text = trimmed(text);
  if (!text.starts_with(':')) return false;
  text = trimmed(text.substr(1));
  // NCCL has at most 64 channels. The limit bounds what a malformed line can claim, and fits the key of an edge.
  if (!within(*channel, 0, 1 << 10)) {
    sink.problem(line, "channel number out of range");
  } else if (text.find("->") != std::string_view::npos) {
    // The same prefix begins two kinds of lines: the order of ranks in a ring, and a single connection.
    edge(*channel, text, line);
  } else {
    ring(*channel, channels, text, line);
  }
  return true;
}

void NcclLog::State::edge(int channel, std::string_view text, int line) {
  const auto broken = [&] { sink.problem(line, "malformed connection of a channel"); };
  NcclEdge e;
  e.channel = channel;
  std::string_view rest = text;
  const auto from = take_number(rest);
  const auto arrow = after(rest, "-> ");
  if (!from || !arrow) return broken();
  rest = *arrow;
  const auto to = take_number(rest);
  const auto via = after(rest, " via ");
  if (!to || !via || !within(*from, 0, most_ranks) || !within(*to, 0, most_ranks)) return broken();
  e.from = *from;
  e.to = *to;
  e.receives = rest.find("[receive]") < rest.find(" via ");
  std::string_view transport = trimmed(via->substr(0, via->find(" comm ")));
  // Network plugins choose their own names, so the transport is kept as printed.
  transport = transport.substr(0, 80);
  if (transport.empty()) return broken();
  // Transports are numbered, so that an edge is two integers: from and to; transport, channel and direction.
  auto known = transports.find(transport);
  if (known == transports.end()) known = transports.emplace(std::string(transport), transports.size()).first;
  const EdgeKey key{static_cast<std::uint64_t>(e.from) << 32 | static_cast<std::uint32_t>(e.to),
                    known->second << 12 | static_cast<std::uint64_t>(channel) << 1 | (e.receives ? 1u : 0u)};
  if (!edges.insert(key).second) return;
  e.transport = shown(transport);
  facts.edges.push_back(std::move(e));
}

void NcclLog::State::ring(int channel, int channels, std::string_view text, int line) {
  NcclRing r;
  r.channel = channel;
  r.channels = channels;
  for (const std::string_view word : words_of(text)) {
    const auto rank = small_number(word);
    if (!rank || !within(*rank, 0, most_ranks)) return sink.problem(line, "malformed ring");
    r.ranks.push_back(*rank);
  }
  if (r.ranks.empty()) return sink.problem(line, "truncated ring");
  if (rings.insert(r).second) facts.rings.push_back(std::move(r));
}

/// `[0] 1/-1/-1->0->-1 [1] ...`: children, self, parent; in reverse order up to 2.5
void NcclLog::State::trees(std::string_view text, int line) {
  const std::vector<std::string_view> words = words_of(text);
  const auto broken = [&] { sink.problem(line, "malformed tree"); };
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    std::string_view label = words[i], tree = words[i + 1];
    if (!label.starts_with('[') || !label.ends_with(']')) return broken();
    const auto channel = small_number(label.substr(1, label.size() - 2));
    tree = tree.substr(0, tree.find('|'));  // older versions print a second direction
    const auto list = [&] {
      std::vector<int> ranks;
      do {
        const auto rank = take_number(tree);
        if (!rank || !within(*rank, -1, most_ranks)) return std::vector<int>();
        ranks.push_back(*rank);
      } while (tree.starts_with('/') && (tree.remove_prefix(1), true));
      return ranks;
    };
    const auto arrow = [&] { return tree.starts_with("->") && (tree.remove_prefix(2), true); };
    std::vector<int> down = list();
    std::vector<int> self = arrow() ? list() : std::vector<int>();
    std::vector<int> up = arrow() ? list() : std::vector<int>();
    if (down.size() == 1 && up.size() > 1) std::swap(down, up);  // up to 2.5
    if (!channel || !within(*channel, 0, 1 << 10) || down.empty() || self.size() != 1 || self[0] < 0 ||
        up.size() != 1 || !tree.empty())
      return broken();
    // -1 stands for no child.
    std::erase(down, -1);
    NcclTreeNode node{*channel, self[0], up[0], std::move(down)};
    if (tree_nodes.insert(node).second) facts.trees.push_back(std::move(node));
  }
}

void NcclLog::State::communicator(std::string_view text) {
  NcclCommunicator c;
  const auto number = [&](std::string_view a, std::string_view b) {
    const auto n = number_after(text, a);
    return std::clamp(n ? *n : number_after(text, b).value_or(0), 0, most_ranks);
  };
  // Values are limited before they are used as sizes by others.
  c.ranks = number(" nRanks ", " nranks ");
  c.nodes = number(" nNodes ", " nnodes ");
  c.local_ranks = number(" localRanks ", " localranks ");
  if (c.ranks < 1) return;
  // From 2.21 on, the line of a communicator also states whether it uses NVLink across hosts.
  if (const auto used = number_after(text, " MNNVL ")) facts.mnnvl = facts.mnnvl.value_or(false) || *used != 0;
  // A line that states less than a known one adds nothing; one that states more replaces it.
  for (NcclCommunicator& known : facts.communicators)
    if (known.ranks == c.ranks && (c.nodes == 0 || known.nodes == 0 || known.nodes == c.nodes)) {
      if (known.nodes == 0) known = c;
      if (known.local_ranks == c.local_ranks || c.nodes == 0) return;
    }
  constexpr std::size_t most_communicators = 100;
  if (facts.communicators.size() < most_communicators) add_once(facts.communicators, c);
}

/// `NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>`
void NcclLog::State::nics(std::string_view text) {
  const bool sockets = text.starts_with("NET/Socket");
  std::string_view list = *after(text, ": Using ");
  // After the semicolon follows the out-of-band interface, which carries no data.
  list = list.substr(0, list.find(';'));
  for (std::string_view word : words_of(list)) {
    if (!word.starts_with('[')) continue;
    word.remove_prefix(1);
    const auto number = take_number(word);
    if (!number || !word.starts_with(']')) continue;  // [RO]: relaxed ordering
    word.remove_prefix(1);
    NcclNic nic;
    nic.number = *number;
    if (sockets) {
      nic.name = shown(word.substr(0, word.find(':')), 40);
      nic.kind = "Socket";
    } else if (const std::size_t slash = word.find('/'); slash != std::string_view::npos) {
      // An entry of NET/IB is name:port/kind.
      nic.name = shown(word.substr(0, slash), 40),
      nic.kind = shown(word.substr(slash + 1, word.find('/', slash + 1) - slash - 1), 20);  // not /SHARP
    } else {
      continue;
    }
    constexpr std::size_t most_nics = 256;
    if (facts.nics.size() < most_nics) add_once(facts.nics, nic);
  }
}

/// `AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}`; older: `4096 Bytes -> Algo 1 proto 0 time 9.1`
void NcclLog::State::choice(std::string_view text, int line) {
  const auto broken = [&] { sink.problem(line, "malformed choice of an algorithm"); };
  NcclChoice c;
  std::string_view rest = text;
  // The function name in front of the bytes is missing in older versions. It must come before " Bytes" to be one.
  if (const std::size_t colon = text.find(": "); colon != std::string_view::npos && colon < text.find(" Bytes")) {
    c.operation = operation_of(text.substr(0, colon));
    rest = text.substr(colon + 2);
  }
  const auto bytes = whole_number(first_word(rest));
  const auto algorithm = after(rest, "-> Algo "), protocol = after(rest, " proto ");
  if (!bytes || *bytes < 0 || !algorithm || !protocol) return broken();
  c.bytes = *bytes;
  c.algorithm = algorithm_of(first_word(*algorithm));
  c.protocol = protocol_of(first_word(*protocol));
  if (c.algorithm.empty() || c.protocol.empty()) return broken();
  // Newer versions print the range of channels that the call uses.
  if (auto range = after(rest, "channel{Lo..Hi}={")) {
    const auto low = take_number(*range);
    const auto high = range->starts_with("..") ? (range->remove_prefix(2), take_number(*range)) : std::nullopt;
    if (!low || !high || *low < 0 || *high < *low) return broken();
    c.channels = *high - *low + 1;
  }
  if (choices.insert(c).second) facts.choices.push_back(std::move(c));
}

void NcclLog::State::variable(std::string_view text, std::size_t mark) {
  const std::string_view before = text.substr(0, mark);
  const std::string_view name = before.substr(before.find_last_of(" \t") + 1);
  if (!name.starts_with("NCCL_") || name.size() > 80) return;
  std::string_view value = trimmed(text.substr(mark + 23));
  // NCCL prints a full stop after numbers.
  if (value.ends_with('.') && whole_number(value.substr(0, value.size() - 1))) value.remove_suffix(1);
  sink.variable(name, value);
}

/// `24 coll channels, 16 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer`
void NcclLog::State::channel_counts(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const auto n = small_number(words[i]);
    if (!n || !within(*n, 0, 1 << 10) || !words[i + 2].starts_with("channels")) continue;
    // "2 p2p channels per peer" is another number than "32 p2p channels".
    if (i + 3 < words.size() && words[i + 3] == "per") continue;
    for (const auto& [word, target] : {std::pair{"coll", &facts.channels},
                                       {"collnet", &facts.collnet_channels},
                                       {"nvls", &facts.nvls_channels},
                                       {"p2p", &facts.p2p_channels}})
      if (words[i + 1] == word) *target = std::max(*target, *n);
  }
}

void NcclLog::State::plugins(std::string_view text) {
  constexpr std::size_t most_plugins = 100;
  for (const std::string_view mark :
       {"Loaded net plugin ", "Loaded coll plugin ", "Loaded collnet plugin ", "P2P plugin ", "Using tuner plugin ",
        "NET/OFI Initializing ", "PROFILER/Plugin: Loaded "})
    if (const auto name = after(text, mark); name && facts.plugins.size() < most_plugins)
      return add_once(facts.plugins, shown(*name, 80));
}

}  // namespace fabricast
