// Lost packets of a scenario: the keys `lossless`, `loss`, `buffer` and `retransmission` of `fabric.congestion`, as the
// model of engine/loss.hpp.
//
//   loss            of every cable, whatever its load. A path loses what any of its cables loses
//   lossless: false switches drop what finds no room. With `control: ideal` queues stay empty, so nothing is dropped
//   buffer          by the rate of the switches' ports, as in chips of their time [Pietsch2020] [Warner-buffers]:
//                   12 MB below 100 Gb/s, 16 MB below 200, 42 MB below 400, 64 MB below 800; from there on 160 MB, a guess
//   retransmission  by_nic: RoCE NICs of 400 Gb/s and more repeat selectively, others and InfiniBand go back. A guess:
//                   NVIDIA documents a switch of selective repeat for its NICs [NVIDIA-ADP], not since which one it works
//
// A loss is known after 10 us (round trip, queues, and what the NICs need: a guess, 5 to 30), and senders that react have
// slowed down after 50 us, DCQCN's shortest time between two notifications [Zhu2015].
//
// Pure functions; safe to call concurrently.
#pragma once

#include <optional>

#include "fabricast/engine/loss.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// Whether packets are lost.
bool is_lossy(const CongestionSpec& spec);
/// Memory of a switch with ports of this rate.
Bytes usual_buffer(BytesPerSecond port);
/// Packets that a connection sends until it learns of a loss.
double packets_under_way(const Communicator& comm);
/// What a connection may send before its receiver has freed a slot: NCCL_BUFFSIZE [NCCL-env].
Bytes slots_of(const NcclSettings& settings);
/// Whether NICs of this kind and rate send again what is missing alone.
bool repeats_selectively(Retransmission how, LinkKind link, BytesPerSecond rate);

/// The model for a job on its network; none if no packets are lost, or if the job uses no network.
/// \throws UserError (path fabric.congestion) on networks other than RoCE and InfiniBand, or if InfiniBand is to drop
std::optional<LossModel> loss_model(const Scenario& scenario, const ProviderEnvironment& provider,
                                    const NcclSettings& settings, const NetworkSetup& setup);
std::optional<LossModel> loss_model(const World& world);

/// What a model's lost packets do, and what to set.
Diagnostic loss_warning(const CongestionSpec& spec, const LossModel& model);
/// That switches drop nothing although they may: no queue forms with control `ideal`.
std::optional<Diagnostic> drops_nothing(const CongestionSpec& spec);

/// Samples of a network that loses packets: at least these many, because losses differ where paths do not.
inline constexpr int lossy_samples = 20;

/// What a call of a plan exposes to loss. \param buffers  of the planner
CallShape call_shape(const Communicator& comm, Buffers buffers, const Plan& plan);

}  // namespace fabricast
