// Writes execution traces as bytes, field by field, without protobuf: what the reader takes for a field number is thus
// said twice. And steps as traces, small enough to work out by hand.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast::test {

/// Fields of a message.
class Wire {
 public:
  Wire& number(int field, std::uint64_t value);
  Wire& text(int field, std::string_view value);
  Wire& packed(int field, const std::vector<std::uint64_t>& values);
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  std::string bytes_;
};

enum ChakraType : std::uint64_t { metadata = 1, mem_load = 2, mem_store = 3, comp = 4, send = 5, recv = 6, coll = 7 };
enum ChakraCollective : std::int64_t {
  all_reduce = 0,
  all_gather = 2,
  all_to_all = 6,
  reduce_scatter = 7,
  barrier = 9
};

/// A node of today's schema.
class ChakraNode {
 public:
  ChakraNode(std::uint64_t id, ChakraType type, std::string_view name = {});
  ChakraNode& after(const std::vector<std::uint64_t>& data, const std::vector<std::uint64_t>& control = {});
  ChakraNode& runs(std::uint64_t microseconds, std::uint64_t start = 0);
  ChakraNode& is(std::string_view attribute, std::int64_t value);
  ChakraNode& is(std::string_view attribute, std::string_view value);
  ChakraNode& on_cpu(bool cpu = true);
  ChakraNode& involves(std::initializer_list<bool> dimensions);
  ChakraNode& input(std::string_view values);
  const std::string& bytes() const { return wire_.bytes(); }

 private:
  Wire wire_;
};

/// A file: metadata, then nodes, each after its length.
class ChakraFile {
 public:
  explicit ChakraFile(std::string_view version = "0.0.4");
  ChakraFile& add(const ChakraNode& node) { return message(node.bytes()); }
  ChakraFile& message(std::string_view bytes);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

ChakraNode compute_node(std::uint64_t id, std::uint64_t microseconds, const std::vector<std::uint64_t>& after = {});
ChakraNode collective_node(std::uint64_t id, ChakraCollective type, std::int64_t bytes,
                           const std::vector<std::uint64_t>& after = {}, std::string_view group = {});
ChakraNode send_node(std::uint64_t id, int to, std::int64_t bytes, const std::vector<std::uint64_t>& after = {},
                     int tag = 0);
ChakraNode receive_node(std::uint64_t id, int from, std::int64_t bytes, const std::vector<std::uint64_t>& after = {},
                        int tag = 0);

/// Forward of `layers`, backward with an all_reduce of each that the next layers' computation hides, the optimizer.
std::string data_parallel_step(int layers, std::uint64_t microseconds, std::int64_t bytes);
/// Each computes, sends to the next and receives from the one before; then computes on what came.
std::string ring_of_sends(int rank, int ranks, std::int64_t bytes);
/// Attention, dispatch, experts, combine, on group `experts`; then an all_reduce of everyone.
std::string mixture_of_experts(std::int64_t bytes);

}  // namespace fabricast::test
