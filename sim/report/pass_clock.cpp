#include "pass_clock.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fabricast {

namespace {

/// The passes of a round with `tokens` tokens per replica: one per pipeline stage, to keep all stages busy.
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

double d(std::int64_t n) { return static_cast<double>(n); }

}  // namespace

double PassClock::attention(const InferencePass& pass) const {
  if (pass.tokens() == 0) return 0;
  return time_attention(step_, pass) * step_.model.layers / step_.layout.pipeline;
}

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
    experts += (t.gemms + t.elementwise) * step_.model.expert_layers() / stages;
  }
  const double seconds = sample_.steady(step_, passes, graph && step_.graph).seconds;
  it->second.experts = std::min(experts, seconds);
  it->second.rest = std::max(0.0, seconds - attended - it->second.experts);
  return it->second;
}

PassClock::Point PassClock::at(double tokens, bool graph) {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max(1.0, tokens))));
  const Point low = on_grid(below, graph);
  const double part = tokens / d(below) - 1;
  if (part <= 0) return low;
  const Point high = on_grid(2 * below, graph);
  return {low.rest + part * (high.rest - low.rest), low.experts + part * (high.experts - low.experts)};
}

double PassClock::more_host(const InferencePass& pass, bool graph) const {
  return graph ? 0 : d(pass.sequences + pass.prompts - 1) * step_.stack.sequence_fixed.us().value;
}

double PassClock::operator()(std::span<const InferencePass> passes) {
  bool graph = true;
  double tokens = 0, most = 0;
  for (const InferencePass& pass : passes) {
    graph = graph && pass.prompts == 0;
    tokens += d(pass.tokens());
    most = std::max(most, d(pass.tokens()));
  }
  if (tokens == 0) return 0;
  double longest = 0;
  for (const InferencePass& pass : passes)
    if (pass.tokens() > 0)
      longest = std::max(longest, at(d(pass.tokens()), graph).rest + attention(pass) + more_host(pass, graph));
  if (step_.model.experts == 0) return longest;
  const bool shared = passes.size() > 1;
  return longest +
         at(shared ? std::max(1.0, tokens / d(static_cast<std::int64_t>(passes.size()))) : most, graph).experts;
}

}  // namespace fabricast
