// Reports and drawings as the binary writes them.
#include <catch2/catch.hpp>

#include <fstream>
#include <string>

#include "fabricast/core/xml.hpp"
#include "support/command_line.hpp"

namespace {

using fabricast::output;
using fabricast::parse_xml;
using fabricast::read_text;
using fabricast::run_fabricast;
using fabricast::Scratch;

const std::string few = "scenarios/nodes64_fat_tree.yaml --set cluster.nodes=4 --set routing.seeds=4";

}  // namespace

TEST_CASE("a report on standard output is the report alone, the same on any number of threads", "[behaviour]") {
  const std::string html = output("run " + few + " --threads 1 --html -");
  CHECK(html.starts_with("<!DOCTYPE html>"));
  CHECK(html.ends_with("</html>\n"));
  for (const char* part : {"id=\"chart-busbw\"", "id=\"chart-time\"", "id=\"chart-parts\"", "id=\"chart-samples\"",
                           "id=\"chart-load\"", "id=\"table-rows\"", "id=\"table-tiers\""})
    CHECK(html.find(part) != std::string::npos);
  CHECK(html.find("fabricast run " + few + " --threads 1 --html -") != std::string::npos);
  const std::string other = output("run " + few + " --threads 3 --html -");
  std::string same = other;
  same.replace(same.find("--threads 3"), 11, "--threads 1");
  CHECK(same == html);
}

TEST_CASE("the scenario of a report gives the same forecast again", "[behaviour]") {
  const Scratch scratch;
  const std::string html = output("run " + few + " --html -");
  const auto at = html.find("Scenario, effective");
  const auto begin = html.find("<pre tabindex=\"0\">", at) + 18, end = html.find("</pre>", begin);
  std::string yaml;
  for (std::size_t i = begin; i < end; ++i) {
    if (html.compare(i, 6, "&quot;") == 0)
      yaml += '"', i += 5;
    else if (html.compare(i, 5, "&#39;") == 0)
      yaml += '\'', i += 4;
    else
      yaml += html[i];
  }
  std::ofstream(scratch / "again.yaml") << yaml;
  CHECK(output("run " + (scratch / "again.yaml")) == output("run " + few));
}

TEST_CASE("charts and drawings are SVG files", "[behaviour]") {
  for (const char* chart : {"busbw", "time", "parts", "samples", "load"})
    CHECK(parse_xml(output("run " + few + " --svg - --chart " + chart), chart).name == "svg");
  CHECK(output("run " + few + " --svg -") == output("run " + few + " --svg - --chart busbw"));
  CHECK(parse_xml(output("inspect fabric " + few + " --svg -"), "fabric").name == "svg");
  CHECK(output("inspect fabric " + few + " --dot -").starts_with("graph "));
}

TEST_CASE("steps, inference and explanations have reports", "[behaviour]") {
  const std::string step =
      "--set 'workload={kind: training_step, model: {preset: llama2-7b}, batch: {global: 64}, parallel: {tensor: 2}}'";
  const std::string base = "scenarios/two_nodes.yaml ";
  for (const std::string& words :
       {"run " + base + step, "explain " + base + "--size 1MiB", std::string("run scenarios/inference_decode.yaml"),
        std::string("run scenarios/one_node.yaml")}) {
    CAPTURE(words);
    const std::string html = output(words + " --html -");
    CHECK(html.ends_with("</html>\n"));
    // Each number is known, and none is a slip of arithmetic.
    for (const char* slip : {">nan<", ">inf<", ">-nan<", "nan to"}) CHECK(html.find(slip) == std::string::npos);
  }
}

TEST_CASE("a plan draws what is equal once, and says what it leaves out", "[behaviour]") {
  const Scratch scratch;
  std::ofstream(scratch / "many.yaml") << R"(fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 4}
fabric: {kind: fat_tree}
workload: {sizes: [1GiB]}
sweep:
  cluster.nodes: [4, 8, 16]
  routing.kind: [spray, adaptive]
  node.nics.rate: [100Gbps, 200Gbps, 400Gbps]
  workload.collective: [all_reduce, all_gather, reduce_scatter, alltoall, broadcast]
objective: {minimize: time_us, pareto: [time_us, time_s]}
)";
  const std::string html = output("plan " + (scratch / "many.yaml") + " --no-intervals --html -");
  CHECK(html.find("time_us over cluster.nodes: the first 8 of 12 curves") != std::string::npos);
  CHECK(html.find("spray / 100Gbps / all_reduce = adaptive / 100Gbps / all_reduce") != std::string::npos);
  CHECK(html.find("time_s has the same values.") != std::string::npos);
  CHECK(html.find("id=\"chart-time_s\"") == std::string::npos);
  // Nothing is a trade-off of itself: one metric is drawn against another.
  const std::string one =
      output("plan " + (scratch / "many.yaml") + " --no-intervals --set 'objective.pareto=[time_us]' --html -");
  CHECK(one.find("time_us versus power_w") != std::string::npos);
}

TEST_CASE("a command with quotes can be pasted back", "[behaviour]") {
  const std::string html =
      output("run scenarios/one_node.yaml --set \"name=it's <here>\" --set 'workload={sizes: [1MiB]}' --html -");
  CHECK(html.find("--set &#39;name=it&#39;\\&#39;&#39;s &lt;here&gt;&#39; --set &#39;workload={sizes: [1MiB]}&#39;") !=
        std::string::npos);
}
