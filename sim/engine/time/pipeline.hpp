// The timed event graph of a pipeline: slices pass a row of stations, one after the other, up a tree and down again or
// along a chain.
//
// A *worker* is a channel's own threads on one GPU. A *server* (a proxy thread, a NIC) takes the messages of all
// channels that use it, one by one. Channels run in step, so the first and the last of them are followed, and the
// others are in between: `F` and `L` below. For slice k [Baccelli1992]
//
//   worker i:  start = max( arrival, end of slice k-1, slot of slice k-slots free again )
//              end   = start + max( pass, round )
//   server i:  F     = max( arrival_F + pass, F of slice k-1 + round )
//              L     = max( arrival_L + pass, L of slice k-1 + round, arrival_F + step )                          (1)
//
// A slot is free again when the next worker has used its slice, or the slice has left for the network; a message waits
// for a slot of its receiver. With cut-through a worker hands lines on as they come: its slice ends no earlier than the
// one it comes from, plus the latency.
//
// Stations share places: the links of a GPU, a proxy thread, a NIC. Each place has channels that are near their root
// beside channels that are far from it, and the way up beside the way down. So a place knows which stations of the path
// stand for its users, and how large a part of its work each is. With busy_j(t) = 1 from the moment when the first
// slice comes to station j until the last has left it,
//
//   round(t) = round sum_j part_j busy_j(t)                                                                       (2)
//
// When stations are busy is found by iteration, starting from "all the time".
//
// Where channels come to a worker one after the other, those that are through leave the place to those that are still
// there. With R the station's own part of a round, B what others do meanwhile and D = L - F of the arrivals, each stays
// for d, and they leave as far apart as they came:
//
//   d = R d / (D + d) + B                                                                                         (3)
//
// A block's threads go up a tree as well as down it. While the other part of them copies too, a copy takes 2 / both_ways
// times as long: `pass` grows by what is more.
//
// Others count for the part of their time in which they have something to do, and a burst of messages at a server takes
// its turns with theirs.
//
// All is max and plus, so the makespan grows by the same amount with every `slots` slices once the pipe is full. Two
// short runs give that amount: the cost does not grow with bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

/// Seconds for one slice of some size.
struct Service {
  double pass = 0;   ///< a server: one message; a worker: its threads
  double step = 0;   ///< a server: the messages of the channels that run in step with this one
  double round = 0;  ///< the shared place, while all its users are busy
  double copy = 0;   ///< a worker of a tree: what of `pass` grows while the other part of its block copies
};

/// A station that uses the same place: its links, its proxy thread, its NIC.
struct PlaceUser {
  std::uint32_t station = 0;
  double part = 0;      ///< of the place's work
  double opposite = 0;  ///< of the work of a second place, which the station needs as well: the slower one counts
};

constexpr std::uint32_t no_station = 0xffffffff;

struct Station {
  bool server = false;
  bool as_they_come = false;          ///< (3) holds: channels that come apart share the place only while they overlap
  Service whole, tail;                ///< of a whole slice, and of the last, shorter ones
  double hand_on = -1;                ///< s until the first line is handed on; < 0: whole slices only
  double latency = 0;                 ///< s to the next station
  double credit = 0;                  ///< s, last server before a worker: of a slot on its way back
  double gap = 0;                     ///< s; least time between two whole slices, whatever the service
  std::uint32_t beside = no_station;  ///< stands for the other part of its block
  std::vector<PlaceUser> users;       ///< itself among them; parts add up to 1; empty: `round` counts in full
};

struct Pipeline {
  std::vector<Station> stations;  ///< the last one is a worker
  int slots = 8;
  double both_directions = 2;     ///< what the two parts of a block copy at once, relative to one
  std::int64_t slices = 0;  ///< whole ones
  std::int64_t tails = 0;   ///< and shorter ones
};

/// When the last slice has passed the last station, s. \pre slices + tails > 0; stations not empty
double pipeline_makespan(const Pipeline& pipeline);

}  // namespace fabricast
