// The manual page in mdoc, the macro language of BSD manuals, which groff and mandoc both render. The page is made from
// the descriptions of verbs; only the frame is text here.
#include "manual.hpp"

#include <fmt/format.h>

#include <array>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

/// Text for mdoc: each sentence starts a new line, lines have at most 78 bytes, and none begins like a macro.
std::string prose(const std::string& text) {
  constexpr std::size_t width = 78;
  std::string out, line;
  const auto flush = [&] {
    if (line.empty()) return;
    out += (line[0] == '.' || line[0] == '\'' ? "\\&" : "") + line + "\n";
    line.clear();
  };
  for (const std::string& word : split(text, ' ')) {
    std::string plain;
    for (const char c : word) plain += c == '\\' ? "\\e" : c == '`' ? "" : std::string(1, c);
    if (plain.empty()) continue;
    if (!line.empty() && line.size() + 1 + plain.size() > width) flush();
    line += (line.empty() ? "" : " ") + plain;
    if (plain.ends_with('.') && plain.size() > 3) flush();
  }
  flush();
  return out;
}

// A plain - is a hyphen in roff, which does not paste as an option.
std::string minus(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

std::string sentence(std::string text) {
  if (!text.empty() && !text.ends_with('.')) text += '.';
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// The macro for a positional argument: "Ar LOG ..." for LOG..., "Op Ar WHAT" for [WHAT].
std::string argument_macro(const VerbHelp::Word& word) {
  std::string name = word.name;
  if (word.optional) name = name.substr(1, name.size() - 2);
  if (word.many) name.resize(name.size() - 3);
  return fmt::format("{}Ar {}{}", word.optional ? "Op " : "", name, word.many ? " ..." : "");
}

std::string option_item(const VerbHelp::Word& option) {
  std::string head = ".It ";
  if (option.letter) head += fmt::format("Fl {} , ", option.letter);
  head += fmt::format("Fl \\-{}", minus(option.name));
  if (!option.argument.empty())
    head += option.optional ? fmt::format(" Op Ar {}", option.argument) : fmt::format(" Ar {}", option.argument);
  std::string doc = sentence(option.doc);
  if (!option.words.empty()) doc += fmt::format(" One of: {}.", fmt::join(option.words, ", "));
  return head + "\n" + prose(doc);
}

std::string verb_section(const VerbHelp& verb) {
  std::string out = ".Ss fabricast " + verb.verb + "\n.Nm\n.Cm " + verb.verb + "\n";
  for (const VerbHelp::Word& word : verb.positional) out += "." + argument_macro(word) + "\n";
  for (const VerbHelp::Word& option : verb.options)
    if (option.required) out += fmt::format(".Fl \\-{} Ar {}\n", minus(option.name), option.argument);
  out += ".Op Ar options\n.Pp\n" + prose(sentence(verb.summary));
  for (const VerbHelp::Word& word : verb.positional)
    // Longer lists of names are left to `fabricast list`.
    if (!word.words.empty() && word.words.size() <= 24)
      out += fmt::format(".Pp\n.Ar {}\nis{}\n", word.optional ? word.name.substr(1, word.name.size() - 2) : word.name,
                         word.words.size() > 1 ? " one of" : "") +
             prose(fmt::format("{}.", fmt::join(word.words, ", ")));
  out += ".Bl -tag -width Ds\n";
  for (const VerbHelp::Word& option : verb.options)
    if (option.name != "help") out += option_item(option);
  // mdoc does not allow a list without items.
  if (out.ends_with(".Bl -tag -width Ds\n"))
    return out.substr(0, out.size() - std::string(".Bl -tag -width Ds\n").size());
  return out + ".El\n";
}

constexpr std::string_view head = R"(.Sh NAME
.Nm fabricast
.Nd forecast collective communication on GPU clusters
.Sh SYNOPSIS
.Nm
.Ar verb
.Op Ar argument ...
.Nm
.Fl \-help | Fl \-version
.Sh DESCRIPTION
.Nm
forecasts the time of NCCL collectives, and of the training and inference
steps around them, on a GPU cluster: before the cluster exists, or without
interrupting it.
A scenario, a short YAML file, describes nodes, switches, routing, faults and
the workload.
.Nm
determines what NCCL would do there, simulates the traffic on the links of the
fabric, and prints times, bandwidths, intervals and bottlenecks.
.Pp
Every verb accepts
.Fl \-help .
Tables go to standard output; warnings, errors and progress go to standard
error.
)";

constexpr std::string_view tail = R"(.Sh ENVIRONMENT
.Bl -tag -width Ds
.It Ev NO_COLOR
If set and not empty, output on a terminal has no colour.
Files and pipes never have it.
.El
.Sh FILES
Relative to the installation prefix of
.Nm ,
for example
.Pa /usr :
.Bl -tag -width Ds
.It Pa share/fabricast/scenarios
Commented example scenarios.
.It Pa share/fabricast/scenario.schema.json
The JSON Schema of scenarios, for editors.
.It Pa share/fabricast/cases.json , Pa share/fabricast/steps.json , Pa share/fabricast/training_steps.csv , Pa share/fabricast/serving.csv
Published measurements, for
.Nm
.Cm calibrate validate .
.It Pa share/doc/fabricast
Documentation: tutorial, models and their limits, formats.
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
.It 0
Success.
.It 1
A check failed: a measurement is too slow, a forecast got worse, or a host is
not ready.
.It 2
Bad command or bad scenario.
.It 3
Hardware or a backend is not available.
.It 4
Internal error.
.It 130
Interrupted.
.El
.Sh EXAMPLES
Write a scenario, forecast it, and show what would help:
.Bd -literal -offset indent
fabricast init cluster.yaml \-\-node hgx\-h100 \-\-nodes 64
fabricast run cluster.yaml
fabricast explain cluster.yaml \-\-size 1GiB
.Ed
.Pp
Forecast the same cluster with another fabric, as JSON:
.Bd -literal -offset indent
fabricast run cluster.yaml \-\-set fabric.kind=fat_tree \-\-json out.json
.Ed
.Pp
Check whether a forecast is more than 2 % worse than an earlier one:
.Bd -literal -offset indent
fabricast compare kept.json out.json \-\-tolerance 2%
.Ed
.Pp
Check a log against floors that a healthy cluster misses once in 1,000 rows:
.Bd -literal -offset indent
fabricast gate cluster.yaml \-\-measured healthy.log \-\-log today.log
.Ed
)";

/// The date format of mdoc: "November 21, 2026" for 2026-11-21.
std::string mdoc_date(const std::string& date) {
  constexpr std::array months = {"January", "February", "March",     "April",   "May",      "June",
                                 "July",    "August",   "September", "October", "November", "December"};
  const std::vector<std::string> parts = split(date, '-');
  const auto number = [&](std::size_t i) {
    return parse_integer(parts.at(i)[0] == '0' ? parts[i].substr(1) : parts[i]).value;
  };
  return fmt::format("{} {}, {}", months.at(static_cast<std::size_t>(number(1) - 1)), number(2), parts[0]);
}

}  // namespace

std::string manual_page(const std::vector<VerbHelp>& verbs) {
  std::string out = fmt::format(".\\\" Written by `fabricast help --man`.\n.Dd {}\n.Dt FABRICAST 1\n.Os\n",
                                mdoc_date(FABRICAST_RELEASE_DATE));
  out += head;
  out += fmt::format("This page describes version {}.\n", version_text());
  out += ".Sh VERBS\n";
  for (const VerbHelp& verb : verbs) out += verb_section(verb);
  return out + std::string(tail);
}

}  // namespace fabricast
