// Options of a question: a JSON object, checked against its table.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "questions.hpp"

namespace fabricast {

/// Options whose names and types are those of their question.
class QuestionOptions {
 public:
  /// \throws UserError with all faults: an unknown option, another type, a word that is not in the list
  QuestionOptions(const Question& question, const std::string& json, bool reads_files);

  bool has(const char* name) const { return values_.contains(name); }
  bool boolean(const char* name, bool otherwise) const { return has(name) ? values_[name].get<bool>() : otherwise; }
  std::size_t count(const char* name, std::size_t otherwise) const;
  double number(const char* name) const { return values_[name].get<double>(); }
  std::string text(const char* name, std::string otherwise = {}) const;
  std::vector<std::string> texts(const char* name) const;
  /// The logs of an option. Lines that cannot be read become warnings.
  NamedLogs logs(const char* name, std::vector<Diagnostic>& warnings) const;
  /// The same as measurements of a site.
  std::vector<MeasuredFile> measured(const char* name, std::vector<Diagnostic>& warnings) const;
  /// The form of the answer that is asked for.
  std::string form() const { return text("form", "json"); }

 private:
  /// The files of an option, without texts.
  std::vector<std::string> paths(const char* name) const;

  nlohmann::json values_;
};

}  // namespace fabricast
