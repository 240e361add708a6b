// State of one replica between passes, and the rules by which an engine with continuous batching fills the next pass:
// free slots, room in the KV cache, and the tokens of a pass. Sequences are not stored token by token: the sum of their
// contexts and the step at which each ends are enough.
#include "serving_replica.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/real.hpp"

namespace fabricast {

std::int64_t ServingReplica::steps_of(const ServingRequest& q) const {
  // The first token comes from the prompt. With speculation a step yields several tokens on average; fractions of a
  // step round up.
  return static_cast<std::int64_t>(std::ceil(real(q.output - 1) / pool_->tokens_per_step - 1e-9));
}

// TensorRT-LLM reserves the whole output. vLLM and SGLang admit what fits now and evict later, which is modelled as a
// fraction of the output.
std::int64_t ServingReplica::need(const ServingRequest& q) const {
  return q.input + std::llround(pool_->reserved * real(q.output));
}

bool ServingReplica::has_room(std::int64_t more, std::size_t next) const {
  if (sequences() + more >= pool_->sequences) return false;
  // A single sequence is always admitted. memory_faults checks beforehand that it fits.
  if (pool_->cache == 0 || sequences() + more == 0) return true;
  return admitted_ + need(request(next)) <= pool_->cache;
}

InferencePass ServingReplica::decoding() const {
  InferencePass pass;
  pass.sequences = sequences();
  pass.width = pool_->width;
  // Decode attention reads all caches, so the mean context gives the same bytes.
  if (pass.sequences > 0) pass.context = std::llround(context_ / real(pass.sequences));
  return pass;
}

double ServingReplica::filled() const {
  std::int64_t tokens = 0;
  for (const std::size_t i : waiting_) tokens += request(i).input - request(i).cached;
  return real(tokens - computed_) / real(pool_->tokens);
}

void ServingReplica::plan_prompts(PassPlan& plan) const {
  // Tokens left for prompts, after those of decoded sequences if both share passes.
  std::int64_t room = pool_->tokens - (pool_->prompts.mixed ? sequences() * pool_->width : 0);
  std::int64_t queries = 0, keys = 0, done = computed_, taken = 0;
  InferencePass& pass = plan.pass;
  // First come, first served: a prompt that does not fit holds back those behind it.
  for (const std::size_t i : waiting_) {
    const ServingRequest& q = request(i);
    if (duty_ == Duty::both) {
      if (sequences() + pass.prompts >= pool_->sequences) break;
      const bool first = sequences() + pass.prompts == 0;
      if (!first && pool_->cache > 0 && admitted_ + taken + need(q) > pool_->cache) break;
      taken += need(q);
    }
    const std::int64_t left = q.input - q.cached - done;
    // A prompt that does not fit in any pass is cut, even if the engine does not chunk prompts.
    const bool cut = left > room && (pool_->prompts.chunked || pass.prompts == 0);
    if (room <= 0 && pass.prompts > 0) break;
    if (left > room && !cut) break;
    const std::int64_t now = cut ? std::min(left, std::max<std::int64_t>(room, 1)) : left;
    ++pass.prompts;
    queries += now;
    keys += q.cached + done + now;
    room -= now;
    // The rest of a cut prompt begins the next pass.
    if (now < left) {
      plan.started = done + now;
      break;
    }
    plan.prompts.push_back(i);
    done = 0;
  }
  if (pass.prompts == 0) return;
  // A pass has one length for all its prompts: their means.
  pass.queries = std::max<std::int64_t>(1, std::llround(real(queries) / real(pass.prompts)));
  pass.keys = std::max<std::int64_t>(pass.queries, std::llround(real(keys) / real(pass.prompts)));
}

std::size_t ServingReplica::take_place() {
  if (!can_admit()) return no_request;
  const std::size_t next = waiting_.front();
  waiting_.pop_front();
  return next;
}

void ServingReplica::end_prompts(const PassPlan& plan) {
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(plan.prompts.size()));
  if (plan.pass.prompts > 0) computed_ = plan.started;
}

void ServingReplica::start_decoding(std::size_t i, double now) {
  const ServingRequest& q = request(i);
  if (running_.empty()) last_token_ = now;
  // A step reads the cache of the prompt and of all earlier tokens.
  running_.push({step_ + steps_of(q), i});
  context_ += real(q.input + 1);
  admitted_ += need(q);
}

std::vector<std::size_t> ServingReplica::decode(std::int64_t steps, double first, double end) {
  const double sequences_now = real(sequences());
  // The first of several steps may follow a pass of prompts, so its gap differs from those of the others.
  longest_gap_ = std::max(longest_gap_, first - last_token_);
  gaps_.emplace_back(first - last_token_, sequences_now);
  if (steps > 1) gaps_.emplace_back((end - first) / real(steps - 1), sequences_now * real(steps - 1));
  last_token_ = end;
  step_ += steps;
  context_ += real(steps * sequences()) * pool_->tokens_per_step;
  std::vector<std::size_t> ended;
  while (!running_.empty() && running_.top().last_step <= step_) {
    const std::size_t i = running_.top().request;
    running_.pop();
    const ServingRequest& q = request(i);
    // The same amounts that start_decoding and the steps have added, so that rounding does not accumulate.
    context_ -= real(q.input + 1) + real(steps_of(q)) * pool_->tokens_per_step;
    admitted_ -= need(q);
    ended.push_back(i);
  }
  return ended;
}

}  // namespace fabricast
