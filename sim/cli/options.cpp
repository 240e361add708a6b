// Options of verbs, and what several verbs share: scenarios, outputs, progress (options.hpp). Boost.Program_options
// parses; its messages are turned into those of the other errors, with suggestions.
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "colour.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "stop.hpp"

namespace fabricast {

namespace po = boost::program_options;

namespace {

// While it is set, `--help` is recorded instead of printed. One process runs one verb, so a global is enough.
HelpRecorder* recorder = nullptr;

/// The metavariable in the text that Boost shows: FILE of `FILE`, `[=FILE]` and `FILE (=/)`.
std::string metavariable_of(std::string text) {
  if (text.starts_with("[=")) text = text.substr(2, text.size() - 3);
  return text.substr(0, text.find(' '));
}

}  // namespace

po::typed_value<std::string>* takes(const char* metavariable) {
  return po::value<std::string>()->value_name(metavariable);
}

po::typed_value<std::vector<std::string>>* takes_many(const char* metavariable) {
  return po::value<std::vector<std::string>>()->composing()->value_name(metavariable);
}

// The value of such an option needs the equals sign: a word after a blank is the next argument. Without a value it is
// empty.
po::typed_value<std::string>* may_take(const char* metavariable) {
  return takes(fmt::format("[={}]", metavariable).c_str())->implicit_value("");
}

bool recording_help() { return recorder != nullptr; }

HelpRecorder::HelpRecorder() { recorder = this; }
HelpRecorder::~HelpRecorder() { recorder = nullptr; }

VerbHelp Options::help() const {
  const auto words_of = [&](const std::string& name) {
    const auto it = known_.find(name);
    return it == known_.end() ? std::vector<std::string>() : it->second;
  };
  VerbHelp help{verb_, summary_, {}, {}};
  for (const std::string& p : positional_)
    help.positional.push_back({p,
                               0,
                               {},
                               p.ends_with("..."),
                               p.front() == '[',
                               {},
                               words_of(p.front() == '[' ? p.substr(1, p.size() - 2) : p)});
  for (const auto& option : described_.options()) {
    VerbHelp::Word word{option->long_name(),
                        0,
                        {},
                        option->semantic()->is_composing(),
                        option->semantic()->min_tokens() == 0,
                        option->description(),
                        words_of(option->long_name()),
                        option->semantic()->is_required()};
    // The short form of an option, which the library does not give otherwise.
    const std::string first = option->canonical_display_name(po::command_line_style::allow_dash_for_short);
    if (first.size() == 2 && first[0] == '-' && first[1] != '-') word.letter = first[1];
    if (option->semantic()->max_tokens() > 0) word.argument = metavariable_of(option->semantic()->name());
    help.options.push_back(std::move(word));
  }
  return help;
}

Options::Options(std::string_view verb, std::string_view summary, std::vector<std::string> positional)
    : verb_(verb), summary_(summary), positional_(std::move(positional)) {
  add()("help,h", "show this help");
}

std::string Options::usage() const {
  std::string text = fmt::format("usage: fabricast {}", verb_);
  for (const std::string& p : positional_) text += " " + p;
  for (const auto& option : described_.options())
    if (option->semantic()->is_required())
      text += fmt::format(" --{} {}", option->long_name(), option->semantic()->name());
  text += " [options]\n\n" + summary_ + "\n\n";
  std::ostringstream list;
  list << described_;
  text += list.str();
  for (std::size_t i = 0; i < examples_.size(); ++i)
    text += fmt::format("{}  {}\n", i == 0 ? "\nexamples:\n" : "", examples_[i]);
  return text;
}

bool Options::parse(const std::vector<std::string>& arguments) {
  po::options_description all;
  all.add(described_);
  po::positional_options_description order;
  std::size_t needed = 0;
  for (const std::string& p : positional_) {
    // An argument in brackets is optional; one that ends with `...` takes all words that remain.
    const bool optional = p.front() == '[';
    const std::string name = optional ? p.substr(1, p.size() - 2) : p;
    const bool many = name.ends_with("...");
    if (many)
      all.add_options()(name.c_str(), po::value<std::vector<std::string>>());
    else
      all.add_options()(name.c_str(), po::value<std::string>());
    order.add(name.c_str(), many ? -1 : 1);
    if (!optional) ++needed;
  }
  try {
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(order)
                  // No abbreviations: an option that is added later would make them ambiguous in scripts.
                  .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                  .run(),
              values_);
    // With --help, required options may be missing.
    if (!has("help")) po::notify(values_);
  } catch (const po::unknown_option& e) {
    std::vector<std::string> long_names;
    for (const auto& option : described_.options()) long_names.push_back("--" + option->long_name());
    const std::vector<std::string_view> known(long_names.begin(), long_names.end());
    throw UserError(fmt::format("fabricast {}: unknown option '{}'", verb_, e.get_option_name()),
                    suggestion(e.get_option_name(), known));
  } catch (const po::error& e) {
    throw UserError(fmt::format("fabricast {}: {}", verb_, e.what()),
                    fmt::format("`fabricast {} --help` shows the options", verb_));
  }
  if (has("help") && recorder) {
    recorder->verbs.push_back(help());
    return false;
  }
  if (has("help")) {
    std::fputs(usage().c_str(), stdout);
    return false;
  }
  for (std::size_t i = 0; i < needed; ++i)
    if (!has(positional_[i]))
      throw UserError(fmt::format("fabricast {}: {} is missing", verb_, positional_[i]),
                      fmt::format("`fabricast {} --help` shows the usage", verb_));
  return true;
}

