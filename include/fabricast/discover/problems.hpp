// Errors and warnings about a file of another program, collected by line, so that one run shows all of them.
//
// Not thread-safe: one object for each file that is read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// The problems of one file.
class FileProblems {
 public:
  explicit FileProblems(std::string file) : file_(std::move(file)) {}
  /// \param column  in bytes, from 1; 0: the whole line
  void error(int line, int column, std::string message, std::string hint = {});
  void warning(int line, std::string message, std::string hint = {});
  bool failed() const { return errors_ > 0; }
  const std::string& file() const { return file_; }
  /// In the order of lines. At most the first 1,000 reported of each severity are kept.
  std::vector<Diagnostic> errors() const { return sorted(errors_list_); }
  std::vector<Diagnostic> warnings() const { return sorted(warnings_list_); }
  /// \throws UserError with all errors if there are any
  void check() const;

 private:
  static std::vector<Diagnostic> sorted(std::vector<Diagnostic> list);
  std::string file_;
  std::vector<Diagnostic> errors_list_, warnings_list_;
  std::size_t errors_ = 0;
};

}  // namespace fabricast
