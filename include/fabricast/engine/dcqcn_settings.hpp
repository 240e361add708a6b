// The parameters of DCQCN: when switches mark packets, and how a NIC's rates fall and rise.
//
// Names are those of the NICs' own settings where they have one. Defaults are what NVIDIA ships: marks as switches set
// them for RoCE, whatever the rate of their ports [NVIDIA-roce], NICs as in [NVIDIA-dcqcn]. engine/dcqcn.hpp says what
// each one does. A plain value.
#pragma once

#include "fabricast/core/fields.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

struct DcqcnSettings {
  // Switches: a packet that leaves a queue of q bytes is marked with probability 0 up to kmin, rising to pmax at kmax,
  // and 1 above.
  Bytes kmin{150'000};
  Bytes kmax{1'500'000};
  Ratio pmax{1};
  /// What came in by one port and has not left, above which a switch pauses that port. It goes on below 5/6 of it.
  Bytes xoff{1'000'000};
  // Receivers.
  Seconds min_time_between_cnps{4e-6};  ///< of a flow
  // Senders. Rates are of one flow.
  Seconds rate_reduce_monitor_period{4e-6};  ///< the least time between two cuts
  Ratio rpg_min_dec_fac{0.5};                ///< the minimum fraction of the rate that a cut leaves
  bool clamp_tgt_rate = false;               ///< whether every cut lowers the target, or only one after a rise
  Seconds dce_tcp_rtt{1e-6};                 ///< how often alpha decays
  Ratio dce_tcp_g{0.0048828125};             ///< weight of news in alpha: 5/1024
  Seconds rpg_time_reset{300e-6};            ///< the rate rises once in this time since the last cut
  Bytes rpg_byte_reset{2'097'088};           ///< and once for these bytes: 32,767 x 64
  int rpg_threshold = 1;                     ///< rises after which the target rises, too
  BytesPerSecond rpg_ai_rate{0.625e6};       ///< how much the target rises: 5 Mb/s
  BytesPerSecond rpg_hai_rate{6.25e6};       ///< once time and bytes have both passed the threshold: 50 Mb/s
  BytesPerSecond rpg_min_rate{0.125e6};      ///< 1 Mb/s
};
void visit_fields(FieldVisitor& visit, DcqcnSettings& settings);

}  // namespace fabricast
