// Learns the structure and then the scale of the distribution of forecast errors; see residuals.hpp.
//
// Both steps maximize a posterior density: minus its logarithm is passed to L-BFGS (minimize.hpp). They are separate,
// because in the second each system counts once in each size band, however many rows it has, which a joint density of
// all rows cannot express.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/calibrate/residuals.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/thin.hpp"
#include "minimize.hpp"

namespace fabricast {

namespace {

/// Degrees of freedom while the structure is learned. Heavy tails let each system have its own scale.
constexpr double structure_freedom = 4;
constexpr std::size_t most_rows = 50;  ///< of a system; the density is cubic in their number
constexpr int structure_evaluations = 40, scale_evaluations = 200;

/// At most `most_rows` rows of a system, evenly spaced.
SystemResiduals part_of(const SystemResiduals& whole) {
  SystemResiduals part{whole.system, whole.site, {}, {}, {}};
  for (const std::size_t i : thinned(whole.rows.size(), most_rows)) {
    part.rows.push_back(whole.rows[i]);
    part.logs.push_back(whole.logs[i]);
  }
  return part;
}

/// Number of parameters of the correlation; the deviations of the groups follow them in the vector of logarithms.
constexpr std::size_t shape_count = 7;
std::vector<double> point_of(const ResidualModel& m) {
  std::vector<double> x = {m.octaves, m.plan, m.nodes, m.node_octaves, m.series, m.row, m.host.value};
  x.insert(x.end(), m.groups.begin(), m.groups.end());
  // All parameters are positive, and in logarithms of similar size.
  for (double& value : x) value = std::log(value);
  return x;
}

ResidualModel model_at(const std::vector<double>& x) {
  ResidualModel m;
  const auto at = [&](std::size_t i) { return std::exp(x[i]); };
  m.octaves = at(0);
  m.plan = at(1);
  m.nodes = at(2);
  m.node_octaves = at(3);
  m.series = at(4);
  m.row = at(5);
  m.host.value = at(6);
  for (std::size_t g = 0; g < m.groups.size(); ++g) m.groups[g] = at(shape_count + g);
  m.freedom = structure_freedom;
  return m;
}

/// The centre of the prior.
ResidualModel prior_model() {
  ResidualModel m;
  // Judgement: errors change slowly over the sizes, all kinds of similarity matter alike, and a group of parameters
  // differs by 15 % between sites.
  m.octaves = 12;
  m.plan = m.nodes = m.series = 1;
  m.node_octaves = 1.5;
  m.row = 0.05;
  m.host.value = 2e-6;
  m.groups.fill(0.15);
  return m;
}

double squares(const std::vector<double>& x, const std::vector<double>& from) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - from[i]) * (x[i] - from[i]);
  return sum;
}

ResidualModel learn_structure(const std::vector<SystemResiduals>& systems, const std::vector<double>& start,
                              int evaluations) {
  // The density costs the cube of the number of rows, for each of the dozens of evaluations of a gradient.
  std::vector<SystemResiduals> few;
  for (const SystemResiduals& s : systems) few.push_back(part_of(s));
  const std::vector<double> prior = point_of(prior_model());
  const auto loss = [&](const std::vector<double>& x) {
    const ResidualModel model = model_at(x);
    // Standard normal in the logarithms around prior_model().
    double sum = squares(x, prior) / 2;
    // Rows of a system are correlated, so the weight of a system grows less than its number of rows.
    constexpr double full_weight = 20;
    for (const SystemResiduals& s : few) {
      const double weight = std::sqrt(std::min(1.0, full_weight / static_cast<double>(s.rows.size())));
      sum -= weight * log_density(model, s.rows, s.logs);
    }
    return sum;
  };
  return model_at(minimize(loss, start, evaluations));
}

// z = [knots | two ends of each kind | two ends of each family | ln(nu - 1)]
constexpr std::size_t knot_count = 5, kind_count = EnumNames<ResidualKind>::names.size(),
                      family_count = EnumNames<ResidualFamily>::names.size();
constexpr std::size_t scale_count = knot_count + 2 * kind_count + 2 * family_count;

ResidualScale scale_at(const std::vector<double>& z) {
  ResidualScale scale;
  auto next = z.begin();
  for (double& knot : scale.knots) knot = *next++;
  for (auto& ends : scale.kinds)
    for (double& end : ends) end = *next++;
  for (auto& ends : scale.families)
    for (double& end : ends) end = *next++;
  return scale;
}

/// nu > 1, so that the distribution has a mean.
double freedom_at(const std::vector<double>& z) { return 1 + std::exp(z[scale_count]); }

