// Reports of several jobs as text, JSON and CSV, all from one JobsForecast.
//
// Every table is about the same owners: jobs first, then flows, in the order of the scenario.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../../scenario/effective.hpp"
#include "../common/json_parts.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/jobs/jobs.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

// Differences below a millionth are rounding.
std::string gain_text(Seconds other, Seconds best) {
  if (other <= best * (1 + 1e-6)) return "none";
  return fmt::format("{:.1f} %", 100 * (1 - best / other));
}

std::vector<std::string> owner_names(const JobsForecast& f) {
  std::vector<std::string> names;
  for (const JobRow& row : f.jobs) names.push_back(row.name);
  for (const FlowRow& row : f.flows) names.push_back(row.name);
  return names;
}

std::size_t widest(const std::vector<std::string>& names, std::size_t least) {
  for (const std::string& name : names) least = std::max(least, name.size());
  return least;
}

/// What an owner does, and in which traffic class, if there are several.
template <class Row>
std::string what_text(const Row& row) {
  return row.traffic_class.empty() ? row.what : fmt::format("{} in class {}", row.what, row.traffic_class);
}

// `crossing` counts hops of a ring in rank order that leave a leaf, which explains most differences between placements.
std::string job_table(const JobsForecast& f) {
  std::vector<std::string> names = owner_names(f), whats;
  for (const JobRow& row : f.jobs) whats.push_back(what_text(row));
  for (const FlowRow& row : f.flows) whats.push_back(what_text(row));
  const std::size_t name = widest(names, 3), what = widest(whats, 4);
  std::string out = fmt::format(
      "#\n# {:<{}}  hosts leaves  crossing  {:<{}}      alone concurrent  slowdown  bound by, with all others\n", "job",
      name, "what", what);
  for (const JobRow& row : f.jobs)
    out += fmt::format("  {:<{}} {:>6} {:>6} {:>9}  {:<{}} {:>10} {:>10} {:>9.3f}  {}\n", row.name, name,
                       row.hosts.size(), row.shape.leaves, row.shape.leaf_hops, what_text(row), what,
                       short_text(row.alone.time), short_text(row.beside.time), row.slowdown(), row.beside.bottleneck);
  for (const FlowRow& row : f.flows)
    out += fmt::format("  {:<{}}  {:<{}}   {:.4g} of {:.4g} GB/s\n", row.name, name, what_text(row), what,
                       gigabytes_per_second(row.got), gigabytes_per_second(row.wanted));
  return out;
}

// Rows are jobs only: a flow has no time that could grow. 1.000 may mean that two owners share no link.
std::string matrix_table(const JobsForecast& f) {
  const std::vector<std::string> names = owner_names(f);
  if (names.size() < 2) return {};
  const std::size_t width = widest(names, 6);
  std::string out = fmt::format("#\n# slowdown of the row by the column alone\n  {:<{}}", "", width);
  for (const std::string& name : names) out += fmt::format(" {:>{}}", name, width);
  out += '\n';
  for (std::size_t i = 0; i < f.jobs.size(); ++i) {
    out += fmt::format("  {:<{}}", names[i], width);
    for (std::size_t o = 0; o < names.size(); ++o)
      out += i == o ? fmt::format(" {:>{}}", "-", width) : fmt::format(" {:>{}.3f}", f.slowdown[i][o], width);
    out += '\n';
  }
  return out;
}

// Above 100 % some owner waits. Below, owners may still wait while all of them send.
std::string link_table(const JobsForecast& f) {
  if (f.jobs.size() + f.flows.size() < 2) return {};
  if (f.links.empty()) return "#\n# no link is shared\n";
  const std::vector<std::string> names = owner_names(f);
  std::string out =
      fmt::format("#\n# shared links: {}, of which {} have a load above 100 %; the most loaded, averaged over time\n",
                  f.shared, f.contended);
  for (std::size_t i = 0; i < std::min<std::size_t>(f.links.size(), 5); ++i) {
    const SharedLink& link = f.links[i];
    out += fmt::format("  {:<24} {:>5.0f} %  ", link.name, 100 * link.load);
    std::vector<std::string> parts_of;
    for (std::size_t o = 0; o < names.size(); ++o)
      if (link.by_owner[o] > 0) parts_of.push_back(fmt::format("{} {:.0f} %", names[o], 100 * link.by_owner[o]));
    out += fmt::format("{}\n", fmt::join(parts_of, ", "));
  }
  return out;
}

