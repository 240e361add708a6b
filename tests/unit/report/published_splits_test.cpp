// The search for splits, with steps that were published: the split of the authors is among those searched, and a split
// that is reported as faster is faster by the forecast of `run`.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "fabricast/core/file.hpp"
#include "fabricast/report/plan.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast {
namespace {

World published(const std::string& id) {
  const auto steps = nlohmann::json::parse(read_file(FABRICAST_SOURCE_DIR "/calibrate/data/steps.json"));
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& s) { return s.at("id") == id; });
  REQUIRE(found != steps.end());
  return build_world(parse_scenario(found->at("scenario").dump(), id).scenario);
}

TEST_CASE("a search finds the published split, or a faster one and its gain", "[plan]") {
  for (const std::string id : {"nemo-llama2-70b-64", "nemo-nemotron-22b-64", "korthikanti-175b-selective"}) {
    CAPTURE(id);
    const auto world = published(id);
    const PlanResult result = plan_parallel(world, 60);
    const auto own = std::find_if(result.rows.begin(), result.rows.end(), [](const PlanRow& r) { return r.given; });
    REQUIRE(own != result.rows.end());
    const double published_split = run_step(world).time.value;
    CHECK(own->time.value == published_split);
    const PlanRow& best = result.rows.front();
    CHECK(best.time.value <= published_split);
    CHECK(best.candidate.memory <= step_of(world).kernels.memory);
    // Authors choose well: the search gains less than a third.
    CHECK(best.time.value > published_split * 2 / 3);
    const std::string text = plan_text(result, 5);
    const std::string less =
        fmt::format("takes {:.1f} % less time than the scenario's own", 100 * (1 - best.time.value / published_split));
    CHECK(text.find(best.given ? "the scenario's own split is the fastest" : less) != std::string::npos);
  }
}

}  // namespace
}  // namespace fabricast
