// `calibrate probe` with real processes on loopback.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/command_line.hpp"
#include "support/free_port.hpp"

namespace fabricast {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

/// Shell lines with $port, $probe (rank 0 and its options) and $other (rank 1).
Ran run_two(const Scratch& scratch, const std::string& script) {
  const std::string port = std::to_string(test::free_port());
  return run_shell("port=" + port + "\ncd '" + scratch.path.string() +
                   "'\nprobe=\"$fabricast calibrate probe --ranks 2 --rank 0 --master 127.0.0.1:$port\"\n"
                   "other=\"$fabricast calibrate probe --ranks 2 --rank 1 --master 127.0.0.1:$port\"\n" +
                   script);
}

std::vector<json> lines_of(const std::string& file) {
  std::vector<json> lines;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

const std::string quick = " --backend tcp --size 1KiB,64KiB --connections 1,2 --budget 2s ";

TEST_CASE("two processes measure sockets and write JSONL") {
  const Scratch scratch;
  const Ran ran = run_two(scratch, "NCCL_DEBUG=INFO $other" + quick + "& $probe" + quick +
                                       "--output p.jsonl; code=$?; wait $! || exit 9; exit $code");
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK_THAT(ran.err, Contains("10 measurements, about") && Contains("10 measured, 0 failed, 0 already known"));
  CHECK_THAT(ran.out, Contains("tcp latency host 0 -> 1 1KiB x1"));
  const auto lines = lines_of(scratch / "p.jsonl");
  REQUIRE(lines.size() == 11);
  CHECK(lines[0]["ranks"].size() == 2);
  CHECK(lines[0]["ranks"][1]["environment"]["NCCL_DEBUG"] == "INFO");
  std::set<std::string> keys;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    keys.insert(lines[i]["key"]);
    CHECK(lines[i]["backend"] == "tcp");
    CHECK(lines[i]["low_us"] <= lines[i]["median_us"]);
    CHECK(lines[i].contains("rate_gbps") == (lines[i]["what"] == "bandwidth"));
  }
  CHECK(keys.size() == 10);
}

TEST_CASE("only results are written to standard output") {
  const Scratch scratch;
  const Ran ran = run_two(scratch, "$other" + quick + "& $probe" + quick + "; wait");
  std::istringstream text(ran.out);
  int count = 0;
  for (std::string line; std::getline(text, line); ++count) CHECK(json::parse(line).is_object());
  CHECK(count == 11);
}

TEST_CASE("a dry run prints the plan and measures nothing") {
  const Scratch scratch;
  const Ran ran = run_two(scratch, "$other" + quick + "& $probe" + quick + "--dry-run --output p.jsonl; wait");
  CHECK_THAT(ran.out, Contains("10 measurements, about"));
  CHECK(scratch.files() == 0);
}

TEST_CASE("Ctrl-C keeps finished measurements, and --resume makes the others") {
  const Scratch scratch;
  const std::string slow = " --backend tcp --size 1KiB,64KiB --connections 1,2 --budget 20s --output p.jsonl ";
  const Ran stopped =
      run_two(scratch, "$other 2>other & $probe" + slow +
                           "& zero=$!\n"
                           "while [ \"$(cat p.jsonl 2>/dev/null | wc -l)\" -lt 3 ]; do sleep 0.05; done\n"
                           "kill -INT $zero; wait $zero; code=$?; wait; cat other >&2; exit $code");
  CHECK(stopped.code == 130);
  CHECK_THAT(stopped.err, Contains("results are in p.jsonl; --resume continues") && Contains("interrupted"));
  CHECK_THAT(stopped.err, Contains("unavailable: rank 0"));  // from the other rank
  const std::size_t kept = lines_of(scratch / "p.jsonl").size() - 1;
  CHECK(kept >= 2);
  CHECK(kept < 10);

  std::ofstream(scratch / "p.jsonl", std::ios::app) << "{\"half a line";
  const Ran resumed = run_two(scratch, "$other & $probe" + quick + "--resume --output p.jsonl; wait");
  CHECK_THAT(resumed.err,
             Contains(std::to_string(10 - kept) + " measured, 0 failed, " + std::to_string(kept) + " already known"));
  std::multiset<std::string> keys;
  for (const json& line : lines_of(scratch / "p.jsonl"))
    if (line.contains("key")) keys.insert(line["key"].get<std::string>());
  CHECK(keys.size() == 10);
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == 10);
}

TEST_CASE("a file of other hosts or ranks is not continued") {
  const Scratch scratch;
  const std::string before = "{\"fabricast\": \"0\", \"ranks\": [{\"host\": \"elsewhere\"}]}\n";
  std::ofstream(scratch / "p.jsonl") << before;
  const Ran ran = run_two(scratch, "$other & $probe" + quick + "--resume --output p.jsonl; code=$?; wait; exit $code");
  CHECK(ran.code == 2);
  CHECK_THAT(ran.err, Contains("error: 'p.jsonl' was measured on other hosts or with other ranks"));
  CHECK(read_text(scratch / "p.jsonl") == before);
}

