// What is measured over RC queue pairs.
#pragma once

#include <memory>

#include "fabricast/calibrate/probe.hpp"
#include "verbs_calls.hpp"

namespace fabricast {

/// The backend on these calls, which must outlive it: those of the library, or a test's.
std::unique_ptr<ProbeBackend> make_verbs_backend(const VerbsCalls& calls);

/// Opens the port, exchanges addresses over the link, connects.  \throws ProbeFailure
std::unique_ptr<ProbeTrial> prepare_verbs_trial(const VerbsCalls& calls, const Measurement& measurement, int gid,
                                                ProbeSide side, PeerLink& link);

}  // namespace fabricast
