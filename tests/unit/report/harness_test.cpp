// How nccl-tests rounds sizes.
#include "fabricast/report/harness.hpp"

#include <catch2/catch.hpp>

#include "fabricast/report/forecast.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t mib = 1048576;

std::int64_t sent(CollectiveOp op, std::int64_t ranks, std::int64_t asked, Tool tool = Tool::nccl_tests) {
  HarnessSpec harness;
  harness.tool = tool;
  return harness_bytes(harness, op, ranks, asked);
}

TEST_CASE("nccl-tests rounds the share of a rank down to 16 B", "[report]") {
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::alltoall,
                                CollectiveOp::scatter, CollectiveOp::gather}) {
    CHECK(sent(op, 72, 8 * mib) == 72 * 116496);
    CHECK(sent(op, 288, 8 * mib) == 288 * 29120);
    CHECK(sent(op, 72, 2048) == 72 * 16);
    CHECK(sent(op, 64, 8 * mib) == 8 * mib);
    CHECK(sent(op, 72, 1024) == 1024);            // less than 16 B each
    CHECK(sent(op, 7, 7 * 9586980) == 67108860);  // printed by an older version for 64 MiB
  }
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::sendrecv})
    CHECK(sent(op, 72, 8 * mib) == 8 * mib);
  for (const Tool tool : {Tool::pytorch, Tool::host_timed, Tool::isolated})
    CHECK(sent(CollectiveOp::alltoall, 72, 8 * mib, tool) == 8 * mib);
}

Forecast forecast(const std::string& sizes, const std::vector<std::string>& set) {
  return run_forecast(
      test::world_of("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 18}\ncluster: {nodes: 18}\n"
                     "workload: {collective: alltoall, sizes: [" +
                         sizes + "]}\n",
                     set));
}

TEST_CASE("a row has the requested size, and the bandwidth of the bytes that were sent", "[report]") {
  const Forecast f = forecast("8MiB", {}), exact = forecast("8387712B", {});
  REQUIRE(f.ranks == 72);
  CHECK(f.rows[0].bytes == 8 * mib);
  CHECK(f.rows[0].plan.bytes == 8387712);
  CHECK(f.rows[0].time == exact.rows[0].time);
  CHECK(f.rows[0].algorithm_bandwidth().value == Approx(8387712 / f.rows[0].time.value));
  // Shares that are not rounded are not aligned, and are copied slowly.
  const std::vector<std::string> alone = {"workload.harness.tool=isolated"};
  CHECK(forecast("8MiB", alone).rows[0].time > 2 * forecast("8387712B", alone).rows[0].time);
}

TEST_CASE("the fastest choice keeps the requested size", "[report]") {
  const Forecast f = forecast("2KiB, 3MiB, 1GiB", {"workload.collective=all_gather", "nccl.selection=best"});
  CHECK(f.rows[0].bytes == 2048);
  CHECK(f.rows[1].bytes == 3 * mib);
  CHECK(f.rows[2].bytes == 1024 * mib);
  CHECK(f.rows[1].plan.bytes == 72 * 43680);
}

}  // namespace
}  // namespace fabricast
