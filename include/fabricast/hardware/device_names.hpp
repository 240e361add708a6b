// Finds GPUs and nodes by the names that people type and drivers print. The names are in the hardware data.
//
// Pure functions; safe to call concurrently. Returned pointers point into `hardware`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

/// The GPU that a name stands for.
struct NamedGpu {
  const GpuKind* kind = nullptr;
  const GpuVariant* variant = nullptr;   ///< null: with the standard memory
  std::vector<std::string_view> others;  ///< other GPUs that the name may stand for
};

/// The GPU of that name, if there is one.
std::optional<NamedGpu> find_gpu(const Hardware& hardware, std::string_view name);
/// The accelerator of that name that is not modelled (another vendor's, or one without NCCL). Null if none is known.
const OtherAccelerator* find_other_accelerator(const Hardware& hardware, std::string_view name);
/// What to say to the name of one.
std::string not_modelled(const OtherAccelerator& other, std::string_view name);
/// The GPU of that name.
/// \throws UserError (path node.gpu). The message tells if the name is that of a node or of another vendor's
/// accelerator
NamedGpu gpu_called(const Hardware& hardware, std::string_view name);
/// A warning (path node.gpu) if the name may stand for several kinds; it states which one is used.
std::vector<Diagnostic> doubts_about_gpu(const Hardware& hardware, std::string_view name);
/// A warning (path node.nics.rate) if a NIC port is faster than any that a known node or GPU usually has: bytes written
/// for bits are eight times as many.
std::vector<Diagnostic> doubts_about_nics(const Hardware& hardware, BytesPerSecond rate);

/// The node of that name. Null if there is none.
const NodePreset* find_node(const Hardware& hardware, std::string_view name);
/// The node of that name. \throws UserError (path node.profile), with hints as for gpu_called
const NodePreset& node_called(const Hardware& hardware, std::string_view name);

/// All aliases of GPUs, as written in the data.
std::vector<std::string> other_gpu_names(const Hardware& hardware);
/// All aliases of nodes, as written in the data.
std::vector<std::string> other_node_names(const Hardware& hardware);

/// A name without case, punctuation, blanks and leading brand. Names with equal results are the same.
std::string bare_name(std::string_view name);

}  // namespace fabricast
