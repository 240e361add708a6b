// The table of verbs.
#include "commands.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "exit_code.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

constexpr std::array verbs = {
    Verb{"init", "[FILE]", "write a scenario, interactively or from options", init_verb},
    Verb{"run", "SCENARIO", "forecast a scenario: a table, JSON or CSV", run_verb},
    Verb{"explain", "SCENARIO", "show where the time of one size goes, and the bottleneck", explain_verb},
    Verb{"plan", "SCENARIO", "compare the configurations of a sweep, and choose one", plan_verb},
    Verb{"jobs", "SCENARIO", "forecast several jobs on one fabric: contention and placement", jobs_verb},
    Verb{"bill", "SCENARIO", "list switches, ports, cables, racks, power, and cost at your prices", bill_verb},
    Verb{"risk", "SCENARIO", "show the effect of failures: the worst single ones, and goodput", risk_verb},
    Verb{"check", "[LOG...] --scenario FILE", "compare measured times with the forecast, and look for causes",
         check_verb},
    Verb{"gate", "SCENARIO", "write bandwidth floors for acceptance tests, nodes and CI", gate_verb},
    Verb{"compare", "OLD NEW", "compare two forecasts, for continuous integration", compare_verb},
    Verb{"inspect", "fabric|plan|schedule SCENARIO", "show a stage between scenario and result", inspect_verb},
    Verb{"import", "fabric FILE...", "read a real fabric: ibnetdiscover, iblinkinfo, Slurm, InfraGraph",
         import_fabric_verb},
    Verb{"export", "tuner|env|profile SCENARIO",
         "write the fastest settings for NCCL: a tuner table, a script of variables, a profile", export_verb},
    Verb{"list", "[WHAT]",
         "list what is built in: gpus, nodes, links, networks, topologies, routing, collectives, workloads, metrics, "
         "models, stacks, parameters",
         list_verb},
    Verb{"describe", "NAME", "describe one of them, with sources and intervals", describe_verb},
    Verb{"schema", "", "write the JSON Schema of scenarios, for editors", schema_verb},
    Verb{"calibrate", "import|validate|fit|probe", "read logs, validate forecasts, fit parameters, measure",
         calibrate_verb, calibrate_words},
    Verb{"doctor", "[--root DIR | --fleet DIR]",
         "check whether hosts are ready for fast collectives: PCIe, NICs, drivers", doctor_verb},
    Verb{"mcp", "[options]", "serve AI assistants: the Model Context Protocol on standard input and output", mcp_verb},
    Verb{"serve", "[options]", "serve programs and browsers on this machine over HTTP", serve_verb},
    Verb{"watch", "DIRECTORY", "watch a running job: which ranks slow it down", watch_verb},
    Verb{"help", "[VERB]", "show this help, the options of a verb, or the manual page", help_verb},
};

}  // namespace

std::span<const Verb> all_verbs() { return verbs; }

std::string usage_text() {
  std::string text =
      "usage: fabricast VERB ...\n\nForecasts NCCL collectives, training steps and inference on GPU clusters.\n\n";
  for (const Verb& v : verbs) text += fmt::format("  {:<10} {:<30} {}\n", v.name, v.arguments, v.summary);
  text += "\n`fabricast VERB --help` shows the options of a verb; `fabricast --version` shows the version.\n";
  return text;
}

// For verbs with a second word, such as `calibrate fit`.
std::string words_text(std::string_view verb, std::span<const Verb> words) {
  std::string text = fmt::format("usage: fabricast {} VERB ...\n\n", verb);
  for (const Verb& v : words) text += fmt::format("  {:<10} {:<10} {}\n", v.name, v.arguments, v.summary);
  return text + fmt::format("\n`fabricast {} VERB --help` shows the options of each.\n", verb);
}

namespace {

// No arguments are an error with the usage on standard error; `--help` is a request, answered on standard output.
int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fputs(usage_text().c_str(), stderr);
    return 2;
  }
  const std::string& word = arguments.front();
  if (word == "--help" || word == "-h") return std::fputs(usage_text().c_str(), stdout), 0;
  if (word == "--version" || word == "version") return fmt::print("fabricast {}\n", version_text()), 0;
  const Verb* verb = find_by_name(verbs, word);
  if (!verb) throw UserError(fmt::format("fabricast: unknown verb '{}'", word), suggestion(word, names_of(verbs)));
  return verb->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
  return exit_code_of([&] { return dispatch(arguments); });
}

}  // namespace fabricast
