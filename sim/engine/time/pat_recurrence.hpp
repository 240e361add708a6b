// The timed event graph of PAT. All ranks do the same at the same time, so one rank stands for all: what it sends on a
// dimension arrives at itself, as if from the rank at that distance.
//
//   channel       sends its messages in order; each waits for what was received on earlier dimensions, and for a slot
//   proxy thread  takes the messages of all channels one by one, first come, first served
//   NIC           sends messages of one dimension one after the other; different dimensions share it
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

struct PatMessages {
  std::int64_t messages = 0;  ///< number of messages on a dimension
  std::int64_t blocks = 0;    ///< blocks in each but the last one
  std::int64_t last = 0;      ///< blocks in the last one
};

/// What a channel sends.
struct PatShare {
  std::vector<PatMessages> dimensions;  ///< in the order in which they are sent
  std::int64_t loops = 0;               ///< whole loops
  double tail = -1;                     ///< B of a block in a last, shorter loop; < 0: there is none
};

struct PatRun {
  std::vector<PatShare> channels;
  double block = 0;  ///< B of a block in a whole loop
  int slots = 8;
  double overhead = 0;  ///< s; overhead of a message at a GPU
  double copy = 0;      ///< s per byte; copying at a GPU
  double receive = 1;   ///< cost of the receiver's copy on the last dimension, relative
  double proxy = 0;     ///< s per message; proxy thread
  double thread = 0;    ///< s per byte; the proxy thread's share of moving it
  double nic = 0;       ///< s per byte
  double latency = 0;   ///< s
};

/// s; when the last block has been received.
double pat_makespan(const PatRun& run);

}  // namespace fabricast
