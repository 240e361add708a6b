// Manifests: lists of logs with a scenario each, for a joint fit (`calibrate fit --manifest`).
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

/// An entry: a log and the scenario that it measured. Paths are relative to the manifest's directory.
struct ManifestEntry {
  std::string log, scenario;
  std::string system;  ///< name of the system; empty: the scenario's name
};

/// Parses a JSON list of {"log", "scenario", "system"}; `system` is optional.
/// \param path  name of the manifest, for messages
/// \throws UserError if the text does not have this form
std::vector<ManifestEntry> parse_manifest(const std::string& text, const std::string& path);

/// The measured cases of all logs of a manifest.
/// \throws UserError if the manifest is invalid, a file cannot be read, or a log has no usable table
std::vector<MeasuredCase> cases_of_manifest(const std::string& path);

}  // namespace fabricast
