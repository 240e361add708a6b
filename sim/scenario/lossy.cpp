// From the keys of fabric.congestion to a LossModel (scenario/lossy.hpp).
#include "fabricast/scenario/lossy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/scenario/transport.hpp"

namespace fabricast {

namespace {

constexpr Seconds known_after{10e-6};      // guess; see the header
constexpr Seconds slowed_after{50e-6};     // [Zhu2015]
constexpr double gigabit = 1e9 / 8;        // B/s
constexpr std::uint32_t usual_cables = 4;  // through a spine

/// Cables between the hosts of the job that are farthest in rank order.
std::uint32_t cables_between(const NetworkSetup& setup) {
  const Communicator& comm = *setup.comm;
  const Fabric& fabric = *setup.fabric;
  const auto router = setup.policy->make(*setup.policy_spec, fabric, setup.segments.front().links, 1);
  std::uint32_t most = 0;
  const std::uint32_t first = comm.endpoint(0, 0, fabric.ports_per_node());
  const auto nodes = static_cast<std::uint32_t>(comm.nodes());
  for (const std::uint32_t node : {1U, nodes / 2, nodes - 1}) {
    Path path;
    const std::uint32_t other = comm.endpoint(node, 0, fabric.ports_per_node());
    if (!router->route({first, other, 0, 0}, path)) continue;
    // Where packets are spread, each crosses one of several resources.
    double cables = 0;
    for (std::size_t i = 0; i < path.resources.size(); ++i) cables += path.weight(i);
    most = std::max(most, static_cast<std::uint32_t>(std::lround(cables)));
  }
  return most > 0 ? most : usual_cables;
}

/// Other transports repair losses in ways of their own.
void require_verbs(const CongestionSpec& spec, LinkKind link) {
  if (link != LinkKind::roce && link != LinkKind::infiniband)
    throw UserError::at(spec.loss.value > 0 ? "fabric.congestion.loss" : "fabric.congestion.lossless",
                        fmt::format("how {} recovers lost packets is not known", name_of(link)),
                        "RoCE and InfiniBand are supported");
  if (link == LinkKind::infiniband && !spec.lossless)
    throw UserError::at("fabric.congestion.lossless",
                        "InfiniBand sends only with credits of the receiver, so switches drop no packets",
                        "use loss, e.g. loss: 1e-6, for cables that lose packets");
}

}  // namespace

bool is_lossy(const CongestionSpec& spec) {
  return spec.loss.value > 0 || (!spec.lossless && spec.control != CongestionControl::ideal);
}

Bytes usual_buffer(BytesPerSecond port) {
  constexpr struct {
    double below;  // Gb/s
    std::int64_t megabytes;
  } chips[] = {{100, 12}, {200, 16}, {400, 42}, {800, 64}};
  for (const auto& chip : chips)
    if (port.value < chip.below * gigabit * (1 - 1e-9)) return Bytes{chip.megabytes * 1000000};
  return Bytes{160000000};
}

double packets_under_way(const Communicator& comm) {
  // Connections of a port share its rate, so fewer packets of each are under way.
  const double connections = std::max(1.0, static_cast<double>(comm.channels) / std::max(1, comm.node.nics));
  return std::max(1.0,
                  comm.node.nic_line_rate.value * known_after.value / connections / fractional(LossModel{}.packet));
}

Bytes slots_of(const NcclSettings& settings) { return settings.buffer_size.value_or(Bytes{4 << 20}); }

bool repeats_selectively(Retransmission how, LinkKind link, BytesPerSecond rate) {
  if (how != Retransmission::by_nic) return how == Retransmission::selective_repeat;
  return link == LinkKind::roce && rate.value >= 400 * gigabit * (1 - 1e-9);
}

std::optional<LossModel> loss_model(const Scenario& s, const ProviderEnvironment& provider,
                                    const NcclSettings& settings, const NetworkSetup& setup) {
  const CongestionSpec& spec = s.fabric.congestion;
  if (spec.loss.value == 0 && spec.lossless) return std::nullopt;
  const NicSpec& nics = s.node.spec.nics;
  if (nics.count > 0) require_verbs(spec, nics.link);
  if (!is_lossy(spec) || !setup.fabric || setup.comm->nodes() < 2) return std::nullopt;
  const Communicator& comm = *setup.comm;
  LossModel m;
  m.lost = lost_on_path(spec.loss.value, cables_between(setup));
  m.selective = repeats_selectively(spec.retransmission, nics.link, comm.node.nic_line_rate);
  m.window = packets_under_way(comm);
  m.timeout = Seconds{transport_of(s, provider, s.reliability.transport).timeout};
  m.drops = !spec.lossless && spec.control != CongestionControl::ideal;
  m.reacts = spec.control != CongestionControl::none;
  m.reaction = slowed_after;
  const BytesPerSecond port = topologies()[s.fabric.kind].basics(s.fabric.spec).switch_box.rate;
  m.buffer = spec.buffer.value > 0 ? spec.buffer : usual_buffer(port);
  m.slots = slots_of(settings);
  return m;
}

std::optional<LossModel> loss_model(const World& world) {
  return loss_model(world.scenario(), world.provider(), world.planner().settings, world.setup());
}

Diagnostic loss_warning(const CongestionSpec& spec, const LossModel& m) {
  const std::string again =
      m.selective ? "each lost packet is" : fmt::format("each lost packet and up to {:.0f} after it are", m.window);
  std::string what;
  if (m.lost > 0)
    what = fmt::format(
        "a path loses a fraction of {:.2g} of its packets; {} retransmitted, which leaves {:.1f} % of the NICs' rate",
        m.lost, again, 100 * goodput_of(m));
  if (m.drops)
    what += fmt::format("{}switches drop packets if a port holds more than {:.3g} MB of their {:.3g} MB",
                        what.empty() ? "" : "; ", room_of(m, 1) / 1e6, fractional(m.buffer) / 1e6);
  return {Diagnostic::Severity::warning,
          {},
          spec.lossless ? "fabric.congestion.loss" : "fabric.congestion.lossless",
          fmt::format("{}; if a packet is lost twice, all ranks wait {}", what, short_text(m.timeout)),
          fmt::format("{}{}set NCCL_IB_TIMEOUT=14 to wait 67 ms",
                      m.drops ? "use PFC on the switches' class of NCCL_IB_TC, with ECN and DCQCN; " : "",
                      m.selective ? "" : "use NICs with selective repeat; ")};
}

std::optional<Diagnostic> drops_nothing(const CongestionSpec& spec) {
  if (spec.lossless || spec.control != CongestionControl::ideal) return std::nullopt;
  return Diagnostic{Diagnostic::Severity::warning,
                    {},
                    "fabric.congestion.lossless",
                    "with control `ideal`, no queues form, so switches drop no packets",
                    "use control: reactive, or none"};
}

CallShape call_shape(const Communicator& comm, Buffers buffers, const Plan& plan) {
  CallShape call;
  call.op = plan.op;
  call.algorithm = plan.algorithm;
  call.bytes = static_cast<double>(plan.bytes);
  call.ranks = static_cast<double>(comm.ranks());
  call.nodes = static_cast<double>(comm.nodes());
  call.channels = plan.open_channels();
  call.registered = buffers != Buffers::plain;
  return call;
}

}  // namespace fabricast
