#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"

namespace fabricast {

StepValidation validate_steps(const std::vector<StepCase>& steps, const Hardware& hardware,
                              const std::function<void(double)>& progress) {
  StepValidation v;
  v.rows.resize(steps.size());
  std::size_t done = 0;
  std::mutex mutex;
  in_parallel(steps.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    const StepCase& c = steps[i];
    v.rows[i] = {c.id, c.source, c.seconds, StepRunner(c).seconds(hardware), c.held_out};
    if (!progress) return;
    const std::scoped_lock lock(mutex);
    progress(static_cast<double>(++done) / static_cast<double>(steps.size()));
  });
  return v;
}

std::vector<StepValidation::Summary> StepValidation::summaries(bool held_out) const {
  std::vector<Summary> list;
  for (const StepRow& row : rows) {
    if (row.held_out != held_out) continue;
    auto it = std::find_if(list.begin(), list.end(), [&](const Summary& s) { return s.source == row.source; });
    if (it == list.end()) it = list.insert(it, {row.source});
    ++it->rows;
    it->mean += std::abs(row.error()), it->bias += row.error();
    if (std::abs(row.error()) > std::abs(it->worst)) it->worst = row.error();
  }
  for (Summary& s : list) s.mean /= static_cast<double>(s.rows), s.bias /= static_cast<double>(s.rows);
  return list;
}

std::string steps_text(const StepValidation& v) {
  std::string out = "                           step   measured s   forecast s   error %\n";
  for (const StepRow& row : v.rows)
    out += fmt::format("{:>31} {:>12.4f} {:>12.4f} {:>9.1f}{}\n", row.id, row.measured, row.forecast, 100 * row.error(),
                       row.held_out ? "  held out" : "");
  for (const bool held_out : {false, true}) {
    out += fmt::format("\n{}\n                         source  rows   mean %  worst %   bias %\n",
                       held_out ? "held out of every fit" : "in the fit");
    for (const auto& s : v.summaries(held_out))
      out += fmt::format("{:>31} {:>5} {:>8.2f} {:>8.1f} {:>8.1f}\n", s.source, s.rows, 100 * s.mean, 100 * s.worst,
                         100 * s.bias);
  }
  return out;
}

}  // namespace fabricast
