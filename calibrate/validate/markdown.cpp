#include <fmt/format.h>

#include "fabricast/calibrate/validate.hpp"

namespace fabricast {

namespace {

std::string leave_one_out_markdown(const LeaveOneOut& l) {
  std::string out =
      "\n## Errors of systems left out of the fit, in %\n\n"
      "In sample > left out. For each system all parameters are fitted anew from their priors to the cases of the "
      "other "
      "systems, and\n"
      "its own are forecast with them: what to expect of a system never seen. The first number is of a fit to all.\n\n"
      "| system |";
  for (const Band& b : bands) out += fmt::format(" {} |", b.name);
  out += "\n|---|---|---|---|---|\n";
  for (const auto& [system, cells] : l.left_out.systems) {
    out += fmt::format("| {} |", system);
    for (std::size_t b = 0; b < bands.size(); ++b)
      out += cells[b].rows ? fmt::format(" {:.1f} > {:.1f}{} |", 100 * l.in_sample.systems.at(system)[b].error,
                                         100 * cells[b].error, cells[b].bias > 0 ? '+' : '-')
                           : std::string(" |");
    out += "\n";
  }
  const auto summary = [&](std::string_view name, const auto& before, const auto& after) {
    out += fmt::format("| **{}** |", name);
    for (std::size_t b = 0; b < bands.size(); ++b)
      out += fmt::format(" **{:.1f} > {:.1f}** |", 100 * before[b], 100 * after[b]);
    out += "\n";
  };
  summary("median over systems", l.in_sample.median, l.left_out.median);
  summary("mean", l.in_sample.mean, l.left_out.mean);
  summary("worst decile", l.in_sample.worst_decile, l.left_out.worst_decile);
  summary("within the 90 % interval", l.in_sample.covered, l.left_out.covered);
  summary("half width of the interval", l.in_sample.width, l.left_out.width);
  return out;
}

std::string calibrated_table(std::string_view title, const ErrorTable& before, const ErrorTable& after) {
  std::string out = fmt::format("\n### {}\n\n| system |", title);
  for (const Band& b : bands) out += fmt::format(" {} |", b.name);
  out += "\n|---|---|---|---|---|\n";
  for (const auto& [system, cells] : after.systems) {
    out += fmt::format("| {} |", system);
    for (std::size_t b = 0; b < bands.size(); ++b)
      out += cells[b].rows ? fmt::format(" {:.1f} > {:.1f}{} |", 100 * before.systems.at(system)[b].error,
                                         100 * cells[b].error, cells[b].bias > 0 ? '+' : '-')
                           : std::string(" |");
    out += "\n";
  }
  const auto both = [&](std::string_view name, const auto& a, const auto& b) {
    out += fmt::format("| **{}** |", name);
    for (std::size_t k = 0; k < bands.size(); ++k) out += fmt::format(" **{:.1f} > {:.1f}** |", 100 * a[k], 100 * b[k]);
    out += "\n";
  };
  const auto one = [&](std::string_view name, const auto& a) {
    out += fmt::format("| **{}** |", name);
    for (const double x : a) out += fmt::format(" **{:.1f}** |", 100 * x);
    out += "\n";
  };
  both("median over systems", before.median, after.median);
  both("worst decile", before.worst_decile, after.worst_decile);
  one("within the 90 % interval", after.covered);
  one("half width of the interval", after.width);
  return out;
}

std::string calibrated_markdown(const Calibrated& c) {
  std::string out =
      "\n## Errors of calibrated systems, in %\n\n"
      "Before > after calibration with some of a system's own measurements, which starts from the fit that has not "
      "seen "
      "the system.\nThe others of its measurements are forecast.\n";
  out += calibrated_table("Larger jobs, by those of one and two nodes", c.larger_before, c.larger_after);
  out += fmt::format(
      "\nMedian over systems: below 1 MiB {:.1f} > {:.1f} %, from 1 MiB on {:.1f} > {:.1f} %. Where a system has "
      "several "
      "settings (alcf-polaris: five,\nabci2-a: a fabric that others load) one set of parameters is fitted to all.\n",
      100 * c.larger_halves_before[0], 100 * c.larger_halves_after[0], 100 * c.larger_halves_before[1],
      100 * c.larger_halves_after[1]);
  return out + calibrated_table("Every third size, by the other sizes", c.sizes_before, c.sizes_after);
}

}  // namespace

std::string validation_markdown(const Validation& v, const Hardware& hardware) {
  std::string out =
      "# Validation\n\n"
      "Written by `fabricast calibrate validate --leave-one-out --calibrated --markdown docs/validation.md`; anyone "
      "can run it again.\n\n"
      "Error of a row: |ln(forecast / measured)|; of a system in a band: exp(median over its rows) - 1. Each system "
      "counts once in each\n"
      "band. The sign tells whether forecasts are mostly above (+) or below (-) the measurement. The measured cases "
      "and\n"
      "their sources are in `calibrate/data/cases.json`.\n\n## Errors by system, in %\n\n| system |";
  for (const Band& b : bands) out += fmt::format(" {} |", b.name);
  out += "\n|---|---|---|---|---|\n";
  for (const auto& [system, cells] : v.errors.systems) {
    out += fmt::format("| {} |", system);
    for (const auto& cell : cells)
      out += cell.rows ? fmt::format(" {:.1f}{} ({}) |", 100 * cell.error, cell.bias > 0 ? '+' : '-', cell.rows)
                       : std::string(" |");
    out += "\n";
  }
  const auto summary = [&](std::string_view name, const std::array<double, bands.size()>& values) {
    out += fmt::format("| **{}** |", name);
    for (const double x : values) out += fmt::format(" **{:.1f}** |", 100 * x);
    out += "\n";
  };
  summary("median over systems", v.errors.median);
  summary("mean", v.errors.mean);
  summary("worst decile", v.errors.worst_decile);
  out +=
      fmt::format("\n{} rows of {} cases are counted; in {} of them another algorithm stands in for NCCL's choice.\n",
                  v.errors.rows, v.cases.size(), v.stand_ins);
  if (v.leave_one_out) out += leave_one_out_markdown(*v.leave_one_out);
  if (v.calibrated) out += calibrated_markdown(*v.calibrated);
  out += directions_markdown(v.pairs);
  out +=
      "\n## Parameters\n\nAll numbers that the forecasts above rest on, shared by all systems of a kind.\n\n| "
      "parameter | value | interval | unit | source |\n|---|---|---|---|---|\n";
  Hardware copy = hardware;
  for (const auto& [path, p] : copy.all_parameters())
    if (!path.starts_with("compute."))  // no collective computes
      out += fmt::format("| `{}` | {:.4g} | {:.4g} to {:.4g} | {} | {} |\n", path, p.parameter->value, p.parameter->low,
                         p.parameter->high, p.unit, p.parameter->source);
  return out;
}

}  // namespace fabricast
