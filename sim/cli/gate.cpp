// `gate`: floors for acceptance tests, and verdicts on logs.
#include <fmt/format.h>

#include <array>

#include "commands.hpp"
#include "fabricast/ask/ask.hpp"
#include "fabricast/core/text.hpp"
#include "log_file.hpp"
#include "measured_site.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

struct GateFormat {
  const char* name;
  const char* doc;
};
// A table, so that options, their help and the writing of files cannot disagree. The first two also exist for verdicts.
constexpr std::array formats = {
    GateFormat{"json", "write JSON to FILE; - prints it instead of text (as with all formats)"},
    GateFormat{"yaml", "write the same as YAML to FILE"},
    GateFormat{"env", "write shell variables for nccl-tests to FILE, with their command lines"},
    GateFormat{"kubernetes", "write a ConfigMap and a Job that runs the test to FILE"},
    GateFormat{"slurm", "write a shell script to FILE that runs the test and drains the node"},
};

/// The output path of each format; empty: none.
using GateOutputs = std::array<std::string, formats.size()>;

OutputPlaces places_of(const GateOutputs& to) {
  OutputPlaces places;
  for (std::size_t i = 0; i < formats.size(); ++i) places.emplace_back(formats[i].name, &to[i]);
  return places;
}

}  // namespace

int gate_verb(const std::vector<std::string>& arguments) {
  Options options("gate",
                  "Writes for each size the floor of bus bandwidth, and the ceiling of time, that a healthy cluster "
                  "misses with a stated probability. With --log, compares logs with them and exits with 1 if a row is "
                  "below its floor.",
                  {"SCENARIO"});
  options.example("fabricast gate node.yaml --measured healthy.log --slurm check.sh");
  options.example("fabricast gate cluster.yaml --measured healthy.log --log today.log");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("probability", takes("PROBABILITY"),
                "probability that one row of a healthy cluster is below its floor: 1/1000, 0.001 or 0.1% (default: "
                "1/1000)")("collectives", takes("NAME,..."),
                           "collectives, separated by commas (default: the scenario's)")(
      "log", takes_many("LOG")->multitoken(),
      "compare logs of nccl-tests, or CSV of bytes,time_us, with the floors of their sizes");
  for (const GateFormat& format : formats) options.add()(format.name, takes("FILE"), format.doc);
  options.add()("threads", takes("N"), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  GateOutputs to;
  for (std::size_t i = 0; i < formats.size(); ++i) to[i] = output_path(options, formats[i].name);
  require_own_places(places_of(to));
  if (options.has("log"))
    for (const char* other : {"collectives", "env", "kubernetes", "slurm"})
      if (options.has(other))
        throw UserError(fmt::format("--{} cannot be combined with --log", other),
                        "run `fabricast gate` once for the floors and once for the verdict");
  GateQuestion question;
  question.probability = probability_from(options.text("probability", "1/1000"), "--probability");
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  if (options.has("collectives"))
    question.operations = operations_from(split(options.text("collectives"), ','), "--collectives");
  question.logs = read_logs(options.list("log"));
  for (const NamedLog& log : question.logs) print_left_out(log, world);
  question.measured = measured_files(options);
  const Answer answer = answer_gate(world, question, how);
  placed(world.scenario(), [&] {
    for (std::size_t i = 0; i < formats.size(); ++i)
      if (!to[i].empty()) emit(to[i], answer.write(formats[i].name));
  });
  if (leaves_standard_output(places_of(to))) emit("-", answer.write("text"));
  return answer.good ? 0 : 1;
}

}  // namespace fabricast
