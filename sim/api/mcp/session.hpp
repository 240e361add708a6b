// A session of the Model Context Protocol: messages in, messages out (modelcontextprotocol.io).
//
// Requests are JSON-RPC 2.0, one message a line. Two generations of the protocol are spoken at once, as each request
// says: revisions 2024-11-05 to 2025-11-25 begin with `initialize`, from 2026-07-28 on every request states its revision.
// Tools are those of service/request.hpp. They only read, so no state has to outlive a request.
//
// A Session has no descriptors of its own: the caller passes lines and events, and writes what comes back.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../service/request.hpp"
#include "../service/work_pool.hpp"

namespace fabricast {

class McpSession {
 public:
  explicit McpSession(WorkPool& pool) : pool_(pool) {}

  /// Answers a line, which may hold a message, a batch, or anything else. \returns lines to write, without their ends
  std::vector<std::string> receive(const std::string& line);
  /// The answer to a line that was too long to be read.
  static std::string too_long(std::size_t most);
  /// What the pool has done.
  std::vector<std::string> take(const WorkPool::Event& event);

 private:
  using Message = nlohmann::ordered_json;
  struct Call {
    Message id, progress_token;  ///< the token is null if none was asked for
    bool stateless = false;
    double told = -1;
  };
  void receive_message(const nlohmann::json& message, std::vector<std::string>& out);
  /// The result of a request, or null if it comes later. \throws an error of JSON-RPC
  Message answer(const std::string& method, const nlohmann::json& id, const nlohmann::json& params, bool stateless);
  void call_tool(const nlohmann::json& id, const nlohmann::json& params, bool stateless);
  void cancel(const nlohmann::json& params);

  WorkPool& pool_;
  std::map<WorkPool::Id, Call> calls_;
};

/// Serves standard input until it ends or a stop is requested, and writes to standard output.
void serve_mcp(const ServiceLimits& limits, const ServiceFiles& files);

}  // namespace fabricast
