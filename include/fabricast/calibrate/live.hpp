// Telemetry of running jobs as measurements, with no benchmark run (docs/calibrate/live.md).
//
//   inspector        NCCL Inspector, JSON, a file per process
//   prometheus       NCCL Inspector, Prometheus text file, a file per GPU
//   profiler         NCCL's example profiler plugin, a file per communicator and rank
//   flight_recorder  PyTorch, pickle or JSON, a file per rank
//   kineto           torch.profiler, Chrome trace JSON, a file per rank
//   chakra           execution traces with recorded times of collectives, a file per rank
//   ras              NCCL's RAS, JSON or text: states and counts, no times
//
// The files of one job are read side by side, by the times in them, and calls are matched over ranks: by communicator
// and sequence number, or by their order where the tool has no number. No rank can leave an all_reduce, all_gather,
// reduce_scatter or alltoall before the last one has joined, and the last one does not wait. So the shortest time over
// all ranks is that of the call, and what other ranks have more is waiting. A rank may leave a broadcast, a reduce, a
// send or a receive early; their times say nothing about the call and give no row.
//
// Memory does not depend on the length of the files: it is a buffer per file, the calls that are open, one distribution
// per size, and the ranks of communicators. Only pickles, RAS and Chakra are held whole (up to 64 MiB; Chakra 2 GiB).
// Gzipped files (RFC 1952) of any format are unpacked as they are read, 50 KB per file.
//
// Not modelled: clocks that differ by more than 65,536 calls between files; calls of which ranks record different
// sizes are dropped with a warning.
//
// Units: bytes as nccl-tests counts them, times in us. Reading is sequential; concurrent calls on different sources are
// safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/import.hpp"
#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Formats of telemetry.
enum class LiveFormat {
  inspector,        ///< JSON lines of NCCL's inspector plugin
  prometheus,       ///< metrics of the inspector in Prometheus's text format
  profiler,         ///< JSON events of NCCL's profiler plugin
  flight_recorder,  ///< PyTorch's record of collectives, as JSON or pickle
  kineto,           ///< PyTorch's profiler
  chakra,           ///< execution traces in JSON
  ras               ///< what NCCL's RAS service prints, as text or JSON
};
template <>
struct EnumNames<LiveFormat> {
  static constexpr std::array<std::string_view, 7> names{"inspector", "prometheus", "profiler", "flight_recorder",
                                                         "kineto",    "chakra",     "ras"};
};

/// A file, or anything that is read like one.
struct LiveSource {
  std::string name;
  /// Copies up to `size` bytes at `offset` to `to`. \returns how many; 0 at the end
  /// \throws UserError if the file cannot be read
  std::function<std::size_t(std::uint64_t offset, char* to, std::size_t size)> read;
};
/// A file that is opened for each piece, so that thousands can be read side by side. What `read` gives of a gzipped
/// file is unpacked. It is then to be read from front to back by one thread, and data that are damaged, cut off, or
/// followed by what is no gzip are a UserError with the file and the byte, after what precedes them has been given.
LiveSource live_file(const std::string& path);

/// Whether a file begins as gzip does.
/// \param beginning  two bytes are enough
bool is_gzip(std::string_view beginning);

/// The format, recognised by content. Null for anything else.
/// \param beginning  of the file; 64 KiB are enough
std::optional<LiveFormat> live_format_of(std::string_view beginning);

/// Reads the files of one job, all in one format. What cannot be read is in `problems`, with file, line and column;
/// what precedes and follows it is kept.
/// \pre `sources` is not empty
/// \throws UserError if a source cannot be read
Imported import_job(LiveFormat format, const std::vector<LiveSource>& sources);

}  // namespace fabricast
