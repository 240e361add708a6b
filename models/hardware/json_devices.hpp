// Reads GPUs, nodes and other accelerators from the data files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// Throws an InternalError: shipped data is invalid.
[[noreturn]] void bad_data(const std::string& what);
BytesPerSecond rate_of_json(const nlohmann::json& j);
LinkKind link_kind_of_json(const nlohmann::json& j);

/// \pre architectures and compute models have been read
void read_gpus(const nlohmann::json& file, Hardware& hardware);
/// \pre GPUs have been read
void read_nodes(const nlohmann::json& file, Hardware& hardware);
void read_other_accelerators(const nlohmann::json& file, Hardware& hardware);

}  // namespace fabricast
