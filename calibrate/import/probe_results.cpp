// The JSONL of `calibrate probe`: measurements of its nccl backend, as tables like those of nccl-tests. Lines are in
// the shuffled order of measurement; the rows of a table are sorted by bytes.
//
// A line of provenance precedes the measurements of a session. Sessions with the same machine and versions are one
// table, so interrupted sessions that were resumed are whole.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "fabricast/collective/collective.hpp"
#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

using nlohmann::json;

namespace {

// Provenance of many ranks is one long line.
constexpr std::size_t longest = std::size_t{1} << 22;
constexpr int calls_per_sample = 20;

/// What all tables of one session have in common.
struct Session {
  int processes = 0, nodes = 0;
  std::string gpu, nccl_version;
  bool operator==(const Session&) const = default;
};

Session session_of(const json& provenance, std::map<std::string, std::string>& variables) {
  Session s;
  std::set<std::string> hosts, gpus;
  for (const json& rank : provenance.at("ranks")) {
    ++s.processes;
    hosts.insert(rank.at("host").get<std::string>());
    const json& cuda = rank.at("cuda");
    if (cuda.contains("gpus"))
      for (const json& gpu : cuda.at("gpus")) gpus.insert(shown(gpu.at("name").get<std::string>()));
    const std::string version = rank.at("nccl");
    // A rank without GPUs does not run NCCL; its library may be another version.
    if (cuda.contains("gpus") && !version.empty() && is_digit(version.front())) s.nccl_version = shown(version, 20);
    for (const auto& [name, value] : rank.at("environment").items())
      variables.emplace(shown(name), shown(value.get<std::string>()));
  }
  s.nodes = static_cast<int>(hosts.size());
  // Different GPUs are left empty, as in a table of nccl-tests.
  if (gpus.size() == 1) s.gpu = *gpus.begin();
  return s;
}

}  // namespace

struct ProbeResults::State {
  using Key = std::tuple<std::string, int, std::string, std::string, int>;
  ImportSink& sink;
  Session session;
  bool seen = false;
  std::map<Key, LogTable> tables;
  std::map<Key, std::map<std::int64_t, LogRow>> rows;

  void provenance(const json& j) {
    const Session next = session_of(j, sink.out.nccl.env);
    // Another machine or version begins other tables.
    if (!(next == session)) flush();
    session = next;
    seen = true;
  }

  /// \returns whether its values are plausible
  bool row(const json& j, int line) {
    // Other backends do not measure collectives.
    if (j.at("backend") != "nccl") return true;
    if (j.contains("error")) {
      sink.problem(line, "the measurement failed: " + shown(j.at("error").get<std::string>()));
      return true;
    }
    // Settings that the probe forces are part of the key: each combination is a table.
    const Key key{j.at("what"), j.at("gpus"), j.value("algorithm", ""), j.value("protocol", ""),
                  j.value("channels", 0)};
    const std::int64_t bytes = j.at("bytes");
    const double time = j.at("median_us");
    if (bytes <= 0 || !(time > 0) || std::get<1>(key) < 1) return false;
    if (const auto [at, fresh] = tables.emplace(key, LogTable{}); fresh) begin(at->second, key, line);
    const auto [at, fresh] = rows[key].emplace(bytes, LogRow{});
    LogRow& r = at->second;
    // If a size was measured twice, the last one counts. The out-of-place time is preferred.
    const bool in_place = j.at("in_place");
    if (fresh || !in_place) {
      r.line = line;
      r.bytes = bytes;
      r.time_us = time;
    }
    if (in_place) r.in_place_us = time;
    return true;
  }

  void begin(LogTable& t, const Key& key, int line) const {
    const auto& [what, gpus, algorithm, protocol, channels] = key;
    t.tool = "probe";
    t.operation = what;
    t.line = line;
    t.ranks = gpus;
    t.nodes = session.nodes;
    // Where ranks do not divide evenly over processes the value is not stated.
    t.ranks_per_process = session.processes > 0 && gpus % session.processes == 0 ? gpus / session.processes : 0;
    t.threads = 1;
    t.iterations = calls_per_sample;
    t.nccl_version = session.nccl_version;
    t.gpu = session.gpu;
    t.details["type"] = "float";
    if (!algorithm.empty()) t.details["algorithm"] = shown(algorithm, 20);
    if (!protocol.empty()) t.details["protocol"] = shown(protocol, 20);
    if (channels > 0) t.details["channels"] = std::to_string(channels);
  }

  void flush() {
    for (auto& [key, table] : tables) {
      // Measurements of GPU pairs (`send`) are not collectives.
      if (!enum_from<CollectiveOp>(table.operation)) continue;
      for (const auto& [bytes, row] : rows[key]) table.rows.push_back(row);
      sink.out.tables.push_back(std::move(table));
    }
    tables.clear();
    rows.clear();
  }
};

ProbeResults::ProbeResults(ImportSink& sink) : state_(new State{sink, {}, false, {}, {}}) {}
ProbeResults::~ProbeResults() = default;

bool ProbeResults::begins(std::string_view text) const {
  return text.starts_with("{\"fabricast\":") || (state_->seen && text.starts_with("{\"backend\":"));
}

void ProbeResults::read(LineReader& lines) {
  const int line = lines.line();
  std::string text(lines.text());
  while (!lines.ends() && lines.next())
    if (text.size() < longest) text += lines.text();
  const json j = text.size() < longest ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
  bool good = !j.is_discarded();
  try {
    if (good && j.contains("fabricast"))
      state_->provenance(j);
    else if (good)
      good = state_->row(j, line);
  } catch (const json::exception&) {
    // A key is missing or has the wrong type.
    good = false;
  }
  if (!good) state_->sink.problem(line, "malformed or truncated line of `calibrate probe`");
}

void ProbeResults::finish() { state_->flush(); }

}  // namespace fabricast
