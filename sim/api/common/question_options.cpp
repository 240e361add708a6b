// Checks a JSON object against the table of options, and reads values that need more than JSON.
#include "question_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"

namespace fabricast {

namespace {

using Value = nlohmann::json;

bool is_log(const Value& v) {
  if (v.is_string()) return true;
  return v.is_object() && v.size() == 2 && v.contains("name") && v.contains("text") && v["name"].is_string() &&
         v["text"].is_string();
}

template <class Is>
bool is_list(const Value& v, Is is) {
  return v.is_array() && std::all_of(v.begin(), v.end(), is);
}

/// What a value of this type is called; empty if the value is one.
std::string_view wanted_instead(const Value& v, OptionType type) {
  switch (type) {
    case OptionType::boolean: return v.is_boolean() ? "" : "true or false";
    case OptionType::count: return v.is_number_integer() ? "" : "a whole number";
    case OptionType::number: return v.is_number() ? "" : "a number";
    case OptionType::text: return v.is_string() ? "" : "a text";
    case OptionType::texts: return is_list(v, [](const Value& e) { return e.is_string(); }) ? "" : "a list of strings";
    case OptionType::logs: return is_list(v, is_log) ? "" : R"(a list of paths or of {"name", "text"})";
  }
  return "";
}

class Faults {
 public:
  void add(const std::string& key, std::string what, std::string hint = {}) {
    found_.push_back({Diagnostic::Severity::error, {"the options", 0, 0, 1}, key, std::move(what), std::move(hint)});
  }
  void raise() {
    if (!found_.empty()) throw UserError(std::move(found_));
  }

 private:
  std::vector<Diagnostic> found_;
};

void check_value(const std::string& key, const Value& value, const QuestionOption& option, bool reads_files,
                 Faults& faults) {
  if (const std::string_view wanted = wanted_instead(value, option.type); !wanted.empty())
    return faults.add(key, fmt::format("is not {}", wanted));
  if (option.type == OptionType::count) {
    // JSON has numbers that are too large for a signed one.
    const bool fits = !value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t(option.high);
    if (!fits || value.get<std::int64_t>() < option.low || value.get<std::int64_t>() > option.high)
      faults.add(key, fmt::format("is not between {} and {}", option.low, option.high));
  }
  if (!option.words.empty()) {
    const std::string word = value.get<std::string>();
    if (std::find(option.words.begin(), option.words.end(), word) == option.words.end())
      faults.add(key, fmt::format("there is no '{}'", shown(word, 40)),
                 fmt::format("one of {}", fmt::join(option.words, ", ")));
  }
  if (option.type == OptionType::logs && !reads_files)
    for (const Value& log : value)
      if (log.is_string()) faults.add(key, "files are not read here", R"(send {"name": ..., "text": ...})");
}

}  // namespace

QuestionOptions::QuestionOptions(const Question& question, const std::string& json, bool reads_files) {
  Faults faults;
  if (json.find_first_not_of(" \t\r\n") == std::string::npos) {
    values_ = Value::object();
    return;
  }
  try {
    values_ = Value::parse(json);
  } catch (const Value::parse_error& e) { faults.add({}, fmt::format("not JSON: error at byte {}", e.byte)); }
  faults.raise();
  if (!values_.is_object()) faults.add({}, "not a JSON object", "e.g. {}");
  faults.raise();
  for (auto it = values_.begin(); it != values_.end();) {
    const QuestionOption* option = find_by_name(question.options, it.key());
    if (!option) {
      std::vector<std::string_view> known;
      for (const QuestionOption& o : question.options) known.push_back(o.name);
      faults.add(shown(it.key(), 40), fmt::format("`{}` has no such option", question.name),
                 suggestion(it.key(), known));
    } else if (!it->is_null()) {
      check_value(it.key(), *it, *option, reads_files, faults);
    } else {
      it = values_.erase(it);  // as if it were left out
      continue;
    }
    ++it;
  }
  faults.raise();
}

std::size_t QuestionOptions::count(const char* name, std::size_t otherwise) const {
  return has(name) ? static_cast<std::size_t>(values_[name].get<std::int64_t>()) : otherwise;
}

std::string QuestionOptions::text(const char* name, std::string otherwise) const {
  return has(name) ? values_[name].get<std::string>() : std::move(otherwise);
}

std::vector<std::string> QuestionOptions::texts(const char* name) const {
  return has(name) ? values_[name].get<std::vector<std::string>>() : std::vector<std::string>();
}

std::vector<std::string> QuestionOptions::paths(const char* name) const {
  std::vector<std::string> paths;
  if (!has(name)) return paths;
  for (const Value& file : values_[name])
    if (file.is_string()) paths.push_back(file.get<std::string>());
  return paths;
}

std::vector<MeasuredFile> QuestionOptions::measured(const char* name, std::vector<Diagnostic>& warnings) const {
  std::vector<MeasuredFile> files = read_measured_files(paths(name));
  if (has(name))
    for (const Value& file : values_[name])
      if (!file.is_string())
        files.push_back(read_measured_text(file["text"].get<std::string>(), file["name"].get<std::string>()));
  for (const MeasuredFile& file : files)
    for (Diagnostic& d : problems_of(file.log)) warnings.push_back(std::move(d));
  return files;
}

NamedLogs QuestionOptions::logs(const char* name, std::vector<Diagnostic>& warnings) const {
  NamedLogs logs = read_log_files(paths(name));
  if (has(name))
    for (const Value& file : values_[name])
      if (!file.is_string())
        logs.push_back(read_log_text(file["text"].get<std::string>(), file["name"].get<std::string>()));
  for (const NamedLog& log : logs)
    for (Diagnostic& d : problems_of(log)) warnings.push_back(std::move(d));
  return logs;
}

}  // namespace fabricast
