// The trace of a rank as plain values, independent of the file format, and the list of faults in traces. Sizes are
// bytes, times seconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast::trace {

/// Absent index.
constexpr std::uint32_t none = 0xffffffff;

/// What a node does; `mark` takes no time and only carries dependencies.
enum class NodeKind : std::uint8_t { mark, load, store, compute, send, receive, collective };

/// The communication of a collective, send or receive node.
struct CommNode {
  CollectiveOp op = CollectiveOp::sendrecv;
  std::int64_t bytes = 0;             ///< counted as in nccl-tests, but for all_gather and gather the input of a rank
  std::int64_t peer = -1, self = -1;  ///< ranks of sends and receives; self -1: not specified
  std::int64_t tag = 0;
  std::string group;             ///< name; empty: not specified
  std::vector<bool> dimensions;  ///< involved_dim; empty: not specified
  std::uint32_t node = none;     ///< into RankTrace::nodes
};

struct TraceNode {
  std::uint64_t id = 0;
  NodeKind kind = NodeKind::mark;
  bool cpu = false;
  bool is_recorded = false;   ///< whether `start` is recorded
  std::uint32_t label = 0;    ///< into RankTrace::labels
  std::uint32_t comm = none;  ///< into RankTrace::comms
  std::int64_t lane = -1;     ///< CUDA stream or host thread; -1: not specified
  double start = 0, seconds = 0;
  double flops = 0, bytes = 0;
  bool operator==(const TraceNode&) const = default;
};

struct TraceGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< empty: all
};

struct RankTrace {
  std::string file;
  std::vector<std::string> labels;
  std::vector<TraceNode> nodes;
  std::vector<CommNode> comms;
  std::vector<std::uint32_t> first_dependency;  ///< by node, into `needs`; one more entry: the end
  std::vector<std::uint64_t> needs;             ///< ids of the nodes that nodes depend on
  std::vector<std::uint32_t> dependencies;      ///< the same as indices, filled by link_nodes()
  std::vector<TraceGroup> groups;               ///< defined by the trace's metadata
};

/// Collects faults. Keeps the first twenty messages and counts the rest.
class Faults {
 public:
  void add(const std::string& file, std::string message, std::string hint = {});
  /// \param message  continues `node ID`
  void node(const RankTrace& trace, std::uint32_t node, std::string_view message, std::string hint = {});
  /// \throws UserError with all messages, if there are any
  void throw_if_any();

 private:
  std::vector<Diagnostic> list_;
  std::size_t count_ = 0;
};

/// The trace in the bytes of a file, binary or JSON. Only chakra.cpp, which defines it, uses protobuf.
/// \param file  name of the file in messages
/// \throws UserError if the bytes are not a complete trace, or nodes are invalid
/// \throws Interrupted on Ctrl-C
RankTrace decode(const std::string& file, std::string_view bytes);

/// Follows `next`, from an item to one that it waits for, until an item repeats.
/// \returns the cycle: each item stands before the one that waits for it, and the lowest index comes first
template <class Next>
std::vector<std::uint32_t> walk_cycle(std::uint32_t at, Next next) {
  std::unordered_map<std::uint32_t, std::size_t> seen;
  std::vector<std::uint32_t> path;
  for (; seen.try_emplace(at, path.size()).second; at = next(at)) path.push_back(at);
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[at]));
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}
/// The text `3 -> 7 -> 3` of a cycle. Long cycles are shortened.
std::string shown_cycle(const std::vector<std::string>& places);

/// Fills `dependencies` of the trace. Reports duplicate ids, dependencies that do not exist, and nodes that depend on
/// each other in a cycle.
void link_nodes(RankTrace& trace, Faults& faults);

}  // namespace fabricast::trace
