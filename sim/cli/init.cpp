// `init`: writes a scenario to start from, interactively or from options.
//
// Questions, options and the keys they set are one table (init_questions.cpp). Answers are checked by reading the
// scenario that they give so far, so the dialogue accepts exactly what a file may contain.
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "commands.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "init_questions.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

/// A line from the terminal. Waits with poll, which signals interrupt, so that Ctrl-C takes effect at once.
std::string read_line() {
  std::string line;
  while (true) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, -1);
    stop_if_requested();
    if (ready < 0 && errno == EINTR) continue;
    char c = 0;
    const ssize_t got = read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw UserError("the input ended before the last question", "no file was written");
    if (c == '\n') return trimmed(line);
    line += c;
  }
}

/// What to write for a name of no node. Sixty names would hide the few that are meant.
std::string hint_for_node(const std::string& value, const std::vector<std::string_view>& known) {
  const Hardware& hardware = shipped_hardware();
  if (const auto gpu = find_gpu(hardware, value)) {
    std::vector<std::string_view> with_it;
    for (const auto& [name, node] : hardware.nodes)
      if (const auto has = find_gpu(hardware, node.gpu); has && has->kind == gpu->kind) with_it.push_back(name);
    // Plain servers before those of clouds, whose names few people look for.
    std::stable_partition(with_it.begin(), with_it.end(), [](std::string_view name) {
      return name.starts_with("hgx") || name.starts_with("dgx") || name.starts_with("gb") || name.starts_with("gh");
    });
    if (!with_it.empty()) return fmt::format("this is a GPU; nodes with it: {}", join(with_it));
  }
  if (const auto near = nearest(value, known)) return fmt::format("did you mean '{}'?", *near);
  return "`fabricast list nodes` shows the names; --set node.gpu=NAME sets only the GPU";
}

/// Whether someone may have written answers to standard input: it is a pipe, or a file with content. A script's empty
/// input (/dev/null) is neither.
bool may_hold_answers() {
  struct stat input {};
  if (isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &input) != 0) return false;
  return S_ISFIFO(input.st_mode) || (S_ISREG(input.st_mode) && input.st_size > 0);
}

/// \throws UserError if the value is not a valid answer
void check_answer(const InitQuestion& q, const std::string& value) {
  const std::vector<AnswerChoice> choices = q.choices();
  const std::vector<std::string_view> known = names_of(choices);
  const bool file = std::string_view(q.name) == "node" && value.ends_with(".json");
  if (!choices.empty() && !file && std::find(known.begin(), known.end(), value) == known.end())
    throw UserError(fmt::format("--{}: unknown value '{}'", q.name, value),
                    std::string_view(q.name) == "node" ? hint_for_node(value, known) : suggestion(value, known));
  if (const auto number = parse_integer(value); std::string_view(q.argument) == "N" && (!number || number.value < 1))
    throw UserError(fmt::format("--{} '{}' is not a whole number of at least 1", q.name, value));
}

/// The answer with other names of machines replaced by ours.
std::string in_our_words(const InitQuestion& q, const std::string& answer) {
  const NodePreset* node = std::string_view(q.name) == "node" ? find_node(shipped_hardware(), answer) : nullptr;
  return node ? node->name : answer;
}

/// The scenario with one more answer.
/// \param so_far  the scenario of the answers before it
/// \throws UserError if the answer is invalid
Scenario with_answer(Answers& answers, const InitQuestion& q, const std::string& answer, const Scenario& so_far) {
  const std::string value = in_our_words(q, answer);
  check_answer(q, value);
  if (q.refuse) q.refuse(value, so_far);
  Answers more = answers;
  more[q.name] = value;
  try {
    Scenario scenario = scenario_with(keys_of(more, false));
    answers = std::move(more);
    return scenario;
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    throw UserError(fmt::format("--{} '{}': {}", q.name, value, d.message), d.hint);
  }
}

Scenario ask(Answers& answers, const InitQuestion& q, const std::string& otherwise, const Scenario& so_far) {
  const std::vector<AnswerChoice> choices = q.choices();
  const std::string note = q.note ? q.note(so_far) : std::string();
  const std::string text = note.empty() ? q.text : fmt::format("{} ({})", q.text, note);
  while (true) {
    fmt::print(stderr, "{} {}[{}] ", text, choices.empty() ? "" : "(? for a list) ", otherwise);
    std::fflush(stderr);
    const std::string line = read_line();
    if (line == "?") {
      for (const AnswerChoice& c : choices) fmt::print(stderr, "  {:<20} {}\n", c.name, c.summary);
      continue;
    }
    try {
      return with_answer(answers, q, line.empty() ? otherwise : line, so_far);
    } catch (const UserError& e) {
      for (Diagnostic d : e.diagnostics()) {
        // In the dialogue there are no options to name.
        if (const std::string option = fmt::format("--{}", q.name); d.message.starts_with(option))
          d.message.erase(0, d.message.find_first_not_of(": ", option.size()));
        print_diagnostic(d);
      }
    }
  }
}

