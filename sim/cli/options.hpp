// Options of the verbs, on Boost.Program_options.
#pragma once

#include <boost/program_options.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/page/page.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

/// What a verb takes, as its `--help` says it: for the manual and for completion.
struct VerbHelp {
  struct Word {
    std::string name;                ///< SCENARIO, [WHAT], or of an option without its dashes
    char letter = 0;                 ///< short form of an option
    std::string argument;            ///< what follows an option; empty: nothing
    bool many = false;               ///< may be given more than once
    bool optional = false;           ///< its argument may be left out
    std::string doc;                 ///< of an option
    std::vector<std::string> words;  ///< what may stand there, if that is a closed list
  };
  std::string verb, summary;
  std::vector<Word> positional, options;
};

/// While one of these lives, verbs that are asked for `--help` fill it instead of printing.
class HelpRecorder {
 public:
  HelpRecorder();
  ~HelpRecorder();
  HelpRecorder(const HelpRecorder&) = delete;
  HelpRecorder& operator=(const HelpRecorder&) = delete;
  std::vector<VerbHelp> verbs;
};

/// Parsed words of one verb.
class Options {
 public:
  /// `positional` names the words without a dash, in order; those in [brackets] may be left out, a last one
  /// with dots... stands for one or more.
  Options(std::string_view verb, std::string_view summary, std::vector<std::string> positional);
  boost::program_options::options_description_easy_init add() { return described_.add_options(); }
  /// Says which words a positional one (SCENARIO) or the value of an option (search) may be, for completion.
  void words(const std::string& name, std::vector<std::string> known) { known_[name] = std::move(known); }
  template <class Names>
  void words(const std::string& name, const Names& known) {
    words(name, std::vector<std::string>(known.begin(), known.end()));
  }
  /// \returns false if help was asked for, and printed.  \throws UserError
  bool parse(const std::vector<std::string>& arguments);
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  template <class T>
  T get(const std::string& name) const {
    return values_[name].as<T>();
  }
  std::string text(const std::string& name, std::string otherwise = {}) const {
    return has(name) ? get<std::string>(name) : otherwise;
  }
  /// The words of an option or of a positional one that may be given more than once; empty: none was.
  std::vector<std::string> list(const std::string& name) const {
    return has(name) ? get<std::vector<std::string>>(name) : std::vector<std::string>();
  }
  int integer(const std::string& name, int otherwise, int low, int high) const;

 private:
  std::string usage() const;
  VerbHelp help() const;
  std::string verb_, summary_;
  std::map<std::string, std::vector<std::string>> known_;
  std::vector<std::string> positional_;
  boost::program_options::options_description described_{"options"};
  boost::program_options::variables_map values_;
};

/// `--set`, for verbs that take a scenario.
void add_scenario_options(Options& options);
/// What they come to: `--set` words, and `--profile` as one of them.
std::vector<std::string> set_words(const Options& options);
/// `--threads`, and the progress bar.
RunOptions run_options(const Options& options);

/// Whether a verb counts the scenario's other jobs and flows; those that do not say so.
enum class Beside { left_out, counted };
/// Reads the scenario, prints its warnings, and builds its world.
std::unique_ptr<World> load_world(const Options& options, Beside others = Beside::left_out,
                                  const std::string& option = "SCENARIO");
/// `--size`, or the middle one of the scenario's.
std::int64_t chosen_size(const Options& options, const World& world);

/// Runs `f`; the user's faults that name a key of what was read (a Scenario, a Study) get its place in the file.
template <class Read, class F>
auto placed(const Read& read, F f) {
  try {
    return f();
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults) read.locate(d);
    throw UserError(std::move(faults));
  }
}

/// Prints a diagnostic with the line of the file it is about.
void print_diagnostic(const Diagnostic& diagnostic);

/// The file an option names, checked before long work; empty if it is not given.  \throws UserError
std::string output_path(const Options& options, const std::string& name);
/// A command as it was typed, for a shell.
std::string command_text(std::string_view verb, const std::vector<std::string>& arguments);
/// Options that name an output, and what they name.
using OutputPlaces = std::vector<std::pair<std::string_view, const std::string*>>;
/// Two outputs do not go to one place.  \throws UserError
void require_own_places(const OutputPlaces& files);
/// Whether none of them is `-`.
bool leaves_standard_output(const OutputPlaces& files);
/// Sends text to a file, or to standard output for `-`.  \throws UserError
void emit(const std::string& path, const std::string& content);

/// Writes a page as HTML, and one of its charts as SVG; empty: not. \param chart  empty: the first one
/// \throws UserError if the page has no such chart
void write_page(const Page& page, const std::string& html, const std::string& svg, const std::string& chart);

/// A bar on stderr, if that is a terminal and the work takes over a second.
std::function<void(double)> progress_bar();

}  // namespace fabricast
