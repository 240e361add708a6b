// Reads requests strictly: what two readers could understand differently is refused.
#include "message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_head = 16 << 10;

HttpParse refuse(int status, std::string_view why) {
  HttpParse parse;
  parse.state = HttpParse::State::refused;
  parse.refusal = status;
  parse.why = why;
  return parse;
}

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || marks.find(c) != std::string_view::npos;
  });
}

/// Without blanks and tabs at its ends. Other white space stays, and is refused.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Percent-decoding; nothing if it is malformed.
std::optional<std::string> decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) return {};
    out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
    i += 2;
  }
  return out;
}

/// The target of a request: a path and a query. \returns whether it is well formed
bool read_target(std::string_view target, HttpRequest& request) {
  if (target.empty() || target.front() != '/') return false;
  const std::size_t mark = target.find('?');
  const auto path = decoded(target.substr(0, mark), false);
  if (!path) return false;
  request.path = *path;
  if (mark == std::string_view::npos) return true;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const auto name = decoded(pair.substr(0, equals), true);
    const auto value = decoded(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return false;
    request.query[*name] = *value;
  }
  return true;
}

bool is_text(std::string_view line) {
  return std::none_of(line.begin(), line.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

/// \returns the reason if a header is not accepted, else empty
std::string_view read_header(std::string_view line, HttpRequest& request) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_text(line))
    return "a malformed header";
  const std::string name = lower_case(line.substr(0, colon));
  const bool first = request.headers.emplace(name, std::string(trimmed(line.substr(colon + 1)))).second;
  if (!first && (name == "host" || name == "content-length" || name == "authorization" || name == "origin"))
    return "a repeated header";
  return {};
}

/// The length of the body. Nothing if it is not a plain number.
std::optional<std::size_t> length_of(const HttpRequest& request) {
  const auto stated = request.headers.find("content-length");
  if (stated == request.headers.end()) return 0;
  const std::string& digits = stated->second;
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoull(digits);
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Internal Server Error";
  }
}

}  // namespace

HttpParse parse_http(std::string_view bytes, std::size_t most) {
  const std::size_t end = bytes.substr(0, most_head + 4).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() > most_head) return refuse(431, "headers that are too long");
    // A request line that is none is refused before its end comes.
    const std::string_view begin = bytes.substr(0, bytes.find("\r\n"));
    return is_text(begin.substr(0, begin.find('\r'))) ? HttpParse{} : refuse(400, "no request line");
  }
  HttpParse parse;
  std::string_view head = bytes.substr(0, end + 2);
  const auto next_line = [&] {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    return line;
  };
  const std::string_view line = next_line();
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last == first || !is_text(line) || !is_token(line.substr(0, first)))
    return refuse(400, "no request line");
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return refuse(version.starts_with("HTTP/") ? 505 : 400, "another version of HTTP");
  parse.request.method = line.substr(0, first);
  if (!read_target(line.substr(first + 1, last - first - 1), parse.request)) return refuse(400, "a malformed target");
  while (!head.empty())
    if (const std::string_view why = read_header(next_line(), parse.request); !why.empty()) return refuse(400, why);
  const auto& headers = parse.request.headers;
  if (headers.contains("transfer-encoding")) return refuse(501, "a body without its length");
  if (headers.contains("expect")) return refuse(501, "an expectation");
  const auto length = length_of(parse.request);
  if (!length) return refuse(400, "a malformed length");
  if (*length > most) return refuse(413, "a body that is too long");
  const auto connection = headers.find("connection");
  const std::string wish = connection == headers.end() ? "" : lower_case(connection->second);
  parse.request.keep_open = version == "HTTP/1.1" ? wish != "close" : wish == "keep-alive";
  parse.used = end + 4 + *length;
  if (bytes.size() < parse.used) return parse;
  parse.request.body = bytes.substr(end + 4, *length);
  parse.state = HttpParse::State::complete;
  return parse;
}

std::string http_bytes(const HttpResponse& response, bool keep_open, bool head) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                                reason_of(response.status), response.type, response.body.size());
  out +=
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n";
  out += keep_open ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  for (const auto& [name, value] : response.headers) out += fmt::format("{}: {}\r\n", name, value);
  out += "\r\n";
  if (!head) out += response.body;
  return out;
}

bool same_secret(std::string_view given, std::string_view secret) {
  unsigned differences = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char wanted = secret.empty() ? '\0' : secret[i % secret.size()];
    differences |= static_cast<unsigned>(given[i] ^ wanted);
  }
  return differences == 0;
}

}  // namespace fabricast
