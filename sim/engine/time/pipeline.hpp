// The timed event graph of a pipeline: slices pass a sequence of stations, up a tree and down again or along a chain.
//
// A *worker* is a channel's own threads on one GPU. A *server* (proxy thread, NIC) takes the messages of all channels
// that use it, one by one. Channels run in step. Only the first and the last of them are followed, as F and L below;
// the others are in between. For slice k [Baccelli1992]
//
//   worker i:  start = max( arrival, end of slice k-1, slot of slice k-slots free again )
//              end   = start + max( pass, round )
//   server i:  F     = max( arrival_F + pass, F of slice k-1 + round )
//              L     = max( arrival_L + pass, L of slice k-1 + round, arrival_F + step )                          (1)
//
// A slot is free again when the next worker has used its slice, or when the slice has left for the network. A message
// waits for a slot of its receiver. With cut-through a worker forwards lines as they arrive: its slice ends no earlier
// than the slice that it receives, plus the latency.
//
// Stations share places: the links of a GPU, a proxy thread, a NIC. Channels that are near their root and channels that
// are far from it use the same place, and so do the path up and the path down. So a place knows which stations of the
// path stand for its users, and which fraction of its work each has. Let busy_j(t) = 1 from the arrival of the first
// slice at station j until the last one has left it:
//
//   round(t) = round sum_j part_j busy_j(t)                                                                       (2)
//
// The busy times are found by iteration, starting from "all the time".
//
// If channels arrive at a worker one after the other, those that are done leave the place to those that are still
// there. With R the station's own share of a round, B what others do meanwhile and D = L - F of the arrivals, each
// channel stays for d, and the channels leave at the distance at which they came:
//
//   d = R d / (D + d) + B                                                                                         (3)
//
// A block's threads go up a tree and down it. While both parts copy, a copy takes 2 / both_directions times as long,
// and `pass` grows by the difference.
//
// Other users count with the fraction of their time in which they have work, and a burst of messages at a server
// alternates with theirs.
//
// The recurrence consists of max and plus, so once the pipeline is full the makespan grows by the same amount with
// every `slots` slices. Two short runs give this amount, so the cost does not grow with bytes.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

/// Seconds for one slice of some size.
struct Service {
  double pass = 0;   ///< server: one message; worker: its threads
  double step = 0;   ///< server: the messages of the channels that run in step with this one
  double round = 0;  ///< the shared place, while all its users are busy
  double copy = 0;   ///< worker of a tree: the share of `pass` that grows while the other part of its block copies
};

/// A station of the path that stands for users of the same place: links, proxy thread or NIC.
struct PlaceUser {
  std::uint32_t station = 0;
  double part = 0;      ///< fraction of the work of the place
  double opposite = 0;  ///< fraction of the work of a second place that is needed as well; the slower one counts
};

constexpr std::uint32_t no_station = 0xffffffff;

struct Station {
  bool server = false;
  bool as_they_come = false;          ///< (3) holds: channels share the place only while they overlap
  Service whole, tail;                ///< of a whole slice, and of a last, shorter one
  double hand_on = -1;                ///< s until the first line is forwarded; < 0: whole slices only
  double latency = 0;                 ///< s to the next station
  double credit = 0;                  ///< s; latency of a slot's return; last server before a worker
  double gap = 0;                     ///< s; minimum between two whole slices, whatever the service
  std::uint32_t beside = no_station;  ///< the station that stands for the other part of its block
  std::vector<PlaceUser> users;       ///< includes itself; parts add up to 1; empty: `round` counts in full
};

struct Pipeline {
  std::vector<Station> stations;  ///< the last one is a worker
  int slots = 8;
  double both_directions = 2;  ///< rate of a block whose two parts copy at once, relative to one part
  std::int64_t slices = 0;     ///< whole slices
  std::int64_t tails = 0;      ///< shorter slices after them
};

/// s; when the last slice has passed the last station. \pre slices + tails > 0; stations not empty
double pipeline_makespan(const Pipeline& pipeline);

}  // namespace fabricast
