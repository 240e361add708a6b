// Ranks of a probe session as threads of a test.
#pragma once

#include <future>
#include <string>
#include <vector>

#include "fabricast/calibrate/probe_session.hpp"
#include "support/free_port.hpp"

namespace fabricast::test {

/// How a rank ended, and on rank 0 what it has.
struct RankEnd {
  std::string error;  ///< empty, or "unavailable: ..." as the command line says it
  SessionOutcome outcome;
  std::vector<std::pair<Measurement, SampleSet>> results;
  std::vector<Measurement> plan;
  std::vector<std::string> notes;
};

inline SessionOptions options_of(int rank, int ranks, int port) {
  SessionOptions o;
  o.place.rank = rank, o.place.ranks = ranks, o.place.port = port;
  o.version = "1.0", o.timeout = {5}, o.budget = {5};
  o.provenance = R"({"host": "here"})";
  return o;
}

inline RankEnd run_rank(const std::vector<ProbeBackendEntry>& backends, SessionOptions options) {
  RankEnd end;
  options.on_plan = [&](const auto& plan) { end.plan = plan; };
  options.on_note = [&](const std::string& note) { end.notes.push_back(note); };
  options.on_result = [&](const Measurement& m, const SampleSet& set) { end.results.emplace_back(m, set); };
  try {
    end.outcome = run_probe_session(backends, options);
  } catch (const UserError& e) { end.error = "error: " + e.diagnostics().at(0).message; } catch (const Unavailable& e) {
    end.error = std::string("unavailable: ") + e.what();
  }
  return end;
}

/// One thread per rank; `change(rank, options)` before it starts.
template <class Backends, class Change>
std::vector<RankEnd> run_ranks(int ranks, Backends backends_of, Change change) {
  const int port = free_port();
  std::vector<std::future<RankEnd>> running;
  for (int r = 0; r < ranks; ++r) {
    SessionOptions options = options_of(r, ranks, port);
    change(r, options);
    running.push_back(std::async(std::launch::async, [b = backends_of(r), options] { return run_rank(b, options); }));
  }
  std::vector<RankEnd> ends;
  for (auto& r : running) ends.push_back(r.get());
  return ends;
}

}  // namespace fabricast::test
