// Reads the files of `--measured`. What they say about the site is the business of ask/logs.hpp.
#include "measured_site.hpp"

#include "log_file.hpp"

namespace fabricast {

void add_measured_option(Options& options) {
  options.add()("measured", takes_many("FILE")->multitoken(),
                "measurements of this site, on which forecasts are conditioned: logs of nccl-tests, telemetry of jobs "
                "(files or directories), cases (JSON), or CSV of bytes,time_us");
}

std::vector<MeasuredFile> measured_files(const Options& options, const std::vector<std::string>& further) {
  std::vector<std::string> paths = options.list("measured");
  paths.insert(paths.end(), further.begin(), further.end());
  std::vector<MeasuredFile> files = read_measured_files(paths);
  for (const MeasuredFile& file : files) print_problems(file.log);
  return files;
}

MeasuredSite site_of(const Options& options, const World& world, const RunOptions& how) {
  const std::vector<MeasuredFile> files = measured_files(options);
  for (const MeasuredFile& file : files) print_left_out(file.log, world);
  return site_of(files, world, how);
}

}  // namespace fabricast
