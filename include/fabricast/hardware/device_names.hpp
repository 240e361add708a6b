// GPUs and nodes by any name that people type and drivers print; the names are in the hardware data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// What a name means. Points into the hardware.
struct NamedGpu {
  const GpuKind* kind = nullptr;
  const GpuVariant* variant = nullptr;   ///< null: with the usual memory
  std::vector<std::string_view> others;  ///< what else the name may mean; empty: nothing
};

/// Absent if nothing is so called.
std::optional<NamedGpu> find_gpu(const Hardware& hardware, std::string_view name);
/// Another maker's, or none that runs NCCL; null if nothing known is so called.
const OtherAccelerator* find_other_accelerator(const Hardware& hardware, std::string_view name);
/// \throws UserError (path node.gpu) that says what the name is, if it is a node or another maker's accelerator
NamedGpu gpu_called(const Hardware& hardware, std::string_view name);
/// One warning (path node.gpu) if the name may mean several kinds, which says the one that is taken.
std::vector<Diagnostic> doubts_about_gpu(const Hardware& hardware, std::string_view name);

/// Null if no node is so called.
const NodePreset* find_node(const Hardware& hardware, std::string_view name);
/// \throws UserError (path node.profile), likewise
const NodePreset& node_called(const Hardware& hardware, std::string_view name);

/// Other names of all GPUs, as they are written in the data.
std::vector<std::string> other_gpu_names(const Hardware& hardware);
/// Of all nodes.
std::vector<std::string> other_node_names(const Hardware& hardware);

/// A name without what does not count: capitals, signs, and the brand in front. Equal names mean the same.
std::string bare_name(std::string_view name);

}  // namespace fabricast