void learn_scale(ResidualModel& model, const std::vector<SystemResiduals>& systems) {
  model.scale = {};
  struct Row {
    const ResidualRow* row;
    double unit, log, weight;
  };
  std::vector<Row> rows;
  const SiteResiduals nothing(model, {}, {});
  for (const SystemResiduals& s : systems) {
    std::array<double, bands.size()> count{};
    for (const ResidualRow& row : s.rows) ++count[band_of(row.bytes)];
    // `unit` is the scale by the structure alone. Rows of a system and band share a weight of 1.
    for (std::size_t i = 0; i < s.rows.size(); ++i)
      rows.push_back({&s.rows[i], nothing.of(s.rows[i]).scale, s.logs[i], 1 / count[band_of(s.rows[i].bytes)]});
  }
  const auto loss = [&](const std::vector<double>& z) {
    const ResidualScale scale = scale_at(z);
    const double nu = freedom_at(z);
    // ln of the normalization of Student's t density with nu degrees of freedom.
    const double constant = std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2) - std::log(nu * M_PI) / 2;
    double sum = 0;
    for (std::size_t k = knot_count; k < scale_count; ++k) {
      constexpr double alike = 0.7;  // standard deviation of ln of the factors of kinds and families
      sum += z[k] * z[k] / (2 * alike * alike);
    }
    for (const Row& row : rows) {
      const double deviation = row.unit * std::exp(log_scale(scale, *row.row)), off = row.log / deviation;
      sum -= row.weight * (constant - std::log(deviation) - (nu + 1) / 2 * std::log1p(off * off / nu));
    }
    return sum;
  };
  std::vector<double> start(scale_count + 1, 0.0);
  // nu = 3.
  start[scale_count] = std::log(2.0);
  const std::vector<double> best = minimize(loss, start, scale_evaluations);
  model.scale = scale_at(best);
  model.freedom = freedom_at(best);
}

}  // namespace

std::vector<SystemResiduals> residuals_of(const std::vector<CaseResult>& results,
                                          const std::vector<MeasuredCase>& cases) {
  std::map<std::string, std::string> sites;
  for (const MeasuredCase& c : cases) sites[c.system] = c.site;
  std::map<std::string, SystemResiduals> systems;
  for (const CaseResult& result : results) {
    SystemResiduals& s = systems[result.system];
    s.system = result.system;
    s.site = sites.at(result.system);
    for (std::size_t i = 0; i < result.forecast.residuals.size(); ++i) {
      const ForecastOfCase::Row& row = result.forecast.rows[i];
      // The error of a stand-in says nothing about the algorithm that ran.
      if (!row.served) continue;
      s.rows.push_back(result.forecast.residuals[i]);
      s.logs.push_back(std::log(row.measured / row.forecast));
      s.cases.push_back(static_cast<std::size_t>(&result - results.data()));
    }
  }
  std::vector<SystemResiduals> list;
  for (auto& [name, s] : systems)
    if (!s.rows.empty()) list.push_back(std::move(s));
  return list;
}

ResidualModel learn_residuals(const std::vector<SystemResiduals>& systems) {
  ResidualModel model = learn_structure(systems, point_of(prior_model()), structure_evaluations);
  learn_scale(model, systems);
  return model;
}

LeftOutErrors left_out_errors(const std::vector<CaseResult>& results, const std::vector<MeasuredCase>& cases) {
  constexpr std::size_t folds = 5;
  constexpr int few_evaluations = 12;
  LeftOutErrors errors;
  errors.systems = residuals_of(results, cases);
  errors.all = learn_residuals(errors.systems);
  std::set<std::string> sites;
  for (const SystemResiduals& s : errors.systems) sites.insert(s.site);
  const auto fold_of = [&](const SystemResiduals& s) {
    return static_cast<std::size_t>(std::distance(sites.begin(), sites.find(s.site))) % folds;
  };
  const std::vector<double> start = point_of(errors.all);
  std::vector<ResidualModel> by_fold;
  for (std::size_t fold = 0; fold < std::min(folds, sites.size()); ++fold) {
    std::vector<SystemResiduals> others;
    for (const SystemResiduals& s : errors.systems)
      if (fold_of(s) != fold) others.push_back(s);
    // Each fold starts at the structure of all systems, which moves little, so a few evaluations are enough.
    by_fold.push_back(others.empty() ? shipped_residuals() : learn_structure(others, start, few_evaluations));
    if (!others.empty()) learn_scale(by_fold.back(), others);
  }
  for (const SystemResiduals& s : errors.systems) errors.without.push_back(by_fold[fold_of(s)]);
  return errors;
}

void add_intervals(std::vector<CaseResult>& results, const LeftOutErrors& errors) {
  std::map<std::string, SiteResiduals> of;
  for (std::size_t i = 0; i < errors.systems.size(); ++i)
    of.emplace(errors.systems[i].system, SiteResiduals(errors.without[i], {}, {}));
  for (CaseResult& result : results) {
    const auto it = of.find(result.system);
    if (it == of.end()) continue;
    for (std::size_t i = 0; i < result.forecast.residuals.size(); ++i)
      result.forecast.rows[i].factor = std::exp(it->second.of(result.forecast.residuals[i]).half_width());
  }
}

}  // namespace fabricast
