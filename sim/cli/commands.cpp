#include "commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <new>

#include "fabricast/core/names.hpp"
#include "options.hpp"
#include "stop.hpp"

namespace fabricast {

namespace {

constexpr std::array verbs = {
    Verb{"init", "[FILE]", "write a scenario, by asking or by options", init_verb},
    Verb{"run", "SCENARIO.yaml", "forecast a scenario: a table, JSON or CSV", run_verb},
    Verb{"explain", "SCENARIO.yaml", "where the time of one size goes, and what binds it", explain_verb},
    Verb{"plan", "SCENARIO.yaml", "which configuration to take: a forecast of each of a sweep", plan_verb},
    Verb{"jobs", "SCENARIO.yaml", "several jobs on one fabric: who slows whom, where to place one", jobs_verb},
    Verb{"bill", "SCENARIO.yaml", "what to buy: switches, ports, cables, racks; power; cost by your prices", bill_verb},
    Verb{"risk", "SCENARIO.yaml", "what failures do to it: the worst single ones, and what is left of a month",
         risk_verb},
    Verb{"check", "LOG --scenario SCENARIO.yaml",
         "measured times against the forecast: are they good, and if not, why?", check_verb},
    Verb{"gate", "SCENARIO.yaml", "floors that a healthy cluster misses once in 1,000 rows: for tests, nodes, CI",
         gate_verb},
    Verb{"compare", "OLD.json NEW.json", "has a forecast got worse? for continuous integration", compare_verb},
    Verb{"inspect", "fabric|plan|schedule SCENARIO.yaml", "show a stage between scenario and result", inspect_verb},
    Verb{"import", "fabric FILE...", "a real fabric from what its tools print: ibnetdiscover, iblinkinfo, Slurm",
         import_fabric_verb},
    Verb{"export", "tuner|env SCENARIO.yaml", "a table for NCCL's tuner plugin; a script of NCCL's variables",
         export_verb},
    Verb{"list", "[WHAT]",
         "what is built in: gpus, nodes, links, networks, topologies, routing, collectives, workloads, metrics, "
         "models, stacks, parameters",
         list_verb},
    Verb{"describe", "NAME", "everything known of one of them, with sources and intervals", describe_verb},
    Verb{"schema", "", "JSON Schema of scenarios, for editors", schema_verb},
    Verb{"calibrate", "import|validate|fit|probe",
         "read logs; compare with measured cases; fit parameters to them; measure here", calibrate_verb,
         calibrate_words},
    Verb{"doctor", "[--root DIR | --fleet DIR]",
         "is this host ready for fast collectives: PCIe, NICs, drivers, settings", doctor_verb},
    Verb{"help", "[VERB]", "this text; the options of a verb; the manual page", help_verb},
};

}  // namespace

std::span<const Verb> all_verbs() { return verbs; }

std::string usage_text() {
  std::string text =
      "usage: fabricast VERB ...\n\nForecasts how long collective communication takes on a GPU cluster.\n\n";
  for (const Verb& v : verbs) text += fmt::format("  {:<10} {:<38} {}\n", v.name, v.arguments, v.summary);
  text += "\n`fabricast VERB --help` shows the options of a verb; `fabricast --version` the version.\n";
  return text;
}

std::string words_text(std::string_view verb, std::span<const Verb> words) {
  std::string text = fmt::format("usage: fabricast {} WORD ...\n\n", verb);
  for (const Verb& v : words) text += fmt::format("  {:<10} {:<10} {}\n", v.name, v.arguments, v.summary);
  return text + fmt::format("\n`fabricast {} WORD --help` shows the options of each.\n", verb);
}

namespace {

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
  catch_stop_signals();
  try {
    const int code = dispatch(arguments);
    errno = 0;
    if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && errno != EPIPE)
      throw UserError("can not write to standard output");
    return code;
  } catch (const UserError& e) {
    constexpr std::size_t most = 20;
    const std::size_t count = e.diagnostics().size();
    for (std::size_t i = 0; i < std::min(count, most); ++i) print_diagnostic(e.diagnostics()[i]);
    if (count > most) fmt::print(stderr, "... and {} more errors\n", count - most);
    return 2;
  } catch (const Unavailable& e) {
    fmt::print(stderr, "unavailable: {}\n", e.what());
    return 3;
  } catch (const Interrupted&) {
    fmt::print(stderr, "interrupted\n");
    return 130;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return 4;
  } catch (const std::exception& e) {
    fmt::print(stderr, "internal error: {}\nThis is a bug of fabricast; please report it with the scenario.\n",
               e.what());
    return 4;
  }
}

}  // namespace fabricast