// The table has a row per policy, the fastest first. The printed `--set` word moves the main job only; if others are
// placed by policies, they would move too, and the words that fix them are in JSON.
std::string placement_table(const World& world, const JobsForecast& f) {
  std::string out = fmt::format(
      "#\n# main on other hosts: {} of {} hosts are not taken by others\n"
      "# placement       leaves groups crossing      alone concurrent\n",
      f.free, f.hosts);
  for (const PlacementTrial& t : f.trials)
    out += fmt::format("{} {:<15} {:>6} {:>6} {:>8} {:>10} {:>10}\n", t.given ? '*' : ' ', name_of(t.placement),
                       t.shape.leaves, t.shape.groups, t.shape.leaf_hops, short_text(t.alone), short_text(t.beside));
  const PlacementTrial& best = f.trials.front();
  out += "# crossing: hops of a ring in rank order that leave a leaf; *: the scenario's own placement\n\n";
  out += fmt::format("recommended: {}{}, {} with the others running\n", name_of(best.placement),
                     best.given ? " (as it is)" : "", short_text(best.beside));
  // A few samples of the hash cannot tell placements apart that differ by less than launches do.
  if (const JobTime& own = f.jobs[0].beside; !best.given && f.samples_of_trials > 1 && best.beside >= own.time_p5)
    out += fmt::format("  no clear difference: launches with the scenario's own placement take {} to {}\n",
                       short_text(own.time_p5), short_text(own.time_worst));
  for (const Placement other : {Placement::in_order, Placement::random})
    out += fmt::format("  gain over {:<9} {}\n", name_of(other), gain_text(f.trial(other)->beside, best.beside));
  out += fmt::format("  gain over the same hosts in random rank order: {}\n", gain_text(f.shuffled, best.beside));
  const std::vector<std::string> words = placement_words(world, best.hosts);
  out += fmt::format("  --set '{}'\n", words.front());
  if (words.size() > 1) out += "  `recommended.set` in --json also fixes the hosts of the other jobs\n";
  return out;
}

// Only flows: jobs are peers, and a weight for one is a loss for another.
std::string apart_text(const JobsForecast& f) {
  if (!f.apart) return {};
  std::string out = fmt::format("flows in a separate traffic class: {} with the others running, gain {}\n",
                                short_text(f.apart->beside), gain_text(f.jobs[0].beside.time, f.apart->beside));
  for (const std::string& word : f.apart->set) out += fmt::format("  --set '{}'\n", word);
  return out;
}

Json time_json(const JobTime& t) {
  return {{"s", digits(t.time)},
          {"s_p5", digits(t.time_p5)},
          {"s_p95", digits(t.time_p95)},
          {"s_worst", digits(t.time_worst)},
          {"bottleneck", t.bottleneck}};
}

Json shape_json(const PlacementShape& shape) {
  return {{"leaves", shape.leaves},
          {"groups", shape.groups},
          {"leaf_hops", shape.leaf_hops},
          {"group_hops", shape.group_hops}};
}

}  // namespace

std::string jobs_text(const JobsForecast& f) {
  const World& world = f.world;
  const Scenario& s = world.scenario();
  std::string out = heading_line(s.name);
  out += fmt::format("# {} hosts, {} fabric, {} routing: {}{}\n", f.hosts, topologies()[s.fabric.kind].name,
                     world.setup().policy->name, counted(f.jobs.size(), "job"),
                     f.flows.empty() ? std::string() : ", " + counted(f.flows.size(), "background flow"));
  if (world.samples().count > 1)
    out += fmt::format("# medians of {} samples of the ECMP hash from seed {}; pairs and placements: {} samples\n",
                       world.samples().count, world.samples().first_seed, f.samples_of_trials);
  return out + job_table(f) + matrix_table(f) + link_table(f) + placement_table(world, f) + apart_text(f);
}

