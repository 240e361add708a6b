// fabricast-serve: questions over HTTP, and a page that redraws the report as one types.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "../api/http/server.hpp"
#include "door_options.hpp"
#include "exit_code.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/text.hpp"
#include "service_options.hpp"

namespace fabricast {

namespace {

/// The token of a file or of FABRICAST_TOKEN, never of the command line, which everybody on the machine can read.
std::string token_of(const Options& options) {
  std::string token;
  if (options.has("token-file"))
    token = read_file(options.text("token-file"), 4096);
  else if (const char* given = std::getenv("FABRICAST_TOKEN"))
    token = given;
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!plain) throw UserError("the token has characters other than printable ASCII");
  if (!token.empty() && token.size() < 16)
    throw UserError("the token has fewer than 16 characters", "e.g. openssl rand -hex 16");
  if (token.empty() && options.has("token-file")) throw UserError("the file of --token-file is empty");
  return token;
}

int serve_command(const std::vector<std::string>& arguments) {
  Options options = serve_options();
  if (!options.parse(arguments)) return 0;
  HttpSettings settings;
  settings.port = options.integer("port", settings.port, 0, 65535);
  settings.address = options.text("address", settings.address);
  settings.access.token = token_of(options);
  for (const std::string& host : options.list("host")) settings.access.hosts.insert(lower_case(host));
  if (!is_loopback(settings.address) && settings.access.token.empty())
    throw UserError(fmt::format("--address {} needs a token", settings.address), "use --token-file or FABRICAST_TOKEN");
  settings.limits = service_limits(options);
  settings.files = service_files(options);
  serve_http(settings, [&](int port) {
    const bool v6 = settings.address.find(':') != std::string::npos;
    fmt::print("http://{}:{}/\n", v6 ? "[" + settings.address + "]" : settings.address, port);
    std::fflush(stdout);
  });
  return 0;
}

}  // namespace

}  // namespace fabricast

int main(int argc, char** argv) {
  return fabricast::exit_code_of([&] { return fabricast::serve_command({argv + 1, argv + argc}); });
}
