// Reads measured steps and kernels (calibrate/data/steps.json or a file of the same form, docs/formats.md). A scenario
// stays text, so that each case is validated by the parser of scenarios, and a pair of steps may change it (pairs.cpp).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../../models/hardware/json_text.hpp"
#include "../cases/data_path.hpp"
#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

StepCase step_of(const json& j) {
  StepCase c;
  c.id = j.at("id").get<std::string>();
  c.source = j.at("source").get<std::string>();
  c.note = j.value("note", std::string());
  const bool kernel = j.contains("kernel");
  c.measured = Seconds{kernel ? j.at("time_us").get<double>() * 1e-6 : j.at("step_s").get<double>()};
  c.noise = j.value("noise", c.noise);
  c.held_out = j.value("held_out", false);
  if (kernel)
    c.kernel = kernel_case(j.at("kernel").dump());
  else
    c.scenario = j.at("scenario").dump();  // JSON is valid YAML
  if (!(c.measured > Seconds{}))
    throw std::invalid_argument(fmt::format("'{}' must be above 0", kernel ? "time_us" : "step_s"));
  if (!(c.noise > 0)) throw std::invalid_argument("'noise' must be above 0");
  return c;
}

}  // namespace

std::string shipped_steps_path() { return shipped_data_path("steps.json"); }

std::vector<StepCase> read_steps(const std::string& path) { return steps_of(read_file(path), path); }

std::vector<StepCase> steps_of(const std::string& text, const std::string& path) {
  const auto fail = [&](std::string what, std::string hint = {}) {
    throw UserError({Diagnostic{Diagnostic::Severity::error, {path, 1, 1, 1}, {}, std::move(what), std::move(hint)}});
  };
  const json all = parse_json_text(text, path);
  if (!all.is_array()) fail("must be a list of steps", "a list of {id, source, step_s, scenario}");
  std::vector<StepCase> steps;
  for (std::size_t i = 0; i < all.size(); ++i) try {
      steps.push_back(step_of(all[i]));
    } catch (const std::exception& e) {
      // Errors of the JSON library and of kernel_case alike: a message names the step by its place in the list.
      fail(
          fmt::format("step {}: {}", i, e.what()),
          "{id, source, step_s, scenario: {fabricast: 1, ...}} or {id, source, time_us, kernel: {gpu: h100-sxm, ...}}");
    }
  return steps;
}

}  // namespace fabricast
