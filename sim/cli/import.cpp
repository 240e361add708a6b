// `calibrate import`.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/calibrate/import_cases.hpp"
#include "log_file.hpp"
#include "options.hpp"

namespace fabricast {

namespace po = boost::program_options;

int import_verb(const std::vector<std::string>& arguments) {
  Options options(
      "calibrate import",
      "Reads logs: nccl-tests (text, JSON), perftest, OSU, CSV, p2pBandwidthLatencyTest, nvidia-smi topo -m, "
      "NCCL_DEBUG=INFO, NCCL's topology XML, in any mixture.",
      {"LOG..."});
  options.add()("output", po::value<std::string>(), "write a file of measured cases, as --cases reads it")(
      "system", po::value<std::string>(), "name of the system in it (default: that of the first log)")(
      "scenario", po::value<std::string>(), "where a case's hardware comes from, as far as no log tells it")(
      "json", po::value<std::string>(), "write all that was found as JSON, `-` for standard output alone");
  if (!options.parse(arguments)) return 0;
  const std::string output = output_path(options, "output"), json = output_path(options, "json");
  if (output == "-" && json == "-")
    throw UserError("--output - and --json - both want standard output", "give one of them a file");
  for (const std::string name : {"system", "scenario"})
    if (options.has(name) && output.empty())
      throw UserError("--" + name + ": only with --output", "without it no cases are written");
  std::optional<Scenario> scenario;
  if (options.has("scenario")) {
    ReadResult read = read_scenario(options.text("scenario"));
    for (const Diagnostic& w : read.warnings) print_diagnostic(w);
    scenario = std::move(read.scenario);
  }
  NamedLogs logs;
  bool found = false;
  for (const std::string& path : options.list("LOG...")) {
    logs.emplace_back(path, read_log(path));
    found = found || !logs.back().second.empty();
  }
  if (!found)
    throw UserError("nothing in the logs can be read", "`fabricast calibrate import --help` lists the formats");
  ImportedCases cases;
  if (!output.empty()) {
    cases = cases_of_logs(logs, options.text("system", std::filesystem::path(logs[0].first).stem().string()),
                          scenario ? &*scenario : nullptr);
    for (const Diagnostic& d : cases.left_out)
      fmt::print(stderr, "{}:{}: warning: {}\n", d.where.file, d.where.line, d.message);
    if (cases.cases.empty()) throw UserError("no table of the logs is a case", "cases are made of nccl-tests' tables");
    emit(output, cases_json(cases));
  }
  if (!json.empty()) emit(json, import_json(logs));
  if (output == "-" || json == "-") return 0;
  std::string text;
  for (const auto& [path, log] : logs) text += path + (log.empty() ? ": nothing known\n" : "\n") + import_text(log);
  if (!output.empty())
    text += fmt::format("{} case{} in {}\n", cases.cases.size(), cases.cases.size() == 1 ? "" : "s", output);
  emit("-", text);
  return 0;
}

}  // namespace fabricast
