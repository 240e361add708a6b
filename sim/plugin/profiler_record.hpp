// What the profiler plugin writes: a line of JSON for each collective of each rank (docs/formats.md#profiler-records).
//
// The line has the keys of NCCL Inspector's format v4.0, so that everything that reads Inspector's files reads these,
// and three more: algorithm, protocol and channels.
//
// The execution time of a call is from the start of its first channel to the end of its last one, by the GPU's clock.
// A rank that enters early waits inside the kernel, so its time contains the wait for the others.
//
// Times are in ns, sizes in bytes. Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fabricast::plugin {

/// A communicator as one rank sees it.
struct ProfiledCommunicator {
  std::uint64_t id = 0;
  std::string name;  ///< given by the program; empty: none
  int nodes = 0, ranks = 0, rank = 0;
};

/// A call that has ended.
struct ProfiledCall {
  std::uint64_t sequence = 0;
  const char* function = "";  ///< NCCL's, which live as long as NCCL
  const char* algorithm = "";
  const char* protocol = "";
  std::uint64_t count = 0;
  int element = 0;  ///< bytes
  int channels = 0;
  std::uint64_t gpu_start = 0, gpu_stop = 0;    ///< by the GPU's clock
  std::int64_t launched_us = 0;                 ///< by the host's clock, since 1970: when the host launched it
  std::int64_t started_us = 0, stopped_us = 0;  ///< the same, when the host saw the kernel start and end
};

/// The process that writes.
struct ProfiledProcess {
  std::string host;
  int pid = 0;
};

/// Bytes of an element by NCCL's name of its type, or nothing if the name is unknown.
std::optional<int> element_bytes(const char* type);

/// The line of a call, with its newline.
std::string record_line(const ProfiledProcess& process, const ProfiledCommunicator& communicator,
                        const ProfiledCall& call);

}  // namespace fabricast::plugin