TEST_CASE("a rank that dies ends the others promptly, with an error that names it") {
  const Scratch scratch;
  const std::string slow = " --backend tcp --budget 8s --size 64KiB --connections 1,2 ";
  const std::string measuring = "while [ \"$(cat p.jsonl 2>/dev/null | wc -l)\" -lt 2 ]; do sleep 0.05; done\n";
  const Ran one =
      run_two(scratch, "$other" + slow + "& one=$!; $probe" + slow + "--output p.jsonl & zero=$!\n" + measuring +
                           "kill -9 $one; SECONDS=0; wait $zero; code=$?; [ $SECONDS -lt 5 ] || exit 8; exit $code");
  CHECK(one.code == 3);
  CHECK_THAT(one.err, Contains("unavailable: rank 1 on ") && Contains(" is gone: "));

  std::ofstream(scratch / "p.jsonl") << "";
  const Ran zero = run_two(
      scratch, "rm p.jsonl; $other" + slow + "& one=$!; $probe" + slow + "--output p.jsonl & zero=$!\n" + measuring +
                   "kill -9 $zero; SECONDS=0; wait $one; code=$?; [ $SECONDS -lt 5 ] || exit 8; exit $code");
  CHECK(zero.code == 3);
  CHECK_THAT(zero.err, Contains("unavailable: rank 0 on ") && Contains(" is gone: "));
}

TEST_CASE("a rank that hangs ends the session after the timeout") {
  const Scratch scratch;
  const std::string slow = " --backend tcp --budget 8s --size 64KiB --connections 1 --timeout 500ms ";
  const Ran ran = run_two(
      scratch,
      "$other" + slow + "& one=$!; $probe" + slow +
          "--output p.jsonl & zero=$!\n"
          "while [ \"$(cat p.jsonl 2>/dev/null | wc -l)\" -lt 2 ]; do sleep 0.05; done\n"
          "kill -STOP $one; SECONDS=0; wait $zero; code=$?; kill -9 $one; [ $SECONDS -lt 10 ] || exit 8; exit $code");
  CHECK(ran.code == 3);
  CHECK_THAT(ran.err, Contains("unavailable: rank 1 on ") && Contains(" is gone: no answer in time"));
}

TEST_CASE("without a GPU the probe states what is missing, and measures the rest") {
  const Scratch scratch;
  const Ran none = run_shell("CUDA_VISIBLE_DEVICES= $fabricast calibrate probe --backend cuda,nccl");
  CHECK(none.code == 3);
  CHECK_THAT(none.err, Contains("no backend can measure here\n  cuda: ") && Contains("\n  nccl: "));
  CHECK_THAT(none.err, Contains("no CUDA driver") || Contains("no GPU") || Contains("was built without"));
  const std::string both = " --backend tcp,cuda --size 1KiB --connections 1 --budget 1s ";
  const Ran rest = run_two(scratch, "export CUDA_VISIBLE_DEVICES=\n$other" + both + "& $probe" + both +
                                        "--output p.jsonl; code=$?; wait; exit $code");
  CHECK(rest.code == 0);
  CHECK_THAT(rest.err, Contains("note: cuda: ") && Contains("(2 of 2 ranks)"));
  const auto lines = lines_of(scratch / "p.jsonl");
  CHECK(lines.size() == 4);
  CHECK(lines[0]["ranks"][0]["cuda"].contains("unavailable"));
  CHECK(lines[0]["ranks"][0].contains("nccl"));
}

TEST_CASE("values of the options for NCCL are checked") {
  for (const auto& [option, hint] : {std::pair("--algorithm=rng", "did you mean 'ring'?"),
                                     {"--protocol=ll182", "did you mean 'll128'?"},
                                     {"--collective=all_reduc", "did you mean 'all_reduce'?"},
                                     {"--memory=gpus", "did you mean 'gpu'?"},
                                     {"--channels=65", "between 1 and 64"}}) {
    const Ran ran = run_shell(std::string("$fabricast calibrate probe ") + option);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Contains(hint));
  }
}

TEST_CASE("the variables of a launcher suffice") {
  const Scratch scratch;
  const std::string port = std::to_string(test::free_port());
  const Ran ran =
      run_shell("export MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " WORLD_SIZE=2; cd '" + scratch.path.string() +
                "'\nRANK=1 $fabricast calibrate probe" + quick + "& RANK=0 $fabricast calibrate probe" + quick +
                "--output p.jsonl >/dev/null; code=$?; wait $! && exit $code");
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(lines_of(scratch / "p.jsonl").size() == 11);
}

}  // namespace
}  // namespace fabricast
