// Messages about invalid traces name the file and the node.
#include <catch2/catch.hpp>

#include "support/begin_as.hpp"
#include "support/chakra_writer.hpp"
#include "support/traces.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

std::string file_of(std::initializer_list<ChakraNode> nodes) {
  ChakraFile file;
  for (const ChakraNode& n : nodes) file.add(n);
  return file.bytes();
}

TraceSpec shared_by(int ranks) {
  TraceSpec spec;
  spec.ranks = ranks;
  return spec;
}

}  // namespace

TEST_CASE("Dependencies that do not exist, duplicate ids and cycles in a trace are reported") {
  CHECK_THAT(faults_of({file_of({compute_node(1, 1), compute_node(2, 1, {1, 77})})}),
             begin_as("t.0.et: error: node 2 depends on node 77, which does not exist"));
  CHECK_THAT(faults_of({file_of({compute_node(1, 1), compute_node(1, 1)})}),
             begin_as("t.0.et: error: node 1 is defined twice"));
  CHECK_THAT(faults_of({file_of(
                 {compute_node(5, 1), compute_node(7, 1, {5, 9}), compute_node(8, 1, {7}), compute_node(9, 1, {8})})}),
             begin_as("t.0.et: error: nodes depend on each other in a cycle: 7 -> 8 -> 9 -> 7"));
  CHECK_THAT(faults_of({file_of({compute_node(3, 1, {3})})}),
             begin_as("t.0.et: error: nodes depend on each other in a cycle: 3 -> 3"));
  ChakraFile large;
  for (std::uint64_t id = 1; id <= 30; ++id) large.add(compute_node(id, 1, {id == 1 ? 30 : id - 1}));
  CHECK_THAT(faults_of({large.bytes()}),
             begin_as("t.0.et: error: nodes depend on each other in a cycle: 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> 9 "
                      "-> 10 -> 11 -> 12 -> (18 more) -> 1"));
}

TEST_CASE("Collectives of several ranks that wait for each other in a cycle are reported") {
  // Each rank sends before it receives.
  const std::vector<std::string> files{file_of({send_node(1, 1, 8), receive_node(2, 1, 8, {1})}),
                                       file_of({send_node(1, 0, 8), receive_node(2, 0, 8, {1})})};
  TraceSpec spec;
  spec.fold = false;
  CHECK_THAT(
      faults_of(files, spec),
      begin_as("t.0.et: error: collectives wait for each other in a cycle: node 1 of rank 0 with node 2 of rank 1 "
               "-> node 2 of rank 0 with node 1 of rank 1 -> node 1 of rank 0"));
  CHECK_THAT(faults_of(files), begin_as("t.0.et: error: collectives wait for each other in a cycle"));
}

TEST_CASE("Collectives of a group that do not match are reported") {
  const auto call = [](std::uint64_t id, ChakraCollective type, std::int64_t bytes) {
    return collective_node(id, type, bytes, {}, "g");
  };
  const std::string groups = R"({"g": [0, 1]})";
  CHECK_THAT(faults_of({file_of({call(4, all_reduce, 100)}), file_of({call(6, all_reduce, 104)})}, {}, groups),
             begin_as("t.1.et: error: node 6 is all_reduce of 104 B, but call 1 on group 'g' is all_reduce of 100 B "
                      "in node 4 of t.0.et"));
  CHECK_THAT(faults_of({file_of({call(4, all_reduce, 100)}), file_of({call(6, all_gather, 100)})}, {}, groups),
             begin_as("t.1.et: error: node 6 is all_gather of 100 B, but call 1 on group 'g' is all_reduce"));
  CHECK_THAT(faults_of({file_of({call(4, all_reduce, 100)}),
                        file_of({call(6, all_reduce, 100), call(8, all_reduce, 100), call(9, all_reduce, 100)})},
                       {}, groups),
             begin_as("t.1.et: error: node 8 is call 2 on group 'g', which rank 0 does not make"));
  CHECK_THAT(faults_of({file_of({call(4, all_reduce, 100)}), file_of({compute_node(6, 1)})}, {}, groups),
             begin_as("t.0.et: error: node 4 is call 1 on group 'g', which rank 1 does not make"));
}

