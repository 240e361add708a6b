// A replica of a serving engine: what waits, what is decoded, and what its next pass holds.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "fabricast/workload/serving_load.hpp"

namespace fabricast {

/// What a replica does with requests.
enum class Duty { both, prompts, decoding };

/// A sequence that is decoded ends after its replica has run so many steps.
struct RunningSequence {
  std::int64_t last_step;
  std::size_t request;
  bool operator>(const RunningSequence& other) const {
    return last_step != other.last_step ? last_step > other.last_step : request > other.request;
  }
};

/// What a replica does in a pass.
struct PassPlan {
  InferencePass pass;
  std::vector<std::size_t> prompts;  ///< that end in it
  std::int64_t started = 0;          ///< tokens of the next prompt that have been computed then
};

class ServingReplica {
 public:
  ServingReplica(const ServingLoad& load, const ServingPool& pool, Duty duty)
      : load_(&load), pool_(&pool), duty_(duty) {}

  std::size_t requests() const { return waiting_.size() + running_.size(); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(running_.size()); }
  /// Whether the first request that waits could start: it has a place, and room in the cache.
  bool can_admit() const { return !waiting_.empty() && has_room(0, waiting_.front()); }
  /// Decode steps until the next sequence ends. \pre some are decoded
  std::int64_t steps_left() const { return running_.top().last_step - step_; }
  /// What is decoded; empty if nothing is.
  InferencePass decoding() const;
  /// Part of a pass's tokens that the prompts which wait would fill.
  double filled() const;

  void receive(std::size_t request) { waiting_.push_back(request); }
  /// Prompts for the next pass.
  void plan_prompts(PassPlan& plan) const;
  /// A sequence whose cache has come takes its place; it costs nothing until it is decoded.
  /// \returns the request, in the order in which they came; nothing can start: no_request
  std::size_t take_place();
  static constexpr std::size_t no_request = static_cast<std::size_t>(-1);

  /// Takes prompts of the plan from those that wait.
  void end_prompts(const PassPlan& plan);
  /// \pre its output has more than one token
  void start_decoding(std::size_t request, double now);
  /// Steps that begin now and end at `end`, the first at `first`.
  /// \returns requests that end with the last of them
  std::vector<std::size_t> decode(std::int64_t steps, double first, double end);

  double longest_gap() const { return longest_gap_; }
  /// s between tokens, and how many came so.
  const std::vector<std::pair<double, double>>& gaps() const { return gaps_; }

 private:
  const ServingRequest& request(std::size_t i) const { return load_->requests[i]; }
  std::int64_t steps_of(const ServingRequest& q) const;
  /// Tokens of cache that a request is admitted with.
  std::int64_t need(const ServingRequest& q) const;
  bool has_room(std::int64_t more, std::size_t request) const;

  const ServingLoad* load_;
  const ServingPool* pool_;
  Duty duty_;
  std::deque<std::size_t> waiting_;
  std::int64_t computed_ = 0;  ///< tokens of the first prompt that waits
  std::priority_queue<RunningSequence, std::vector<RunningSequence>, std::greater<>> running_;
  std::int64_t step_ = 0;      ///< decode steps so far
  double context_ = 0;         ///< tokens, sum over running sequences
  std::int64_t admitted_ = 0;  ///< tokens of cache that running sequences are admitted with
  double last_token_ = 0;      ///< when sequences got their last one
  double longest_gap_ = 0;
  std::vector<std::pair<double, double>> gaps_;
};

}  // namespace fabricast
