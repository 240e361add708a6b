#include "serving.hpp"

#include <fmt/format.h>

#include "fabricast/calibrate/published_serving_validation.hpp"

namespace fabricast {

namespace {

std::vector<MappedServing> chosen_rows(const Options& options) {
  const std::string file = options.text("serving"), only = options.text("only");
  std::vector<MappedServing> rows = map_serving_rows(read_serving_rows(file.empty() ? shipped_serving_path() : file));
  std::erase_if(rows, [&](const MappedServing& r) { return r.id.find(only) == std::string::npos; });
  if (rows.empty()) throw UserError(fmt::format("no row has '{}' in its id", only));
  return rows;
}

}  // namespace

int validate_serving_of(const Options& options) {
  for (const std::string name : {"steps", "cases", "terms"})
    if (options.has(name)) throw UserError("--" + name + ": not with --serving", "one of them at a time");
  for (const std::string name : {"leave-out", "calibrated", "identified", "prior-weight", "profile"})
    if (options.has(name)) throw UserError("--" + name + ": not with --serving", "no fit has parameters of serving");
  const std::string markdown = output_path(options, "markdown"), json = output_path(options, "json");
  if (!json.empty() && json == markdown) throw UserError(fmt::format("--json and --markdown both want '{}'", json));
  const std::vector<ServingResult> results = validate_serving(chosen_rows(options), progress_bar());
  if (!markdown.empty()) emit(markdown, serving_markdown(results));
  if (!json.empty()) emit(json, serving_json(results));
  if (json != "-" && markdown != "-") emit("-", serving_text(results, options.has("rows")));
  return 0;
}

}  // namespace fabricast
