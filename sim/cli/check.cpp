// `check`: compares measured logs with the forecast for a healthy cluster.
#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/ask/ask.hpp"
#include "fabricast/core/quantity.hpp"
#include "log_file.hpp"
#include "measured_site.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// A measurement from the command line instead of a log: `--size 8GiB --busbw 210`, or `--time 41ms`.
BareMeasurement bare_number(const Options& options, const World& world) {
  if (!options.has("size")) throw UserError("fabricast check: needs LOG or --size", "e.g. --size 8GiB --busbw 210");
  if (options.has("busbw") == options.has("time"))
    throw UserError("fabricast check: --size needs either --busbw or --time", "e.g. --size 8GiB --busbw 210");
  BareMeasurement bare{Bytes{chosen_size(options, world)}, {}};
  const std::string value = options.has("time") ? options.text("time") : options.text("busbw");
  if (options.has("time")) {
    const auto time = parse_seconds(value);
    if (!time) throw UserError(fmt::format("--time {}", time.error), time.hint);
    bare.time = time.value;
  } else {
    const auto rate = parse_number(value);
    if (!rate) throw UserError(fmt::format("--busbw {}", rate.error), "write GB/s as nccl-tests prints them, e.g. 210");
    constexpr double giga = 1e9;
    bare.time = time_at_bus_bandwidth(world, bare.size, BytesPerSecond{rate.value * giga});
  }
  if (!(bare.time.value > 0 && bare.time.value < 1e9)) throw UserError(fmt::format("'{}' must be above 0", value));
  return bare;
}

}  // namespace

int check_verb(const std::vector<std::string>& arguments) {
  Options options("check",
                  "Compares measured times with the forecast for a healthy cluster. Reports likely causes and exits "
                  "with 1 if times are too slow or results are wrong.",
                  {"[LOG...]"});
  options.example("fabricast check today.log --scenario cluster.yaml");
  options.example("fabricast check today.log --scenario cluster.yaml --against healthy.log");
  options.example("fabricast check nccl-inspector-4711/ --scenario cluster.yaml");
  options.example("fabricast check --scenario cluster.yaml --size 8GiB --busbw 210");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("scenario", takes("FILE")->required(), "scenario of the cluster as it should be (YAML); required")(
      "against", takes_many("LOG"), "log of the same cluster when it was healthy; may be repeated")(
      "size", takes("SIZE"), "without a log: the measured size, e.g. 8GiB")("busbw", takes("N"),
                                                                            "without a log: its bus bandwidth in GB/s")(
      "time", takes("TIME"), "without a log: its time, e.g. 41ms")("json", takes("FILE"),
                                                                   "write JSON to FILE; - prints it instead of text")(
      "threads", takes("N"), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
  const RunOptions how = run_options(options);
  CheckQuestion question;
  question.logs = read_logs(options.list("LOG..."));
  const auto world = load_world(options, Beside::left_out, "scenario");
  for (const NamedLog& log : question.logs) print_left_out(log, world);
  if (question.logs.empty() && world.scenario().workload.kind == WorkloadKind::collective)
    question.bare = bare_number(options, world);
  // `--against` is a log of the same cluster when it was healthy. It makes the interval narrow, as any measurement of
  // the site does.
  question.measured = measured_files(options, options.list("against"));
  const Answer answer = answer_check(world, question, how);
  if (!json.empty()) emit(json, answer.write("json"));
  if (json != "-") emit("-", answer.write("text"));
  return answer.good ? 0 : 1;
}

}  // namespace fabricast
