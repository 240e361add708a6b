// What is wrong with a file that was not written for us: collected by line, so that one run shows all of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

class FileProblems {
 public:
  explicit FileProblems(std::string file) : file_(std::move(file)) {}
  /// \param column  counts from 1; 0: the whole line
  void error(int line, int column, std::string message, std::string hint = {});
  void warning(int line, std::string message, std::string hint = {});
  bool failed() const { return errors_ > 0; }
  const std::string& file() const { return file_; }
  /// In order of lines; the first 1,000 of each severity.
  std::vector<Diagnostic> errors() const { return sorted(errors_list_); }
  std::vector<Diagnostic> warnings() const { return sorted(warnings_list_); }
  /// \throws UserError if there are errors
  void check() const;

 private:
  static std::vector<Diagnostic> sorted(std::vector<Diagnostic> list);
  std::string file_;
  std::vector<Diagnostic> errors_list_, warnings_list_;
  std::size_t errors_ = 0;
};

}  // namespace fabricast
