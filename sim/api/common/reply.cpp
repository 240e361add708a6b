// Exceptions as statuses, and diagnostics as JSON.
#include "reply.hpp"

#include <fmt/format.h>

#include <new>
#include <nlohmann/json.hpp>

namespace fabricast {

std::string diagnostics_json(const std::vector<Diagnostic>& diagnostics) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Diagnostic& d : diagnostics) {
    nlohmann::ordered_json j;
    j["severity"] = d.severity == Diagnostic::Severity::error ? "error" : "warning";
    j["what"] = d.message;
    if (!d.hint.empty()) j["hint"] = d.hint;
    if (!d.where.file.empty()) j["file"] = d.where.file;
    if (d.where.line > 0) j["line"] = d.where.line;
    if (d.where.column > 0) j["column"] = d.where.column;
    if (!d.path.empty()) j["key"] = d.path;
    list.push_back(std::move(j));
  }
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace {

void fail(Reply& reply, ReplyStatus status, std::vector<Diagnostic> errors) {
  reply.status = status;
  reply.text.clear();
  reply.diagnostics.insert(reply.diagnostics.begin(), errors.begin(), errors.end());
}

Diagnostic error_of(std::string message, std::string hint = {}) {
  return {Diagnostic::Severity::error, {}, {}, std::move(message), std::move(hint)};
}

void reply_with_what_is_thrown(Reply& reply) {
  try {
    throw;
  } catch (const UserError& e) { fail(reply, ReplyStatus::bad_input, e.diagnostics()); } catch (const Unavailable& e) {
    fail(reply, ReplyStatus::unavailable, {error_of(e.what())});
  } catch (const Interrupted&) {
    fail(reply, ReplyStatus::stopped, {error_of("stopped")});
  } catch (const std::bad_alloc&) {
    fail(reply, ReplyStatus::internal, {error_of("out of memory")});
  } catch (const std::exception& e) {
    fail(reply, ReplyStatus::internal,
         {error_of(fmt::format("internal error: {}", e.what()),
                   "this is a bug in fabricast; please report it together with the scenario")});
  }
}

}  // namespace

void reply_with_exception(Reply& reply) noexcept {
  try {
    reply_with_what_is_thrown(reply);
  } catch (...) {
    // No memory even for the message.
    reply.status = ReplyStatus::internal;
    reply.text.clear();
    reply.diagnostics.clear();
  }
}

}  // namespace fabricast
