// fabricast-mcp: the Model Context Protocol on standard input and output.
#include "../api/mcp/session.hpp"
#include "door_options.hpp"
#include "exit_code.hpp"
#include "service_options.hpp"

namespace fabricast {

namespace {

int mcp_command(const std::vector<std::string>& arguments) {
  Options options = mcp_options();
  if (!options.parse(arguments)) return 0;
  serve_mcp(service_limits(options), service_files(options));
  return 0;
}

}  // namespace

}  // namespace fabricast

int main(int argc, char** argv) {
  return fabricast::exit_code_of([&] { return fabricast::mcp_command({argv + 1, argv + argc}); });
}
