#include <catch2/catch.hpp>

#include "fabricast/calibrate/probe_session.hpp"

namespace fabricast {
namespace {

using Environment = std::map<std::string, std::string>;

std::string fault(const Environment& environment) {
  try {
    place_from(environment);
  } catch (const UserError& e) { return e.diagnostics().at(0).message; }
  return "none";
}

TEST_CASE("without a launcher there is one rank", "[probe]") {
  const ProbePlace place = place_from({{"HOME", "/root"}, {"SLURM_JOB_ID", "7"}});
  CHECK(place.ranks == 1);
  CHECK(place.rank == 0);
}

TEST_CASE("the variables of every launcher are read", "[probe]") {
  struct Case {
    std::string name;
    Environment environment;
  };
  const std::vector<Case> cases = {
      {"torchrun", {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "3"}}},
      {"open_mpi", {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}}},
      {"slurm", {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}}},
      {"pmix", {{"PMIX_RANK", "3"}, {"PMIX_SIZE", "8"}}},
  };
  for (const Case& c : cases) {
    Environment environment = c.environment;
    CHECK(fault(environment).find("MASTER_ADDR is not set") == 0);
    environment["MASTER_ADDR"] = "node0", environment["MASTER_PORT"] = "4000";
    const ProbePlace place = place_from(environment);
    CHECK(place.source == c.name);
    CHECK(place.rank == 3);
    CHECK(place.ranks == 8);
    CHECK(place.master == "node0");
    CHECK(place.port == 4000);
  }
}

TEST_CASE("a job on one host uses loopback", "[probe]") {
  const Environment mpi = {
      {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  CHECK(place_from(mpi).master == "127.0.0.1");
  const Environment slurm = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_NNODES", "1"}};
  CHECK(place_from(slurm).master == "127.0.0.1");
  CHECK(place_from(slurm).port == place_from(mpi).port);
}

TEST_CASE("a launcher inside Slurm takes precedence over Slurm", "[probe]") {
  const ProbePlace place = place_from({{"SLURM_PROCID", "0"},
                                       {"SLURM_NTASKS", "1"},
                                       {"RANK", "5"},
                                       {"WORLD_SIZE", "8"},
                                       {"MASTER_ADDR", "node0"},
                                       {"MASTER_PORT", "29500"},
                                       {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(place.rank == 5);
  CHECK(place.port == 29501);  // the store of torchrun listens on 29500
}

TEST_CASE("contradictory variables are errors", "[probe]") {
  CHECK(fault({{"RANK", "8"}, {"WORLD_SIZE", "8"}}) == "RANK '8' is not a whole number between 0 and 7");
  CHECK(fault({{"RANK", "0"}, {"WORLD_SIZE", "many"}}).starts_with("WORLD_SIZE 'many'"));
  CHECK(fault({{"PMIX_RANK", "1"}}) == "PMIX_RANK is set, but the number of ranks is not");
  CHECK(fault({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "99999"}})
            .starts_with("MASTER_PORT '99999'"));
}

TEST_CASE("--master is host and port", "[probe]") {
  ProbePlace place;
  set_master(place, "node0:4000");
  CHECK(place.master == "node0");
  CHECK(place.port == 4000);
  set_master(place, "[::1]:4001");
  CHECK(place.master == "::1");
  for (const char* wrong : {"node0", "node0:", ":4000", "node0:0", "node0:70000", "node0:4000x", ""})
    CHECK_THROWS_AS(set_master(place, wrong), UserError);
}

}  // namespace
}  // namespace fabricast
