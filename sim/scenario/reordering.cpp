// (1) of scenario/reordering.hpp, from the keys of fabric.congestion.
#include "fabricast/scenario/reordering.hpp"

#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "fabricast/scenario/lossy.hpp"

namespace fabricast {

namespace {

bool keeps_order(const Scenario& s) { return s.fabric.congestion.reordering == Reordering::sent_again; }

}  // namespace

double goodput_of(const Reordered& r) { return 1 / (1 + r.overtaken * (r.selective ? 1 : r.window)); }

std::optional<Reordered> reordered(const Scenario& s, const NetworkSetup& setup) {
  if (!keeps_order(s)) return std::nullopt;
  const NicSpec& nics = s.node.spec.nics;
  if (nics.count > 0 && nics.link != LinkKind::roce && nics.link != LinkKind::infiniband)
    throw UserError::at("fabric.congestion.reordering",
                        fmt::format("{} accepts packets in any order", name_of(nics.link)), "use reordering: accepted");
  if (!setup.fabric || setup.comm->nodes() < 2 || !is_spread(setup.paths())) return std::nullopt;
  Reordered r;
  r.selective = repeats_selectively(s.fabric.congestion.retransmission, nics.link, setup.comm->node.nic_line_rate);
  r.window = packets_under_way(*setup.comm);
  return r;
}

std::optional<Diagnostic> reordering_warning(const Scenario& s, const NetworkSetup& setup) {
  if (!keeps_order(s) || !setup.fabric) return std::nullopt;
  const auto warning = [](std::string message, std::string hint) {
    return Diagnostic{
        Diagnostic::Severity::warning, {}, "fabric.congestion.reordering", std::move(message), std::move(hint)};
  };
  const std::optional<Reordered> r = reordered(s, setup);
  if (!r)
    return warning("no effect: every flow has a single path, so its packets stay in order",
                   "use routing: {kind: adaptive}, or spray");
  return warning(
      fmt::format("packets take many paths, and NICs request again those that arrive late{}: full links carry {:.2g} % "
                  "of their rate",
                  r->selective ? "" : fmt::format(" and up to {:.0f} more", r->window), 100 * goodput_of(*r)),
      "use routing: {kind: ecmp}, or NICs that accept packets in any order");
}

}  // namespace fabricast
