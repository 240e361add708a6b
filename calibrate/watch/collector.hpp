// Collects the telemetry of half an interval: calls matched over ranks, and states of ranks.
//
// Not safe to use from several threads at once.
#pragma once

#include <string>
#include <unordered_map>

#include "../live/call_matcher.hpp"
#include "../live/ras_snapshot.hpp"
#include "fabricast/calibrate/watch.hpp"

namespace fabricast::live {

/// What went wrong while reading, since the beginning.
struct WatchCounts {
  std::int64_t records = 0, calls = 0, parts = 0, problems = 0, left_out = 0;
  std::string last_problem;
};

class Collector : public CallSink {
 public:
  Collector();
  int communicator(const CommunicatorFacts& facts) override;
  bool same_shape(int communicator, int ranks, int nodes) const override;
  void place(int communicator, int rank, std::string_view place) override;
  void see_version(std::string version) override;
  void leave_out(std::string reason) override;
  void problem(const std::string& file, int line, int column, std::string message) override;

  void add(const RankCall& call);
  /// A communicator of a RAS status.
  void add(const RasCommunicator& state);

  const WatchInterval& interval() const { return interval_; }
  const WatchCounts& counts() const { return counts_; }
  /// Begins the next half. The findings of the one that ends (watch.hpp) are no longer known.
  void end_half();

 private:
  void complete(OpenCall& call);

  WatchInterval interval_;
  WatchCounts counts_;
  std::unordered_map<std::string, int> numbers_;
  std::unordered_map<std::string, std::uint32_t> place_numbers_;
  CallMatcher matcher_;
};

}  // namespace fabricast::live
