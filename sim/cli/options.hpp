// Parsing of the options of verbs, with Boost.Program_options, and what several verbs do with them: reading a scenario,
// writing output, showing progress.
//
// Each verb describes its options once. `--help`, the manual page and shell completion are made from that description.
#pragma once

#include <boost/program_options.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/ask/answer.hpp"
#include "fabricast/page/page.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

/// The arguments and options of a verb as values, for the manual and for completion.
struct VerbHelp {
  /// A positional argument or an option.
  struct Word {
    std::string name;                ///< SCENARIO or [WHAT]; for an option its name without dashes
    char letter = 0;                 ///< short form of an option
    std::string argument;            ///< metavariable of an option, such as FILE; empty: it takes no value
    bool many = false;               ///< may be given more than once
    bool optional = false;           ///< a positional argument, or the value of an option, may be left out
    std::string doc;                 ///< description of an option
    std::vector<std::string> words;  ///< the possible values, if they are a closed list
    bool required = false;           ///< an option that must be given
  };
  std::string verb, summary;
  std::vector<Word> positional, options;
};

/// While an object of this class exists, `--help` of a verb adds to `verbs` instead of printing. At most one may exist.
class HelpRecorder {
 public:
  HelpRecorder();
  ~HelpRecorder();
  HelpRecorder(const HelpRecorder&) = delete;
  HelpRecorder& operator=(const HelpRecorder&) = delete;
  std::vector<VerbHelp> verbs;
};

/// Whether there is one.
bool recording_help();

/// The value of an option that takes one. `--help` shows the metavariable: FILE for a path, N for a whole number, NAME
/// for a word from a list, or a noun such as SIZE.
boost::program_options::typed_value<std::string>* takes(const char* metavariable);
/// The same for an option that may be repeated. `Options::list` returns its values.
boost::program_options::typed_value<std::vector<std::string>>* takes_many(const char* metavariable);
/// The same for an option whose value may be left out, and is then empty. A value follows after an equals sign.
boost::program_options::typed_value<std::string>* may_take(const char* metavariable);

/// The options of one verb: describe them, `parse`, then read their values.
class Options {
 public:
  /// \param positional  metavariables of the arguments without a dash, in order. One in [brackets] may be left out; a
  ///                    last one with dots... stands for one or more
  Options(std::string_view verb, std::string_view summary, std::vector<std::string> positional);
  /// Adds options: name, value (`takes`) and description.
  boost::program_options::options_description_easy_init add() { return described_.add_options(); }
  /// Adds a command line that `--help` shows as an example.
  void example(std::string command) { examples_.push_back(std::move(command)); }
  /// Sets the possible values of a positional argument (SCENARIO) or of an option (search), for completion.
  void words(const std::string& name, std::vector<std::string> known) { known_[name] = std::move(known); }
  template <class Names>
  void words(const std::string& name, const Names& known) {
    words(name, std::vector<std::string>(known.begin(), known.end()));
  }
  /// Parses the command line.
  /// \returns false if `--help` was given; the help is then printed and the verb must return 0
  /// \throws UserError if an option is unknown, a value is missing, or a required argument is missing
  bool parse(const std::vector<std::string>& arguments);
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// \pre the option was given
  template <class T>
  T get(const std::string& name) const {
    return values_[name].as<T>();
  }
  /// The value of an option, or `otherwise` if it was not given.
  std::string text(const std::string& name, std::string otherwise = {}) const {
    return has(name) ? get<std::string>(name) : std::move(otherwise);
  }
  /// The values of an option or positional argument that may be given more than once; empty if it was not given.
  std::vector<std::string> list(const std::string& name) const {
    return has(name) ? get<std::vector<std::string>>(name) : std::vector<std::string>();
  }
  /// The whole number of an option, or `otherwise` if it was not given.
  /// \throws UserError if it is not a whole number between `low` and `high`
  int integer(const std::string& name, int otherwise, int low, int high) const;

 private:
  std::string usage() const;
  VerbHelp help() const;
  std::string verb_, summary_;
  std::map<std::string, std::vector<std::string>> known_;
  std::vector<std::string> positional_, examples_;
  boost::program_options::options_description described_{"options"};
  boost::program_options::variables_map values_;
};

/// Adds `--set` and `--profile`, for verbs that take a scenario.
void add_scenario_options(Options& options);
/// The overrides of these options: the `--set` words, and `--profile` as one more.
std::vector<std::string> set_words(const Options& options);
/// The number of threads from `--threads`, and the progress bar.
/// \throws UserError if the number is invalid
RunOptions run_options(const Options& options);

/// Whether a verb includes other jobs and background flows of the scenario. Verbs that leave them out print a warning.
enum class Beside { left_out, counted };
/// Reads a scenario, prints its warnings, and builds its world.
/// \param option  the option or positional argument that names the file
/// \throws UserError with positions in the file
World load_world(const Options& options, Beside others = Beside::left_out, const std::string& option = "SCENARIO");
/// The size of `--size` in bytes, or the middle one of the scenario's sizes.
/// \throws UserError if `--size` is invalid
std::int64_t chosen_size(const Options& options, const World& world);

/// Prints a diagnostic to standard error, with the source line it refers to.
void print_diagnostic(const Diagnostic& diagnostic);

/// The output file that an option names; empty if it was not given. Checked now, so that long work is not lost later.
/// \throws UserError if the file cannot be written
std::string output_path(const Options& options, const std::string& name);
/// The command line of a verb, quoted for a shell.
std::string command_text(std::string_view verb, const std::vector<std::string>& arguments);
/// Options that name an output, and the paths they name.
using OutputPlaces = std::vector<std::pair<std::string_view, const std::string*>>;
/// \throws UserError if two outputs go to the same path
void require_own_places(const OutputPlaces& files);
/// Whether no output goes to standard output, so that text may.
bool leaves_standard_output(const OutputPlaces& files);
/// Writes text to a file, or to standard output for `-`.
/// \throws UserError if it cannot be written
void emit(const std::string& path, const std::string& content);

/// Writes a page as HTML and one of its charts as SVG. Empty paths are skipped.
/// \param chart  name of the chart; empty: the first one
/// \throws UserError if the page has no such chart
void write_page(const Page& page, const std::string& html, const std::string& svg, const std::string& chart);

/// A progress callback that draws a bar on standard error if that is a terminal and the work takes more than a second;
/// otherwise empty.
std::function<void(double)> progress_bar();
/// Shows an iteration of a fit and its loss, in one line of standard error if that is a terminal.
void show_iteration(int iteration, double loss);

}  // namespace fabricast
