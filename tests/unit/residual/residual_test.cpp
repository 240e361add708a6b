// The distribution of errors, against closed forms, against its own chain rule, and against samples that the test
// makes.
#include "fabricast/residual/residual.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

/// Nothing but a curve that fades over 10 octaves, alike in all rows of a site.
ResidualModel plain_model() {
  ResidualModel m;
  m.freedom = 3, m.curve = 0.3, m.octaves = 10, m.node_octaves = 1e9, m.row = 1e-9;
  m.plan = m.nodes = m.series = 1e-12;
  return m;
}

ResidualRow row_of(std::int64_t bytes, std::int64_t nodes = 2) {
  ResidualRow row;
  row.bytes = bytes, row.nodes = nodes, row.forecast.value = 1e-3;
  return row;
}

/// What is known of rows of which none is measured.
Residual unmeasured(const ResidualModel& model, const ResidualRow& row) { return SiteResiduals(model, {}, {}).of(row); }

TEST_CASE("without measurements a row is a Student t with the scale of its terms", "[residual]") {
  ResidualModel m = plain_model();
  // Of 3 degrees of freedom 90 % lie within 2.3534 [tables].
  CHECK(unmeasured(m, row_of(1024)).half_width() == Approx(0.3 * 2.3534).epsilon(1e-4));
  CHECK(unmeasured(m, row_of(1024)).half_width(0.99) == Approx(0.3 * 5.8409).epsilon(1e-4));
  m.host.value = 0.4e-3;
  CHECK(unmeasured(m, row_of(1024)).scale == Approx(0.5));  // 0.3, and 0.4 ms of 1 ms
  ResidualRow row = row_of(1024);
  row.effects[3] = 1, row.own[3] = 0.3, m.groups[3] = 0.4;  // together 0.5
  CHECK(unmeasured(m, row).scale == Approx(std::sqrt(0.5)));
  row.unstated = {{"node.gdr=off", 0.7}, {"node.cpu=amd", 0.1}};
  CHECK(unmeasured(m, row).scale == Approx(1));
  m.scale.families[0] = {std::log(2.0), std::log(2.0)};
  CHECK(unmeasured(m, row).scale == Approx(2));
  row.op = CollectiveOp::alltoall;
  CHECK(unmeasured(m, row).scale == Approx(1));
}

TEST_CASE("what two rows have in common cancels in their difference", "[residual]") {
  ResidualModel m = plain_model();
  m.row = 0.05;
  const ResidualRow a = row_of(1 << 10), b = row_of(1 << 20);
  const double rho = std::exp(-1.0);  // ten octaves apart
  const SiteResiduals nothing(m, {}, {});
  CHECK(nothing.of_difference(a, b).scale == Approx(std::sqrt(2 * 0.09 * (1 - rho) + 2 * 0.0025)));
  CHECK(nothing.of_difference(a, a).scale == Approx(std::sqrt(2 * 0.0025)));
  // A parameter on which both depend alike adds nothing, and one on which they depend in opposite ways four times.
  ResidualRow c = a, d = b;
  c.effects[2] = d.effects[2] = 1, c.own[2] = d.own[2] = 0.4;
  CHECK(nothing.of_difference(c, d).scale == Approx(nothing.of_difference(a, b).scale));
  d.effects[2] = -1;
  const double opposite =
      std::pow(nothing.of_difference(c, d).scale, 2) - std::pow(nothing.of_difference(a, b).scale, 2);
  CHECK(opposite == Approx(4 * 0.16));
  // With measured rows: var(a - b) = 2 var(a) + 2 var(b) - 4 var((a + b) / 2), whatever is known.
  const SiteResiduals site(m, {row_of(1 << 12), row_of(1 << 24)}, {0.2, -0.1});
  const auto square = [](const Residual& r) { return r.scale * r.scale; };
  const Residual apart = site.of_difference(a, b);
  CHECK(square(apart) == Approx(2 * square(site.of(a)) + 2 * square(site.of(b)) - 4 * square(site.of_mean({a, b}))));
  CHECK(apart.median == Approx(site.of(a).median - site.of(b).median));
  CHECK(site.of_difference(b, a).median == Approx(-apart.median));
}

TEST_CASE("one measured row informs another by their similarity", "[residual]") {
  const ResidualModel m = plain_model();
  const ResidualRow a = row_of(1 << 10), b = row_of(1 << 20);
  const double rho = std::exp(-1.0), y = 0.6;  // ten octaves apart
  const SiteResiduals site(m, {a}, {y});
  const Residual r = site.of(b);
  CHECK(r.median == Approx(rho * y));
  CHECK(r.freedom == Approx(4));
  // Conditional of a bivariate t: the distance of what was measured widens or narrows what is left [Shah2014].
  const double distance = y * y / 0.09;
  CHECK(r.scale == Approx(0.3 * std::sqrt((1 - rho * rho) * (3 + distance) / 4)));
  CHECK(r.stated == Approx(rho * rho));
  const Residual same = site.of(a);
  CHECK(same.median == Approx(y));
  CHECK(same.scale == Approx(0).margin(1e-6));
}

