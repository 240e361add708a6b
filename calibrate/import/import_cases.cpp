// Makes measured cases of imported logs (`calibrate import --output`). A case needs more than a log usually states: the
// connection between GPUs, NICs and their rate. Any log of the command may supply it, and `--scenario` the rest.
// Nothing is assumed: what none of them states is an error that names it (docs/calibrate/import.md, "Cases").
#include "fabricast/calibrate/import_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "fabricast/core/names.hpp"
#include "fabricast/hardware/device_names.hpp"

namespace fabricast {

namespace {

/// Variables that name files of the measured host.
constexpr std::array<std::string_view, 2> file_variables = {"NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"};
/// Whether a variable only affects what is printed.
/// Such variables do not change times, and would only make cases differ.
bool only_prints(std::string_view name) { return name.starts_with("NCCL_DEBUG") || name.ends_with("_DUMP_FILE"); }

/// What the logs state about the system.
struct System {
  std::string gpu, intranode, link;
  int gpus_per_node = 0;
  std::optional<int> nics;
  std::optional<double> nic_gbps;
};

Diagnostic fault(const std::string& log, int line, std::string message, std::string hint = {}) {
  return {Diagnostic::Severity::error, {log, line, 1, 1}, {}, std::move(message), std::move(hint)};
}

Diagnostic note(const std::string& log, int line, std::string message) {
  return {Diagnostic::Severity::warning, {log, line, 1, 1}, {}, std::move(message), {}};
}

std::string link_of(const NcclFacts& nccl) {
  // libfabric's provider first: with the OFI plugin NCCL itself lists no NIC.
  if (nccl.provider == "efa") return "efa";
  std::set<std::string> kinds;
  for (const NcclNic& nic : nccl.nics) kinds.insert(nic.kind);
  if (nccl.networks.size() == 1 && nccl.networks[0] == "Socket") return "socket";
  // NICs of both kinds mean that the log does not say which network the connections used.
  if (kinds == std::set<std::string>{"IB"}) return "infiniband";
  if (kinds == std::set<std::string>{"RoCE"}) return "roce";
  return {};
}

/// Number of NICs of the link's kind. NCCL lists only the NICs that it uses; a network plugin lists none.
std::optional<int> nics_of(const NcclFacts& nccl, const std::string& link) {
  const std::string kind = link == "infiniband" ? "IB" : link == "roce" ? "RoCE" : link == "socket" ? "Socket" : "";
  const auto count =
      std::count_if(nccl.nics.begin(), nccl.nics.end(), [&](const NcclNic& n) { return n.kind == kind; });
  return count > 0 ? std::optional(static_cast<int>(count)) : std::nullopt;
}

/// Whether NCCL's connections over the network use GPUDirect RDMA. Null if that is not stated, or if they differ.
std::optional<bool> gdr_of(const NcclFacts& nccl) {
  const NcclConnections net = nccl.over_network();
  // Connections are what ran. NCCL's summary counts only if no connection was printed.
  if (net.gdr + net.staged == 0) return nccl.gdr;
  return net.gdr == 0 ? std::optional(false) : net.staged == 0 ? std::optional(true) : std::nullopt;
}

/// Takes over what a log states. \throws UserError if an earlier log states something else
template <class T>
void settle(T& known, const T& found, const T& nothing, const char* what, const std::string& log) {
  if (found == nothing) return;
  if (known != nothing && !(known == found))
    throw UserError(fmt::format("{}: the {} differs from earlier logs", log, what),
                    "import the logs of one system at a time");
  known = found;
}

System system_of(const NamedLogs& logs) {
  System s;
  for (const auto& [name, log] : logs) {
    System here;
    for (const LogTable& t : log.tables) settle(here.gpu, gpu_of_product(t.gpu), std::string(), "GPU", name);
    here.link = link_of(log.nccl);
    here.nics = nics_of(log.nccl, here.link);
    // NVLS exists only behind NVSwitches. Its absence proves nothing: older GPUs and drivers do not offer it.
    if (log.nccl.nvls_multicast == true) here.intranode = "nvswitch";
    if (log.topo) {
      std::vector<std::size_t> gpus;
      for (std::size_t i = 0; i < log.topo->devices.size(); ++i)
        if (log.topo->devices[i].starts_with("GPU")) gpus.push_back(i);
      bool whole = gpus.size() > 1, nvlink = false;
      for (const std::size_t a : gpus)
        for (const std::size_t b : gpus) {
          whole = whole && !log.topo->link(a, b).empty();
          nvlink = nvlink || log.topo->link(a, b).starts_with("NV");
        }
      // NV# in the matrix does not distinguish a mesh of NVLink from NVSwitch, so it gives no value.
      if (whole && !nvlink) here.intranode = "pcie";
    }
    // A topology file is the most specific source and replaces what lines of NCCL suggest.
    if (log.node) {
      const NodeLayout& node = *log.node;
      const bool mesh =
          std::any_of(node.gpus.begin(), node.gpus.end(), [](const auto& g) { return !g.nvlinks.empty(); });
      here.intranode = node.has_nvswitch() ? "nvswitch" : mesh ? "nvlink_mesh" : "pcie";
      here.gpus_per_node = static_cast<int>(node.gpus.size());
      // The file states the compute capability and not the product, which several kinds of GPU may share.
      if (const auto kinds = fitting_gpus(shipped_hardware(), node); kinds.size() == 1 && here.gpu.empty())
        here.gpu = kinds[0];
      // NodeLayout has GB/s, a case Gb/s.
      if (!node.nics.empty()) {
        here.nics = static_cast<int>(node.nics.size());
        here.nic_gbps = node.nics[0].rate * 8;
      }
    }
    // All logs of one command belong to one system, so a contradiction is a mistake of the command.
    settle(s.gpu, here.gpu, std::string(), "GPU", name);
    settle(s.intranode, here.intranode, std::string(), "connection between GPUs", name);
    settle(s.link, here.link, std::string(), "network", name);
    settle(s.gpus_per_node, here.gpus_per_node, 0, "number of GPUs", name);
    settle<std::optional<int>>(s.nics, here.nics, std::nullopt, "number of NICs", name);
    settle<std::optional<double>>(s.nic_gbps, here.nic_gbps, std::nullopt, "NIC rate", name);
  }
  return s;
}

/// Makes the case of one table, and lists the facts that are missing.
class CaseOfTable {
 public:
  CaseOfTable(const std::string& log, const Imported& in, const LogTable& table, const System& system,
              const Scenario* scenario)
      : log_(log), in_(in), table_(table), system_(system), scenario_(scenario) {}

