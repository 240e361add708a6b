#include "support/chakra_writer.hpp"

namespace fabricast::test {

void Wire::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}
Wire& Wire::number(int field, std::uint64_t value) {
  varint(static_cast<std::uint64_t>(field) << 3), varint(value);
  return *this;
}
Wire& Wire::text(int field, std::string_view value) {
  varint(static_cast<std::uint64_t>(field) << 3 | 2), varint(value.size());
  bytes_ += value;
  return *this;
}
Wire& Wire::packed(int field, const std::vector<std::uint64_t>& values) {
  if (values.empty()) return *this;
  Wire list;
  for (const std::uint64_t v : values) list.varint(v);
  return text(field, list.bytes());
}

ChakraNode::ChakraNode(std::uint64_t id, ChakraType type, std::string_view name) {
  wire_.number(1, id).text(2, name).number(3, type);
}
ChakraNode& ChakraNode::after(const std::vector<std::uint64_t>& data, const std::vector<std::uint64_t>& control) {
  wire_.packed(4, control).packed(5, data);
  return *this;
}
ChakraNode& ChakraNode::runs(std::uint64_t microseconds, std::uint64_t start) {
  if (start > 0) wire_.number(6, start);
  wire_.number(7, microseconds);
  return *this;
}
ChakraNode& ChakraNode::is(std::string_view attribute, std::int64_t value) {
  wire_.text(10, Wire().text(1, attribute).number(9, static_cast<std::uint64_t>(value)).bytes());
  return *this;
}
ChakraNode& ChakraNode::is(std::string_view attribute, std::string_view value) {
  wire_.text(10, Wire().text(1, attribute).text(29, value).bytes());
  return *this;
}
ChakraNode& ChakraNode::on_cpu(bool cpu) {
  wire_.text(10, Wire().text(1, "is_cpu_op").number(27, cpu ? 1 : 0).bytes());
  return *this;
}
ChakraNode& ChakraNode::involves(std::initializer_list<bool> dimensions) {
  const std::vector<std::uint64_t> flags(dimensions.begin(), dimensions.end());
  wire_.text(10, Wire().text(1, "involved_dim").text(28, Wire().packed(1, flags).bytes()).bytes());
  return *this;
}
ChakraNode& ChakraNode::input(std::string_view values) {
  wire_.text(8, Wire().text(1, values).bytes());
  return *this;
}

ChakraFile::ChakraFile(std::string_view version) {
  message(version.empty() ? std::string() : Wire().text(1, version).bytes());
}
ChakraFile& ChakraFile::message(std::string_view bytes) {
  const std::string framed = Wire().text(1, bytes).bytes();
  bytes_ += framed.substr(1);  // without the tag: the length and the bytes
  return *this;
}

ChakraNode compute_node(std::uint64_t id, std::uint64_t microseconds, const std::vector<std::uint64_t>& after) {
  return ChakraNode(id, comp).after(after).runs(microseconds).on_cpu(false);
}
ChakraNode collective_node(std::uint64_t id, ChakraCollective type, std::int64_t bytes,
                           const std::vector<std::uint64_t>& after, std::string_view group) {
  ChakraNode node(id, coll);
  node.after(after).is("comm_type", type).is("comm_size", bytes).on_cpu(false);
  if (!group.empty()) node.is("pg_name", group);
  return node;
}
ChakraNode send_node(std::uint64_t id, int to, std::int64_t bytes, const std::vector<std::uint64_t>& after, int tag) {
  return ChakraNode(id, send).after(after).is("comm_dst", to).is("comm_size", bytes).is("comm_tag", tag);
}
ChakraNode receive_node(std::uint64_t id, int from, std::int64_t bytes, const std::vector<std::uint64_t>& after,
                        int tag) {
  return ChakraNode(id, recv).after(after).is("comm_src", from).is("comm_size", bytes).is("comm_tag", tag);
}

std::string data_parallel_step(int layers, std::uint64_t microseconds, std::int64_t bytes) {
  ChakraFile file;
  std::uint64_t id = 0;
  const auto step = [&](std::string_view name, std::uint64_t time) {
    ChakraNode node(id + 1, comp, name);
    if (id > 0) node.after({id});
    file.add(node.runs(time));
    return ++id;
  };
  for (int l = 0; l < layers; ++l) step("forward", microseconds);
  std::vector<std::uint64_t> reduced;
  for (int l = 0; l < layers; ++l) {
    const std::uint64_t backward = step("backward", 2 * microseconds);
    reduced.push_back(1'000'000 + backward);
    file.add(collective_node(reduced.back(), all_reduce, bytes, {backward}));
  }
  reduced.push_back(id);
  file.add(ChakraNode(id + 1, comp, "optimizer").after(reduced).runs(microseconds));
  return file.bytes();
}

std::string ring_of_sends(int rank, int ranks, std::int64_t bytes) {
  return ChakraFile()
      .add(compute_node(1, 10))
      .add(send_node(2, (rank + 1) % ranks, bytes, {1}))
      .add(receive_node(3, (rank + ranks - 1) % ranks, bytes))
      .add(compute_node(4, 20, {3}))
      .bytes();
}

std::string mixture_of_experts(std::int64_t bytes) {
  return ChakraFile()
      .add(compute_node(1, 100))
      .add(collective_node(2, all_to_all, bytes, {1}, "experts"))
      .add(compute_node(3, 200, {2}))
      .add(collective_node(4, all_to_all, bytes, {3}, "experts"))
      .add(collective_node(5, all_reduce, 2 * bytes, {4}))
      .bytes();
}

}  // namespace fabricast::test
