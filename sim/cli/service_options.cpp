// Limits of the servers from the command line.
#include "service_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "../api/service/sandbox.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

Bytes bytes_option(const Options& options, const std::string& name, Bytes otherwise) {
  if (!options.has(name)) return otherwise;
  const auto value = parse_bytes(options.text(name));
  if (!value) throw UserError(fmt::format("--{} {}", name, value.error), value.hint);
  if (value.value.value < 1024 || value.value > Bytes{std::int64_t{1} << 40})
    throw UserError(fmt::format("--{} '{}' is out of range", name, options.text(name)), "between 1KiB and 1TiB");
  return value.value;
}

}  // namespace

ServiceLimits service_limits(const Options& options) {
  ServiceLimits limits;
  if (options.has("time")) {
    const auto time = parse_seconds(options.text("time"));
    if (!time) throw UserError(fmt::format("--time {}", time.error), time.hint);
    if (time.value < Seconds{0.01} || time.value > Seconds{86400})
      throw UserError(fmt::format("--time '{}' is out of range", options.text("time")), "between 10ms and 24h");
    limits.time = time.value;
  }
  limits.memory = bytes_option(options, "memory", limits.memory);
  limits.request = bytes_option(options, "request", limits.request);
  limits.reply = bytes_option(options, "reply", limits.reply);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  limits.at_once = options.integer("at-once", cores, 1, 1024);
  limits.waiting = options.integer("waiting", limits.waiting, 0, 100'000);
  limits.threads = options.integer("threads", limits.threads, 1, 4096);
  return limits;
}

ServiceFiles service_files(const Options& options) {
  if (!options.has("directory")) return {};
  const std::string directory = options.text("directory");
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    throw UserError(fmt::format("--directory '{}' is not a directory", directory));
  if (!can_confine_to_directory())
    throw Unavailable("this kernel cannot confine reading to a directory (Landlock); leave out --directory");
  return {std::filesystem::canonical(directory).string()};
}

}  // namespace fabricast
