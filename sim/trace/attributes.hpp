// Attributes of nodes by name, whatever generation they were written in, and what they say of a node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rank_trace.hpp"

namespace fabricast::trace {

/// What a node's attributes say, as far as it is read.
struct Attributes {
  std::optional<std::int64_t> comm_type, comm_size, comm_src, comm_dst, comm_tag, num_ops, tensor_size, runtime, stream,
      tid;
  std::optional<bool> is_cpu_op;
  std::string group;
  std::vector<bool> involved_dim;

  /// Where an integer of that name goes; null: it is not read.
  std::optional<std::int64_t>* integer(std::string_view name);
  /// A group may be a word or a number.
  static bool is_group(std::string_view name) { return name == "pg_name" || name == "comm_group"; }
};

/// Numbers of `comm_type` in the schema of 2023 and since.
enum class Generation { old, current };

/// Makes the node, and its exchange where it has one.
/// \throws UserError  a message of the node, without a place: what is missing or unknown
void fill_node(TraceNode& node, std::vector<CommNode>& comms, std::uint32_t index, const Attributes& attributes,
               Generation generation);

}  // namespace fabricast::trace
