// The time of any pass of an engine, from passes simulated at powers of two (pass_clock.hpp).
//
// A load of some thousand requests has as many passes, each with other tokens and contexts. Only those of the grid run
// their collectives through the flow engine.
//
//    seconds(pass) = rest(tokens) + attention(pass) + experts(mean tokens of the replicas that share them)
//    rest          = simulated - attention of the simulated pass - experts,   linear in tokens between powers of two
//
// Except for attention, kernels and collectives depend on the number of tokens only. Their time is nearly linear
// between grid points: a fixed part, reading the weights, and a part per token.
#include "pass_clock.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fabricast/core/real.hpp"

namespace fabricast {

namespace {

/// The passes of a round with `tokens` tokens per replica: one per pipeline stage, to keep all stages busy.
/// Decoding: `width` tokens of each sequence, more than one with speculation, at the mean context. Prompts: one prompt
/// of that length per pass, with nothing in its cache. The attention of these contexts is subtracted again.
std::vector<InferencePass> split(std::int64_t tokens, bool decodes, const InferenceStep& step) {
  const std::int64_t passes = std::min<std::int64_t>(step.layout.pipeline, tokens);
  std::vector<InferencePass> all;
  for (std::int64_t i = 0; i < passes; ++i) {
    const std::int64_t mine = tokens / passes + (i < tokens % passes ? 1 : 0);
    InferencePass pass;
    if (decodes) {
      pass.width = 1 + step.speculation.tokens;
      pass.sequences = std::max<std::int64_t>(1, mine / pass.width);
      pass.context = step.mean_context();
    } else {
      pass.prompts = 1;
      pass.queries = pass.keys = mine;
    }
    all.push_back(pass);
  }
  return all;
}

}  // namespace

double PassClock::attention(const InferencePass& pass) const {
  if (pass.tokens() == 0) return 0;
  return time_attention(step_, pass).value * step_.model.layers / step_.layout.pipeline;
}

// Simulates one grid point, once per number of tokens and mode of launch: CUDA graphs skip the host's launches, which
// dominate small prompts.
const PassClock::Point& PassClock::on_grid(std::int64_t tokens, bool graph) {
  const auto [it, is_new] = grid_.try_emplace({tokens, graph});
  if (!is_new) return it->second;
  const std::vector<InferencePass> passes = split(tokens, graph, step_);
  double attended = 0, experts = 0;
  const double stages = step_.layout.pipeline;
  for (const InferencePass& pass : passes) {
    attended += attention(pass);
    if (step_.model.experts == 0) continue;
    const LayerTime t = time_pass(step_, pass).sparse;
    experts += (t.gemms + t.elementwise).value * step_.model.expert_layers() / stages;
  }
  const double seconds = sample_.steady(step_, passes, graph && step_.graph).time.value;
  // Experts were timed alone and the pass as a whole, in which overlap may hide part of them. Neither part may become
  // negative.
  it->second.experts = std::min(experts, seconds);
  it->second.rest = std::max(0.0, seconds - attended - it->second.experts);
  return it->second;
}

PassClock::Point PassClock::at(double tokens, bool graph) {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max(1.0, tokens))));
  const Point low = on_grid(below, graph);
  // Between b and 2b the fraction is t / b - 1. Below one token the time is that of one.
  const double part = tokens / real(below) - 1;
  if (part <= 0) return low;
  const Point high = on_grid(2 * below, graph);
  return {low.rest + part * (high.rest - low.rest), low.experts + part * (high.experts - low.experts)};
}

// The host's work per sequence (`sequence_fixed`) is in the grid for decode passes. For prompts the grid has one prompt
// per pass whatever the tokens, so further sequences are added here.
double PassClock::more_host(const InferencePass& pass, bool graph) const {
  return graph ? 0 : real(pass.sequences + pass.prompts - 1) * step_.stack.sequence_fixed.us().value;
}

double PassClock::operator()(std::span<const InferencePass> passes) {
  bool graph = true;
  double tokens = 0, most = 0;
  for (const InferencePass& pass : passes) {
    graph = graph && pass.prompts == 0;
    tokens += real(pass.tokens());
    most = std::max(most, real(pass.tokens()));
  }
  if (tokens == 0) return 0;
  // Replicas that share experts dispatch tokens to each other in every layer, so all take as long as the busiest one.
  // Only experts are timed at the mean: dispatch spreads the tokens over the ranks of all replicas.
  double longest = 0;
  for (const InferencePass& pass : passes)
    if (pass.tokens() > 0)
      longest = std::max(longest, at(real(pass.tokens()), graph).rest + attention(pass) + more_host(pass, graph));
  if (step_.model.experts == 0) return longest;
  const bool shared = passes.size() > 1;
  return longest +
         at(shared ? std::max(1.0, tokens / real(static_cast<std::int64_t>(passes.size()))) : most, graph).experts;
}

}  // namespace fabricast
