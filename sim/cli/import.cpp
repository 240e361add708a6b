// `calibrate import`: reads logs of measurements.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "commands.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/calibrate/import_cases.hpp"
#include "fabricast/core/text.hpp"
#include "log_file.hpp"
#include "options.hpp"

namespace fabricast {

int import_verb(const std::vector<std::string>& arguments) {
  Options options(
      "calibrate import",
      "Reads logs and reports what they contain. Formats: nccl-tests (text, JSON), perftest, OSU, CSV, "
      "p2pBandwidthLatencyTest, nvidia-smi topo -m, NCCL_DEBUG=INFO, NCCL's topology XML; a log may mix them. "
      "Telemetry of a job (NCCL Inspector, RAS and profiler plugin, PyTorch's flight recorder and profiler, Chakra): "
      "its files or their directory.",
      {"LOG..."});
  options.example("fabricast calibrate import all_reduce.log");
  options.example("fabricast calibrate import nccl-inspector-4711/");
  options.example("fabricast calibrate import *.log --scenario cluster.yaml --output cases.json");
  options.add()("output", takes("FILE"), "write measured cases to FILE, for --cases of `calibrate fit`; - prints them")(
      "system", takes("NAME"), "name of the system in the cases (default: from the first log)")(
      "scenario", takes("FILE"), "scenario that supplies hardware that the logs do not state")(
      "json", takes("FILE"), "write everything that was found to FILE as JSON; - prints it instead of text");
  if (!options.parse(arguments)) return 0;
  const std::string output = output_path(options, "output"), json = output_path(options, "json");
  if (output == "-" && json == "-")
    throw UserError("--output and --json cannot both write to standard output", "write one of them to a file");
  for (const std::string name : {"system", "scenario"})
    if (options.has(name) && output.empty())
      throw UserError("--" + name + " needs --output", "without --output no cases are written");
  std::optional<Scenario> scenario;
  if (options.has("scenario")) {
    ReadResult read = read_scenario(options.text("scenario"));
    for (const Diagnostic& w : read.warnings) print_diagnostic(w);
    scenario = std::move(read.scenario);
  }
  const NamedLogs logs = read_logs(options.list("LOG..."));
  const bool found = std::any_of(logs.begin(), logs.end(), [](const auto& named) { return !named.second.empty(); });
  if (!found)
    throw UserError("the logs contain nothing that can be read",
                    "`fabricast calibrate import --help` lists the formats");
  // Cases need a system and its hardware. Logs with NCCL_DEBUG=INFO state most of it; a scenario fills in the rest.
  ImportedCases cases;
  if (!output.empty()) {
    cases = cases_of_logs(logs, options.text("system", std::filesystem::path(logs[0].first).stem().string()),
                          scenario ? &*scenario : nullptr);
    for (const Diagnostic& d : cases.left_out)
      fmt::print(stderr, "{}:{}: warning: {}\n", d.where.file, d.where.line, d.message);
    if (cases.cases.empty())
      throw UserError("the logs contain no measured case",
                      "cases are made from tables of nccl-tests and of telemetry with times");
    emit(output, cases_json(cases));
  }
  if (!json.empty()) emit(json, import_json(logs));
  if (output == "-" || json == "-") return 0;
  std::string text;
  for (const auto& [path, log] : logs)
    text += path + (log.empty() ? ": nothing recognized\n" : "\n") + import_text(log);
  if (!output.empty()) text += fmt::format("{} in {}\n", counted(cases.cases.size(), "case"), output);
  emit("-", text);
  return 0;
}

}  // namespace fabricast
