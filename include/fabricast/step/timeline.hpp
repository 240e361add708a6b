// Runs a program (workload/program.hpp): a discrete-event simulation of the streams of all actors.
//
//   while an activity runs or is ready:
//     start everything that is ready
//     if a collective has started or ended: update the pace of all collectives in flight (traffic.hpp), and the pace of
//       computation on the actors that take part
//     now = the earliest end; end that activity and release its followers
//
// Computation slows down while collectives run on its actor. The losses of concurrent collectives add up, but at least
// a tenth of the speed remains.
//
// The time of an actor's first stream is attributed to causes. Where computation waits, the cause is the activity whose
// end released it: a collective, or work on another stream of the actor such as its host. For the time before that
// activity started, the cause is what released that activity, and so on. What is caused by other actors is the pipeline
// bubble.
//
// The result is deterministic. Different runs may be concurrent if each has its own Traffic.
// Not modelled: preemption of kernels, and limits on the number of concurrent kernels.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "fabricast/traffic/traffic.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The time of an actor's first stream by cause. All components add up to the step.
struct ActorTimes {
  /// Computing, without interference. For parts that run on other streams, such as Part::host: waiting for them.
  std::array<Seconds, part_count> busy{};
  std::array<Seconds, part_count>
      exposed{};         ///< waiting for collectives of that part, or running them on the first stream
  Seconds interference;  ///< additional time of computation because collectives run concurrently
  Seconds bubble;        ///< waiting for other actors
};

/// What happened when.
struct Timeline {
  Seconds time;  ///< of the step
  std::vector<ActorTimes> actors;
  std::vector<Seconds> start, end;  ///< by activity
};

/// Effects that depend on the network or on the sample rather than on the program.
struct TimelineOptions {
  /// Fraction of its speed that computation loses on the actors of a collective while it runs, by kind of collective.
  /// Empty: none.
  std::vector<double> interference;
  std::vector<double> slower;  ///< factor on the time of computation on the first stream, by actor; empty: 1
};

/// Runs the program to its end.
/// \throws InternalError if activities wait for each other in a cycle; Interrupted on Ctrl-C; what the traffic throws
Timeline run_program(const Program& program, Traffic& traffic, const TimelineOptions& options = {});

}  // namespace fabricast
