// The contents of logs as JSON for other programs. docs/formats.md lists the keys. What a log does not state is null
// where a value is optional, and 0 or empty elsewhere, as in Imported.
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/import.hpp"

namespace fabricast {

namespace {

using OrderedJson = nlohmann::ordered_json;

template <class T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson table_of(const LogTable& t) {
  OrderedJson j = {{"tool", t.tool},
                   {"operation", t.operation},
                   {"line", t.line},
                   {"ranks", t.ranks},
                   {"nodes", t.nodes},
                   {"hosts", t.hosts},
                   {"ranks_per_process", t.ranks_per_process},
                   {"threads", t.threads},
                   {"nccl_version", t.nccl_version},
                   {"gpu", t.gpu},
                   {"iterations", t.iterations},
                   {"cpu_time", t.cpu_time},
                   {"details", t.details}};
  if (t.live) j["scattered"] = t.scattered;
  OrderedJson& rows = j["rows"] = OrderedJson::array();
  for (const LogRow& r : t.rows) {
    OrderedJson row = {{"line", r.line}, {"bytes", r.bytes}, {"time_us", r.time_us}};
    // Rows dominate the size of the output, so keys that rarely hold a value are left out.
    if (r.in_place_us) row["in_place_us"] = *r.in_place_us;
    if (r.wrong > 0) row["wrong"] = r.wrong;
    if (r.spread) {
      row["calls"] = r.spread->calls;
      row["matched"] = r.spread->matched;
      row["low_us"] = r.spread->low_us;
      row["high_us"] = r.spread->high_us;
      if (r.spread->skew_us) row["skew_us"] = *r.spread->skew_us;
      if (r.spread->bytes_below > 0) row["bytes_below"] = r.spread->bytes_below;
    }
    if (r.gigabytes_per_second) row["gigabytes_per_second"] = *r.gigabytes_per_second;
    rows.push_back(std::move(row));
  }
  return j;
}

OrderedJson nccl_of(const NcclFacts& n) {
  OrderedJson j = {{"version", n.version},
                   {"channels", n.channels},
                   {"collnet_channels", n.collnet_channels},
                   {"nvls_channels", n.nvls_channels},
                   {"p2p_channels", n.p2p_channels},
                   {"nvls_multicast", or_null(n.nvls_multicast)},
                   {"pxn", or_null(n.pxn)},
                   {"gdr", or_null(n.gdr)},
                   {"gdr_enabled", n.gdr_enabled},
                   {"gdr_disabled", n.gdr_disabled},
                   {"nic_speeds", n.nic_speeds},
                   {"mnnvl", or_null(n.mnnvl)},
                   {"mnnvl_broken", n.mnnvl_broken},
                   {"peers_refused", n.peers_refused},
                   {"acs_hint", n.acs_hint},
                   {"topology_file", n.topology_file},
                   {"topology_missing", n.topology_missing},
                   {"unplaced_nics", n.unplaced_nics},
                   {"networks", n.networks},
                   {"provider", n.provider},
                   {"plugins", n.plugins},
                   {"env", n.env},
                   {"warnings", n.warnings}};
  // Lists are present even if they are empty, so a reader need not test for them.
  for (const char* list : {"communicators", "nics", "rings", "trees", "edges", "choices"})
    j[list] = OrderedJson::array();
  for (const auto& c : n.communicators)
    j["communicators"].push_back({{"ranks", c.ranks}, {"nodes", c.nodes}, {"local_ranks", c.local_ranks}});
  for (const auto& c : n.nics) j["nics"].push_back({{"number", c.number}, {"name", c.name}, {"kind", c.kind}});
  for (const auto& r : n.rings)
    j["rings"].push_back({{"channel", r.channel}, {"channels", r.channels}, {"ranks", r.ranks}});
  for (const auto& t : n.trees)
    j["trees"].push_back({{"channel", t.channel}, {"rank", t.rank}, {"up", t.up}, {"down", t.down}});
  for (const auto& e : n.edges)
    j["edges"].push_back(
        {{"channel", e.channel}, {"from", e.from}, {"to", e.to}, {"receives", e.receives}, {"transport", e.transport}});
  for (const auto& c : n.choices)
    j["choices"].push_back({{"operation", c.operation},
                            {"bytes", c.bytes},
                            {"algorithm", c.algorithm},
                            {"protocol", c.protocol},
                            {"channels", c.channels}});
  return j;
}

OrderedJson topo_of(const TopoMatrix& t) {
  OrderedJson links = OrderedJson::array();
  for (std::size_t row = 0; row < t.devices.size(); ++row) {
    OrderedJson line = OrderedJson::array();
    for (std::size_t column = 0; column < t.devices.size(); ++column) line.push_back(t.link(row, column));
    links.push_back(std::move(line));
  }
  return {{"line", t.line}, {"devices", t.devices}, {"links", links},
          {"cpus", t.cpus}, {"numa", t.numa},       {"names", t.names}};
}

OrderedJson peers_of(const PeerMatrix& m) {
  OrderedJson values = OrderedJson::array();
  for (const auto& v : m.values) values.push_back(or_null(v));
  return {
      {"line", m.line}, {"kind", m.kind}, {"peer_to_peer", m.peer_to_peer}, {"devices", m.devices}, {"values", values}};
}

OrderedJson job_of(const JobFacts& job) {
  OrderedJson j = {{"tool", job.tool},
                   {"records", job.records},
                   {"communicators", OrderedJson::array()},
                   {"communicators_left_out", job.communicators_left_out},
                   {"behind", OrderedJson::parse(behind_json(job.communicators))},
                   {"left_out", job.left_out}};
  for (const JobCommunicator& c : job.communicators)
    j["communicators"].push_back({{"id", c.id},
                                  {"name", c.name},
                                  {"ranks", c.ranks},
                                  {"nodes", c.nodes},
                                  {"seen", c.seen},
                                  {"calls", c.calls},
                                  {"calls_in_part", c.part}});
  return j;
}

}  // namespace

std::string import_json(const NamedLogs& logs) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [name, log] : logs) {
    OrderedJson j = {{"log", name},
                     {"lines", log.lines},
                     {"tables", OrderedJson::array()},
                     {"nccl", nullptr},
                     {"topo", nullptr},
                     {"peers", OrderedJson::array()},
                     {"node", nullptr},
                     {"problems", OrderedJson::array()},
                     {"problems_left_out", log.problems_left_out}};
    for (const LogTable& t : log.tables) j["tables"].push_back(table_of(t));
    if (log.nccl.line > 0 || !log.nccl.env.empty()) j["nccl"] = nccl_of(log.nccl);
    if (log.topo) j["topo"] = topo_of(*log.topo);
    for (const PeerMatrix& m : log.peers) j["peers"].push_back(peers_of(m));
    if (!log.job.tool.empty()) j["job"] = job_of(log.job);
    // A summary: the whole layout is in the topology file itself.
    if (log.node)
      j["node"] = {
          {"gpus", log.node->gpus.size()}, {"nics", log.node->nics.size()}, {"nvswitch", log.node->has_nvswitch()}};
    for (const Problem& p : log.problems) {
      OrderedJson problem = {{"line", p.line}, {"message", p.message}};
      if (p.column > 0) problem["column"] = p.column;
      if (!p.file.empty()) problem["file"] = p.file;
      j["problems"].push_back(std::move(problem));
    }
    list.push_back(std::move(j));
  }
  return list.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace fabricast
