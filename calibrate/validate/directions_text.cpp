// Counts of right directions, and the pairs that are wrong somewhere, as text and as a section of docs/validation.md.
#include <fmt/format.h>

#include <array>

#include "fabricast/calibrate/directions.hpp"

namespace fabricast {

namespace {

struct Counts {
  int pairs = 0, sizes = 0, right = 0, cross = 0, cross_right = 0;
  void add(const ConfigurationPair& p) {
    ++pairs;
    sizes += p.counted();
    right += p.right();
    cross += p.crossing_measured().has_value();
    cross_right += p.crossing_right();
  }
  double percent() const { return sizes ? 100.0 * right / sizes : 0; }
};

std::vector<std::pair<std::string, Counts>> counts_by_aspect(const std::vector<ConfigurationPair>& pairs) {
  std::map<std::string, Counts> by_aspect;
  Counts all;
  for (const ConfigurationPair& p : pairs) {
    by_aspect[p.aspect].add(p);
    all.add(p);
  }
  // The total comes last, whatever the names of the aspects.
  std::vector<std::pair<std::string, Counts>> list(by_aspect.begin(), by_aspect.end());
  list.emplace_back("all", all);
  return list;
}

/// A size to three digits: `96KiB`.
std::string about(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  // 1,000 to 1,023 of a unit have four digits before the point.
  return fmt::format("{:.{}g}{}", bytes, bytes >= 999.5 ? 4 : 3, units[unit]);
}

std::string named(const std::string& value) { return value.empty() ? "not set" : value; }

std::string crossing_of(const ConfigurationPair& p) {
  const auto measured = p.crossing_measured(), forecast = p.crossing_forecast();
  return measured ? about(*measured) + " / " + (forecast ? about(*forecast) : "none") : std::string();
}

bool is_wrong(const ConfigurationPair& p) {
  return p.right() < p.counted() || (p.crossing_measured() && !p.crossing_right());
}

/// Sizes at which the forecast has the wrong configuration faster, as ranges of neighbouring rows.
std::string wrong_sizes(const ConfigurationPair& p) {
  std::string out;
  for (std::size_t i = 0; i < p.rows.size(); ++i) {
    const auto wrong = [&](std::size_t k) { return p.rows[k].counts() && !p.rows[k].right(); };
    if (!wrong(i)) continue;
    std::size_t end = i;
    while (end + 1 < p.rows.size() && wrong(end + 1)) ++end;
    out += (out.empty() ? "" : ", ") + about(static_cast<double>(p.rows[i].bytes));
    if (end > i) out += " to " + about(static_cast<double>(p.rows[end].bytes));
    i = end;
  }
  return out;
}

}  // namespace

std::string directions_text(const std::vector<ConfigurationPair>& pairs) {
  if (pairs.empty()) return {};
  std::string out = fmt::format("{:<24}{:>6}{:>8}{:>8}{:>7}   crossings (within a factor 2)\n", "which is faster",
                                "pairs", "sizes", "right", "%");
  for (const auto& [aspect, c] : counts_by_aspect(pairs))
    out += fmt::format("{:<24}{:>6}{:>8}{:>8}{:>7.0f}   {} ({})\n", aspect, c.pairs, c.sizes, c.right, c.percent(),
                       c.cross, c.cross_right);
  for (const ConfigurationPair& p : pairs)
    if (is_wrong(p)) {
      out += fmt::format("wrong: {} {} {}: {}: {} or {}: {} of {} sizes", p.system, p.collective, p.where, p.aspect,
                         named(p.a), named(p.b), p.counted() - p.right(), p.counted());
      if (p.right() < p.counted()) out += ": " + wrong_sizes(p);
      if (const std::string crossing = crossing_of(p); !crossing.empty())
        out += "; crossing measured / forecast at " + crossing;
      out += "\n";
    }
  return out;
}

std::string directions_markdown(const std::vector<ConfigurationPair>& pairs) {
  std::string out =
      "\n## Which of two configurations is faster\n\n"
      "A pair is two measured configurations of one system that differ in one thing. A size counts if both measured it "
      "and if they\n"
      "differ by more than 10 %. A size is right if the forecast has the same configuration faster. A pair has a "
      "crossing if the faster\n"
      "configuration changes once with size. A crossing is right if the forecast also has one, within a factor of two "
      "of that size. If an\nalgorithm has no schedule yet, its stand-in is compared.\n\n"
      "| what differs | pairs | sizes | right | % | crossings | right |\n|---|---|---|---|---|---|---|\n";
  for (const auto& [aspect, c] : counts_by_aspect(pairs))
    out += fmt::format("| {} | {} | {} | {} | {:.0f} | {} | {} |\n", aspect, c.pairs, c.sizes, c.right, c.percent(),
                       c.cross, c.cross_right);
  out +=
      "\nPairs with a wrong size or crossing. Crossings: measured / forecast.\n\n"
      "| what differs | system | collective | where | pair | right | wrong at | crossing |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const ConfigurationPair& p : pairs)
    if (is_wrong(p))
      out += fmt::format("| {} | {} | {} | {} | {} or {} | {} of {} | {} | {} |\n", p.aspect, p.system, p.collective,
                         p.where, named(p.a), named(p.b), p.right(), p.counted(), wrong_sizes(p), crossing_of(p));
  return out;
}

}  // namespace fabricast
