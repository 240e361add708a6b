// What `calibrate probe` writes, `calibrate import` reads.
#include <catch2/catch.hpp>

#include "fabricast/calibrate/import_cases.hpp"
#include "fabricast/calibrate/probe_session.hpp"
#include "support/import_text.hpp"

namespace fabricast {
namespace {

std::string provenance(const std::string& version) {
  std::vector<std::string> ranks;
  for (const char* host : {"a", "b"})
    ranks.push_back(std::string(R"({"host": ")") + host + R"(", "environment": {"NCCL_IB_HCA": "mlx5"}, "nccl": ")" +
                    version + R"(", "cuda": {"gpus": [{"name": "NVIDIA H100 80GB HBM3"}]}})");
  return provenance_line("1.0", {"fabricast"}, 1, "2026-11-20T00:00:00Z", ranks);
}

Measurement measured(const std::string& what, std::int64_t bytes, bool in_place = false) {
  Measurement m;
  m.backend = "nccl", m.what = what, m.memory = "gpu", m.to = 1, m.bytes = {bytes}, m.gpus = 16, m.everyone = true;
  m.bus_factor = 1, m.in_place = in_place;
  return m;
}

std::string row(const Measurement& m, double us) { return result_line(m, summarise({{us * 1e-6}})); }

const char* const scenario_needs = "the log does not state what a case needs: intranode, link, nics, nic_gbps";

TEST_CASE("collectives of the probe are tables by rising bytes", "[import]") {
  Measurement forced = measured("all_gather", 4096);
  forced.algorithm = "ring", forced.protocol = "ll", forced.channels = 4;
  Measurement pair = measured("send", 8);
  pair.gpus = 2;
  Measurement other = measured("latency", 8);
  other.backend = "tcp";
  const Imported in = import_text_of(provenance("2.28.9") + row(measured("all_reduce", 2048), 22) +
                                     row(measured("all_reduce", 1024, true), 12) + row(forced, 30) + row(pair, 3) +
                                     row(other, 4) + row(measured("all_reduce", 1024), 11));
  CHECK(in.problems.empty());
  REQUIRE(in.tables.size() == 2);
  const LogTable& gather = in.tables[0];
  const LogTable& reduce = in.tables[1];
  CHECK(gather.details.at("algorithm") == "ring");
  CHECK(gather.details.at("protocol") == "ll");
  CHECK(gather.details.at("channels") == "4");
  CHECK(reduce.tool == "probe");
  CHECK(reduce.operation == "all_reduce");
  CHECK(reduce.ranks == 16);
  CHECK(reduce.nodes == 2);
  CHECK(reduce.ranks_per_process == 8);
  CHECK(reduce.iterations == 20);
  CHECK(reduce.nccl_version == "2.28.9");
  CHECK(reduce.gpu == "NVIDIA H100 80GB HBM3");
  REQUIRE(reduce.rows.size() == 2);
  CHECK(reduce.rows[0].bytes == 1024);
  CHECK(reduce.rows[0].line == 7);
  CHECK(reduce.rows[0].time_us == 11);
  CHECK(reduce.rows[0].in_place_us == 12);
  CHECK(reduce.rows[1].time_us == 22);
  CHECK(in.nccl.env.at("NCCL_IB_HCA") == "mlx5");
  // It tells all but what only NCCL's log or a topology file does.
  try {
    cases_of_logs({{"p.jsonl", in}}, "lab", nullptr);
    FAIL("a case without NICs");
  } catch (const UserError& e) { CHECK(e.diagnostics()[0].message == scenario_needs); }
}

TEST_CASE("what the probe held NCCL to are variables of the case", "[import]") {
  Measurement m = measured("all_reduce", 1024);
  m.algorithm = "ring", m.protocol = "ll128", m.channels = 8, m.gpus = 8;
  const std::string one_host = provenance_line(
      "1.0", {}, 1, "",
      {R"({"host": "a", "environment": {}, "nccl": "2.28.9", "cuda": {"gpus": [{"name": "NVIDIA H200"}]}})"});
  const std::string topo = "a:1:2 [0] NCCL INFO NVLS multicast support is available on dev 0\n";
  const ImportedCases cases = cases_of_logs({{"p", import_text_of(one_host + row(m, 20) + topo)}}, "lab", nullptr);
  REQUIRE(cases.cases.size() == 1);
  const MeasuredCase& c = cases.cases[0];
  CHECK(c.gpu == "h200-sxm");
  CHECK(c.gpus_per_node == 8);
  CHECK(c.env.at("NCCL_ALGO") == "ring");
  CHECK(c.env.at("NCCL_PROTO") == "ll128");
  CHECK(c.env.at("NCCL_MIN_NCHANNELS") == "8");
  CHECK(c.env.at("NCCL_MAX_NCHANNELS") == "8");
  CHECK(c.harness.at("ranks_per_process") == "8");
  REQUIRE(c.rows.size() == 1);
}

TEST_CASE("of a damaged file of the probe the rest is read", "[import]") {
  SampleSet failed;
  failed.error = "ncclAllReduce: internal error";
  const std::string whole = row(measured("all_reduce", 1024), 11);
  const Imported in = import_text_of(
      provenance("2.28.9") + "{\"backend\":\"nccl\",\"what\":3}\n" + result_line(measured("all_reduce", 64), failed) +
      whole + R"({"backend":"nccl","what":"all_reduce","gpus":16,"bytes":-8,"median_us":1,"in_place":false})" + "\n" +
      whole.substr(0, whole.size() / 2));
  REQUIRE(in.tables.size() == 1);
  CHECK(in.tables[0].rows.size() == 1);
  REQUIRE(in.problems.size() == 4);
  CHECK(in.problems[0].line == 2);
  CHECK(in.problems[1].message == "the measurement failed: ncclAllReduce: internal error");
  CHECK(in.problems[2].line == 5);
  CHECK(in.problems[3].message == "malformed or truncated line of `calibrate probe`");
}

TEST_CASE("files of other hosts are other tables, and long lines are read whole", "[import]") {
  const std::string long_provenance = provenance("2.27.3" + std::string(70000, ' '));
  const Imported in = import_text_of(provenance("2.28.9") + row(measured("all_reduce", 8), 9) + long_provenance +
                                     row(measured("all_reduce", 8), 10));
  REQUIRE(in.tables.size() == 2);
  CHECK(in.tables[0].rows[0].time_us == 9);
  CHECK(in.tables[1].nccl_version != "2.28.9");
}

}  // namespace
}  // namespace fabricast