TEST_CASE("rows are correlated by what they have in common", "[residual]") {
  ResidualModel m = plain_model();
  m.plan = m.nodes = m.series = 1;
  const ResidualRow a = row_of(1024);
  const auto stated = [&](const ResidualRow& b) { return SiteResiduals(m, {a}, {0.1}).of(b).stated; };
  ResidualRow other_plan = a, other_series = a, other_nodes = row_of(1024, 4), alone = row_of(1024, 1);
  other_plan.algorithm = Algorithm::tree, other_series.series = 7;
  CHECK(stated(a) == Approx(1).margin(1e-6));
  CHECK(stated(other_plan) == Approx(9. / 16));
  CHECK(stated(other_series) == Approx(9. / 16));
  m.node_octaves = 1;
  CHECK(stated(other_nodes) == Approx(std::pow((3 + std::exp(-1.0)) / 4, 2)));
  CHECK(stated(alone) == Approx(std::pow((3 + std::exp(-1.0) / 2) / 4, 2)));
}

TEST_CASE("densities obey the chain rule", "[residual]") {
  ResidualModel m = plain_model();
  m.row = 0.05, m.host.value = 1e-4, m.freedom = 2.5;
  const std::vector<ResidualRow> rows = {row_of(8), row_of(4096, 8), row_of(1 << 24)};
  const std::vector<double> logs = {0.4, -0.2, 0.05};
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<ResidualRow> known(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<double> y(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(i));
    const Residual r = SiteResiduals(m, known, y).of(rows[i]);
    const double z = (logs[i] - r.median) / r.scale, nu = r.freedom;
    sum += std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2) - std::log(nu * M_PI) / 2 - std::log(r.scale) -
           (nu + 1) / 2 * std::log1p(z * z / nu);
  }
  CHECK(log_density(m, rows, logs) == Approx(sum));
  // A site that is ten times as far off as others would be likelier for logs that are ten times as large.
  std::vector<double> far = logs;
  for (double& y : far) y *= 10;
  CHECK(log_density(m, rows, far, 10) == Approx(sum - 3 * std::log(10.0)));
}

TEST_CASE("intervals cover the stated fraction of synthetic samples", "[residual]") {
  ResidualModel m = plain_model();
  m.row = 0.05, m.freedom = 4;
  const std::vector<ResidualRow> measured = {row_of(8), row_of(1 << 16)};
  const ResidualRow asked = row_of(1 << 20);
  Rng rng(1);
  // A Markov process along the octaves: each value from the one before.
  const double near = std::exp(-1.3), next = std::exp(-0.4);
  int inside = 0;
  constexpr int samples = 20000;
  for (int i = 0; i < samples; ++i) {
    double squares = 0;
    for (int k = 0; k < 4; ++k) squares += std::pow(rng.normal(), 2);
    const double wide = std::sqrt(4 / squares);
    const double a = 0.3 * rng.normal(), b = near * a + 0.3 * std::sqrt(1 - near * near) * rng.normal(),
                 c = next * b + 0.3 * std::sqrt(1 - next * next) * rng.normal();
    const auto seen = [&](double x) { return wide * (x + 0.05 * rng.normal()); };
    const double ya = seen(a), yb = seen(b), yc = seen(c);
    const Residual r = SiteResiduals(m, measured, {ya, yb}).of(asked);
    inside += std::abs(yc - r.median) <= r.half_width() ? 1 : 0;
  }
  CHECK(static_cast<double>(inside) / samples == Approx(0.9).margin(0.008));
}

TEST_CASE("groups cover every parameter of collectives once", "[residual]") {
  Hardware h = shipped_hardware();
  for (const auto& [path, ref] : h.all_parameters()) {
    CAPTURE(path);
    int groups = 0;
    for (const ParameterGroup& group : parameter_groups) groups += has_parameter(group, path) ? 1 : 0;
    const bool of_steps = path.starts_with("stacks.") || path.starts_with("compute.") || path.starts_with("serving.") ||
                          path.starts_with("forecast.");
    // The last three act only where `fabric.congestion` says so.
    const bool left_out = path.ends_with(".latency") || path.ends_with(".message_threshold") ||
                          path.ends_with(".contended_efficiency") || path.ends_with(".sprayed_efficiency") ||
                          path.ends_with(".queue");
    CHECK(groups == (of_steps || left_out ? 0 : 1));
  }
}

TEST_CASE("the model reads back as it was written", "[residual]") {
  const ResidualModel& m = shipped_residuals();
  const std::string text = residual_model_json(m, "test");
  CHECK(residual_model_json(residual_model_of(text, "m.json"), "test") == text);
  CHECK_THROWS_AS(residual_model_of("{\"freedom\": 3}", "m.json"), UserError);
  CHECK_THROWS_AS(residual_model_of("[", "m.json"), UserError);
}

}  // namespace
}  // namespace fabricast
