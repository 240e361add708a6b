// The timed event graph of PAT. All ranks do the same at the same time, so one stands for all: what it sends on a
// dimension arrives at itself as the message of the rank at that distance.
//
//   a channel     sends its messages in order; each waits for what was received on the dimensions before, and for a
//                 slot
//   proxy thread  takes the messages of all channels one by one, as they come
//   NIC           messages on the same dimension go one after the other; those on others share it with them
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

struct PatMessages {
  std::int64_t messages = 0;  ///< of a dimension
  std::int64_t blocks = 0;    ///< in all but the last of them
  std::int64_t last = 0;      ///< in the last one
};

/// What a channel sends of every block.
struct PatShare {
  std::vector<PatMessages> dimensions;  ///< in the order in which they are sent
  std::int64_t loops = 0;               ///< whole ones
  double tail = -1;                     ///< bytes of a block in the last one; < 0: there is none
};

struct PatRun {
  std::vector<PatShare> channels;
  double block = 0;  ///< bytes of a block in a whole loop
  int slots = 8;
  double overhead = 0;  ///< s; of a message at a GPU
  double copy = 0;      ///< s per byte
  double receive = 1;   ///< the same on the last dimension for what is received, relative
  double proxy = 0;     ///< s per message
  double thread = 0;    ///< s per byte; the same thread's part in moving it
  double nic = 0;       ///< s per byte
  double latency = 0;   ///< s
};

/// When the last block has been received, s.
double pat_makespan(const PatRun& run);

}  // namespace fabricast
