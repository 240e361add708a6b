#include "fabricast/calibrate/terms.hpp"

#include <catch2/catch.hpp>
#include <set>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

TEST_CASE("patterns name the parameters of all sets of a section", "[calibrate]") {
  CHECK(names_parameter("networks.*.message", "networks.efa.message"));
  CHECK(!names_parameter("networks.*.message", "networks.efa.message_threshold"));
  CHECK(!names_parameter("networks.*.message", "architectures.volta.message"));
  CHECK(names_parameter("software.both_ways", "software.both_ways"));
  CHECK(!names_parameter("software.both_ways", "software.both_ways_too"));
}

TEST_CASE("each term takes parameters away that are there, and none twice", "[calibrate]") {
  std::set<std::string> all;
  for (const ModelTerm& term : model_terms()) {
    INFO(term.name);
    Hardware hardware = prior_hardware();
    CHECK((take_away(hardware, term) > 0) != term.pooling);
    CHECK(take_away(hardware, term) == 0);
    for (const auto& [pattern, value] : term.absent) CHECK(all.insert(std::string(pattern)).second);
  }
}

TEST_CASE("what a term's parameters say is not asked once it is taken away", "[calibrate]") {
  Hardware hardware = prior_hardware();
  const ModelTerm& term = model_terms().front();
  REQUIRE(term.name == "slice");
  take_away(hardware, term);
  CHECK(hardware.find("architectures.hopper.slice")->value == 0);
  CHECK(hardware.find("architectures.hopper.hop_ll")->value > 0);
}

/// All-reduces and broadcasts of a system, as these parameters forecast them.
std::vector<MeasuredCase> cases_of(const std::string& system, const Hardware& truth) {
  std::vector<MeasuredCase> cases;
  for (const char* op : {"all_reduce", "all_gather"}) {
    MeasuredCase c;
    c.id = system + "-" + op, c.system = c.site = system, c.collective = op, c.gpu = "h100-sxm";
    c.intranode = "nvswitch", c.gpus_per_node = 8;
    c.harness = {{"tool", "isolated"}};
    for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 28}) c.rows.push_back({bytes, 1});
    const ForecastOfCase forecast = CaseRunner(c).run(truth);
    for (std::size_t i = 0; i < c.rows.size(); ++i) c.rows[i].time_us = microseconds(forecast.rows[i].forecast);
    cases.push_back(std::move(c));
  }
  return cases;
}

TEST_CASE("a term that made the measurements helps, and one that no row uses does not", "[calibrate]") {
  Hardware truth = prior_hardware();
  truth.find("software.channel_launch")->value *= 10;
  std::vector<MeasuredCase> cases;
  for (const char* system : {"a", "b", "c", "d", "e"})
    for (MeasuredCase& c : cases_of(system, truth)) cases.push_back(std::move(c));
  FitOptions options;
  options.parameters = {"software"};
  options.prior_weight = 1e-9, options.iterations = 20;
  double share = 0;
  const TermStudy study = study_terms(cases, prior_hardware(), options, [&](double done) {
    CHECK(done >= share);
    share = done;
  });
  CHECK(share == 1);
  CHECK(study.median[0] < 0.01);
  for (const TermWorth& worth : study.terms) {
    INFO(worth.term->name);
    if (worth.term->name == "channel launch") {
      REQUIRE(worth.interval[0]);
      CHECK(worth.interval[0]->low > 0.05);
    }
    if (worth.term->name == "rendezvous") CHECK(worth.gain[0] == Approx(0).margin(1e-12));
  }
  const std::string text = terms_text(study), page = terms_markdown(study);
  CHECK(text.find("channel launch") != std::string::npos);
  CHECK(page.find("| channel launch | each channel adds to a launch | 2 |") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
