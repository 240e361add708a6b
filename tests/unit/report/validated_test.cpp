// What a forecast says about aspects that nobody has measured.
#include "fabricast/report/validated.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::Sets;

std::vector<std::string> said(const Sets& set) { return not_validated(test::step_world("zero3", set).scenario()); }
bool any_says(const std::vector<std::string>& sentences, const std::string& words) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(words) != std::string::npos; });
}

TEST_CASE("measured aspects are not mentioned") { CHECK(said({}).empty()); }

TEST_CASE("a kind of GPU with guessed rates is named") {
  CHECK(any_says(said({"node.gpu=v100-sxm2", "workload.precision=fp16"}), "v100-sxm"));
  CHECK(any_says(said({"node.gpu=h20"}), "h20"));
}

TEST_CASE("software without measured steps is named") {
  CHECK(any_says(said({"workload.framework=ddp", "workload.stack=pytorch-ddp-2.4", "workload.parallel.zero=0",
                       "node.memory=512GiB"}),
                 "pytorch-ddp-2.4"));
}

TEST_CASE("MoE models with software without measured MoE steps are named") {
  const Sets experts{"cluster.nodes=1", "workload.model={preset: qwen3-30b-a3b, sequence: 4096}",
                     "workload.batch={global: 8, micro: 1}", "workload.parallel={expert: 8}"};
  const auto with = [&](const char* framework) {
    return not_validated(
        test::step_world("experts",
                         test::both(experts, {std::string("workload.framework=") + framework, "workload.stack="}))
            .scenario());
  };
  CHECK(any_says(with("fsdp"), "no MoE step was measured with torchtitan-24.12"));
  CHECK_FALSE(any_says(with("nemo"), "MoE step"));
}

}  // namespace
}  // namespace fabricast
