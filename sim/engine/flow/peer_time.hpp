// Time of sends and receives, all pairs together.
#pragma once

#include "services.hpp"

namespace fabricast {

/// Of the rank that has most to do, s. \param scale  of bytes
double peer_time(const ChannelView& view, double scale);

}  // namespace fabricast
