// Who is late by more than chance?
#pragma once

#include <cstdint>

namespace fabricast::live {

/// The probability of `k` or more of `n`, each with probability `p`.
/// \pre 0 <= k <= n, 0 < p < 1
double binomial_tail(std::int64_t n, std::int64_t k, double p);

/// Calls that a communicator needs before a rank is called late.
constexpr std::int64_t least_judged = 8;

/// Whether a rank was late in so many calls that it is not chance. Where ranks arrive at random each is late at times,
/// as often as the others: that rate is the null hypothesis. It must also be late in more than half of the calls.
/// \param calls  of the communicator, in which every rank waits for all
/// \param late   calls that this rank joined late
/// \param rate   share of late ranks over all ranks and calls
/// \param level  probability of a false alarm; the default allows for a million ranks
bool later_than_chance(std::int64_t calls, std::int64_t late, double rate, double level = 1e-9);

}  // namespace fabricast::live
