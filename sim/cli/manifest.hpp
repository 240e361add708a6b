// Logs with a scenario each, for a fit of all of them.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// A log of a manifest, and what it is of. Paths start where the manifest is.
struct ManifestEntry {
  std::string log, scenario;
  std::string system;  ///< empty: the scenario's name
};

/// A list of {"log", "scenario", "system"}; `path` is for messages.
/// \throws UserError for what is not of the form
std::vector<ManifestEntry> parse_manifest(const std::string& text, const std::string& path);

/// The cases of all logs of a manifest; paths start where the manifest is, and the system is the scenario's name unless
/// it is given.  \throws UserError for what is not of the form, and for what a log does not tell
std::vector<MeasuredCase> cases_of_manifest(const std::string& path);

}  // namespace fabricast