TEST_CASE("Undefined groups, and groups with ranks that do not exist, are reported") {
  const std::string file = file_of({collective_node(4, all_reduce, 100, {}, "g")});
  CHECK_THAT(faults_of({file}, shared_by(2)),
             begin_as("t.0.et: error: node 4 is a call on group 'g', which is not defined",
                      "t.0.et: error: node 4 is a call on group 'g', which is not defined"));
  CHECK_THAT(faults_of({file}, shared_by(2), R"({"g": [0, 2]})"),
             begin_as("error: group 'g' contains rank 2, but the trace has 2 ranks"));
  CHECK_THAT(faults_of({file}, shared_by(3), R"({"g": [0, 1]})"),
             begin_as("t.0.et: error: node 4 is a call on group 'g', but rank 2 is not a member"));
  CHECK_THAT(faults_of({file}, {}, R"({"g": [0, 0]})"),
             begin_as("groups.json:1:2: error: group 'g' contains rank 0 twice"));
  CHECK_THAT(faults_of({file}, {}, R"({"g": [-1]})"),
             begin_as("groups.json:1:2: error: group 'g' contains '-1', which is not a rank"));
  CHECK_THAT(faults_of({file}, {}, "{\n  \"g\": 3}"),
             begin_as("groups.json:2:3: error: group 'g' is not a list of ranks"));
  CHECK_THAT(faults_of({file}, {}, R"({"g": [0,})"), begin_as("groups.json:1:10: error: the file is not valid JSON"));
  CHECK_THAT(faults_of({file}, {}, R"({"g": [1e999]})"),
             begin_as("groups.json:1:1: error: the file contains a number that is too large"));
  CHECK_THAT(faults_of({file}, {}, R"({"g": [[0, [1]]]})"),
             begin_as("groups.json:1:2: error: group 'g' contains 'array', which is not a rank"));
  CHECK_THAT(faults_of({file}, {}, "[1]"),
             begin_as("groups.json:1:1: error: the file is not an object of process groups"));
  const std::string own =
      file_of({ChakraNode(1, metadata, "process_group:init").input(R"([{"pg_name": "g", "ranks": [0, 5]}])"),
               collective_node(4, all_reduce, 100, {}, "g")});
  CHECK_THAT(faults_of({own}, shared_by(2)),
             begin_as("t.0.et: error: node 4 is a call on group 'g', which contains rank 5, but the trace has 2 ranks",
                      "t.0.et: error: node 4 is a call on group 'g', which contains rank 5"));
  const std::string some = file_of({collective_node(4, all_reduce, 100).involves({true, false})});
  CHECK_THAT(faults_of({some}, {}), begin_as("t.0.et: error: node 4 involves only some dimensions"));
  TraceSpec spec = shared_by(6);
  spec.dimensions = {2, 4};
  CHECK_THAT(faults_of({some}, spec),
             begin_as("error: workload.dimensions: dimensions 2 x 4 do not multiply to 6 ranks"));
}

TEST_CASE("Sends without a receive, and receives without a send, are reported") {
  const std::string idle = file_of({compute_node(1, 1)});
  CHECK_THAT(faults_of({file_of({send_node(3, 1, 8, {}, 5)}), idle}),
             begin_as("t.0.et: error: node 3 sends to rank 1 with tag 5, which has no matching receive"));
  CHECK_THAT(faults_of({idle, file_of({receive_node(3, 0, 8, {}, 5)})}),
             begin_as("t.1.et: error: node 3 receives from rank 0 with tag 5, which has no matching send"));
  CHECK_THAT(faults_of({file_of({send_node(3, 1, 8)}), file_of({receive_node(4, 0, 9)})}),
             begin_as("t.0.et: error: node 3 sends 8 B, but node 4 of t.1.et receives 9 B"));
  CHECK_THAT(faults_of({file_of({send_node(3, 2, 8)}), idle}),
             begin_as("t.0.et: error: node 3 sends to rank 2, but the trace has 2 ranks"));
  CHECK_THAT(faults_of({file_of({send_node(3, 0, 8)}), idle}),
             begin_as("t.0.et: error: node 3 sends to rank 0, its own rank"));
  CHECK_THAT(faults_of({file_of({send_node(3, 1, 8).is("comm_src", 1)}), idle}),
             begin_as("t.0.et: error: node 3 has comm_src 1, but belongs to rank 0"));
}