std::string jobs_json(const JobsForecast& f) {
  const World& world = f.world;
  Json j;
  j["fabricast"] = version_text();
  j["scenario"] = effective_json(world.scenario());
  j["fingerprint"] = fmt::format("{:016x}", f.fingerprint);
  j["hosts"] = f.hosts;
  j["free"] = f.free;
  j["samples"] = world.samples().count;
  j["samples_of_trials"] = f.samples_of_trials;
  Json jobs = Json::array(), flows = Json::array(), matrix = Json::array(), links = Json::array(),
       trials = Json::array();
  // Without classes there is no key, so that documents without them stay as they were.
  const auto add_class = [](Json& row, const std::string& name) {
    if (!name.empty()) row["class"] = name;
  };
  for (const JobRow& row : f.jobs) {
    jobs.push_back({{"name", row.name},
                    {"what", row.what},
                    {"order", row.hosts},
                    {"shape", shape_json(row.shape)},
                    {"alone", time_json(row.alone)},
                    {"beside", time_json(row.beside)},
                    {"slowdown", digits(row.slowdown())}});
    add_class(jobs.back(), row.traffic_class);
  }
  for (const FlowRow& row : f.flows) {
    flows.push_back({{"name", row.name},
                     {"what", row.what},
                     {"wanted_gbps", digits(gigabytes_per_second(row.wanted))},
                     {"got_gbps", digits(gigabytes_per_second(row.got))}});
    add_class(flows.back(), row.traffic_class);
  }
  for (const std::vector<double>& row : f.slowdown) {
    Json values = Json::array();
    for (const double value : row) values.push_back(digits(value));
    matrix.push_back(std::move(values));
  }
  for (const SharedLink& link : f.links) {
    Json by = Json::array();
    for (const double load : link.by_owner) by.push_back(digits(load));
    links.push_back({{"name", link.name}, {"load", digits(link.load)}, {"by_owner", std::move(by)}});
  }
  for (const PlacementTrial& t : f.trials)
    trials.push_back({{"placement", name_of(t.placement)},
                      {"given", t.given},
                      {"shape", shape_json(t.shape)},
                      {"alone_s", digits(t.alone)},
                      {"beside_s", digits(t.beside)},
                      {"order", t.hosts}});
  j["jobs"] = std::move(jobs);
  j["flows"] = std::move(flows);
  j["owners"] = owner_names(f);
  j["slowdown"] = std::move(matrix);
  j["shared_links"] = f.shared;
  j["contended_links"] = f.contended;
  j["links"] = std::move(links);
  j["placements"] = std::move(trials);
  j["recommended"] = {{"placement", name_of(f.trials.front().placement)},
                      {"set", placement_words(world, f.trials.front().hosts)},
                      {"beside_s", digits(f.trials.front().beside)},
                      {"shuffled_s", digits(f.shuffled)}};
  if (f.apart) j["flows_apart"] = {{"set", f.apart->set}, {"beside_s", digits(f.apart->beside)}};
  return j.dump(1) + "\n";
}

// One row per job, with a column per owner for the slowdown by it.
std::string jobs_csv(const JobsForecast& f) {
  std::string out = "job,what,nodes,leaves,leaf_hops,alone_s,beside_s,slowdown,bottleneck";
  const std::vector<std::string> names = owner_names(f);
  for (const std::string& name : names) out += ",beside_" + name;
  out += '\n';
  for (std::size_t i = 0; i < f.jobs.size(); ++i) {
    const JobRow& row = f.jobs[i];
    out += fmt::format("{},{},{},{},{},{:.10g},{:.10g},{:.10g},{}", row.name, row.what, row.hosts.size(),
                       row.shape.leaves, row.shape.leaf_hops, row.alone.time.value, row.beside.time.value,
                       row.slowdown(), row.beside.bottleneck);
    for (const double value : f.slowdown[i]) out += fmt::format(",{:.10g}", value);
    out += '\n';
  }
  return out;
}

}  // namespace fabricast
