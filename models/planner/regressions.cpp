// Reads the table of known performance regressions and finds the entries that match a call. The data file is part of
// the binary, so an invalid entry is an internal error.
#include "fabricast/planner/regressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "embedded_planner.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

// null: unknown.
std::optional<NcclVersion> version_of(const json& j) {
  if (j.is_null()) return std::nullopt;
  const auto version = parse_nccl_version(j.get<std::string>());
  if (!version) throw InternalError("regressions.json: not a version: " + j.get<std::string>());
  return version;
}

Regression::Match match_of(const json& j) {
  const auto list = [&](const char* key) { return j.value(key, std::vector<std::string>()); };
  Regression::Match m{list("collectives"),
                      list("architectures"),
                      list("gpus"),
                      list("links"),
                      list("algorithms"),
                      list("protocols"),
                      j.value("intranode", std::string()),
                      j.value("cpu", std::string()),
                      j.value("buffers", std::string()),
                      std::nullopt};
  if (j.contains("cross_nic")) m.cross_nic = j.at("cross_nic").get<int>();
  if (j.contains("nodes")) {
    m.least_nodes = j.at("nodes").at(0);
    if (!j.at("nodes").at(1).is_null()) m.most_nodes = j.at("nodes").at(1);
  }
  m.least_gpus = j.value("gpus_per_node", m.least_gpus);
  m.most_gpus = j.value("gpus_per_node_at_most", m.most_gpus);
  m.least_nics_per_gpu = j.value("nics_per_gpu", 0);
  return m;
}

std::vector<Regression> read() {
  std::vector<Regression> all;
  for (const json& j : json::parse(embedded_planner("regressions.json"))) {
    Regression r{j.at("id"),
                 version_of(j.at("since")),
                 version_of(j.at("fixed")),
                 j.at("where"),
                 j.at("symptom"),
                 j.value("workaround", std::string()),
                 j.at("source"),
                 j.at("confidence"),
                 std::nullopt,
                 j.value("simulated", std::vector<std::string>())};
    if (j.contains("match")) r.match = match_of(j.at("match"));
    all.push_back(std::move(r));
  }
  // Without a first version an entry is sorted by its fix, next to those of the same age.
  const auto from = [](const Regression& r) { return r.since ? *r.since : r.fixed ? *r.fixed : NcclVersion{2, 0, 0}; };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return from(a) < from(b); });
  return all;
}

// An empty list does not restrict a match.
bool in(const std::vector<std::string>& list, std::string_view word) {
  return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
}

// Reports often name only the release with the fix. Such an entry is taken to affect earlier patches of that minor
// release and the two minor releases before it: older ones may have been without the fault.
bool has_version(const Regression& r, const NcclVersion& version) {
  constexpr int releases_before = 3;
  if (r.fixed && version >= *r.fixed) return false;
  return r.since ? version >= *r.since : r.fixed && version.minor > r.fixed->minor - releases_before;
}

bool fits(const Regression::Match& m, const Planner& planner, const Plan& plan) {
  const Communicator& comm = planner.comm;
  const NodeSpec& node = comm.node.spec;
  const bool network = comm.nodes() > 1;
  if (!in(m.collectives, name_of(plan.op)) || !in(m.algorithms, name_of(plan.algorithm)) ||
      !in(m.protocols, name_of(plan.protocol)))
    return false;
  if (!in(m.architectures, comm.node.gpu.architecture) || !in(m.gpus, comm.node.gpu.name)) return false;
  // An entry about a network does not concern calls inside one node.
  if (!m.links.empty() && !(network && in(m.links, name_of(node.nics.link)))) return false;
  if (!m.intranode.empty() && (m.intranode == "nvlink") != comm.node.nvlink) return false;
  if (!m.cpu.empty() && m.cpu != name_of(node.cpu)) return false;
  if (!m.buffers.empty() && m.buffers != name_of(planner.buffers)) return false;
  if (m.cross_nic && planner.settings.cross_nic != *m.cross_nic) return false;
  return comm.nodes() >= m.least_nodes && comm.nodes() <= m.most_nodes && comm.gpus() >= m.least_gpus &&
         comm.gpus() <= m.most_gpus && comm.node.nics >= m.least_nics_per_gpu * comm.gpus();
}

}  // namespace

std::string Regression::versions() const {
  if (!since) return "before " + to_text(fixed.value());
  return fixed ? fmt::format("{} to before {}", to_text(*since), to_text(*fixed)) : "from " + to_text(*since) + " on";
}

std::span<const Regression> known_regressions() {
  static const std::vector<Regression> all = read();
  return all;
}

std::string regressions_text(const std::vector<const Regression*>& known) {
  if (known.empty()) return {};
  std::string out = "\nknown performance regressions of this NCCL version for such calls:\n";
  for (const Regression* r : known) {
    out += fmt::format("  {} ({}): {}\n    where: {}\n", r->id, r->versions(), r->symptom, r->where);
    if (!r->workaround.empty()) out += fmt::format("    workaround: {}\n", r->workaround);
    out += fmt::format("    {}: {}\n", r->confidence, r->source);
  }
  return out;
}

std::string regressions_json(const std::vector<const Regression*>& known) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Regression* r : known)
    list.push_back({{"id", r->id},
                    {"since", r->since ? json(to_text(*r->since)) : json()},
                    {"fixed", r->fixed ? json(to_text(*r->fixed)) : json()},
                    {"where", r->where},
                    {"symptom", r->symptom},
                    {"workaround", r->workaround},
                    {"source", r->source},
                    {"confidence", r->confidence}});
  return list.dump();
}

std::vector<const Regression*> regressions_of(const Planner& planner, const Plan& plan) {
  std::vector<const Regression*> found;
  for (const Regression& r : known_regressions())
    if (r.match && has_version(r, planner.settings.version) && fits(*r.match, planner, plan)) found.push_back(&r);
  return found;
}

}  // namespace fabricast
