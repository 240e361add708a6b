// Attributes of nodes by name, the same for all generations of the schema, and the node that they describe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rank_trace.hpp"

namespace fabricast::trace {

/// The attributes of a node that are read. Names and units are those of the schema; `runtime` is in microseconds.
struct Attributes {
  std::optional<std::int64_t> comm_type, comm_size, comm_src, comm_dst, comm_tag, num_ops, tensor_size, runtime, stream,
      tid;
  std::optional<bool> is_cpu_op;
  std::string group;
  std::vector<bool> involved_dim;

  /// The member for an integer attribute of this name; null: the attribute is not read.
  std::optional<std::int64_t>* integer(std::string_view name);
  /// Whether the attribute names the process group. Its value may be text or a number.
  static bool is_group(std::string_view name) { return name == "pg_name" || name == "comm_group"; }
};

/// Generation of the schema, which determines the numbers of `comm_type`: that of 2023 (old), or later (current).
enum class Generation { old, current };

/// Fills `node` from its attributes. For a collective, send or receive, also appends to `comms`.
/// \param index  of the node in its trace
/// \throws UserError if an attribute is missing or invalid; the message continues `node ID`, without a position
void fill_node(TraceNode& node, std::vector<CommNode>& comms, std::uint32_t index, const Attributes& attributes,
               Generation generation);

}  // namespace fabricast::trace
