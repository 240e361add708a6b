// Files of requests for a serving load: what is read, and where faults are.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "fabricast/core/error.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/trial.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

const std::string scenario =
    "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 1}\n"
    "workload: {kind: inference, model: {preset: llama3-8b}, phase: both, batch: 8,\n"
    "  load: {arrivals: trace, file: requests.csv}}\n";

/// The scenario beside a trace of that text.
ReadResult with_trace(const std::string& text) {
  const Scratch folder;
  std::ofstream(folder / "requests.csv", std::ios::binary) << text;
  return parse_scenario(scenario, folder / "scenario.yaml");
}

Diagnostic fault_of(const std::string& text) {
  try {
    (void)with_trace(text);
  } catch (const UserError& e) { return e.diagnostics().front(); }
  return {};
}

TEST_CASE("a trace of requests is read in any order of columns", "[trace]") {
  const std::vector<ServingRequest> requests =
      with_trace("input, arrival_s,cached,output\r\n100,0,40,7\n\n 20,0.5 ,0,1\n")
          .scenario.workload.inference.load.trace;
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].input == 100);
  CHECK(requests[0].cached == 40);
  CHECK(requests[0].output == 7);
  CHECK(requests[1].arrival.value == 0.5);
  CHECK(requests[1].input == 20);
}

TEST_CASE("a changed scenario finds its trace, whatever folder it is in", "[trace]") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "below");
  std::ofstream(folder / "below/requests.csv", std::ios::binary) << "arrival_s,input,output\n0,10,2\n";
  // A relative path is what is joined twice if a path from the file is taken for one from here.
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  const Scenario read = parse_scenario(scenario, "below/scenario.yaml").scenario;
  const std::string effective = to_yaml(read);
  const Scenario changed_one = ScenarioChanges(read).with({"workload.batch=4"});
  std::filesystem::current_path(here);
  CHECK(changed_one.workload.inference.load.trace.size() == 1);
  CHECK(parse_scenario(effective, "/elsewhere/scenario.yaml").scenario.workload.inference.load.trace.size() == 1);
}

TEST_CASE("errors in a request trace have line and column", "[trace]") {
  struct Fault {
    const char *text, *message;
    int line, column;
  };
  for (const Fault& f : {
           Fault{"", "the file is empty", 1, 1},
           Fault{"arrival_s,input,output\n", "the file has no requests", 1, 1},
           Fault{"arrival_s,input\n0,1\n", "the column 'output' is missing", 1, 1},
           Fault{"arrival_s,inputs,output\n", "unknown column 'inputs'", 1, 11},
           Fault{"arrival_s,input,output\n0,10,1\n0,ten,1\n", "'ten' is not a valid input", 3, 3},
           Fault{"arrival_s,input,output\n0,1.5,1\n", "the number of tokens must be whole", 2, 3},
           Fault{"arrival_s,input,output\n0,0,1\n", "'0' is not a valid input", 2, 3},
           Fault{"arrival_s,input,output\nnan,1,1\n", "'nan' is not a valid arrival_s", 2, 1},
           Fault{"arrival_s,input,output\n2,1,1\n1,1,1\n", "the request arrives before the previous one", 3, 1},
           Fault{"arrival_s,input,output\n0,1\n", "the line has 2 fields, but the header has 3", 2, 1},
           Fault{"arrival_s,input,output,cached\n0,10,1,10\n", "'10' is not a valid cached", 2, 8},
       }) {
    CAPTURE(f.text);
    const Diagnostic d = fault_of(f.text);
    CHECK(d.message == f.message);
    CHECK(d.where.line == f.line);
    CHECK(d.where.column == f.column);
    CHECK(d.where.file.ends_with("requests.csv"));
  }
}

}  // namespace
}  // namespace fabricast
