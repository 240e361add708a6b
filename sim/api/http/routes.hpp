// What a request of HTTP asks for: a page, something built in, or a question; and whether it may.
#pragma once

#include <set>
#include <string>
#include <variant>

#include "../service/request.hpp"
#include "message.hpp"

namespace fabricast {

/// Who may ask.
struct HttpAccess {
  std::set<std::string> hosts;  ///< names that the header Host may have, in lower case and without a port
  std::string token;            ///< required in `Authorization: Bearer`; empty: none
};

/// A question whose answer comes later.
struct HttpJob {
  WorkPool::Job job;
  std::string type;  ///< of its answer
};

/// The response to a request, or the question that gives it. Never throws.
std::variant<HttpResponse, HttpJob> route(const HttpRequest& request, const HttpAccess& access);
/// The response to an answered question.
HttpResponse response_of(const ServiceReply& reply, const std::string& type);
/// A refusal in the form of all errors: {"status", "answer", "diagnostics"}.
HttpResponse refusal(int status, const std::string& what, const std::string& hint = {});

}  // namespace fabricast
