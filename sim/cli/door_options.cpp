// Options of the servers, described once.
#include "door_options.hpp"

#include "measured_site.hpp"

namespace fabricast {

namespace {

void add_service_options(Options& options) {
  options.add()("directory", takes("DIR"), "the only directory whose files requests may read (default: none)")(
      "time", takes("TIME"), "maximum time of a request (default: 60s)")("memory", takes("SIZE"),
                                                                         "maximum memory of a request (default: 4GiB)")(
      "request", takes("SIZE"), "maximum size of a request (default: 8MiB)")(
      "reply", takes("SIZE"), "maximum size of an answer (default: 64MiB)")(
      "at-once", takes("N"), "requests that run at the same time (default: one per core)")(
      "waiting", takes("N"), "requests that may wait for their turn (default: 64)")(
      "threads", takes("N"), "threads of a request (default: 1)");
}

}  // namespace

Options mcp_options() {
  Options options("mcp",
                  "Serves AI assistants over the Model Context Protocol (stdio), with the tools run, explain, plan, "
                  "check, gate, describe, list and schema. Writes no files.",
                  {});
  options.example("fabricast mcp --directory ~/clusters --time 20s");
  add_service_options(options);
  return options;
}

Options serve_options() {
  Options options("serve",
                  "Serves programs and browsers over HTTP: POST /run, /explain, /plan, /check, /gate; GET /describe, "
                  "/list, /schema, /tools; GET / is a page that updates the report as you type. Writes no files.",
                  {});
  options.example("fabricast serve");
  options.example("fabricast serve --port 9000 --directory ~/clusters");
  options.example("fabricast serve --address 0.0.0.0 --host sim.example.org --token-file token");
  options.add()("port", takes("N"), "port (default: 8080; 0: any free port)")(
      "address", takes("ADDRESS"),
      "numeric address to listen on (default: 127.0.0.1); addresses other than loopback need a token")(
      "host", takes_many("NAME"), "name under which others reach this server; may be repeated")(
      "token-file", takes("FILE"), "file with a token that requests must have (default: the variable FABRICAST_TOKEN)");
  add_service_options(options);
  return options;
}

Options watch_options() {
  Options options(
      "watch",
      "Follows NCCL Inspector's logs and RAS statuses of a running job and serves OpenMetrics: measured and "
      "expected bus bandwidth of its communicators, and which rank or host the others wait for.",
      {"FILE-OR-DIRECTORY..."});
  options.example("fabricast watch nccl-inspector-4711/ --scenario cluster.yaml");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("scenario", takes("FILE"), "scenario of the cluster as it should be (YAML), for expected values")(
      "listen", takes("ADDRESS"), "address and port (default: 127.0.0.1:9835; port 0: any free port)")(
      "interval", takes("N"), "seconds of a reporting interval (default: 30)")(
      "once", "read the existing records as one interval, print its metrics, and exit with 1 if there are findings");
  return options;
}

}  // namespace fabricast
