// Rank, number of ranks and address of rank 0 from the variables of a launcher.
#include <fmt/format.h>

#include <array>

#include "fabricast/calibrate/probe_session.hpp"
#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

using Environment = std::map<std::string, std::string>;

struct Launcher {
  std::string_view name, rank, ranks, local_ranks;
};

// In this order: inside a Slurm job, the variables of torchrun and Open MPI are more specific than those of Slurm,
// which may belong to the shell.
constexpr std::array launchers = {
    Launcher{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    Launcher{"open_mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Launcher{"slurm", "SLURM_PROCID", "SLURM_NTASKS", ""},
    Launcher{"pmix", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_SIZE"},
};

constexpr int default_port = 29577;

std::string value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() ? std::string() : found->second;
}

int number_of(const Environment& environment, std::string_view name, int low, int high) {
  const std::string text = value_of(environment, name);
  const auto value = parse_integer(text);
  if (!value || value.value < low || value.value > high)
    throw UserError(fmt::format("{} '{}' is not a whole number between {} and {}", name, text, low, high),
                    "or give --rank, --ranks and --master");
  return static_cast<int>(value.value);
}

/// Whether the launcher states that all ranks are on this host.
bool on_one_host(const Environment& environment, const Launcher& launcher, int ranks) {
  if (launcher.name == "slurm") return value_of(environment, "SLURM_NNODES") == "1";
  return value_of(environment, launcher.local_ranks) == std::to_string(ranks);
}

}  // namespace

ProbePlace place_from(const Environment& environment) {
  ProbePlace place;
  place.port = default_port;
  for (const Launcher& launcher : launchers) {
    const bool rank = environment.contains(std::string(launcher.rank));
    const bool ranks = environment.contains(std::string(launcher.ranks));
    // Under prterun PMIx sets only the rank. For other launchers a lone rank is ignored, because a Slurm batch script
    // has rank 0 as well.
    if (!rank || (!ranks && launcher.name != "pmix")) continue;
    if (!ranks)
      throw UserError(fmt::format("{} is set, but the number of ranks is not", launcher.rank), "give --ranks");
    place.ranks = number_of(environment, launcher.ranks, 1, 1 << 20);
    place.rank = number_of(environment, launcher.rank, 0, place.ranks - 1);
    place.source = launcher.name;
    if (place.ranks == 1) return place;
    if (environment.contains("MASTER_ADDR")) {
      place.master = value_of(environment, "MASTER_ADDR");
    } else if (!on_one_host(environment, launcher, place.ranks)) {
      throw UserError(fmt::format("MASTER_ADDR is not set: the address of rank 0 of {} is unknown", place.ranks),
                      "set it to the name of rank 0's host on all ranks, or give --master HOST:PORT");
    }
    if (environment.contains("MASTER_PORT")) {
      place.port = number_of(environment, "MASTER_PORT", 1, 65534);
      // The store of torchrun itself listens on MASTER_PORT.
      if (value_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True") ++place.port;
    }
    return place;
  }
  return place;
}

void set_master(ProbePlace& place, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = parse_integer(colon == std::string::npos ? "" : text.substr(colon + 1));
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (colon == std::string::npos || host.empty() || !port || port.value < 1 || port.value > 65535)
    throw UserError(fmt::format("--master '{}' is not HOST:PORT", text), "e.g. node0:29577 or [fe80::1%eth0]:29577");
  place.master = host;
  place.port = static_cast<int>(port.value);
}

}  // namespace fabricast
