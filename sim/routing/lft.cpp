// The real forwarding tables of an InfiniBand subnet, read from a dump: `routing: {kind: lft, path: lfts.dump}`.
//
// A flow follows the tables from switch to switch by the LID of its destination. If a link is down, the flows that
// cross it take a different shortest path, by the rule of `static`, and all others keep theirs. A real subnet manager
// may write different tables, and it may move other flows, too.
#include <fmt/format.h>

#include <limits>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/routing/forwarding.hpp"
#include "router.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, LftSpec& spec) {
  visit("path", spec.path, "dump of forwarding tables: dump_fts, ibroute or OpenSM; relative to the scenario");
  visit("lids", spec.lids, "for ports with several LIDs (LMC): base: the first, as NCCL does; all: by queue pair");
}
Samples samples(const LftSpec&) { return {}; }

namespace {

constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();

class LftRouter final : public Router {
 public:
  LftRouter(const LftSpec& spec, const Fabric& fabric, const LinkState& state)
      : read_(spec.tables), lids_(spec.lids), fabric_(fabric), state_(state), tables_(fabric.switches(), nullptr) {
    if (!fabric.subnet())
      throw UserError::at("routing.kind", "lft needs the LIDs of the fabric",
                          "use fabric: {kind: file, path: ...} with the output of ibnetdiscover");
    if (!read_ || read_->switches.empty())
      throw UserError::at("routing.path", "no forwarding tables given", "e.g. path: lfts.dump");
    find_tables();
    find_links();
    // Made in any case, since links may be down in this segment only.
    const RoutingPolicy* usual = find_by_name(routing_policies(), "static");
    usual_ = usual->make(usual->defaults(), fabric, state, 0);
  }

  bool route(const Flow& flow, Path& path) const override {
    path.clear();
    const int lid = lid_of(flow);
    VertexId here(flow.from);
    cross(path, up_[flow.from], here);
    for (std::uint32_t hops = 0; here.value != flow.to; ++hops) {
      // A table with a loop or a wrong exit is an error of the dump, so the message shows the hops up to there.
      if (fabric_.is_endpoint(here)) wrong(path, flow, lid, "the route ends at a different NIC");
      if (hops > fabric_.switches()) wrong(path, flow, lid, "the route is a loop");
      cross(path, exit_of(here, lid, path, flow), here);
    }
    for (const std::uint32_t link : path.resources)
      if (state_.down(link)) return usual_->route(flow, path);
    return true;
  }
  bool settled(std::uint32_t, std::uint32_t to) const override {
    return lids_ == LidChoice::base || fabric_.subnet()->of_vertex[to].lmc == 0;
  }

 private:
  /// Assigns tables to switches, by GUID if both are stated, otherwise by LID.
  void find_tables() {
    const auto& address = fabric_.subnet()->of_vertex;
    for (const ForwardingTable& table : read_->switches)
      for (std::uint32_t s = 0; s < fabric_.switches(); ++s) {
        const SubnetAddress& a = address[fabric_.endpoints() + s];
        const bool guids = !a.guid.empty() && !table.guid.empty();
        if (guids ? a.guid == table.guid : a.lid > 0 && a.lid == table.lid) tables_[s] = &table;
      }
  }

  void find_links() {
    up_.assign(fabric_.endpoints(), no_link);
    // Port numbers have eight bits [IBTA-spec].
    by_port_.assign(std::size_t{fabric_.switches()} * 256, no_link);
    for (std::uint32_t l = 0; l < fabric_.links(); ++l) {
      const VertexId from = fabric_.link(LinkId(l)).from;
      if (fabric_.is_endpoint(from))
        up_[from.value] = l;
      else if (const std::uint8_t port = fabric_.subnet()->port_of_link[l]; port > 0)
        by_port_[std::size_t{from.value - fabric_.endpoints()} * 256 + port] = l;
    }
  }

  int lid_of(const Flow& flow) const {
    const SubnetAddress& a = fabric_.subnet()->of_vertex[flow.to];
    if (a.lid == 0)
      throw UserError::at("routing.path",
                          fmt::format("{} has no LID in the fabric file", fabric_.name(VertexId(flow.to))));
    if (lids_ == LidChoice::base) return a.lid;
    // With LMC m a port answers to 2^m consecutive LIDs, each with its own path. Queue pairs take them in turn.
    return a.lid + static_cast<int>(flow.from_qp % (1U << static_cast<unsigned>(a.lmc)));
  }

  void cross(Path& path, std::uint32_t link, VertexId& here) const {
    path.resources.push_back(link);
    path.latency += fabric_.link_class(LinkId(link)).latency;
    here = fabric_.link(LinkId(link)).to;
  }

  std::uint32_t exit_of(VertexId here, int lid, const Path& path, const Flow& flow) const {
    const std::uint32_t s = here.value - fabric_.endpoints();
    const ForwardingTable* table = tables_[s];
    if (!table) wrong(path, flow, lid, fmt::format("{} has no table", fabric_.name(here)));
    const auto l = static_cast<std::size_t>(lid);
    const std::uint8_t port = l < table->port_of_lid.size() ? table->port_of_lid[l] : no_port;
    if (port == no_port || port == 0)
      wrong(path, flow, lid, fmt::format("{} has no entry for this LID", fabric_.name(here)));
    const std::uint32_t link = by_port_[std::size_t{s} * 256 + port];
    if (link == no_link)
      wrong(path, flow, lid, fmt::format("{} sends it to port {}, which has no cable", fabric_.name(here), port));
    return link;
  }

  [[noreturn]] void wrong(const Path& path, const Flow& flow, int lid, const std::string& what) const {
    std::string taken = fabric_.name(VertexId(flow.from));
    for (std::size_t i = 0; i < path.resources.size() && i < 8; ++i)
      taken += " " + fabric_.name(fabric_.link(LinkId(path.resources[i])).to);
    throw UserError::at(
        "routing.path",
        fmt::format("the forwarding tables do not lead to LID {} ({}): {}", lid, fabric_.name(VertexId(flow.to)), what),
        fmt::format("the route is {}", taken));
  }

  const std::shared_ptr<const ForwardingTables> read_;  // shared, because the router may outlive the specification
  const LidChoice lids_;
  const Fabric& fabric_;
  const LinkState& state_;
  std::vector<const ForwardingTable*> tables_;  ///< by switch; null: none
  std::vector<std::uint32_t> up_;               ///< by endpoint: its link up
  std::vector<std::uint32_t> by_port_;          ///< by switch and port: the outgoing link
  std::unique_ptr<Router> usual_;               ///< for flows whose path has a link that is down
};

}  // namespace

std::unique_ptr<Router> make_router(const LftSpec& spec, const Fabric& fabric, const LinkState& state, std::uint64_t) {
  return std::make_unique<LftRouter>(spec, fabric, state);
}

RoutingPolicy lft_routing() {
  return make_routing_policy<LftSpec>("lft", "the forwarding tables of a real InfiniBand subnet, read from a dump",
                                      "[IBTA-spec]");
}

}  // namespace fabricast
