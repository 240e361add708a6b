// Confines the process that answers a question: memory, processor time, and files.
#pragma once

#include "limits.hpp"

namespace fabricast {

/// Whether the kernel can confine a process to reading one directory (Landlock). Without it servers read no files.
bool can_confine_to_directory();

/// Confines this process for good. Afterwards it cannot write or create files. With a directory it reads files below it
/// and those of the system's libraries; without, it opens none at all.
/// \pre this process has one thread
/// \throws Unavailable if the kernel refuses
void confine(const ServiceLimits& limits, const ServiceFiles& files);

}  // namespace fabricast
