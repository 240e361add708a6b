// GPUs, nodes and what is neither, from the data files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

[[noreturn]] void bad_data(const std::string& what);
BytesPerSecond rate_of_json(const nlohmann::json& j);
LinkKind link_kind_of_json(const nlohmann::json& j);

/// \pre architectures and compute models are there
void read_gpus(const nlohmann::json& file, Hardware& hardware);
/// \pre GPUs are there
void read_nodes(const nlohmann::json& file, Hardware& hardware);
void read_other_accelerators(const nlohmann::json& file, Hardware& hardware);

}  // namespace fabricast
