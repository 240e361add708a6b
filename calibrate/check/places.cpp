// Locates the slow host or NIC among several runs of one test. It uses no forecast: runs of one scenario differ only by
// the hosts that took part, so forecast errors cancel in their ratios.
#include "places.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "../validate/median.hpp"

namespace fabricast {

namespace {

constexpr double least_slower = 0.05, scatters = 4;

/// ln of the slowdown of each series relative to the median of its group; the median over sizes.
std::vector<double> slower(const std::vector<MeasuredSeries>& series, const std::vector<SeriesGroup>& groups) {
  std::vector<double> list(series.size(), 0);
  for (const SeriesGroup& group : groups)
    for (const std::size_t member : group.members) {
      std::vector<double> logs;
      // The median over sizes ignores single outliers and sizes at which a slow NIC does not show.
      for (std::size_t i = 0; i < group.middle.times.size(); ++i)
        logs.push_back(std::log(series[member].times[i] / group.middle.times[i]));
      list[member] = median_of(logs);
    }
  return list;
}

using Label = std::pair<std::string, std::string>;  // kind and name

std::vector<Label> labels_of(const MeasuredSeries& series) {
  std::vector<Label> labels;
  for (const std::string& host : series.hosts) labels.emplace_back("host", host);
  for (const std::string& nic : series.nics) labels.emplace_back("NIC", nic);
  // A log that names no host can still be pointed out as a whole.
  if (labels.empty()) labels.emplace_back("log", series.from);
  return labels;
}

/// The median absolute deviation, because a second slow host among the other runs must not inflate the scatter.
double scatter_of(const std::vector<double>& values) {
  const double middle = median_of(values);
  std::vector<double> off;
  for (const double value : values) off.push_back(std::abs(value - middle));
  constexpr double of_normal = 1.4826;  // standard deviation over median absolute deviation, for a normal distribution
  return of_normal * median_of(off);
}

}  // namespace

std::vector<SeriesGroup> grouped(const std::vector<MeasuredSeries>& series) {
  std::vector<SeriesGroup> groups;
  std::map<std::string, std::size_t> number;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto [it, fresh] = number.try_emplace(to_yaml(series[i].scenario), groups.size());
    if (fresh) groups.push_back({series[i], {}});
    groups[it->second].members.push_back(i);
  }
  for (SeriesGroup& group : groups)
    for (std::size_t row = 0; row < group.middle.times.size(); ++row) {
      std::vector<double> seconds;
      for (const std::size_t member : group.members) seconds.push_back(series[member].times[row].value);
      group.middle.times[row] = Seconds{median_of(seconds)};
    }
  return groups;
}

std::vector<SlowPlace> places_of(const std::vector<MeasuredSeries>& series, const std::vector<SeriesGroup>& groups) {
  const std::vector<double> logs = slower(series, groups);
  std::map<Label, std::vector<std::size_t>> with;
  for (const SeriesGroup& group : groups)
    if (group.members.size() > 1)
      for (const std::size_t member : group.members)
        for (const Label& place : labels_of(series[member])) with[place].push_back(member);
  std::vector<SlowPlace> places;
  for (const auto& [place, members] : with) {
    std::vector<double> here, elsewhere;
    for (const SeriesGroup& group : groups) {
      // A scenario with one run has nothing to compare with. Its slowdown is zero by construction.
      if (group.members.size() < 2) continue;
      for (const std::size_t i : group.members)
        (std::find(members.begin(), members.end(), i) == members.end() ? elsewhere : here).push_back(logs[i]);
    }
    // A place that is in all runs cannot be distinguished from the rest of the cluster.
    if (elsewhere.empty()) continue;
    const double more = median_of(here) - median_of(elsewhere);
    // Even its fastest run must be slow. A run that another host slows down does not incriminate this one.
    const double least = *std::min_element(here.begin(), here.end()) - median_of(elsewhere);
    const double enough = std::max(std::log1p(least_slower), scatters * scatter_of(elsewhere));
    if (more > enough && least > enough / 2)
      places.push_back({place.first, place.second, std::exp(more), here.size(), elsewhere.size()});
  }
  // Hosts that share slow runs: the one in most of them comes first.
  std::stable_sort(places.begin(), places.end(), [](const SlowPlace& a, const SlowPlace& b) {
    return a.with != b.with ? a.with > b.with : a.ratio > b.ratio;
  });
  return places;
}

}  // namespace fabricast