// The comment at the top tells a reader of the file what to do with it.
std::vector<std::string> heading(const Scenario& s, const std::string& path) {
  return {fmt::format("{} x {} GPUs: {}.", s.cluster.nodes, s.node.spec.gpus, name_of(s.workload.kind)),
          "",
          fmt::format("  fabricast run {}", path),
          fmt::format("  fabricast explain {}", path),
          "",
          "`fabricast describe scenario` shows every key. --set KEY=VALUE tries another value."};
}

/// Adds the keys of `--set`, which override answers.
void add_set_words(std::vector<GivenKey>& keys, const Options& options) {
  if (!options.has("set")) return;
  for (const std::string& word : options.list("set")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UserError(fmt::format("'--set {}' has no value", word),
                      "write --set KEY=VALUE, e.g. --set fabric.cable=30m");
    keys.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
}

// In order: each question may depend on the scenario of the answers before it, for example the default fabric on the
// node.
Answers answers_of(const Options& options, bool asking) {
  Answers answers;
  Scenario so_far = scenario_with({{"fabricast", "1"}});
  for (const InitQuestion& q : init_questions()) {
    if (!q.applies(answers, so_far)) {
      // An option that would be ignored is a misunderstanding.
      if (options.has(q.name))
        throw UserError(fmt::format("--{} does not apply to this scenario", q.name), fmt::format("{}", q.doc));
      continue;
    }
    const std::string otherwise = q.otherwise(answers, so_far);
    so_far =
        asking ? ask(answers, q, otherwise, so_far) : with_answer(answers, q, options.text(q.name, otherwise), so_far);
  }
  return answers;
}

/// The scenario of the keys, completed with a split of the step over the GPUs.
Scenario completed(std::vector<GivenKey>& keys) {
  try {
    add_split(keys);
    Scenario scenario = scenario_with(keys);
    (void)build_world(scenario);  // reports inconsistent answers now rather than in the first run
    return scenario;
  } catch (const UserError& e) {
    // There is no file yet, so positions would mean nothing.
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults) d.where = {};
    throw UserError(std::move(faults));
  }
}

}  // namespace

int init_verb(const std::vector<std::string>& arguments) {
  Options options(
      "init",
      "Writes a scenario with a comment on every key to FILE (default: scenario.yaml). On a terminal it asks "
      "questions. With any option that answers a question, or without a terminal, it asks nothing and uses "
      "defaults for the rest.",
      {"[FILE]"});
  options.example("fabricast init");
  options.example("fabricast init cluster.yaml --node hgx-h100 --nodes 64");
  for (const InitQuestion& q : init_questions()) {
    options.add()(q.name, takes(q.argument), q.doc);
    options.words(q.name, names_of(q.choices()));
  }
  add_scenario_options(options);
  options.add()("defaults", "ask nothing, and use defaults for everything that no option sets")(
      "force,f", "overwrite an existing file");
  if (!options.parse(arguments)) return 0;
  const std::string path = options.text("FILE", "scenario.yaml");
  std::error_code error;
  if (path != "-") {
    check_writable(path);
    if (std::filesystem::exists(path, error) && !options.has("force"))
      throw UserError(fmt::format("'{}' already exists", path), "--force overwrites it");
  }
  // A command line with answers is a script, which must not wait for input.
  const bool answered = options.has("defaults") || options.has("set") ||
                        std::any_of(init_questions().begin(), init_questions().end(),
                                    [&](const InitQuestion& q) { return options.has(q.name); });
  const bool asking = !answered && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
  if (!answered && may_hold_answers())
    fmt::print(stderr,
               "standard input is no terminal, so answers in it are not read and defaults are used: options state "
               "answers, e.g. --nodes 48\n");
  if (asking) fmt::print(stderr, "Return accepts the value in brackets. Ctrl-C quits without writing a file.\n");
  std::vector<GivenKey> keys = keys_of(answers_of(options, asking), true);
  add_set_words(keys, options);
  const Scenario scenario = completed(keys);
  emit(path, commented_yaml(heading(scenario, path == "-" ? "scenario.yaml" : path), keys));
  if (path != "-") fmt::print(stderr, "wrote {}; `fabricast run {}` forecasts it\n", path, path);
  return 0;
}

}  // namespace fabricast
