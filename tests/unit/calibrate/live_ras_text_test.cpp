// The text of NCCL's RAS: recorded statuses beside the JSON of the same moment, and those of other versions by hand.
#include <catch2/catch.hpp>

#include "../../../calibrate/live/ras_snapshot.hpp"
#include "support/telemetry.hpp"

namespace fabricast {
namespace {

using live::RasCommunicator;
using live::RasRank;

struct Status {
  std::vector<RasCommunicator> communicators;
  std::string version;
  std::vector<std::string> problems;
};

Status status_of(const std::string& text) {
  Status status;
  const LiveSource source = text_source("ras.txt", text);
  live::read_ras(
      source, 4096, [&](RasCommunicator c) { status.communicators.push_back(std::move(c)); },
      [&](std::string version) { status.version = std::move(version); },
      [&](int line, int, std::string why) { status.problems.push_back(fmt::format("{}: {}", line, why)); });
  return status;
}

/// What `import_job` says of ranks, without what the text does not have: the second hash.
std::vector<std::string> behind(const Imported& in) {
  std::vector<std::string> all;
  for (const JobCommunicator& c : in.job.communicators)
    for (const BehindRank& r : c.behind)
      all.push_back(fmt::format("{} {} {}: {} {} {}", c.id.substr(0, c.id.find(':')), c.ranks, r.rank, r.place, r.what,
                                r.detail));
  return all;
}

TEST_CASE("RAS's text says of ranks what its JSON says", "[live][ras]") {
  const std::vector<std::string> json = behind(read_samples({"ras/a.json"}));
  REQUIRE(json.size() == 1);
  for (const char* file : {"ras/a.status.txt", "ras/a.verbose.txt"}) {
    CHECK(live_format_of(telemetry_text(file)) == LiveFormat::ras);
    const Imported in = read_samples({file});
    CHECK(behind(in) == json);
    CHECK(in.problems.empty());
  }
}

TEST_CASE("RAS's text of a job that lost a rank", "[live][ras]") {
  for (const char* file : {"ras/b.status.txt", "ras/b.verbose.txt"}) {
    const Imported in = read_samples({file});
    CHECK(in.problems.empty());
    const std::string gone = "127.0.0.1, process 1125, GPU 0 missing its process does not answer";
    CHECK(behind(in) == std::vector<std::string>{"0xbb4b486b63740894 4 3: " + gone, "0x7b10775c23bc92eb 2 1: " + gone});
  }
}

TEST_CASE("RAS's text of 2.24 counts all operations together", "[live][ras]") {
  const Status status = status_of(telemetry_text("ras-text/2.24.txt"));
  CHECK(status.problems.empty());
  CHECK(status.version == "2.24.3");
  REQUIRE(status.communicators.size() == 1);
  const RasCommunicator& c = status.communicators[0];
  CHECK(c.id == "0xe8b39abc012345");
  CHECK(c.size == 32);
  REQUIRE(c.missing.size() == 2);
  CHECK(c.missing[0].rank == 21);
  CHECK(c.missing[1].rank == 22);
  REQUIRE(c.ranks.size() == 3);
  CHECK(c.ranks[0].counts == std::map<std::string, std::int64_t>{{"collective", 6649}});
  CHECK(c.ranks[0].place == "10.0.0.1, process 4003, GPU 3");
  CHECK(c.ranks[1].counts.at("collective") == 6648);
  CHECK(c.ranks[1].place == "unknown");
  CHECK(c.ranks[2].rank == 7);
  CHECK(c.ranks[2].place == "10.0.0.1, process 4007, GPU 7");
  CHECK(c.ranks[2].error == "the communicator is being aborted");
  // Of 32 ranks two are missing and three named.
  CHECK(c.unnamed == 27);
  CHECK(c.unnamed_counts.at("collective") == 6650);
}

TEST_CASE("RAS's text of 2.28 with all that may be wrong", "[live][ras]") {
  const Status status = status_of(telemetry_text("ras-text/2.28.txt"));
  CHECK(status.problems.empty());
  REQUIRE(status.communicators.size() == 2);
  const RasCommunicator& c = status.communicators[0];
  std::vector<std::string> missing, ranks;
  for (const auto& r : c.missing) missing.push_back(fmt::format("{} {}: {}", r.rank, r.place, r.why));
  CHECK(missing == std::vector<std::string>{"9 10.0.0.2, process 3001, GPU 1: its process does not answer",
                                            "25 10.0.0.4, process 4101, GPU 1: RAS considers it dead",
                                            "26 10.0.0.4, process 4102, GPU 2: RAS considers it dead",
                                            "27 10.0.0.4, process 4103, GPU 3: no data from it"});
  for (const auto& r : c.ranks) {
    std::string counts;
    for (const auto& [op, count] : r.counts) counts += fmt::format(" {} {}", op, count);
    ranks.push_back(fmt::format("{}{} {}", r.rank, counts, r.error));
  }
  CHECK(ranks == std::vector<std::string>{"2 AllGather 40 AllReduce 12 initialization ended with: System error",
                                          "3 AllGather 39 AllReduce 0 ", "4 AllGather 39 AllReduce 12 ",
                                          "5 AllGather 40 AllReduce 12 asynchronous error: Remote process error",
                                          "6 AllGather 40 AllReduce 12 asynchronous error: Remote process error",
                                          "8 AllGather 40 AllReduce 12 asynchronous error: Unhandled CUDA error",
                                          "10 AllGather 40 AllReduce 12 is being initialized"});
  // Half and half: nobody is named, but that the ranks differ is known.
  CHECK(status.communicators[1].ranks.empty());
  CHECK(status.communicators[1].unnamed == 8);
  CHECK(status.communicators[1].unnamed_counts.at("ReduceScatter") == 101);
  CHECK(any_at_fault(read_samples({"ras-text/2.28.txt"}).job.communicators));
}

TEST_CASE("RAS's text: ranks that it counts and does not name", "[live][ras]") {
  std::string text = telemetry_text("ras-text/2.24.txt");
  const std::size_t at = text.find("  The missing ranks: 21,22\n");
  text.erase(at, std::string("  The missing ranks: 21,22\n").size());
  text.erase(text.find("  2 ranks have status UNKNOWN\n  The unknown ranks: 21,22\n"), 56);
  const Status status = status_of(text);
  CHECK(status.problems == std::vector<std::string>{"29: 2 of 2 missing ranks are not named: `ncclras -v` names more"});
  CHECK(status.communicators.at(0).missing.empty());
}

TEST_CASE("RAS's text: of several statuses in a file the last one counts", "[live][ras]") {
  const std::string lost = telemetry_text("ras/b.status.txt"), uneven = telemetry_text("ras/a.status.txt");
  const Status status = status_of(lost + "OK\n" + uneven);
  CHECK(status.problems.empty());
  REQUIRE(status.communicators.size() == 1);
  CHECK(status.communicators[0].id == "0xe36577b654be0acb");
}

TEST_CASE("RAS's text that is cut off or damaged says so", "[live][ras]") {
  for (const char* file : {"ras/a.status.txt", "ras/b.verbose.txt", "ras-text/2.24.txt", "ras-text/2.28.txt"}) {
    const std::string text = telemetry_text(file);
    const std::size_t last = text.find("Warnings\n");
    for (std::size_t size = text.find("Communicators..."); size < last; size += 7) {
      INFO(file << " cut to " << size);
      CHECK_FALSE(status_of(text.substr(0, size)).problems.empty());
    }
  }
  const std::string text = telemetry_text("ras-text/2.28.txt");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = text;
    bad.replace(bad.find(from), from.size(), to);
    const Status status = status_of(bad);
    return status.problems.empty() ? std::string() : status.problems[0];
  };
  CHECK(with("  Rank 9 --", "  Rank 28 --").starts_with("42: 'Rank 28 -- GPU 1 managed"));
  CHECK(with("#1-0 (7b", "#7-0 (7b") == "73: the group of this communicator is not in the table above");
  CHECK(with("(7b10775c23bc92eb)", "(7b10775c23bc92eg)").starts_with("73: '#1-0"));
  CHECK(with("  2 ranks reported", "  2 ranks repoted").starts_with("50: '2 ranks repoted"));
  CHECK(with("  23 ranks have launched up to operation 40", "  23 ranks have launched up to operation -4")
            .starts_with("64: "));
}

}  // namespace
}  // namespace fabricast
