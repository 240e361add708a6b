// The table of backends.
#include "fabricast/calibrate/probe.hpp"

namespace fabricast {

#define FABRICAST_PROBE(name) std::unique_ptr<ProbeBackend> name##_probe();
#include "backends.inc"
#undef FABRICAST_PROBE

const std::vector<ProbeBackendEntry>& probe_backends() {
  static const std::vector<ProbeBackendEntry> table = {
#define FABRICAST_PROBE(name) {#name, name##_probe},
#include "backends.inc"
#undef FABRICAST_PROBE
  };
  return table;
}

}  // namespace fabricast
