// The questions of the doors: a table with their options, from which parsing, schemas and documents are made.
//
// An answer is that of ask/ask.hpp. Options come as a JSON object. To add one, add a line to its question and read it in
// its function (questions.cpp).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/stop.hpp"
#include "open_scenario.hpp"
#include "reply.hpp"

namespace fabricast {

/// What an option is in JSON.
enum class OptionType {
  boolean,
  count,  ///< a whole number
  number,
  text,
  texts,  ///< a list of strings
  logs,   ///< a list of logs: paths, or {"name", "text"}
};

struct QuestionOption {
  std::string_view name;
  OptionType type = OptionType::text;
  std::string_view doc;
  std::span<const std::string_view> words = {};  ///< the values of a text, if they are a closed list
  std::int64_t low = 0, high = 0;                ///< of a count
};

/// How doors run a question.
struct QuestionRun {
  int threads = 0;
  std::function<bool(double)> progress;  ///< returns whether to go on; may be empty
  StopSource* stop = nullptr;            ///< may be null
  bool reads_files = true;               ///< whether options may name files; texts always may be given
};

class QuestionOptions;
struct Question {
  std::string_view name, summary;
  std::span<const QuestionOption> options;
  Answer (*ask)(const OpenScenario& scenario, const QuestionOptions& options, const RunOptions& how,
                std::vector<Diagnostic>& warnings);
};

std::span<const Question> questions();
/// Null if there is none.
const Question* find_question(std::string_view name);

/// The JSON Schema of the options of a question, as JSON.
std::string options_schema(const Question& question);
/// All questions: a JSON array of {"name", "summary", "options"}.
std::string questions_json();

/// Asks a question. Never throws.
/// \param options  a JSON object; empty: `{}`
Reply ask(const Question& question, const OpenScenario& scenario, const std::string& options, const QuestionRun& run);

/// {"fabricast", "name", "text"} of a description or of a catalogue.
std::string named_text_json(const std::string& name, const std::string& text);

}  // namespace fabricast
