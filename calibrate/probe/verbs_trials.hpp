// The verbs backend: measurements over RC queue pairs.
#pragma once

#include <memory>
#include <string>

#include "fabricast/calibrate/probe.hpp"
#include "verbs_calls.hpp"
#include "verbs_endpoint.hpp"

namespace fabricast {

/// The backend. The calls are those of the libraries, or a test's; they must outlive the backend.
/// \param root  "/", or a copy of sysfs in a test
std::unique_ptr<ProbeBackend> make_verbs_backend(const VerbsCalls& calls, const GpuCalls& gpu,
                                                 const std::string& root = "/", const NumaCalls& numa = library_numa());

/// One side of a measurement.
struct VerbsSetup {
  const VerbsCalls& calls;
  VerbsMemory memory;
  VerbsWishes wishes;
  ProbeSide side{};
  PeerLink& link;
};

/// Opens the port, swaps addresses with the other side over the link, and connects.
/// \throws ProbeFailure
std::unique_ptr<ProbeTrial> prepare_verbs_trial(const VerbsSetup& setup, const Measurement& measurement);

}  // namespace fabricast