TEST_CASE("Nodes with missing or invalid attributes, or of unknown types, are reported") {
  CHECK_THAT(
      faults_of({file_of({ChakraNode(1, coll).is("comm_size", 8), ChakraNode(2, coll).is("comm_type", 0),
                          collective_node(3, static_cast<ChakraCollective>(10), 8), collective_node(4, all_reduce, 0),
                          ChakraNode(5, send).is("comm_size", 8), ChakraNode(6, recv).is("comm_size", 8),
                          receive_node(7, -1, 8), ChakraNode(8, static_cast<ChakraType>(8)),
                          ChakraNode(9, static_cast<ChakraType>(99)), ChakraNode(10, comp).is("num_ops", -3)})}),
      begin_as("t.0.et: error: node 1 has no 'comm_type'", "t.0.et: error: node 2 has no 'comm_size'",
               "t.0.et: error: node 3 has unknown comm_type 10", "t.0.et: error: node 4 has invalid comm_size 0",
               "t.0.et: error: node 5 has no 'comm_dst'", "t.0.et: error: node 6 has no 'comm_src'",
               "t.0.et: error: node 7 has invalid comm_src -1",
               "t.0.et: error: node 8 is a STORAGE_NODE, which is not modelled",
               "t.0.et: error: node 9 has unknown type 99", "t.0.et: error: node 10 has invalid num_ops -3"));
}

TEST_CASE("A long list of errors is shortened") {
  ChakraFile file;
  for (std::uint64_t id = 1; id <= 50; ++id) file.add(ChakraNode(id, coll));
  const std::vector<std::string> said = faults_of({file.bytes()});
  REQUIRE(said.size() == 21);
  CHECK(said.back() == "error: 30 more errors in the trace");
}

TEST_CASE("Files that are truncated, empty, or not a trace are reported") {
  const std::string whole = file_of({compute_node(1, 1), compute_node(2, 1)});
  const std::size_t first = ChakraFile().bytes().size() + 1 + compute_node(1, 1).bytes().size();
  CHECK_THAT(faults_of({whole.substr(0, whole.size() - 3)}),
             begin_as("t.0.et: error: the file ends at byte " + std::to_string(whole.size() - 3) +
                      ", inside the message of " + std::to_string(compute_node(2, 1).bytes().size()) +
                      " bytes that begins at byte " + std::to_string(first)));
  CHECK_THAT(faults_of({""}), begin_as("t.0.et: error: the file is empty"));
  CHECK_THAT(faults_of({std::string(20, '\xff')}), begin_as("t.0.et: error: byte 0: not the length of a message"));
  CHECK_THAT(faults_of({ChakraFile().message("\x08\x01\x12\x7f").bytes()}),
             begin_as("t.0.et: error: byte 9: the message is not a node"));
  CHECK_THAT(faults_of({std::string("\x02\x0a\x7f", 3)}),
             begin_as("t.0.et: error: byte 1: the message is not metadata"));
  // The first schema: run time is field 7 and operations are field 12, and there is no metadata.
  ChakraFile first_schema("");
  first_schema.message(Wire().number(1, 1).text(2, "kernel").number(3, 4).number(7, 5).number(12, 100).bytes());
  CHECK_THAT(faults_of({first_schema.bytes()}), begin_as("t.0.et: error: the file uses the Chakra schema of 2022"));
  CHECK_THAT(faults_of({"{}\n{\"id\": 1"}),
             begin_as("t.0.et:2:1: error: the file ends at byte 11, inside this object"));
  CHECK_THAT(faults_of({"{} {\"id\": [1]}"}), begin_as("t.0.et:1:4: error: not a node: "));
  CHECK_THAT(faults_of({"{} ,"}), begin_as("t.0.et:1:4: error: the object of a node must begin with '{'"));
}

TEST_CASE("Every prefix of a trace is read or rejected") {
  const std::string whole = mixture_of_experts(4096);
  std::size_t read = 0;
  for (std::size_t n = 0; n <= whole.size(); ++n)
    if (faults_of({whole.substr(0, n)}, {}, R"({"experts": [0]})").empty()) ++read;
  CHECK(read == 6);  // metadata alone, and with one node more each
}
