// Routes and access. A browser must not become the tool of another page: the name in Host is checked against DNS
// rebinding, Origin against requests from other pages, and questions must be JSON, which a plain form cannot send.
#include "routes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "embedded_serve.hpp"
#include "fabricast/collective/collective.hpp"
#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/routing/routing.hpp"
#include "fabricast/topology/topology.hpp"

namespace fabricast {

namespace {

using HttpJson = nlohmann::ordered_json;

std::string header_of(const HttpRequest& request, const char* name) {
  const auto it = request.headers.find(name);
  return it == request.headers.end() ? std::string() : it->second;
}

/// The name in `name:port` or `[::1]:port`, in lower case.
std::string host_name(std::string_view address) {
  const std::string text = lower_case(address);
  if (text.starts_with('[')) return text.substr(0, text.find(']') + 1);
  return text.substr(0, text.rfind(':'));
}

/// Why a request is refused; nothing if it is not.
std::optional<HttpResponse> refused(const HttpRequest& request, const HttpAccess& access) {
  const std::string host = header_of(request, "host");
  if (!access.hosts.contains(host_name(host)))
    return refusal(403, fmt::format("this server does not answer for the host '{}'", shown(host, 60)),
                   "start it with --host NAME");
  const std::string origin = header_of(request, "origin");
  if (!origin.empty() && origin != "http://" + host && origin != "https://" + host)
    return refusal(403, "requests from other pages are refused");
  if (access.token.empty()) return {};
  // The page itself holds no secret. It asks with the token of its address.
  if (request.method == "GET" && (request.path == "/" || request.path.starts_with("/serve."))) return {};
  constexpr std::string_view bearer = "Bearer ";
  const std::string given = header_of(request, "authorization");
  if (given.starts_with(bearer) && same_secret(std::string_view(given).substr(bearer.size()), access.token)) return {};
  HttpResponse response = refusal(401, "the token is missing or wrong", "send Authorization: Bearer TOKEN");
  response.headers["WWW-Authenticate"] = "Bearer";
  return response;
}

template <class Names>
std::string options_of(const Names& names) {
  std::string out;
  for (const std::string_view name : names) out += fmt::format("<option>{}</option>", name);
  return out;
}

void replace(std::string& text, std::string_view mark, const std::string& by) {
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), by);
}

HttpResponse form_page() {
  HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.body = embedded_serve("serve.html");
  replace(response.body, "{{topologies}}", options_of(names_of(topologies())));
  replace(response.body, "{{routing}}", options_of(names_of(routing_policies())));
  replace(response.body, "{{collectives}}", options_of(EnumNames<CollectiveOp>::names));
  // The report in the frame has scripts of its own; the frame is an origin of its own, too.
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src data:; "
      "connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'";
  response.headers["X-Frame-Options"] = "DENY";
  return response;
}

HttpResponse file(const char* name, const char* type) {
  HttpResponse response;
  response.type = type;
  response.body = embedded_serve(name);
  return response;
}

HttpResponse tools_page() {
  HttpJson list = HttpJson::array();
  for (const ServiceTool& tool : tools())
    list.push_back({{"name", tool.name}, {"summary", tool.summary}, {"arguments", arguments_schema(tool)}});
  HttpResponse response;
  response.body = list.dump(1) + "\n";
  return response;
}

std::string type_of_form(const std::string& form) {
  if (form == "html") return "text/html; charset=utf-8";
  return form == "json" || form == "timeline" ? "application/json" : "text/plain; charset=utf-8";
}

std::variant<HttpResponse, HttpJob> ask_tool(const ServiceTool& tool, const HttpRequest& request) {
  const bool built_in = !tool.question;
  if (built_in && request.method == "GET") {
    nlohmann::json arguments = nlohmann::json::object();
    for (const auto& [name, value] : request.query) arguments[name] = value;
    return HttpJob{job_of(tool, arguments), "application/json"};
  }
  if (request.method != "POST")
    return refusal(405, fmt::format("{} is not supported at this address", shown(request.method, 20)), "use POST");
  const std::string type = header_of(request, "content-type");
  if (type.substr(0, type.find(';')) != "application/json")
    return refusal(415, "the body is not JSON", "send Content-Type: application/json");
  nlohmann::json arguments = nlohmann::json::parse(request.body, nullptr, false);
  if (arguments.is_discarded()) return refusal(400, "the body is not JSON");
  const auto form = arguments.is_object() ? arguments.value("form", nlohmann::json()) : nlohmann::json();
  return HttpJob{job_of(tool, arguments), type_of_form(form.is_string() ? form.get<std::string>() : "json")};
}

std::variant<HttpResponse, HttpJob> answer_to(const HttpRequest& request) {
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (get && request.path == "/") return form_page();
  if (get && request.path == "/serve.js") return file("serve.js", "text/javascript; charset=utf-8");
  if (get && request.path == "/serve.css") return file("serve.css", "text/css; charset=utf-8");
  if (get && request.path == "/tools") return tools_page();
  if (get && request.path == "/health") {
    HttpResponse response;
    response.body = HttpJson{{"fabricast", version_text()}}.dump() + "\n";
    return response;
  }
  if (const ServiceTool* tool = request.path.empty() ? nullptr : find_tool(std::string_view(request.path).substr(1)))
    return ask_tool(*tool, request);
  return refusal(404, fmt::format("there is no '{}'", shown(request.path, 60)), "GET /tools lists what there is");
}

}  // namespace

HttpResponse refusal(int status, const std::string& what, const std::string& hint) {
  ServiceReply reply;
  reply.status = status >= 500 ? ReplyStatus::unavailable : ReplyStatus::bad_input;
  reply.diagnostics = diagnostics_json({{Diagnostic::Severity::error, {}, {}, what, hint}});
  HttpResponse response;
  response.status = status;
  response.body = structured(reply).dump(-1, ' ', false, HttpJson::error_handler_t::replace) + "\n";
  return response;
}

HttpResponse response_of(const ServiceReply& reply, const std::string& type) {
  HttpResponse response;
  if (reply.answered()) {
    response.type = type;
    response.body = reply.text;
    response.headers["Fabricast-Status"] = std::to_string(static_cast<int>(reply.status));
    // Warnings of an answer. A header holds ASCII, and not much of it.
    const HttpJson warnings = HttpJson::parse(reply.diagnostics, nullptr, false);
    if (const std::string text = warnings.dump(-1, ' ', true); warnings.is_array() && text.size() < 8000)
      response.headers["Fabricast-Diagnostics"] = text;
    return response;
  }
  response.status = reply.out_of_time                          ? 504
                    : reply.status == ReplyStatus::bad_input   ? 422
                    : reply.status == ReplyStatus::unavailable ? 503
                                                               : 500;
  response.body = structured(reply).dump(-1, ' ', false, HttpJson::error_handler_t::replace) + "\n";
  return response;
}

std::variant<HttpResponse, HttpJob> route(const HttpRequest& request, const HttpAccess& access) {
  try {
    if (auto no = refused(request, access)) return std::move(*no);
    return answer_to(request);
  } catch (const std::exception& e) { return refusal(500, fmt::format("internal error: {}", e.what())); }
}

}  // namespace fabricast