  MeasuredCase read() {
    c_.collective = table_.operation;
    ranks();
    const NodeSpec* spec = scenario_ ? &scenario_->node.spec : nullptr;
    // The table's own product name counts for more than what other logs state.
    const std::string product = gpu_of_product(table_.gpu), stated = product.empty() ? system_.gpu : product;
    if (spec && !stated.empty() && stated != spec->gpu) contradict("gpu", stated, spec->gpu);
    c_.gpu = !stated.empty() ? stated : spec ? spec->gpu : lack("gpu");
    const std::string inside = spec ? std::string(name_of(spec->intranode)) : std::string();
    if (spec && !system_.intranode.empty() && system_.intranode != inside)
      contradict("intranode", system_.intranode, inside);
    c_.intranode = !system_.intranode.empty() ? system_.intranode : spec ? inside : lack("intranode");
    if (c_.nodes > 1) network(spec);
    environment();
    harness();
    return c_;
  }

  const std::vector<std::string>& missing() const { return missing_; }

 private:
  std::string lack(const char* what) {
    missing_.emplace_back(what);
    return {};
  }

  [[noreturn]] void contradict(const char* what, const std::string& stated, const std::string& other) const {
    throw UserError(
        {fault(log_, table_.line, fmt::format("{}: the log states '{}', the scenario '{}'", what, stated, other))});
  }

  void ranks() {
    int ranks = table_.ranks, nodes = table_.nodes;
    // With several tables in a log, the largest communicator may belong to another one.
    const NcclCommunicator most = in_.nccl.largest();
    if (ranks == 0 && in_.tables.size() == 1) ranks = most.ranks;
    if (nodes == 0 && most.ranks == ranks) nodes = most.nodes;
    // As many ranks as a node has GPUs: one node, the usual case, since no host is named.
    if (nodes == 0 && ranks > 0 && system_.gpus_per_node > 0 && ranks == system_.gpus_per_node) nodes = 1;
    if (scenario_) {
      const int per_node = scenario_->node.spec.gpus;
      if (ranks == 0) ranks = per_node * std::max(1, nodes == 0 ? scenario_->cluster.nodes : nodes);
      if (nodes == 0 && ranks % per_node == 0) nodes = ranks / per_node;
      // A job on part of a node's GPUs is another system: its rings and NICs differ.
      if (nodes > 0 && ranks != nodes * per_node)
        contradict("GPUs per node", fmt::format("{:g}", static_cast<double>(ranks) / nodes), std::to_string(per_node));
    }
    if (ranks == 0) lack("ranks");
    if (nodes == 0) lack("nodes");
    if (ranks == 0 || nodes == 0) return;
    if (ranks % nodes != 0)
      throw UserError(
          {fault(log_, table_.line, fmt::format("{} ranks cannot be distributed evenly over {} nodes", ranks, nodes))});
    c_.nodes = nodes;
    c_.gpus_per_node = ranks / nodes;
  }

