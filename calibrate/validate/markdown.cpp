// The page docs/validation.md. It is generated, so that its numbers are those of the current model and cases. The first
// screen has the errors to expect; tables by system follow.
#include <fmt/format.h>

#include "fabricast/calibrate/validate.hpp"

namespace fabricast {

namespace {

std::string head_markdown() {
  std::string out = "| system |";
  for (const Band& b : bands) out += fmt::format(" {} |", b.name);
  return out + "\n|---|---|---|---|---|\n";
}

/// One line of a table: a name, and the text that `value` returns for each band.
template <class Value>
std::string line_markdown(std::string_view name, Value value) {
  std::string out = fmt::format("| {} |", name);
  for (std::size_t b = 0; b < bands.size(); ++b) out += value(b);
  return out + "\n";
}

std::string summary_markdown(std::string_view name, const BandValues& values) {
  return line_markdown(fmt::format("**{}**", name),
                       [&](std::size_t b) { return fmt::format(" **{:.1f}** |", 100 * values[b]); });
}

/// 90 % interval of the median.
std::string interval_markdown(const ErrorTable& table) {
  return line_markdown("its 90 % interval",
                       [&](std::size_t b) { return fmt::format(" {} |", percent_text(table.median_interval[b])); });
}

/// Errors before > after, by system and over all systems. If only `after` has intervals, their lines show one value.
std::string change_markdown(const ErrorTable& before, const ErrorTable& after, bool mean) {
  // Both tables are of the same cases, so every system of one is in the other.
  std::string out = head_markdown();
  for (const auto& [system, cells] : after.systems)
    out += line_markdown(system, [&, &its = before.systems.at(system), &own = cells](std::size_t b) {
      return own[b].rows ? fmt::format(" {:.1f} > {:.1f}{} |", 100 * its[b].error, 100 * own[b].error,
                                       own[b].bias > 0 ? '+' : '-')
                         : std::string(" |");
    });
  const auto both = [&](std::string_view name, const BandValues& a, const BandValues& b) {
    out += line_markdown(fmt::format("**{}**", name),
                         [&](std::size_t k) { return fmt::format(" **{:.1f} > {:.1f}** |", 100 * a[k], 100 * b[k]); });
  };
  both("median over systems", before.median, after.median);
  out += interval_markdown(after);
  if (mean) both("mean", before.mean, after.mean);
  both("worst decile", before.worst_decile, after.worst_decile);
  const auto interval = [&](std::string_view name, const BandValues& a, const BandValues& b) {
    if (before.has_intervals()) return both(name, a, b);
    out += summary_markdown(name, b);
  };
  interval("within the 90 % interval", before.covered, after.covered);
  interval("half width of the interval", before.width, after.width);
  return out;
}

/// The first screen: errors on systems that the fit has not seen, and on those that it has seen.
std::string short_markdown(const Validation& v) {
  const auto line = [](std::string_view name, const ErrorTable& t) {
    return line_markdown(name, [&](std::size_t b) {
      return fmt::format(" **{:.1f}** ({}), {:.0f} |", 100 * t.median[b], percent_text(t.median_interval[b]),
                         100 * t.worst_decile[b]);
    });
  };
  std::string out =
      "\n## Summary\n\nEach cell shows the median error over systems in %, its 90 % interval (by a bootstrap over "
      "systems), and the worst decile of\nsystems.\n\n" +
      head_markdown();
  for (const LeaveOneOut& l : v.leave_out)
    out += line(fmt::format("left out of the fit by {}", name_of(l.by)), l.left_out);
  out += line("in the fit", v.errors);
  // Without fits that leave systems out, the page cannot say what to expect elsewhere.
  if (v.leave_out.empty()) return out;
  return out +
         "\nFor your own cluster, expect the errors of systems left out: by site if machines of its kind (GPU "
         "generation and network) are\namong the measured ones, by kind otherwise. Your own measurements reduce the "
         "error: [tutorial 5](tutorial/5-trust.md).\n";
}

/// Errors of both on the same rows, and the number of cells in which ours is smaller.
std::string beside_nccl_markdown(const Validation& v) {
  std::string out =
      "\n## Comparison with NCCL's own estimate\n\nNCCL chooses algorithms by its own cost model (`explain --json` "
      "prints its estimates). Each cell shows the median error over\nsystems in %, of Fabricast / of NCCL's estimate, "
      "on the rows for which NCCL makes an estimate (all except sends and\nreceives), and the share of systems in "
      "which Fabricast's forecast is closer to the measurement.\n\n" +
      head_markdown();
  // A band without an estimate of NCCL's has an empty cell.
  const auto line = [](std::string_view name, const BesideNccl& b) {
    return line_markdown(name, [&](std::size_t k) {
      return b.cells[k] == 0 ? std::string(" |")
                             : fmt::format(" {:.1f} / {:.1f}, {} of {} (**{:.0f} %**) |", 100 * b.ours[k],
                                           100 * b.nccl[k], b.nearer[k], b.cells[k], 100.0 * b.nearer[k] / b.cells[k]);
    });
  };
  for (const LeaveOneOut& l : v.leave_out)
    out += line(fmt::format("left out of the fit by {}", name_of(l.by)), l.left_out.beside_nccl);
  return out + line("in the fit", v.errors.beside_nccl);
}

std::string leave_out_markdown(const LeaveOneOut& l) {
  std::string_view what;
  switch (l.by) {
    case LeftOut::system: what = "each system"; break;
    case LeftOut::site: what = "each site (a place, a provider's node type, or an author)"; break;
    case LeftOut::kind: what = "each kind (a GPU generation on a kind of network, or of node)"; break;
    case LeftOut::fifth: what = "each fifth of the sites (dealt in turn, by name)"; break;
  }
  return fmt::format(
             "\n## Errors of systems left out of the fit by {}, in %\n\n"
             "Each cell shows the error in the fit > the error left out. For {}, all parameters are fitted again from\n"
             "their priors to the cases of the others, and its own cases are forecast with the result. The first "
             "number comes from a fit to all cases.\n\n",
             name_of(l.by), what) +
         change_markdown(l.in_sample, l.left_out, true);
}

/// The errors without the level of each site, and how levels relate to causes that a scenario can state.
std::string levels_markdown(const LeaveOneOut& l) {
  std::string out =
      "\n## The site's level\n\n"
      "This section uses the systems left out by site. It shows their median error over systems in %: as forecast, "
      "with one free factor\nper system (in which each band counts equally), and with one free factor per band. What "
      "the factors remove is the site's level. The\nrest is the shape of its size sweep. In 90 % of systems, the "
      "level is within the percentage of the last line: that is the spread\nof sites.\n\n" +
      head_markdown();
  const auto line = [&](std::string_view name, const BandValues& values) {
    out += line_markdown(name, [&](std::size_t b) { return fmt::format(" {:.1f} |", 100 * values[b]); });
  };
  line("as forecast", l.levels.as_is);
  line("one factor per system", l.levels.one_factor);
  line("one factor per band", l.levels.factor_per_band);
  line("90 % of levels are within", l.levels.nine_of_ten);
  out +=
      "\nThe next table shows causes that a scenario can state. Each cell is the median level of the systems with the "
      "cause / of the other\nsystems, in % (+: the forecast is too slow), with the numbers of systems in parentheses. "
      "If both levels are similar, the cause\nexplains nothing that the models do not already contain.\n\n" +
      head_markdown();
  for (const LevelCause& c : l.causes)
    out += line_markdown(c.name, [&](std::size_t b) {
      return fmt::format(" {:+.1f} ({}) / {:+.1f} ({}) |", 100 * c.with[b], c.having[b], 100 * c.without[b],
                         c.other[b]);
    });
  return out;
}

std::string calibrated_markdown(const Calibrated& c) {
  constexpr bool mean = false;
  std::string out =
      "\n## Errors of calibrated systems, in %\n\n"
      "Each cell shows before > after a calibration with some of the system's own measurements. The calibration "
      "starts from the fit that\nhas not seen the system. The remaining measurements of the system are forecast.\n";
  out += "\n### Larger jobs, calibrated with jobs of one and two nodes\n\n" +
         change_markdown(c.larger_before, c.larger_after, mean);
  out += fmt::format(
      "\nMedian over systems: below 1 MiB {:.1f} > {:.1f} %, from 1 MiB on {:.1f} > {:.1f} %. If a system has several "
      "settings\n(alcf-polaris: five; abci2-a: a fabric that other jobs load), one set of parameters is fitted to all "
      "of them.\n",
      100 * c.larger_halves_before[0], 100 * c.larger_halves_after[0], 100 * c.larger_halves_before[1],
      100 * c.larger_halves_after[1]);
  return out + "\n### Every third size, calibrated with the other sizes\n\n" +
         change_markdown(c.sizes_before, c.sizes_after, mean);
}

}  // namespace

std::string validation_markdown(const Validation& v, const Hardware& hardware) {
  std::string out =
      "# Validation\n\n"
      "This page compares forecasts of collectives with measured cases. The cases and their sources are in\n"
      "`calibrate/data/cases.json`. The error of a row is |ln(forecast / measured)|. The error of a system in a size "
      "band is\n"
      "exp(median over its rows) - 1. Each system counts once in each band. The sign after an error shows whether "
      "most forecasts are\n"
      "above (+) or below (-) the measurement.\n\n"
      "Written by `fabricast calibrate validate --leave-out site --leave-out kind --markdown docs/validation.md`; "
      "you can run it again.\n" +
      short_markdown(v) + beside_nccl_markdown(v) +
      "\n## Errors by system, in %\n\nThe number of rows is in parentheses.\n\n" + head_markdown();
  for (const auto& [system, cells] : v.errors.systems)
    out += line_markdown(system, [&own = cells](std::size_t b) {
      return own[b].rows ? fmt::format(" {:.1f}{} ({}) |", 100 * own[b].error, own[b].bias > 0 ? '+' : '-', own[b].rows)
                         : std::string(" |");
    });
  out += summary_markdown("median over systems", v.errors.median) + interval_markdown(v.errors) +
         summary_markdown("mean", v.errors.mean) + summary_markdown("worst decile", v.errors.worst_decile);
  out +=
      fmt::format("\n{} rows of {} cases are counted. In {} of them, another algorithm stands in for NCCL's choice.\n",
                  v.errors.rows, v.cases.size(), v.stand_ins);
  for (const LeaveOneOut& l : v.leave_out) out += leave_out_markdown(l);
  for (const LeaveOneOut& l : v.leave_out)
    // Only for sites: left out by kind, an error is of the hardware and not of the site.
    if (l.by == LeftOut::site) out += levels_markdown(l);
  if (v.calibrated) out += calibrated_markdown(*v.calibrated);
  out += directions_markdown(v.pairs);
  out +=
      "\n## Parameters\n\nAll parameters that the forecasts above depend on. Systems of one kind share them.\n\n| "
      "parameter | value | interval | unit | source |\n|---|---|---|---|---|\n";
  Hardware copy = hardware;
  for (const auto& [path, p] : copy.all_parameters())
    if (!path.starts_with("compute."))  // no collective computes
      out += fmt::format("| `{}` | {:.4g} | {:.4g} to {:.4g} | {} | {} |\n", path, p.parameter->value, p.parameter->low,
                         p.parameter->high, p.unit, p.parameter->source);
  return out;
}

}  // namespace fabricast
