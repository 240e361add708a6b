// Three faults, three mechanisms.
//
//   the user's   Diagnostics, collected, then one UserError     exit code 2
//   the world's  Unavailable: hardware or a backend is missing   exit code 3
//   ours         FABRICAST_CHECK, always on, InternalError       exit code 4
//
// Nothing below sim/cli prints or exits.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast {

/// Where a thing stands in a text; lines and columns count from 1, 0 means unknown.
struct SourceSpan {
  std::string file;
  int line = 0;
  int column = 0;
  int width = 1;
};

/// The place of a byte of a text.
SourceSpan span_at(const std::string& file, std::string_view text, std::size_t byte);

/// Offset of the first byte of a text that is not UTF-8, or npos. JSON, and so our output, can be nothing else.
std::size_t find_not_utf8(std::string_view text);

/// One message about the user's input.
struct Diagnostic {
  enum class Severity { error, warning };
  Severity severity = Severity::error;
  SourceSpan where;
  std::string path;     ///< "fabric.switch.rate"; may be empty
  std::string message;  ///< what is wrong, in lower case, no full stop
  std::string hint;     ///< what to write instead; may be empty
};

/// Shows a diagnostic as a compiler does. `source_line` may be empty (then no excerpt is shown).
std::string render(const Diagnostic& diagnostic, std::string_view source_line = {});

/// The user's fault: all diagnostics of a stage at once, so that one run mends one file.
class UserError : public std::runtime_error {
 public:
  explicit UserError(std::vector<Diagnostic> diagnostics);
  /// One message without a place in a file.
  explicit UserError(std::string message, std::string hint = {});
  /// One message about a key of the scenario; the reader of the file adds the place.
  static UserError at(std::string path, std::string message, std::string hint = {});
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// The world's fault: a device, library or measurement is not there; `what()` is the reason.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Our fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The user asked to stop (Ctrl-C).
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace fabricast

/// Always on: our own bug if `condition` is false. `message` is evaluated only then.
#define FABRICAST_CHECK(condition, message)                                                 \
  do {                                                                                      \
    if (!(condition)) ::fabricast::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