  void network(const NodeSpec* spec) {
    c_.link = !system_.link.empty() ? system_.link : spec ? std::string(name_of(spec->nics.link)) : lack("link");
    if (spec && c_.link != name_of(spec->nics.link)) contradict("link", c_.link, std::string(name_of(spec->nics.link)));
    // What the logs state counts for more than the scenario. A value that neither has is listed as missing.
    if (system_.nics)
      c_.nics = system_.nics;
    else if (spec)
      c_.nics = spec->nics.count;
    else
      lack("nics");
    if (system_.nic_gbps)
      c_.nic_gbps = system_.nic_gbps;
    else if (spec)
      c_.nic_gbps = spec->nics.rate.value * 8e-9;
    else
      lack("nic_gbps");
    c_.gdr = gdr_of(in_.nccl);
    // `automatic` is left to the forecast, as in a scenario.
    if (!c_.gdr && spec && spec->gdr != Gdr::automatic) c_.gdr = spec->gdr == Gdr::on;
  }

  void environment() {
    c_.nccl_version = !table_.nccl_version.empty() ? table_.nccl_version : in_.nccl.version;
    if (scenario_ && c_.nccl_version.empty() && scenario_->nccl.version_given)
      c_.nccl_version = scenario_->nccl.version;
    if (scenario_) c_.env = scenario_->nccl.env;
    // Variables of the log replace those of the scenario: they are what ran.
    for (const auto& [name, value] : in_.nccl.env)
      if (!only_prints(name)) c_.env[name] = value;
    // Settings that the probe forced on NCCL.
    const auto forced = [&](const char* detail, std::initializer_list<const char*> variables) {
      if (const auto it = table_.details.find(detail); it != table_.details.end())
        for (const char* name : variables) c_.env[name] = it->second;
    };
    forced("algorithm", {"NCCL_ALGO"});
    forced("protocol", {"NCCL_PROTO"});
    forced("channels", {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"});
    for (const std::string_view name : file_variables)
      if (const auto it = c_.env.find(std::string(name)); it != c_.env.end()) {
        // The file itself is not in the log, so a forecast cannot follow it.
        set_aside(fmt::format("{} names a file", name));
        c_.env.erase(it);
      }
    // Set-ups that `workload.harness` does not express. Such cases are validated but not fitted.
    for (const auto& [key, what] : {std::pair{"graph", "CUDA graphs"},
                                    {"agg iters", "grouped calls"},
                                    {"blocking", "blocking calls"},
                                    {"unalign", "unaligned buffers"}})
      if (table_.details.contains(key)) set_aside(what);
    // -1 is nccl-tests' "no root". A scenario has no root other than rank 0.
    if (const auto root = table_.details.find("root"); root != table_.details.end())
      if (root->second != "0" && root->second != "-1") set_aside("root " + root->second);
  }

  void set_aside(const std::string& why) { c_.set_aside += (c_.set_aside.empty() ? "" : ", ") + why; }

  void harness() {
    const HarnessSpec* spec = scenario_ ? &scenario_->workload.harness : nullptr;
    // Tables of the probe and of jobs count as if nccl-tests had timed them: it issues calls back to back as well.
    c_.harness["tool"] = "nccl_tests";
    const auto take = [&](const char* what, int stated, int given) {
      if (stated > 0)
        c_.harness[what] = std::to_string(stated);
      else if (spec)
        c_.harness[what] = std::to_string(given);
      else
        lack(what);
    };
    take("ranks_per_process", table_.ranks_per_process, spec ? spec->ranks_per_process : 0);
    take("threads", table_.threads, spec ? spec->threads : 0);
    take("iterations", table_.iterations, spec ? spec->iterations : 0);
  }

  const std::string& log_;
  const Imported& in_;
  const LogTable& table_;
  const System& system_;
  const Scenario* scenario_;
  MeasuredCase c_;
  std::vector<std::string> missing_;
};

/// Why a table cannot be a case. Empty if it can.
std::string unfit(const LogTable& t, const Scenario* scenario) {
  if (t.live && t.ranks == 0) return "the number of ranks is not known";
  const bool whole = scenario ? t.whole_nodes(scenario->node.spec.gpus) : !t.scattered;
  if (t.live && !whole) return "its ranks do not fill whole nodes";
  if (!t.live && t.tool != "nccl_tests" && t.tool != "probe")
    return fmt::format("{} is not a test of nccl-tests", t.operation.empty() ? t.tool : t.operation);
  if (t.operation.empty()) return "the log does not state the collective";
  if (!enum_from<CollectiveOp>(t.operation))
    return fmt::format("scenarios do not support the collective {}", t.operation);
  if (t.cpu_time) return "its times are host times of the calls";
  return {};
}

}  // namespace

std::string gpu_of_product(std::string_view product) {
  const auto named = find_gpu(shipped_hardware(), product);
  return named && named->others.empty() ? named->kind->name : std::string();
}

ImportedCases cases_of_logs(const NamedLogs& logs, const std::string& system, const Scenario* scenario) {
  ImportedCases out;
  const System facts = system_of(logs);
  std::map<std::string, int> ids;
  std::vector<Diagnostic> faults;
  for (const auto& [name, log] : logs)
    for (const LogTable& t : log.tables) {
      if (const std::string why = unfit(t, scenario); !why.empty()) {
        out.left_out.push_back(note(name, t.line, "table left out: " + why));
        continue;
      }
      CaseOfTable reader(name, log, t, facts, scenario);
      MeasuredCase c = reader.read();
      if (!reader.missing().empty()) {
        const std::vector<std::string_view> words(reader.missing().begin(), reader.missing().end());
        faults.push_back(fault(name, t.line, "the log does not state what a case needs: " + join(words),
                               scenario ? "" : "--scenario S.yaml supplies what no log states"));
        continue;
      }
      // A time with wrong results is the time of something else. Sizes of 0 bytes have no bandwidth and no forecast.
      for (const LogRow& row : t.rows)
        if (row.wrong > 0)
          out.left_out.push_back(note(name, row.line, "row left out: its results are wrong"));
        else if (!row.one_size())
          out.left_out.push_back(note(name, row.line, "row left out: its size is not known to within 5 %"));
        else if (row.bytes < 1)
          out.left_out.push_back(note(name, row.line, "row left out: it has 0 bytes"));
        else
          c.rows.push_back({row.bytes, row.time_us});
      if (c.rows.empty()) continue;
      std::string word = c.collective;
      std::replace(word.begin(), word.end(), '_', '-');
      c.system = system;
      c.id = fmt::format("{}-{}-{}n{}g", system, word, c.nodes, c.gpus_per_node);
      // Repeats of one collective on the same ranks stay separate cases with a number.
      if (const int before = ids[c.id]++; before > 0) c.id += fmt::format("-{}", before + 1);
      out.cases.push_back(std::move(c));
      out.sources.push_back(name);
    }
  if (!faults.empty()) throw UserError(std::move(faults));
  return out;
}

std::string cases_json(const ImportedCases& cases) {
  using json = nlohmann::ordered_json;
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  const auto text_or_null = [](const std::string& text) { return text.empty() ? json(nullptr) : json(text); };
  json list = json::array();
  for (std::size_t i = 0; i < cases.cases.size(); ++i) {
    const MeasuredCase& c = cases.cases[i];
    json j = {{"id", c.id},
              {"system", c.system},
              {"collective", c.collective},
              {"nodes", c.nodes},
              {"gpus_per_node", c.gpus_per_node},
              {"gpu", c.gpu},
              {"intranode", c.intranode},
              {"nics", or_null(c.nics)},
              {"nic_gbps", or_null(c.nic_gbps)},
              {"link", text_or_null(c.link)},
              {"nccl_version", text_or_null(c.nccl_version)},
              {"env", json::object()},
              {"gdr", or_null(c.gdr)},
              {"harness", json::object()}};
    for (const auto& [key, value] : c.env) j["env"][key] = value;
    for (const auto& [key, value] : c.harness) j["harness"][key] = key == "tool" ? json(value) : json(std::stoi(value));
    if (!c.set_aside.empty()) j["set_aside"] = c.set_aside;
    j["sources"] = {cases.sources[i]};
    for (const MeasuredRow& row : c.rows) j["rows"].push_back({{"bytes", row.bytes}, {"time_us", row.time_us}});
    list.push_back(std::move(j));
  }
  // Text from logs may not be UTF-8. It is replaced, because an exception here would lose all cases.
  return list.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace fabricast
