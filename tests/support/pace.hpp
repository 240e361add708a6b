// How fast this machine is now, so that tests of speed hold a program to its limits and not a machine.
#pragma once

namespace fabricast::test {

/// How many times longer a fixed piece of work (sorting, in memory) takes here and now than on the idle machine on which
/// the limits of tests were set: two cores of a server processor of 2021. From 1, so that a faster machine does not
/// tighten a limit, to 4, so that a limit remains one. Takes about 50 ms; wall time, so other programs count.
double pace();

}  // namespace fabricast::test
