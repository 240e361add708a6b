// A rank's trace as plain values, whatever file it came from; and what is wrong with traces.
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

constexpr std::uint32_t none = 0xffffffff;

enum class NodeKind : std::uint8_t { mark, load, store, compute, send, receive, collective };

struct CommNode {
  CollectiveOp op = CollectiveOp::sendrecv;
  std::int64_t bytes = 0;             ///< as nccl-tests counts them, but of all_gather and gather the rank's part
  std::int64_t peer = -1, self = -1;  ///< of sends and receives; self -1: not said
  std::int64_t tag = 0;
  std::string group;             ///< name; empty: not said
  std::vector<bool> dimensions;  ///< involved_dim; empty: not said
  std::uint32_t node = none;
};

struct TraceNode {
  std::uint64_t id = 0;
  NodeKind kind = NodeKind::mark;
  bool cpu = false;
  bool is_recorded = false;   ///< `start` was
  std::uint32_t label = 0;    ///< into RankTrace::labels
  std::uint32_t comm = none;  ///< into RankTrace::comms
  std::int64_t lane = -1;     ///< CUDA stream or host thread; -1: not said
  double start = 0, seconds = 0;
  double flops = 0, bytes = 0;
  bool operator==(const TraceNode&) const = default;
};

struct TraceGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< none: all
};

struct RankTrace {
  std::string file;
  std::vector<std::string> labels;
  std::vector<TraceNode> nodes;
  std::vector<CommNode> comms;
  std::vector<std::uint32_t> first_dependency;  ///< by node, and one more
  std::vector<std::uint64_t> needs;             ///< ids
  std::vector<std::uint32_t> dependencies;      ///< the same as indices, made by link_nodes
  std::vector<TraceGroup> groups;               ///< of its own metadata
};

/// Collects what is wrong, up to twenty messages.
class Faults {
 public:
  void add(const std::string& file, std::string message, std::string hint = {});
  void node(const RankTrace& trace, std::uint32_t node, std::string_view message, std::string hint = {});
  void throw_if_any();

 private:
  std::vector<Diagnostic> list_;
  std::size_t count_ = 0;
};

/// Reads a file's bytes, binary or JSON. The one place that knows protobuf.
RankTrace decode(std::string file, std::string_view bytes);

/// From an item to one that it waits for, until one comes again: that circle, each before what waits for it,
/// from the first in the file.
template <class Next>
std::vector<std::uint32_t> walk_circle(std::uint32_t at, Next next) {
  std::unordered_map<std::uint32_t, std::size_t> seen;
  std::vector<std::uint32_t> path;
  for (; seen.try_emplace(at, path.size()).second; at = next(at)) path.push_back(at);
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[at]));
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}
/// `3 -> 7 -> 3`.
std::string shown_circle(const std::vector<std::string>& places);

/// Finds the nodes that others need: makes `dependencies`. Reports ids that are there twice, that are not there, and that
/// wait for each other in a circle.
void link_nodes(RankTrace& trace, Faults& faults);

}  // namespace fabricast::trace
