#include <fmt/format.h>

#include "fabricast/calibrate/validate.hpp"

namespace fabricast {

namespace {

std::string head_markdown() {
  std::string out = "| system |";
  for (const Band& b : bands) out += fmt::format(" {} |", b.name);
  return out + "\n|---|---|---|---|---|\n";
}

/// One line of a table: a name, and what `value` says of each band.
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

/// Errors before > after, by system and over all; with intervals in `after` alone, of these only what is then.
std::string change_markdown(const ErrorTable& before, const ErrorTable& after, bool mean) {
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

/// The first screen: what forecasts err on systems that the fit has seen, and on those it has not.
std::string short_markdown(const Validation& v) {
  const auto line = [](std::string_view name, const ErrorTable& t) {
    return line_markdown(name, [&](std::size_t b) {
      return fmt::format(" **{:.1f}** ({}), {:.0f} |", 100 * t.median[b], percent_text(t.median_interval[b]),
                         100 * t.worst_decile[b]);
    });
  };
  std::string out =
      "\n## In short\n\nMedian error over systems in %, its 90 % interval (by a bootstrap over systems), and the worst "
      "decile of systems.\n\n" +
      head_markdown();
  for (const LeaveOneOut& l : v.leave_out)
    out += line(fmt::format("left out of the fit by {}", name_of(l.by)), l.left_out);
  out += line("in the fit", v.errors);
  if (v.leave_out.empty()) return out;
  return out +
         "\nA cluster of your own will fall where systems left out do: by site if machines of its kind (GPU generation "
         "and "
         "network)\nare among those measured, by kind if not. Measurements of its own bring it further: "
         "[tutorial 5](tutorial/5-trust.md).\n";
}

/// Errors of both on the same rows, and in how many cells ours is the smaller one.
std::string beside_nccl_markdown(const Validation& v) {
  std::string out =
      "\n## Beside NCCL's own estimate\n\nNCCL chooses by a cost model of its own (`explain --json` prints its "
      "estimates). "
      "Median error over systems in %, on the rows for which it\nmakes an estimate (all but sends and receives): ours "
      "/ "
      "NCCL's, and the share of systems in which ours is nearer to the measurement.\n\n" +
      head_markdown();
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
             "In sample > left out. For {} all parameters are fitted anew from their priors to the cases of\n"
             "the others, and its own are forecast with them. The first number is of a fit to all.\n\n",
             name_of(l.by), what) +
         change_markdown(l.in_sample, l.left_out, true);
}

/// What a site's own level leaves, and which causes that can be stated go with it.
std::string levels_markdown(const LeaveOneOut& l) {
  std::string out =
      "\n## The site's level\n\n"
      "Of systems left out by site: median over systems of their errors in %, as forecast, with one free factor for a "
      "whole system\n(in which each band counts alike), and with one for each band. What the factors take away is the "
      "site's level; the rest is the\nshape of its curve. Nine of ten systems have a level within the last line's "
      "percentage of the forecast: that is the site's spread.\n\n" +
      head_markdown();
  const auto line = [&](std::string_view name, const BandValues& values) {
    out += line_markdown(name, [&](std::size_t b) { return fmt::format(" {:.1f} |", 100 * values[b]); });
  };
  line("as forecast", l.levels.as_is);
  line("one factor for a system", l.levels.one_factor);
  line("one for each band", l.levels.factor_per_band);
  line("level of nine in ten", l.levels.nine_of_ten);
  out +=
      "\nCauses that a scenario can state: median level of the systems that have it, and of the others, in % (+: "
      "forecast too slow), with\ntheir numbers. Where both are alike, the cause explains nothing that the models do "
      "not "
      "have.\n\n" +
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
      "Before > after calibration with some of a system's own measurements, which starts from the fit that has not "
      "seen the system.\nThe others of its measurements are forecast.\n";
  out +=
      "\n### Larger jobs, by those of one and two nodes\n\n" + change_markdown(c.larger_before, c.larger_after, mean);
  out += fmt::format(
      "\nMedian over systems: below 1 MiB {:.1f} > {:.1f} %, from 1 MiB on {:.1f} > {:.1f} %. Where a system has "
      "several settings (alcf-polaris: five,\nabci2-a: a fabric that others load) one set of parameters is fitted to "
      "all.\n",
      100 * c.larger_halves_before[0], 100 * c.larger_halves_after[0], 100 * c.larger_halves_before[1],
      100 * c.larger_halves_after[1]);
  return out + "\n### Every third size, by the other sizes\n\n" + change_markdown(c.sizes_before, c.sizes_after, mean);
}

}  // namespace

std::string validation_markdown(const Validation& v, const Hardware& hardware) {
  std::string out =
      "# Validation\n\n"
      "Written by `fabricast calibrate validate --leave-out site --leave-out kind --markdown docs/validation.md`; "
      "anyone "
      "can run it again.\n\n"
      "Error of a row: |ln(forecast / measured)|; of a system in a band: exp(median over its rows) - 1. Each system "
      "counts once in each\n"
      "band. The sign tells whether forecasts are mostly above (+) or below (-) the measurement. The measured cases "
      "and\n"
      "their sources are in `calibrate/data/cases.json`.\n" +
      short_markdown(v) + beside_nccl_markdown(v) + "\n## Errors by system, in %\n\n" + head_markdown();
  for (const auto& [system, cells] : v.errors.systems)
    out += line_markdown(system, [&own = cells](std::size_t b) {
      return own[b].rows ? fmt::format(" {:.1f}{} ({}) |", 100 * own[b].error, own[b].bias > 0 ? '+' : '-', own[b].rows)
                         : std::string(" |");
    });
  out += summary_markdown("median over systems", v.errors.median) + interval_markdown(v.errors) +
         summary_markdown("mean", v.errors.mean) + summary_markdown("worst decile", v.errors.worst_decile);
  out +=
      fmt::format("\n{} rows of {} cases are counted; in {} of them another algorithm stands in for NCCL's choice.\n",
                  v.errors.rows, v.cases.size(), v.stand_ins);
  for (const LeaveOneOut& l : v.leave_out) out += leave_out_markdown(l);
  for (const LeaveOneOut& l : v.leave_out)
    if (l.by == LeftOut::site) out += levels_markdown(l);
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
