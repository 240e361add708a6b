// What NVLS and NVLSTree share: loops over chunks of all heads, and the transfer view.
#pragma once

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

/// Chunks of all heads that one loop moves: those of one share for all_reduce, of one rank's part otherwise.
Stream nvls_stream(const Communicator& comm, const Plan& plan, int channel);

/// Workers of rank r: 4r copies in, 4r + 1 is the head on the way up (and down, at the root), 4r + 2 the head on the way
/// down, 4r + 3 copies out.
std::unique_ptr<ChannelProgram> nvls_program(const Communicator& comm, const Plan& plan, int channel);

}  // namespace fabricast
