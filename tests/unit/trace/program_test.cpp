// Traces as programs: streams, order, dependencies, and which ranks communicate how much.
#include <unistd.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>

#include "fabricast/core/file.hpp"
#include "support/chakra_writer.hpp"
#include "support/traces.hpp"

using namespace fabricast;
using namespace fabricast::test;

namespace {

std::vector<std::string> labels_of(const Program& p, const std::vector<std::uint32_t>& activities) {
  std::vector<std::string> labels;
  for (const std::uint32_t a : activities) labels.push_back(p.labels[p.activities[a].label]);
  return labels;
}

std::vector<std::uint32_t> needs_of(const Program& p, std::uint32_t activity) {
  const auto list = p.dependencies_of(activity);
  return {list.begin(), list.end()};
}

std::vector<std::string> streams_of(const Program& p, std::uint32_t activity) {
  std::vector<std::string> names;
  for (const Place& place : p.places_of(activity))
    names.push_back(p.actors[place.actor].name + ": " + p.actors[place.actor].streams[place.stream]);
  return names;
}

std::vector<double> seconds_of(const Program& p) {
  std::vector<double> s;
  for (const Activity& a : p.activities) s.push_back(a.is_collective() ? -1 : a.time.value);
  return s;
}

TraceSpec unfolded() {
  TraceSpec spec;
  spec.fold = false;
  return spec;
}
TraceSpec shared_by(int ranks) {
  TraceSpec spec;
  spec.ranks = ranks;
  return spec;
}

using Groups = std::vector<std::vector<std::uint32_t>>;

}  // namespace

TEST_CASE("A data-parallel step of four ranks that share a trace is one actor") {
  const Program p = program_of_files({data_parallel_step(2, 100, 1 << 20)}, shared_by(4));
  REQUIRE(p.actors.size() == 1);
  CHECK(p.actors[0].ranks == 4);
  CHECK(p.actors[0].name == "rank 0 and 3 identical");
  CHECK(p.actors[0].streams == std::vector<std::string>{"compute", "group of 4 ranks"});
  CHECK(ranks_of(p) == 4);
  REQUIRE(p.collectives.size() == 1);
  CHECK(p.collectives[0].op == CollectiveOp::all_reduce);
  CHECK(p.collectives[0].bytes == 1 << 20);
  CHECK(p.collectives[0].part == Part::data);
  CHECK_FALSE(p.collectives[0].one_way);
  CHECK(p.groups[p.collectives[0].groups] == Groups{{0, 1, 2, 3}});
  // forward forward backward (all_reduce) backward (all_reduce) optimizer
  REQUIRE(p.activities.size() == 7);
  std::vector<std::uint32_t> collectives, others;
  for (std::uint32_t i = 0; i < 7; ++i) (p.activities[i].is_collective() ? collectives : others).push_back(i);
  CHECK(labels_of(p, others) == std::vector<std::string>{"forward", "forward", "backward", "backward", "optimizer"});
  CHECK(p.activities[others[2]].time.value == Approx(200e-6));
  CHECK(p.activities[others[2]].part == Part::backward);
  CHECK(p.activities[others[4]].part == Part::optimizer);
  CHECK(needs_of(p, collectives[0]) == std::vector{others[2]});
  CHECK(needs_of(p, others[3]) == std::vector{others[2]});
  std::vector<std::uint32_t> last{collectives[0], others[3], collectives[1]};
  std::sort(last.begin(), last.end());
  CHECK(needs_of(p, others[4]) == last);
}

TEST_CASE("Unfolded ranks join the same calls, and each has its own streams") {
  const std::string step = data_parallel_step(1, 10, 4096);
  const Program p = program_of_files({step, step, step}, unfolded());
  REQUIRE(p.actors.size() == 3);
  REQUIRE(p.activities.size() == 10);
  CHECK(p.collectives.size() == 1);
  std::uint32_t collective = 0;
  while (!p.activities[collective].is_collective()) ++collective;
  CHECK(streams_of(p, collective) ==
        std::vector<std::string>{"rank 0: group of 3 ranks", "rank 1: group of 3 ranks", "rank 2: group of 3 ranks"});
  CHECK(needs_of(p, collective).size() == 3);
  // Identical files fold. A slower one does not.
  CHECK(program_of_files({step, step, step}).actors.size() == 1);
  const Program odd = program_of_files({step, data_parallel_step(1, 11, 4096), step});
  REQUIRE(odd.actors.size() == 2);
  CHECK(odd.actors[0].ranks == 2);
  CHECK(odd.actors[1].name == "rank 1");
}

