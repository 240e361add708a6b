// What one RAS status says of each communicator, as plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "byte_reader.hpp"

namespace fabricast::live {

/// A rank as RAS describes it.
struct RasRank {
  int rank = 0;
  std::string place;                           ///< host, process, GPU
  std::map<std::string, std::int64_t> counts;  ///< calls that it has launched, by operation
  std::string error;                           ///< what NCCL reports of it; empty: nothing
};

/// A rank that RAS has no data from.
struct RasMissing {
  int rank = 0;
  std::string place, why;
};

struct RasCommunicator {
  std::string id;
  int size = 0;
  std::vector<RasRank> ranks;
  std::vector<RasMissing> missing;
  /// Ranks that the status has data from and does not name, and the most calls that they have launched, by operation. The
  /// text names few ranks, the JSON all.
  int unnamed = 0;
  std::map<std::string, std::int64_t> unnamed_counts;
};

/// Reads a status, NCCL's JSON or text.
/// \param take     called for each communicator, in order
/// \param version  called with NCCL's version
/// \param problem  called with line, column and message for what cannot be read
void read_ras(const LiveSource& source, std::size_t piece, const std::function<void(RasCommunicator)>& take,
              const std::function<void(std::string)>& version,
              const std::function<void(int, int, std::string)>& problem);
/// The same, of text.
void read_ras_text(const LiveSource& source, std::size_t piece, const std::function<void(RasCommunicator)>& take,
                   const std::function<void(std::string)>& version,
                   const std::function<void(int, int, std::string)>& problem);

}  // namespace fabricast::live
