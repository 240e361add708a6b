// Several jobs on one fabric, against closed forms.
#include "fabricast/jobs/jobs.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>

#include "fabricast/core/quantity.hpp"
#include "fabricast/traffic/beside.hpp"

namespace fabricast {
namespace {

World world_of(const std::string& text) {
  return build_world(parse_scenario("fabricast: 1\n" + text, "s.yaml").scenario);
}

/// Hosts of one GPU and one NIC: two at each of two leaves, which `cables` join. Rings of long messages.
std::string narrow(const std::string& order, const std::string& rest, int cables = 1) {
  return fmt::format(
      "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 100Gbps, link: infiniband}}}}\n"
      "cluster: {{nodes: 2, size: 8, placement: [{}]}}\n"
      "fabric: {{kind: leaf_spine, leaves: 2, spines: 1, cables: {}, nodes_per_leaf: 4, switch: {{rate: 100Gbps}}}}\n"
      "routing: {{kind: adaptive}}\n"
      "nccl: {{version: \"2.27\", env: {{NCCL_ALGO: Ring, NCCL_PROTO: Simple}}}}\n"
      "workload: {{collective: all_reduce, sizes: [1GiB], harness: {{tool: isolated}}}}\n{}",
      order, cables, rest);
}

std::string job(const std::string& order, const std::string& more = "") {
  return fmt::format("jobs: [{{nodes: 2, placement: [{}], workload: {{collective: all_reduce, size: 1GiB{}}}}}]\n",
                     order, more);
}

constexpr std::int64_t size = std::int64_t{1} << 30;

/// How many times longer the scenario's own call takes with the others running.
double slowdown(const std::string& text) {
  const auto world = world_of(text);
  const double alone = time_job(world, size).time.value;
  return time_job(with_others(world), size).time.value / alone;
}

/// The part of the time in which the call alone keeps the cable between the leaves busy: its NICs reach a little less.
double busy(const std::string& text) {
  const auto world = world_of(text);
  return forecast_jobs(world, size).links.at(0).by_owner.at(0);
}

TEST_CASE("two jobs across one cable get half of it each", "[jobs]") {
  const double alone = busy(narrow("0, 4", job("1, 5")));
  CHECK(alone > 0.93);
  CHECK(alone < 1);
  // The cable is never idle: both calls together take as long as it needs for the bytes of both.
  CHECK(slowdown(narrow("0, 4", job("1, 5"))) == Approx(2 * alone).epsilon(0.002));
  // Two cables hold both.
  CHECK(slowdown(narrow("0, 4", job("1, 5"), 2)) == Approx(1).epsilon(1e-9));
  // The same seen by both.
  const auto world = world_of(narrow("0, 4", job("1, 5")));
  const JobsForecast f = forecast_jobs(world, size);
  CHECK(f.slowdown[0][1] == Approx(2 * alone).epsilon(0.002));
  CHECK(f.slowdown[1][0] == Approx(f.slowdown[0][1]));
  CHECK(f.jobs[0].beside.bottleneck == "leaf0-spines");
  REQUIRE_FALSE(f.links.empty());
  CHECK(f.links[0].load == Approx(2 * alone));
}

TEST_CASE("jobs that share no link do not slow each other", "[jobs]") {
  CHECK(slowdown(narrow("0, 1", job("2, 6"))) == 1);
  CHECK(slowdown(narrow("0, 4", job("1, 2"))) == 1);
  const auto rails = [](const std::string& placement) {
    return fmt::format(
        "node: {{gpu: h100-sxm, nics: {{count: 8, rate: 400Gbps, link: infiniband}}}}\n"
        "cluster: {{nodes: 6, size: 32, taken: [0-1], placement: {0}}}\n"
        "fabric: {{kind: rail_optimized, nodes_per_su: 8, switch: {{ports: 9}}, oversubscription: 8}}\n"
        "routing: {{kind: adaptive}}\nnccl: {{version: \"2.27\", env: {{NCCL_ALGO: Ring}}}}\n"
        "workload: {{collective: all_reduce, sizes: [1GiB]}}\n"
        "jobs: [{{nodes: 8, placement: {0}, workload: {{size: 1GiB}}}}]\n",
        placement);
  };
  CHECK(slowdown(rails("rail_aligned")) == 1);
  CHECK(slowdown(rails("topology_aware")) == 1);
  CHECK(slowdown(rails("spread")) > 1.3);
}

TEST_CASE("a job that sends for a fraction of the time takes that fraction", "[jobs]") {
  const double alone = busy(narrow("0, 4", job("1, 5")));
  for (const double duty : {0.25, 0.5, 0.75})
    CHECK(slowdown(narrow("0, 4", job("1, 5", fmt::format(", duty: {}", duty)))) ==
          Approx((1 + duty) * alone).epsilon(0.005));
}

TEST_CASE("the share that background items leave a connection", "[jobs]") {
  // One link, 1 B/s; an own channel that could fill it.
  const std::vector<BytesPerSecond> full{BytesPerSecond{1}};
  const std::vector<Background::Use> own{{0, 0, 1}};
  const auto left = [&](const std::vector<double>& rates, std::vector<double> weights) {
    Background others;
    for (const double rate : rates) others.rate.push_back(BytesPerSecond{rate});
    others.weight = std::move(weights), others.owner.assign(others.rate.size(), 0);
    for (std::uint32_t i = 0; i < others.rate.size(); ++i) others.uses.push_back({0, i, 1});
    return rates_beside(others, own, full, {1}).rate[0].value;
  };
  CHECK(left({}, {}) == 1);
  CHECK(left({1}, {1}) == Approx(0.5));
  CHECK(left({0.5}, {0.5}) == Approx(1 / 1.5));
  CHECK(left({0.2}, {1}) == Approx(0.8));
  CHECK(left({1, 1, 1}, {1, 1, 1}) == Approx(0.25));
}

TEST_CASE("a storage flow takes its rate from a link", "[jobs]") {
  const auto flows = [](const std::string& rate) {
    return fmt::format("background: [{{kind: flows, hosts: [1], targets: [5], rate: {}}}]\n", rate);
  };
  const auto world = world_of(narrow("0, 4", flows("3GBps")));
  const double capacity = world.fabric()->link_class(world.fabric()->find_links("leaf0-spine0").front()).rate.value;
  const double alone = busy(narrow("0, 4", job("1, 5")));
  CHECK(slowdown(narrow("0, 4", flows("3GBps"))) == Approx(alone * capacity / (capacity - 3e9)).epsilon(0.005));
  // A ring of two hosts has several connections in each direction. The flow is one connection and gets no more than its
  // share.
  CHECK(slowdown(narrow("0, 4", flows("100Gbps"))) > 1.1);
  CHECK(slowdown(narrow("0, 4", flows("100Gbps"))) < 2.01);
  // Elsewhere, or on a network of its own, it takes nothing.
  CHECK(slowdown(narrow("0, 4", "background: [{kind: flows, hosts: [1], targets: [2], rate: 5GBps}]\n")) == 1);
  CHECK(slowdown(narrow("0, 4", "background: [{kind: dataset_read, targets: [5], rate: 5GBps, network: own}]\n")) == 1);
  // Reads come from storage: they meet the way down to the job's host.
  const World reads = with_others(
      world_of(narrow("0, 4", "background: [{kind: dataset_read, hosts: [0], targets: [6], rate: 3GBps}]\n")));
  for (const Background::Use& u : reads.beside()[0]->uses)
    CHECK(resource_name(*reads.fabric(),
                        *reads.setup().policy->make(*reads.setup().policy_spec, *reads.fabric(), {}, 1), u.resource)
              .find("node0.nic0-leaf0") == std::string::npos);
}

TEST_CASE("no job is faster with others running", "[jobs]") {
  for (const char* collective : {"all_reduce", "all_gather", "alltoall", "broadcast", "sendrecv"})
    for (const char* placement : {"random", "spread", "topology_aware"})
      for (const char* routing : {"kind: ecmp, seeds: 2", "kind: adaptive"}) {
        const auto world = world_of(
            fmt::format("node: {{gpu: h100-sxm, nics: {{count: 8, rate: 400Gbps, link: infiniband}}}}\n"
                        "cluster: {{nodes: 12, size: 48, filled: 20%, placement: {0}, seed: 5}}\n"
                        "fabric: {{kind: fat_tree, switch: {{ports: 32}}, oversubscription: 3}}\nrouting: {{{1}}}\n"
                        "nccl: {{version: \"2.27\"}}\nworkload: {{collective: {2}, sizes: [64KiB, 256MiB]}}\n"
                        "jobs: [{{name: b, nodes: 8, placement: {0}, workload: {{size: 256MiB}}}},\n"
                        "       {{name: c, nodes: 8, placement: random, workload: {{collective: alltoall, size: 64MiB, "
                        "duty: 30%}}}}]\n"
                        "background: [{{kind: dataset_read, targets: [47], rate: 4GBps}}]\n",
                        placement, routing, collective));
        INFO(collective << " " << placement << " " << routing);
        const JobsForecast f = forecast_jobs(world, std::int64_t{256} << 20);
        for (const JobRow& row : f.jobs) CHECK(row.slowdown() >= 1);
        for (const auto& row : f.slowdown)
          for (const double s : row) CHECK(s >= 1);
        for (const PlacementTrial& t : f.trials) CHECK(t.beside >= t.alone);
        for (const FlowRow& row : f.flows) CHECK(row.got <= row.wanted * (1 + 1e-9));
        CHECK(f.trials.front().beside <= f.trial(Placement::in_order)->beside);
      }
}

const std::string steps =
    "node: {profile: hgx-h100}\n"
    "cluster: {nodes: 8, size: 40, filled: 20%, placement: random, seed: 3}\n"
    "fabric: {kind: fat_tree, switch: {ports: 64}, oversubscription: 6}\nrouting: {kind: ecmp, seeds: 3}\n"
    "workload: {kind: training_step, framework: fsdp, model: {preset: llama2-7b}, precision: bf16,\n"
    "           batch: {global: 64, micro: 1}}\n"
    "jobs: [{name: b, nodes: 12, placement: random, workload: {size: 1GiB}},\n"
    "       {name: c, nodes: 8, placement: random, workload: {kind: training_step, framework: fsdp,\n"
    "        model: {preset: llama2-7b}, precision: bf16, batch: {global: 64, micro: 1}}}]\n";

TEST_CASE("steps with others running are the same on any number of threads", "[jobs]") {
  const auto forecast = [](int threads) {
    const auto world = world_of(steps);
    RunOptions options;
    options.threads = threads;
    const JobsForecast f = forecast_jobs(world, 0, options);
    return std::pair(jobs_json(f) + jobs_text(f) + jobs_csv(f), f);
  };
  const auto [text, f] = forecast(1);
  CHECK(forecast(3).first == text);
  CHECK(f.jobs[0].slowdown() > 1.01);
  for (const auto& row : f.slowdown)
    for (const double s : row) CHECK(s >= 1 - 1e-9);
  // A job that computes most of the time is in the way less than one that does nothing else than send.
  CHECK(f.slowdown[0][2] < f.slowdown[0][1]);
}

TEST_CASE("the order of ranks on the same hosts matters", "[jobs]") {
  const auto seconds = [](const std::string& order) {
    const auto world = world_of(fmt::format(
        "node: {{gpu: h100-sxm, nics: {{count: 8, rate: 400Gbps, link: infiniband}}}}\n"
        "cluster: {{nodes: 10, size: 20, placement: [{}]}}\n"
        "fabric: {{kind: fat_tree, switch: {{ports: 64}}, oversubscription: 4}}\nrouting: {{kind: adaptive}}\n"
        "nccl: {{version: \"2.27\", env: {{NCCL_ALGO: Ring}}}}\nworkload: {{collective: all_reduce, sizes: [1GiB]}}\n",
        order));
    return time_job(world, size).time.value;
  };
  CHECK(seconds("0, 6, 1, 7, 2, 8, 3, 9, 4, 10") > 1.2 * seconds("0, 1, 2, 3, 4, 6, 7, 8, 9, 10"));
}

TEST_CASE("the recommended options place the job on the recommended hosts", "[jobs]") {
  const auto world = world_of(steps);
  const JobsForecast f = forecast_jobs(world, 0);
  const PlacementTrial& best = f.trials.front();
  const auto again =
      build_world(parse_scenario("fabricast: 1\n" + steps, "s.yaml", placement_words(world, best.hosts)).scenario);
  CHECK(again.allocation().main == best.hosts);
  CHECK(again.allocation().jobs == world.allocation().jobs);
  CHECK(again.allocation().taken == world.allocation().taken);
  const World beside = with_others(again.with_samples_up_to(f.samples_of_trials));
  CHECK(time_job(beside, 0).time.value == Approx(best.beside.value).epsilon(0.05));
}

TEST_CASE("the allocation of hosts to jobs", "[jobs]") {
  const auto world = world_of(
      "node: {gpu: h100-sxm}\n"
      "cluster: {nodes: 4, size: 32, taken: [0-2, 9], filled: 50%, filled_seed: 4, placement: packed}\n"
      "fabric: {kind: fat_tree}\nworkload: {collective: all_reduce}\n"
      "jobs: [{name: b, nodes: 4, placement: [31, 30, 29, 5]}, {name: c, nodes: 2}]\n"
      "background: [{kind: dataset_read, targets: [20-21], rate: 1GBps}]\n");
  const Allocation& a = world.allocation();
  CHECK(a.taken.size() == 16);
  for (const std::uint32_t host : {0U, 1U, 2U, 9U}) CHECK(std::binary_search(a.taken.begin(), a.taken.end(), host));
  CHECK(a.storage == std::vector<std::uint32_t>{20, 21});
  CHECK(a.jobs[0] == std::vector<std::uint32_t>{31, 30, 29, 5});
  std::vector<std::uint32_t> all = a.taken;
  for (const auto& hosts : {a.storage, a.jobs[0], a.jobs[1], a.main}) all.insert(all.end(), hosts.begin(), hosts.end());
  CHECK(all.size() == 16 + 2 + 4 + 2 + 4);
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(hosts_text({3, 1, 2, 7, 8, 11}) == "1-3, 7, 8, 11");
  CHECK(parse_hosts({"4-6", "1"}, "x") == std::vector<std::uint32_t>{1, 4, 5, 6});
}

TEST_CASE("a list of hosts needs memory only for the hosts that exist", "[jobs]") {
  // Each range is 16 MB of numbers.
  CHECK_THROWS_AS(parse_hosts(std::vector<std::string>(100'000, "0-3999999"), "x"), UserError);
  CHECK(parse_hosts({"0-1999999", "2000000-3999999"}, "x").size() == 4'000'000);
}

}  // namespace
}  // namespace fabricast
