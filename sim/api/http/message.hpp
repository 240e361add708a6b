// HTTP/1.1 as this server needs it: requests with a length, and responses [RFC9110] [RFC9112].
//
// Own code, because the server must not lend a thread to every connection: it runs in one thread so that it may fork,
// and a client that sends a byte a second must cost nothing. Not here: chunked bodies, pipelining of bodies, upgrades,
// TLS. Servers for others belong behind a proxy that has these.
//
// Pure functions on bytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fabricast {

struct HttpRequest {
  std::string method, path;
  std::map<std::string, std::string> query;    ///< decoded; the last of a name counts
  std::map<std::string, std::string> headers;  ///< names in lower case; a repeated one is refused where it matters
  std::string body;
  bool keep_open = true;
};

/// What bytes from a client are so far.
struct HttpParse {
  enum class State { incomplete, complete, refused };
  State state = State::incomplete;
  HttpRequest request;
  std::size_t used = 0;  ///< bytes of the request with its body; 0 until its head is complete
  int refusal = 400;     ///< status of a refused one
  std::string_view why;  ///< why it is refused
};
/// \param most  longest body in bytes
HttpParse parse_http(std::string_view bytes, std::size_t most);

struct HttpResponse {
  int status = 200;
  std::string type = "application/json", body;
  std::map<std::string, std::string> headers;
};
/// The response as bytes. \param head  whether the body is left out, as for HEAD
std::string http_bytes(const HttpResponse& response, bool keep_open, bool head);

/// Whether two texts are the same, in a time that does not depend on where they differ.
bool same_secret(std::string_view given, std::string_view secret);

}  // namespace fabricast