int Options::integer(const std::string& name, int otherwise, int low, int high) const {
  if (!has(name)) return otherwise;
  const auto value = parse_integer(get<std::string>(name));
  if (!value || value.value < low || value.value > high)
    throw UserError(
        fmt::format("--{} '{}' is not a whole number between {} and {}", name, get<std::string>(name), low, high));
  return static_cast<int>(value.value);
}

namespace {

// The file is read again for the line. Diagnostics carry positions only.
std::string line_of(const std::string& file, int line) {
  std::ifstream in(file);
  std::string text;
  for (int i = 0; i < line && std::getline(in, text); ++i) {}
  return in || !text.empty() ? text : std::string();
}

}  // namespace

void print_diagnostic(const Diagnostic& d) {
  const std::string text = render(d, d.where.line > 0 ? line_of(d.where.file, d.where.line) : std::string());
  std::fputs((shows_colour(STDERR_FILENO) ? coloured_diagnostic(text) : text).c_str(), stderr);
}

void add_scenario_options(Options& options) {
  options.add()("set", takes_many("KEY=VALUE"),
                "set a key of the scenario, e.g. fabric.kind=fat_tree; overrides the file; may be repeated")(
      "profile", takes("FILE"), "fitted profile (JSON) that overrides the hardware parameters");
}

RunOptions run_options(const Options& options) {
  RunOptions run;
  run.threads = options.integer("threads", 0, 1, 4096);
  run.progress = progress_bar();
  return run;
}

namespace {

/// Paths in a scenario are relative to its directory; paths on the command line are not.
std::string absolute_path(const std::string& path) { return std::filesystem::absolute(path).string(); }

}  // namespace

std::vector<std::string> set_words(const Options& options) {
  std::vector<std::string> set = options.list("set");
  if (options.has("profile")) set.push_back("profile=" + absolute_path(options.text("profile")));
  return set;
}

World load_world(const Options& options, Beside others, const std::string& option) {
  ReadResult read = read_scenario(options.get<std::string>(option), set_words(options));
  for (const Diagnostic& w : read.warnings) print_diagnostic(w);
  std::vector<Diagnostic> warnings;
  World world = world_of(std::move(read.scenario), warnings);
  if (const auto alone = others_left_out(world); alone && others == Beside::left_out) warnings.push_back(*alone);
  for (const Diagnostic& w : warnings) print_diagnostic(w);
  return world;
}

