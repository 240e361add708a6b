// Errors: three parties can be at fault, and each has its own mechanism and exit code.
//
//   the user         Diagnostics, collected and thrown as one UserError   exit code 2
//   the environment  Unavailable: hardware or a backend is missing        exit code 3
//   the program      FABRICAST_CHECK, always on; InternalError            exit code 4
//
// Nothing below sim/cli prints or exits: libraries throw or return diagnostics, and sim/cli renders them. A user error
// collects every fault that a stage can find, so that one run is enough to fix a file.
//
//   throw UserError::at("cluster.nodes", "a single GPU cannot communicate", "nodes: 2 or more");
//
// Messages begin in lower case and have no full stop; they say what is wrong, and the hint what to write instead.
//
// Pure functions and value types; safe to use concurrently.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// A position in a text. Lines and columns count from 1; 0 means unknown. Columns count bytes, not characters.
struct SourceSpan {
  std::string file;  ///< as shown to the user; may be an option such as `--set fabric.kind=torus`
  int line = 0;
  int column = 0;
  int width = 1;  ///< bytes to underline
};

/// The position of a byte of a text, with width 1. Counts the line ends before it: O(byte). An offset beyond the text
/// is its end.
SourceSpan span_at(const std::string& file, std::string_view text, std::size_t byte);

/// The offset of the first byte that is not part of valid UTF-8, or npos. Input is checked with it because JSON, and
/// therefore our output, must be UTF-8. Overlong forms, surrogates and code points above U+10FFFF count as invalid.
std::size_t find_not_utf8(std::string_view text);

/// One message about the user's input.
struct Diagnostic {
  enum class Severity { error, warning };  ///< an error stops the question, a warning does not
  Severity severity = Severity::error;
  SourceSpan where;
  std::string path;     ///< the key, such as `fabric.switch.rate`; may be empty
  std::string message;  ///< what is wrong, in lower case, without a full stop
  std::string hint;     ///< what to write instead; may be empty
};

/// The text of a diagnostic as compilers print it: `file:line:column: error: path: message`, an excerpt of the source
/// line with the place underlined, and the hint. Control characters and invalid UTF-8 are replaced (core/text.hpp), so
/// the text is safe to print on a terminal.
/// \param source_line  the line that `where` points into; empty: no excerpt
std::string render(const Diagnostic& diagnostic, std::string_view source_line = {});

/// The user is at fault. Carries all diagnostics of a stage; `what()` is their rendering without excerpts.
class UserError : public std::runtime_error {
 public:
  /// \pre there is at least one diagnostic; callers take the first as the reason
  explicit UserError(std::vector<Diagnostic> diagnostics);
  /// One message without a position.
  explicit UserError(std::string message, std::string hint = {});
  /// One message about a key of the scenario. The code that read the file adds the position.
  static UserError at(std::string path, std::string message, std::string hint = {});
  /// In the order in which they were found.
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// The environment is at fault: a device, library or measurement is missing. `what()` gives the reason.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The program is at fault: a bug. Thrown by FABRICAST_CHECK.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The user asked to stop with Ctrl-C (core/stop.hpp). Not an error; exit code 130.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// Throws the InternalError of a failed FABRICAST_CHECK, with file, line and condition.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace fabricast

/// An assertion that is checked in every build: throws InternalError if `condition` is false. `message` is evaluated
/// only then, so it may be expensive.
#define FABRICAST_CHECK(condition, message)                                                 \
  do {                                                                                      \
    if (!(condition)) ::fabricast::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
