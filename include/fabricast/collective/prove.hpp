// The proof of a schedule: its transfer view is executed on symbols instead of numbers.
//
// Every byte range of a buffer is a set of contributions (which ranks' data it sums, or whose data it is). The workers
// run in any order that respects their messages. Afterwards every rank must hold, for every byte that the operation
// defines there, exactly the contributions the operation demands, each once; and no message may be left over.
#pragma once

#include <optional>
#include <string>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

/// The first fault of the plan's schedule over all its channels, or nothing if it is right.
std::optional<std::string> schedule_fault(const Communicator& comm, const Plan& plan);
/// The same for an algorithm that is not registered.
std::optional<std::string> schedule_fault(const CollectiveAlgorithm& algorithm, const Communicator& comm,
                                          const Plan& plan);

}  // namespace fabricast