std::int64_t chosen_size(const Options& options, const World& world) {
  if (options.has("size")) {
    const auto size = parse_bytes(options.get<std::string>("size"));
    if (!size) throw UserError(fmt::format("--size {}", size.error), size.hint);
    if (size.value.value < 1 || size.value > largest_size)
      throw UserError(fmt::format("--size '{}' is out of range", options.get<std::string>("size")),
                      fmt::format("between 1B and {}", to_text(largest_size)));
    return size.value.value;
  }
  return middle_size(world.scenario()).value;
}

void emit(const std::string& path, const std::string& content) {
  if (path != "-") {
    // A file that is being written is finished even after Ctrl-C.
    const HeldStop whole;
    return write_file(path, content);
  }
  std::string coloured;
  if (shows_colour(STDOUT_FILENO)) coloured = coloured_report(content);
  const std::string_view shown = coloured.empty() ? std::string_view(content) : coloured;
  errno = 0;
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0) return;
  // A reader such as `head` may close the pipe early; that is not an error.
  if (errno == EPIPE)
    std::clearerr(stdout);
  else
    throw UserError(fmt::format("cannot write to standard output: {}", system_reason(errno)));
}

std::string output_path(const Options& options, const std::string& name) {
  std::string path = options.text(name);
  // Before the forecast, which may take hours.
  if (options.has(name) && path != "-") check_writable(path);
  return path;
}

std::string command_text(std::string_view verb, const std::vector<std::string>& arguments) {
  // Words of these characters mean themselves in every shell.
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  std::string text = fmt::format("fabricast {}", verb);
  for (const std::string& word : arguments) {
    text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    // In single quotes everything means itself; a single quote ends them, is escaped, and begins new ones.
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

void require_own_places(const OutputPlaces& files) {
  // Text is compared, not the files that it leads to: this is to catch slips.
  for (std::size_t a = 0; a < files.size(); ++a)
    for (std::size_t b = a + 1; b < files.size(); ++b) {
      const std::string& place = *files[a].second;
      if (place.empty() || place != *files[b].second) continue;
      if (place == "-")
        throw UserError(
            fmt::format("--{} and --{} cannot both write to standard output", files[a].first, files[b].first),
            "write one of them to a file");
      throw UserError(fmt::format("--{} and --{} cannot both write to '{}'", files[a].first, files[b].first, place));
    }
}

void write_page(const Page& page, const std::string& html, const std::string& svg, const std::string& chart) {
  if (!html.empty()) emit(html, page_html(page));
  if (svg.empty()) return;
  const std::vector<std::string> names = chart_names(page);
  const std::string& wanted = chart.empty() ? names.front() : chart;
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    throw UserError(fmt::format("this report has no chart '{}'", wanted),
                    fmt::format("known: {}", fmt::join(names, ", ")));
  emit(svg, page_chart_svg(page, wanted));
}

bool leaves_standard_output(const OutputPlaces& files) {
  return std::none_of(files.begin(), files.end(), [](const auto& file) { return *file.second == "-"; });
}

std::function<void(double)> progress_bar() {
  // A bar in a log file would be one long line.
  if (!isatty(STDERR_FILENO)) return {};
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto last = std::make_shared<Clock::time_point>(begin);
  return [begin, last](double part) {
    const auto now = Clock::now();
    // Short work draws nothing; long work draws ten times a second.
    if (now - begin < std::chrono::seconds(1) || (part < 1 && now - *last < std::chrono::milliseconds(100))) return;
    *last = now;
    const double seconds = std::chrono::duration<double>(now - begin).count();
    const int filled = static_cast<int>(part * 40);
    fmt::print(stderr, "\r[{:=<{}}{: <{}}] {:3.0f} %, {:.0f} s left ", "", filled, "", 40 - filled, part * 100,
               seconds / part * (1 - part));
    if (part >= 1) fmt::print(stderr, "\r{:70}\r", "");
    std::fflush(stderr);
  };
}

void show_iteration(int iteration, double loss) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\riteration {}: loss {:.5g} ", iteration, loss);
}

}  // namespace fabricast
