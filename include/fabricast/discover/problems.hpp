// Errors and warnings about a file of another program, collected by line, so that one run shows all of them.
//
//   FileProblems problems("ibnetdiscover.txt");
//   problems.error(12, 1, "a link to a port that is not in the file");
//   problems.check();                                    // throws with all errors
//
// Readers go on after an error where they can: a line that cannot be used is left out, and the faults of later lines
// are still found. A file of the wrong kind has a fault in every line, so the lists are bounded.
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
  /// \param file  its name as users know it; the file is not opened
  explicit FileProblems(std::string file) : file_(std::move(file)) {}
  /// \param line    from 1; 0: the file as a whole, shown without a place in it
  /// \param column  in bytes, from 1; 0: not known, shown as the first column
  void error(int line, int column, std::string message, std::string hint = {});
  /// What does not stop the reader: the result is usable, but may not be what the user expects.
  void warning(int line, std::string message, std::string hint = {});
  /// Whether an error was reported. Errors beyond those that are kept count, too.
  bool failed() const { return errors_ > 0; }
  const std::string& file() const { return file_; }  ///< as given to the constructor
  /// In the order of lines, and on one line in the order in which they were reported. At most the first 1,000 reported
  /// of each severity are kept. Each call copies and sorts.
  std::vector<Diagnostic> errors() const { return sorted(errors_list_); }
  std::vector<Diagnostic> warnings() const { return sorted(warnings_list_); }
  /// Ends a stage: later stages may rely on what was checked so far.
  /// \throws UserError with all errors that were kept, if there are any
  void check() const;

 private:
  static std::vector<Diagnostic> sorted(std::vector<Diagnostic> list);
  std::string file_;
  std::vector<Diagnostic> errors_list_, warnings_list_;
  std::size_t errors_ = 0;
};

}  // namespace fabricast
