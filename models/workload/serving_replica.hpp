// A replica of a serving engine: its waiting requests, its running sequences, and the contents of its next pass.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

#include "fabricast/workload/serving_load.hpp"

namespace fabricast {

/// Which phases of requests a replica handles.
enum class Duty { both, prompts, decoding };

/// A running sequence. It ends after its replica has run `last_step` decode steps.
struct RunningSequence {
  std::int64_t last_step;
  std::size_t request;
  bool operator>(const RunningSequence& other) const {
    return last_step != other.last_step ? last_step > other.last_step : request > other.request;
  }
};

/// The contents of a pass.
struct PassPlan {
  InferencePass pass;
  std::vector<std::size_t> prompts;  ///< requests whose prompts end in this pass
  std::int64_t started = 0;          ///< tokens of the next prompt that are computed by its end
};

/// State of one replica. Requests are indices into the load. Not thread-safe.
class ServingReplica {
 public:
  ServingReplica(const ServingLoad& load, const ServingPool& pool, Duty duty)
      : load_(&load), pool_(&pool), duty_(duty) {}

  std::size_t requests() const { return waiting_.size() + running_.size(); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(running_.size()); }
  /// Whether the first waiting request could start: there is a free slot, and room in the KV cache.
  bool can_admit() const { return !waiting_.empty() && has_room(0, waiting_.front()); }
  /// Decode steps until the next sequence ends. \pre some sequence is running
  std::int64_t steps_left() const { return running_.top().last_step - step_; }
  /// The decode part of a pass; empty if no sequence is running.
  InferencePass decoding() const;
  /// Tokens of the waiting prompts relative to the capacity of a pass.
  double filled() const;

  void receive(std::size_t request) { waiting_.push_back(request); }
  /// Adds prompts for the next pass to a plan.
  void plan_prompts(PassPlan& plan) const;
  /// Takes the first waiting sequence, whose KV cache has arrived, if it can start. It costs nothing until it is
  /// decoded.
  /// \returns the request; no_request if none can start
  std::size_t take_place();
  static constexpr std::size_t no_request = static_cast<std::size_t>(-1);

  /// Removes the prompts of the plan from the waiting ones.
  void end_prompts(const PassPlan& plan);
  /// \pre its output has more than one token
  void start_decoding(std::size_t request, double now);
  /// Runs `steps` decode steps; the first ends at `first`, the last at `end`.
  /// \returns requests that end with the last step
  std::vector<std::size_t> decode(std::int64_t steps, double first, double end);

  double longest_gap() const { return longest_gap_; }
  /// (seconds between tokens, number of such gaps).
  const std::vector<std::pair<double, double>>& gaps() const { return gaps_; }

 private:
  const ServingRequest& request(std::size_t i) const { return load_->requests[i]; }
  std::int64_t steps_of(const ServingRequest& q) const;
  /// Tokens of KV cache that a request reserves.
  std::int64_t need(const ServingRequest& q) const;
  bool has_room(std::int64_t more, std::size_t request) const;

  const ServingLoad* load_;
  const ServingPool* pool_;
  Duty duty_;
  std::deque<std::size_t> waiting_;
  std::int64_t computed_ = 0;  ///< tokens of the first waiting prompt that are computed
  std::priority_queue<RunningSequence, std::vector<RunningSequence>, std::greater<>> running_;
  std::int64_t step_ = 0;      ///< decode steps so far
  double context_ = 0;         ///< tokens, sum over running sequences
  std::int64_t admitted_ = 0;  ///< tokens of KV cache reserved for running sequences
  double last_token_ = 0;      ///< when running sequences got their last token
  double longest_gap_ = 0;
  std::vector<std::pair<double, double>> gaps_;
};

}  // namespace fabricast
