// Runs a program: a discrete-event simulation of all actors' streams.
//
//   while an activity runs or is ready:
//     start what is ready; an exchange that starts or ends changes the paces of those in flight (traffic.hpp), and the
//       pace of computation on its actors, which loses a part of its speed to each that runs there
//     now = the earliest end;  end it, release what depends on it
//
// Where computation waits, the wait is put down to what it waited for: to the exchange that was running, or to what ran
// on another stream of the actor (its host), or, as long as that itself waited for another actor, to the bubble.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "fabricast/traffic/traffic.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// Seconds of an actor's first stream, by what they went to; all parts add up to the step.
struct ActorTimes {
  std::array<double, parts> busy{};     ///< computing, interference excluded; of Part::host waiting for it, too
  std::array<double, parts> exposed{};  ///< waiting for exchanges of that part
  double interference = 0;              ///< computing slower, beside exchanges
  double bubble = 0;                    ///< waiting for other actors
};

struct Timeline {
  double seconds = 0;  ///< of the step
  std::vector<ActorTimes> actors;
  std::vector<double> start, end;  ///< by activity
};

struct TimelineOptions {
  /// By exchange kind: part of its speed that computation loses on its actors while one runs. Empty: none.
  std::vector<double> interference;
  std::vector<double> slower;  ///< by actor: computation takes so many times longer; empty: 1
};

/// \throws InternalError if activities wait for each other in a circle. Interrupted on Ctrl-C.
Timeline run_program(const Program& program, Traffic& traffic, const TimelineOptions& options = {});

}  // namespace fabricast
