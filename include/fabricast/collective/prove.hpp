// The proof of a schedule: its transfer view (ChannelProgram) is executed on symbols instead of numbers.
//
// Every byte range of a buffer is a set of contributions: the ranks whose data it sums, or the rank whose data it is.
// The workers run in an order that respects their messages. Afterwards every rank must hold, for every byte that the
// operation defines there, exactly the contributions that the operation requires, each once. No message may be left
// over. The proof holds for the plan it is given, not for all sizes and numbers of ranks.
//
// Every range has a counter for each rank, so time and memory limit the proof to few ranks. It is meant for tests.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <optional>
#include <string>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

/// The first fault of the plan's schedule over all its channels, as a sentence; none if the schedule is correct.
/// \pre the plan's algorithm has a `program`
std::optional<std::string> schedule_fault(const Communicator& comm, const Plan& plan);
/// The same for an algorithm that is not registered.
std::optional<std::string> schedule_fault(const CollectiveAlgorithm& algorithm, const Communicator& comm,
                                          const Plan& plan);

}  // namespace fabricast
