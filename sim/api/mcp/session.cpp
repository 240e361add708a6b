// JSON-RPC and the methods of the Model Context Protocol that a server of tools has.
#include "session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fabricast/core/scan.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

using In = nlohmann::json;
using Out = nlohmann::ordered_json;

/// Revisions that begin with `initialize`, the newest first.
constexpr std::array<std::string_view, 4> with_handshake{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
/// Revisions in which every request states its own.
constexpr std::array<std::string_view, 1> without_handshake{"2026-07-28"};

constexpr int parse_error = -32700;
constexpr int invalid_request = -32600;
constexpr int no_method = -32601;
constexpr int invalid_params = -32602;
constexpr int server_busy = -32000;
constexpr int unsupported_version = -32022;

/// An error of JSON-RPC.
struct RpcError {
  int code;
  std::string message;
  Out data = nullptr;
};

std::string line_of(const Out& message) { return message.dump(-1, ' ', false, Out::error_handler_t::replace); }

std::string error_line(const Out& id, const RpcError& e) {
  Out error{{"code", e.code}, {"message", e.message}};
  if (!e.data.is_null()) error["data"] = e.data;
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

/// A result in the form of its generation.
Out result_of(Out result, bool stateless) {
  if (stateless) {
    result["resultType"] = "complete";
    result["_meta"]["io.modelcontextprotocol/serverInfo"] = {{"name", "fabricast"}, {"version", version_text()}};
  }
  return result;
}

std::string result_line(const Out& id, Out result) {
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

Out server_info() { return {{"name", "fabricast"}, {"title", "Fabricast"}, {"version", version_text()}}; }

constexpr std::string_view instructions =
    "Forecasts how long NCCL collectives, training steps and inference take on GPU clusters. Start with `run`. A "
    "scenario is short: omitted keys have defaults. Errors state what to write instead. `describe` explains any name "
    "or key.";

Out tool_json(const ServiceTool& tool) {
  Out json{{"name", tool.name}, {"description", tool.summary}, {"inputSchema", arguments_schema(tool)}};
  json["outputSchema"] = answer_schema();
  json["annotations"] = {
      {"readOnlyHint", true}, {"destructiveHint", false}, {"idempotentHint", true}, {"openWorldHint", false}};
  return json;
}

Out tool_list() {
  Out list = Out::array();
  for (const ServiceTool& tool : tools()) list.push_back(tool_json(tool));
  return {{"tools", std::move(list)}};
}

/// The revision that a request states itself; empty if it is of the generation that begins with `initialize`.
std::string stated_revision(const In& params) {
  const auto meta = params.find("_meta");
  if (meta == params.end() || !meta->is_object()) return {};
  const auto stated = meta->find("io.modelcontextprotocol/protocolVersion");
  return stated != meta->end() && stated->is_string() ? stated->get<std::string>() : std::string();
}

Out all_revisions() {
  Out list = Out::array();
  for (const std::string_view each : without_handshake) list.push_back(each);
  for (const std::string_view each : with_handshake) list.push_back(each);
  return list;
}

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Before 2026-07-28: the client's revision if it is known, else the newest; the client may then leave.
Out initialize(const In& params) {
  const auto asked = params.find("protocolVersion");
  if (asked == params.end() || !asked->is_string()) throw RpcError{invalid_params, "protocolVersion is missing"};
  const std::string wanted = asked->get<std::string>();
  return {{"protocolVersion", is_in(with_handshake, wanted) ? wanted : std::string(with_handshake.front())},
          {"capabilities", {{"tools", {{"listChanged", false}}}}},
          {"serverInfo", server_info()},
          {"instructions", instructions}};
}

Out discover() {
  return {{"supportedVersions", all_revisions()},
          {"capabilities", {{"tools", Out::object()}}},
          {"instructions", instructions},
          {"ttlMs", 3'600'000},
          {"cacheScope", "public"}};
}

/// What a client shows of an answer that is none.
std::string errors_text(const Out& answer) {
  std::string text;
  for (const Out& d : answer["diagnostics"]) {
    if (d.value("severity", "") != "error") continue;
    if (d.contains("line")) text += fmt::format("line {}: ", d["line"].get<int>());
    if (d.contains("key")) text += d["key"].get<std::string>() + ": ";
    text += d.value("what", "") + "\n";
    if (d.contains("hint")) text += "hint: " + d["hint"].get<std::string>() + "\n";
  }
  return text.empty() ? "no answer\n" : text;
}

}  // namespace

std::vector<std::string> McpSession::receive(const std::string& line) {
  std::vector<std::string> out;
  if (line.find_first_not_of(" \t\r") == std::string::npos) return out;
  const In message = In::parse(line, nullptr, false);
  if (message.is_discarded()) {
    out.push_back(error_line(nullptr, {parse_error, "not JSON"}));
  } else if (!message.is_array()) {
    receive_message(message, out);
  } else if (message.empty()) {
    out.push_back(error_line(nullptr, {invalid_request, "an empty batch"}));
  } else {
    // Batches are of revision 2025-03-26. Answers are sent one by one, as each is ready.
    for (const In& each : message) receive_message(each, out);
  }
  return out;
}

std::string McpSession::too_long(std::size_t most) {
  return error_line(nullptr, {invalid_request, fmt::format("a message is longer than {} bytes", most)});
}

void McpSession::receive_message(const In& message, std::vector<std::string>& out) {
  const auto part = [&](const char* name) { return message.is_object() ? message.value(name, In()) : In(); };
  const In id = part("id"), method = part("method");
  const bool has_id = message.is_object() && message.contains("id");
  const bool valid_id = id.is_string() || id.is_number();
  const Out reply_to = valid_id ? Out(id) : Out();
  if (message.is_object() && !message.contains("method") && (message.contains("result") || message.contains("error")))
    return;  // an answer, though nothing was asked
  if (part("jsonrpc") != "2.0" || !method.is_string() || (has_id && !valid_id)) {
    out.push_back(error_line(reply_to, {invalid_request, "not a request of JSON-RPC 2.0"}));
    return;
  }
  In params = part("params");
  if (params.is_null()) params = In::object();
  if (!has_id) {
    if (method == "notifications/cancelled" && params.is_object()) cancel(params);
    return;
  }
  try {
    if (!params.is_object()) throw RpcError{invalid_params, "params is not an object"};
    const std::string revision = stated_revision(params);
    const bool stateless = !revision.empty();
    if (stateless && !is_in(without_handshake, revision) && !is_in(with_handshake, revision))
      throw RpcError{unsupported_version, "Unsupported protocol version",
                     Out{{"supported", all_revisions()}, {"requested", shown(revision, 40)}}};
    const Message result = answer(method.get<std::string>(), id, params, stateless);
    if (!result.is_null()) out.push_back(result_line(reply_to, result));
  } catch (const RpcError& e) { out.push_back(error_line(reply_to, e)); }
}

McpSession::Message McpSession::answer(const std::string& method, const In& id, const In& params, bool stateless) {
  if (method == "initialize") return initialize(params);
  if (method == "ping") return Out::object();
  if (method == "server/discover") return result_of(discover(), true);
  if (method == "tools/list") {
    Out list = tool_list();
    if (stateless) {
      list["ttlMs"] = 3'600'000;
      list["cacheScope"] = "public";
    }
    return result_of(std::move(list), stateless);
  }
  if (method != "tools/call") throw RpcError{no_method, fmt::format("no such method: {}", shown(method, 60))};
  call_tool(id, params, stateless);
  return nullptr;
}

void McpSession::call_tool(const In& id, const In& params, bool stateless) {
  const In name = params.value("name", In());
  if (!name.is_string()) throw RpcError{invalid_params, "the name of a tool is missing"};
  const ServiceTool* tool = find_tool(name.get<std::string>());
  if (!tool) throw RpcError{invalid_params, fmt::format("Unknown tool: {}", shown(name.get<std::string>(), 60))};
  const bool in_use = std::any_of(calls_.begin(), calls_.end(), [&](const auto& c) { return c.second.id == Out(id); });
  if (in_use) throw RpcError{invalid_request, "another request has this id"};
  if (pool_.full()) throw RpcError{server_busy, "too many requests wait", nullptr};
  Call call{Out(id), nullptr, stateless};
  if (const auto meta = params.find("_meta"); meta != params.end() && meta->is_object())
    if (const auto token = meta->find("progressToken"); token != meta->end())
      if (token->is_string() || token->is_number_integer()) call.progress_token = Out(*token);
  calls_.emplace(pool_.submit(job_of(*tool, params.value("arguments", In()))), std::move(call));
}

void McpSession::cancel(const In& params) {
  const Out id(params.value("requestId", In()));
  const auto it = std::find_if(calls_.begin(), calls_.end(), [&](const auto& c) { return c.second.id == id; });
  if (it == calls_.end()) return;  // it may have ended in the meantime
  pool_.cancel(it->first);
  calls_.erase(it);
}

std::vector<std::string> McpSession::take(const WorkPool::Event& event) {
  const auto it = calls_.find(event.id);
  if (it == calls_.end()) return {};
  Call& call = it->second;
  if (event.progress) {
    // Progress must increase; a percent is fine enough.
    if (call.progress_token.is_null() || *event.progress < call.told + 0.01) return {};
    call.told = *event.progress;
    Out params{{"progressToken", call.progress_token}, {"progress", *event.progress}, {"total", 1}};
    return {line_of({{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", std::move(params)}})};
  }
  const ServiceReply& reply = *event.done;
  Out answer = structured(reply);
  std::string text = reply.answered() ? reply.text : errors_text(answer);
  Out result{{"content", Out::array({Out{{"type", "text"}, {"text", std::move(text)}}})},
             {"structuredContent", std::move(answer)},
             {"isError", !reply.answered()}};
  const std::string line = result_line(call.id, result_of(std::move(result), call.stateless));
  calls_.erase(it);
  return {line};
}

}  // namespace fabricast
