// Replies of the doors: a status, a text and diagnostics. Exceptions end here.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// How a question ended, by the exit codes of the command line.
enum class ReplyStatus { ok = 0, check_failed = 1, bad_input = 2, unavailable = 3, internal = 4, stopped = 130 };

struct Reply {
  ReplyStatus status = ReplyStatus::ok;
  std::string text;
  std::vector<Diagnostic> diagnostics;
  bool answered() const { return status == ReplyStatus::ok || status == ReplyStatus::check_failed; }
};

/// A JSON array (include/fabricast.h describes its members). Bytes that are not UTF-8 are replaced.
std::string diagnostics_json(const std::vector<Diagnostic>& diagnostics);

/// Turns the exception that is being handled into the status and diagnostics of a reply, whose text is emptied.
/// Warnings that it has already stay, after the errors. \pre called in a catch block
void reply_with_exception(Reply& reply) noexcept;

/// Calls f(reply). Whatever it throws becomes the reply.
template <class F>
Reply guarded(F f) noexcept {
  Reply reply;
  try {
    f(reply);
  } catch (...) { reply_with_exception(reply); }
  return reply;
}

}  // namespace fabricast