TEST_CASE("Sends match receives by source, destination, tag and order") {
  std::vector<std::string> files;
  for (int r = 0; r < 4; ++r) files.push_back(ring_of_sends(r, 4, 1000));
  const Program p = program_of_files(files, unfolded());
  REQUIRE(p.collectives.size() == 4);
  CHECK(p.collectives[0].one_way);
  CHECK(p.collectives[0].part == Part::pipeline);
  std::vector<Groups> pairs;
  for (const CollectiveKind& e : p.collectives) pairs.push_back(p.groups[e.groups]);
  CHECK(pairs == std::vector<Groups>{{{0, 1}}, {{1, 2}}, {{2, 3}}, {{3, 0}}});
  for (std::uint32_t i = 0; i < p.activities.size(); ++i)
    if (p.activities[i].is_collective() && p.groups[p.collectives[p.activities[i].collective].groups] == Groups{{1, 2}})
      CHECK(streams_of(p, i) == std::vector<std::string>{"rank 1: to 2", "rank 2: from 1"});

  // All ranks do the same: one actor, whose collective is the whole ring.
  const Program folded = program_of_files(files);
  REQUIRE(folded.actors.size() == 1);
  REQUIRE(folded.activities.size() == 3);
  CHECK(folded.groups[folded.collectives[0].groups] == Groups{{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  CHECK(seconds_of(folded)[0] == Approx(10e-6));
  CHECK(seconds_of(folded)[1] == -1);
  CHECK(seconds_of(folded)[2] == Approx(20e-6));
  CHECK(needs_of(folded, 2) == std::vector<std::uint32_t>{1});

  // Several messages of a pair match by tag, and within a tag in order.
  const std::string sender = ChakraFile()
                                 .add(send_node(1, 1, 10, {}, 7))
                                 .add(send_node(2, 1, 20, {1}, 8))
                                 .add(send_node(3, 1, 30, {2}, 7))
                                 .bytes();
  const std::string receiver = ChakraFile()
                                   .add(receive_node(1, 0, 10, {}, 7))
                                   .add(receive_node(2, 0, 30, {}, 7))
                                   .add(receive_node(3, 0, 20, {}, 8))
                                   .bytes();
  const Program tags = program_of_files({sender, receiver});
  std::vector<std::int64_t> bytes;
  for (const Activity& a : tags.activities) bytes.push_back(tags.collectives[a.collective].bytes);
  CHECK(bytes == std::vector<std::int64_t>{10, 20, 30});
}

TEST_CASE("Ranks with equal nodes are distinguished by the ranks that they communicate with") {
  // Two chains of five stages. Each stage differs from all others of its chain, the middle ones only by their distance
  // from the ends. It is identical to the same stage of the other chain.
  std::vector<std::string> files;
  for (int r = 0; r < 10; ++r) {
    ChakraFile file;
    file.add(compute_node(1, 10));
    if (r % 5 > 0) file.add(receive_node(2, r - 1, 64, {1}));
    if (r % 5 < 4) file.add(send_node(3, r + 1, 64, {1}));
    files.push_back(file.bytes());
  }
  const Program p = program_of_files(files);
  REQUIRE(p.actors.size() == 5);
  for (const Actor& a : p.actors) CHECK(a.ranks == 2);
  std::vector<Groups> pairs;
  for (const CollectiveKind& e : p.collectives) pairs.push_back(p.groups[e.groups]);
  CHECK(pairs == std::vector<Groups>{{{0, 1}, {5, 6}}, {{1, 2}, {6, 7}}, {{2, 3}, {7, 8}}, {{3, 4}, {8, 9}}});
  // One slower kernel distinguishes the two chains.
  files[7] =
      ChakraFile().add(compute_node(1, 11)).add(receive_node(2, 6, 64, {1})).add(send_node(3, 8, 64, {1})).bytes();
  CHECK(program_of_files(files).actors.size() == 10);
}

TEST_CASE("Groups come from a file, and count as the category that parts specifies") {
  TraceSpec spec = shared_by(4);
  spec.parts["experts"] = "expert";
  const Program p = program_of_files({mixture_of_experts(4096)}, spec, R"({"experts": [[0, 2], [1, 3]]})");
  REQUIRE(p.actors.size() == 1);
  REQUIRE(p.collectives.size() == 2);  // dispatch and combine are the same call
  CHECK(p.collectives[0].op == CollectiveOp::alltoall);
  CHECK(p.collectives[0].part == Part::expert);
  CHECK(p.groups[p.collectives[0].groups] == Groups{{0, 2}, {1, 3}});
  CHECK(p.collectives[1].bytes == 8192);
  CHECK(p.groups[p.collectives[1].groups] == Groups{{0, 1, 2, 3}});
  CHECK(p.activities.size() == 5);
  spec.parts["experts"] = "tensor";
  CHECK(program_of_files({mixture_of_experts(4096)}, spec, R"({"experts": [[0, 2], [1, 3]]})").collectives[0].part ==
        Part::tensor);
  // Groups of different sizes, three ranks and one, do not fold into one actor.
  const Program uneven = program_of_files({mixture_of_experts(4096)}, spec, R"({"experts": [[0, 1, 2], [3]]})");
  REQUIRE(uneven.actors.size() == 2);
  CHECK(uneven.actors[0].ranks == 3);
  CHECK(uneven.groups[uneven.collectives[0].groups] == Groups{{0, 1, 2}});
}

TEST_CASE("Groups come from PyTorch's metadata and from dimensions") {
  const std::string init =
      R"(['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": []}, {"pg_name": "3", "ranks": [1, 0]}]'])";
  const auto file = [&] {
    return ChakraFile()
        .add(ChakraNode(1, metadata, "## process_group:init ##").input(init))
        .add(collective_node(2, all_gather, 100, {1}, "3"))
        .add(collective_node(3, reduce_scatter, 100, {2}, "0"))
        .bytes();
  };
  const Program p = program_of_files({file(), file()});
  REQUIRE(p.collectives.size() == 2);
  CHECK(p.groups[p.collectives[0].groups] == Groups{{1, 0}});
  CHECK(p.groups[p.collectives[1].groups] == Groups{{0, 1}});
  CHECK(p.collectives[0].bytes == 200);  // a trace counts the input of a rank, nccl-tests the output
  CHECK(p.collectives[1].bytes == 100);

  TraceSpec spec = shared_by(8);
  spec.dimensions = {2, 4};
  const std::string dims = ChakraFile()
                               .add(collective_node(1, all_reduce, 64).involves({true, false}))
                               .add(collective_node(2, all_reduce, 64, {1}).involves({false, true}))
                               .add(collective_node(3, all_reduce, 64, {2}).involves({true, true, true, true}))
                               .bytes();
  const Program d = program_of_files({dims}, spec);
  CHECK(d.actors.size() == 1);
  REQUIRE(d.collectives.size() == 3);
  CHECK(d.groups[d.collectives[0].groups] == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(d.groups[d.collectives[1].groups] == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(d.groups[d.collectives[2].groups] == Groups{{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("Streams: kernels, other CUDA streams, memory, host threads; zero-time nodes are passed through") {
  const std::string file = ChakraFile()
                               .add(ChakraNode(1, comp, "launch").runs(5).on_cpu().is("tid", 1))
                               .add(ChakraNode(2, metadata, "mark").after({1}))
                               .add(ChakraNode(3, comp, "small").after({}, {2}).runs(1).on_cpu(false).is("stream", 20))
                               .add(ChakraNode(4, comp, "big").after({2}).runs(9).on_cpu(false).is("stream", 7))
                               .add(ChakraNode(5, mem_load).after({4}).runs(3))
                               .bytes();
  const Program p = program_of_files({file});
  CHECK(p.actors[0].streams == std::vector<std::string>{"compute", "cpu 1", "cpu", "stream 20", "memory"});
  REQUIRE(p.activities.size() == 4);
  CHECK(labels_of(p, {0, 1, 2}) == std::vector<std::string>{"launch", "small", "big"});
  CHECK(p.activities[0].part == Part::host);
  CHECK(needs_of(p, 1) == std::vector<std::uint32_t>{0});
  CHECK(needs_of(p, 2) == std::vector<std::uint32_t>{0});
  CHECK(streams_of(p, 2) == std::vector<std::string>{"rank 0: compute"});
  CHECK(streams_of(p, 3) == std::vector<std::string>{"rank 0: memory"});

  // A join of many nodes is kept. Otherwise each of its followers would list all of them.
  ChakraFile many;
  std::vector<std::uint64_t> all;
  for (std::uint64_t id = 1; id <= 40; ++id) many.add(compute_node(id, 1)), all.push_back(id);
  many.add(ChakraNode(100, metadata).after(all)).add(compute_node(101, 1, {100})).add(compute_node(102, 1, {100}));
  const Program joined = program_of_files({many.bytes()});
  CHECK(joined.activities.size() == 43);
  CHECK(joined.dependencies.size() == 42);
}

TEST_CASE("Kernels without a duration take the time that the hook returns; speedup applies to recorded ones") {
  const std::string file = ChakraFile()
                               .add(ChakraNode(1, comp).is("num_ops", 1000).is("tensor_size", 10))
                               .add(ChakraNode(2, mem_store).after({1}).is("tensor_size", 50))
                               .add(compute_node(3, 8, {2}))
                               .add(ChakraNode(4, comp).after({3}).runs(8).on_cpu())
                               .bytes();
  TraceSpec spec;
  spec.speedup = 4;
  const Program p =
      program_of_files({file}, spec, {}, [](double flops, double bytes) { return Seconds{flops + bytes}; });
  const std::vector<double> wanted{1010, 50, 2e-6, 8e-6};
  REQUIRE(p.activities.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(p.activities[i].time.value == Approx(wanted[i]));
  CHECK(faults_of({file}) ==
        std::vector<std::string>{"t.0.et: error: node 1 has num_ops or tensor_size but no duration",
                                 "t.0.et: error: node 2 has num_ops or tensor_size but no duration"});
}

TEST_CASE("Streams take the node that is ready first, and recorded nodes in their recorded order") {
  // In the order of the file, 3 would run before 4 and block its stream.
  const std::string file = ChakraFile()
                               .add(compute_node(1, 10))
                               .add(compute_node(2, 50, {1}).is("stream", 1))
                               .add(compute_node(3, 40, {2}))
                               .add(compute_node(4, 45, {1}))
                               .bytes();
  const Program p = program_of_files({file});
  CHECK(seconds_of(p)[2] == Approx(45e-6));
  CHECK(seconds_of(p)[3] == Approx(40e-6));
  const std::string recorded =
      ChakraFile().add(ChakraNode(1, comp).runs(3, 1020)).add(ChakraNode(2, comp).runs(4, 1000)).bytes();
  CHECK(seconds_of(program_of_files({recorded}))[0] == Approx(4e-6));
}

TEST_CASE("Both generations, with and without a version, and JSON are read") {
  const auto today = [](std::string_view version) {
    return ChakraFile(version)
        .add(ChakraNode(1, comp, "kernel").runs(7))
        .add(collective_node(2, all_to_all, 512, {1}))
        .bytes();
  };
  // The schema of 2023: parent is field 4, and attributes are field 11. Their values are field 6 (unsigned), 7 (signed)
  // or 8 (text).
  ChakraFile old("");
  const auto attribute = [](std::string_view name, int type, int field, std::uint64_t value) {
    return Wire().text(1, name).number(2, static_cast<std::uint64_t>(type)).number(field, value).bytes();
  };
  old.message(Wire().number(1, 1).text(2, "kernel").number(3, comp).text(11, attribute("runtime", 2, 6, 7)).bytes());
  old.message(Wire()
                  .number(1, 2)
                  .text(2, "")
                  .number(3, coll)
                  .number(4, 1)
                  .text(5, "['inputs of 2023']")
                  .text(11, attribute("comm_type", 3, 7, 1))
                  .text(11, attribute("comm_size", 2, 6, 512))
                  .bytes());
  const std::string json = R"({
  "version": "0.0.4"
}{
  "id": "1",
  "name": "kernel",
  "type": "COMP_NODE",
  "durationMicros": "7"
}{
  "id": "2", "type": "COMM_COLL_NODE", "data_deps": ["1"], "inputs": {"values": "[\"}\"]", "shapes": ""},
  "attr": [{"name": "comm_type", "int64Val": "6"}, {"name": "comm_size", "int64Val": "512"}]
})";
  for (const std::string& file : {today("0.0.4"), today(""), old.bytes(), json}) {
    const Program p = program_of_files({file}, shared_by(2));
    REQUIRE(p.activities.size() == 2);
    CHECK(p.labels[p.activities[0].label] == "kernel");
    CHECK(p.activities[0].time.value == Approx(7e-6));
    CHECK(needs_of(p, 1) == std::vector<std::uint32_t>{0});
    REQUIRE(p.collectives.size() == 1);
    CHECK(p.collectives[0].op == CollectiveOp::alltoall);
    CHECK(p.collectives[0].bytes == 512);
  }
}

TEST_CASE("A barrier is a small all_reduce; a group of one sends nothing") {
  const std::string file =
      ChakraFile().add(ChakraNode(1, coll).is("comm_type", barrier)).add(compute_node(2, 5, {1})).bytes();
  const Program two = program_of_files({file}, shared_by(2));
  REQUIRE(two.collectives.size() == 1);
  CHECK(two.collectives[0].bytes == 4);
  const Program alone = program_of_files({file});
  CHECK(alone.collectives.empty());
  CHECK(alone.activities.size() == 1);
}

TEST_CASE("A trace is found by its prefix, and every rank must have a file") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("fabricast_trace_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto put = [&](const std::string& name, const std::string& bytes) {
    write_file((folder / name).string(), bytes);
  };
  for (int r = 0; r < 11; ++r) put("job." + std::to_string(r) + ".et", data_parallel_step(1, 10, 4096));
  put("job.old.et", "x"), put("job.1.et.bak", "x"), put("other.99.et", "x");
  TraceSpec spec;
  spec.path = (folder / "job").string();
  CHECK(ranks_of(read_trace(spec)) == 11);
  const auto message = [&] {
    try {
      read_trace(spec);
    } catch (const UserError& e) { return e.diagnostics().front().path + ": " + e.diagnostics().front().message; }
    return std::string();
  };
  const std::string prefix = spec.path;
  spec.ranks = 10;
  CHECK(message() == "workload.ranks: 10 ranks, but '" + prefix + "' has a trace of rank 10");
  spec.ranks = 12;
  CHECK(message() == "workload.ranks: rank 11 of 12 has no trace: there is no '" + prefix + ".11.et'");
  spec.ranks = 0;
  fs::remove(folder / "job.4.et");
  CHECK(message() == "workload.path: rank 4 of 11 has no trace: there is no '" + prefix + ".4.et'");
  spec.path = (folder / "none").string();
  CHECK(message() == "workload.path: there is no '" + spec.path + ".0.et'");
  spec.file = (folder / "job.0.et").string();
  CHECK(message() == "workload.file: path and file cannot be combined");
  spec.path.clear();
  CHECK(message() == "workload.ranks: file requires the number of ranks");
  spec.ranks = 64;
  CHECK(ranks_of(read_trace(spec)) == 64);
  put("groups.json", R"({"dp": [0, 64]})");
  spec.groups = (folder / "groups.json").string();
  CHECK(message() == ": group 'dp' contains rank 64, but the trace has 64 ranks");
  spec.parts["dp"] = "datta";
  CHECK(message() == "workload.parts.dp: unknown part 'datta'");
  fs::remove_all(folder);
}

#ifdef FABRICAST_TEST_SPEED
TEST_CASE("A trace of a million nodes and a thousand stages take seconds") {
  const auto took = [](auto work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const std::string large = data_parallel_step(300'000, 10, 4096);
  CHECK(took([&] { CHECK(program_of_files({large}, shared_by(8)).activities.size() == 900'001); }) < 8);
  std::vector<std::string> files;
  for (int r = 0; r < 1000; ++r) {
    ChakraFile file;
    for (std::uint64_t m = 0; m < 16; ++m) {
      file.add(compute_node(3 * m + 1, 10, m == 0 ? std::vector<std::uint64_t>{} : std::vector{3 * m - 2}));
      if (r > 0) file.add(receive_node(3 * m + 2, r - 1, 64, {3 * m + 1}));
      if (r < 999) file.add(send_node(3 * m + 3, r + 1, 64, {3 * m + 1}));
    }
    files.push_back(file.bytes());
  }
  CHECK(took([&] { CHECK(program_of_files(files).actors.size() == 1000); }) < 4);
}
#endif
