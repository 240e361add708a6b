// `help`: shows the options of a verb, the manual page, or completion scripts.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "manual.hpp"

namespace fabricast {

std::vector<VerbHelp> help_of_all_verbs() {
  HelpRecorder recorder;
  for (const Verb& verb : all_verbs()) {
    // Each verb describes its options when it runs with `--help`; the recorder takes the description and nothing is
    // printed. A verb must therefore parse its options before it does anything else.
    if (!verb.words) verb.run({"--help"});
    if (verb.words)
      for (const Verb& word : verb.words()) word.run({"--help"});
  }
  return std::move(recorder.verbs);
}

namespace {

struct HelpPage {
  std::string_view name, doc;
  std::string (*write)(const std::vector<VerbHelp>&);
};
constexpr std::array pages = {
    HelpPage{"man", "print the manual page, for `man -l -`", manual_page},
    HelpPage{"bash", "print the completion script for bash", bash_completion},
    HelpPage{"zsh", "print the completion script for zsh", zsh_completion},
};

}  // namespace

int help_verb(const std::vector<std::string>& arguments) {
  Options options("help", "Lists the verbs, or shows the options of one.", {"[VERB]"});
  options.example("fabricast help run");
  options.example("fabricast help --man | man -l -");
  options.example("source <(fabricast help --bash)");
  for (const HelpPage& page : pages) options.add()(std::string(page.name).c_str(), std::string(page.doc).c_str());
  options.words("VERB", names_of(all_verbs()));
  if (!options.parse(arguments)) return 0;
  for (const HelpPage& page : pages)
    if (options.has(std::string(page.name))) return emit("-", page.write(help_of_all_verbs())), 0;
  if (!options.has("VERB")) return emit("-", usage_text()), 0;
  const std::string name = options.text("VERB");
  const Verb* verb = find_by_name(all_verbs(), name);
  if (!verb)
    throw UserError(fmt::format("fabricast help: unknown verb '{}'", name), suggestion(name, names_of(all_verbs())));
  return verb->run({"--help"});
}

}  // namespace fabricast
