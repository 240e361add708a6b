#include "attributes.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

namespace fabricast::trace {

namespace {

/// Guess: PyTorch runs a barrier as an all_reduce of one element.
constexpr std::int64_t barrier_bytes = 4;

constexpr std::int64_t barrier = 9;
constexpr std::array<CollectiveOp, 10> current_types{
    CollectiveOp::all_reduce,     CollectiveOp::reduce,    CollectiveOp::all_gather, CollectiveOp::gather,
    CollectiveOp::scatter,        CollectiveOp::broadcast, CollectiveOp::alltoall,   CollectiveOp::reduce_scatter,
    CollectiveOp::reduce_scatter, CollectiveOp::all_reduce};
constexpr std::array<CollectiveOp, 5> old_types{CollectiveOp::all_reduce, CollectiveOp::alltoall,
                                                CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                                CollectiveOp::broadcast};

/// Larger values are not plausible, and a size times the number of ranks could overflow.
constexpr std::int64_t most = std::int64_t{1} << 50;

std::int64_t checked(const std::optional<std::int64_t>& value, const char* name, std::int64_t low) {
  if (!value) throw UserError(fmt::format("has no '{}'", name));
  if (*value < low || *value > most) throw UserError(fmt::format("has invalid {} {}", name, *value));
  return *value;
}

CollectiveOp type_of(std::int64_t number, Generation generation) {
  const std::span<const CollectiveOp> types =
      generation == Generation::old ? std::span<const CollectiveOp>(old_types) : current_types;
  if (number < 0 || number >= static_cast<std::int64_t>(types.size()))
    throw UserError(fmt::format("has unknown comm_type {}", number),
                    fmt::format("this generation of the schema has 0 to {}", types.size() - 1));
  return types[static_cast<std::size_t>(number)];
}

}  // namespace

std::optional<std::int64_t>* Attributes::integer(std::string_view name) {
  if (name == "comm_type") return &comm_type;
  if (name == "comm_size") return &comm_size;
  if (name == "comm_src") return &comm_src;
  if (name == "comm_dst") return &comm_dst;
  if (name == "comm_tag") return &comm_tag;
  if (name == "num_ops") return &num_ops;
  if (name == "tensor_size") return &tensor_size;
  if (name == "runtime") return &runtime;
  if (name == "stream") return &stream;
  if (name == "tid") return &tid;
  return nullptr;
}

void fill_node(TraceNode& node, std::vector<CommNode>& comms, std::uint32_t index, const Attributes& a,
               Generation generation) {
  node.cpu = a.is_cpu_op.value_or(false);
  node.lane = (node.cpu ? a.tid : a.stream).value_or(-1);
  if (node.seconds == 0 && a.runtime) node.seconds = 1e-6 * static_cast<double>(checked(a.runtime, "runtime", 0));
  if (a.num_ops) node.flops = static_cast<double>(checked(a.num_ops, "num_ops", 0));
  if (a.tensor_size) node.bytes = static_cast<double>(checked(a.tensor_size, "tensor_size", 0));
  if (node.kind != NodeKind::collective && node.kind != NodeKind::send && node.kind != NodeKind::receive) return;
  CommNode c;
  c.node = index;
  c.group = a.group;
  c.dimensions = a.involved_dim;
  if (node.kind == NodeKind::collective) {
    const std::int64_t type = checked(a.comm_type, "comm_type", std::numeric_limits<std::int64_t>::min());
    c.op = type_of(type, generation);
    const bool is_barrier = generation == Generation::current && type == barrier;
    c.bytes = is_barrier ? barrier_bytes : checked(a.comm_size, "comm_size", 1);
  } else {
    const bool sends = node.kind == NodeKind::send;
    const std::optional<std::int64_t>& self = sends ? a.comm_src : a.comm_dst;
    c.peer = checked(sends ? a.comm_dst : a.comm_src, sends ? "comm_dst" : "comm_src", 0);
    if (self) c.self = checked(self, sends ? "comm_src" : "comm_dst", 0);
    c.bytes = checked(a.comm_size, "comm_size", 1);
    c.tag = a.comm_tag.value_or(0);
  }
  node.comm = static_cast<std::uint32_t>(comms.size());
  comms.push_back(std::move(c));
}

}  // namespace fabricast::trace
