// Software generations that serve: what an inference framework of a certain release does, and what it costs.
//
// Facts are plain members; what is measured is a Parameter. Values: models/workload/data/serving.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/hardware/stack.hpp"

namespace fabricast {

struct ServingStack {
  std::string name, summary, source;
  Framework framework = Framework::vllm;
  int year = 0;    ///< of several of a framework the newest is its default
  int tokens = 0;  ///< of a pass over prompts, at most
  // Kernels besides matrix products; all of a layer.
  int attention_kernels = 0;  ///< of half a layer: norm, rotation, attention, cache
  int ffn_kernels = 0;        ///< of half a layer: norm, activation
  int expert_kernels = 0;     ///< more with experts: router, order of tokens, and back
  int cast_kernels = 0;       ///< more with 8 bits and fewer, of half a layer
  int sampling_kernels = 0;   ///< of a pass
  // Traffic of element-wise kernels, B per token and element of width.
  double outside = 0;    ///< per hidden element, of a layer: norms, residuals
  double attention = 0;  ///< per element of queries, and of keys (or values)
  double ffn = 0, gated_ffn = 0;
  double cast = 0;   ///< per element that products read, where they read 8 bits or fewer
  double logit = 0;  ///< per logit: sampling
  // What is measured.
  Parameter gemm;            ///< rate of products, relative to the GPU's
  Parameter attention_rate;  ///< rate of attention, relative to the GPU's
  Parameter kernel_launch;   ///< us of the host per kernel, without CUDA graphs
  Parameter collective;      ///< us that a collective takes beside its exchange and launch
  Parameter step_fixed;      ///< us of the host per pass: schedule, inputs, what comes out
  Parameter sequence_fixed;  ///< the same per sequence
  Parameter interference;    ///< part of its speed that computation loses to a collective beside it
  Parameter memory;          ///< part of a GPU's memory that is used
};
std::vector<ParameterRef> parameters(ServingStack& stack);

const std::map<std::string, ServingStack, std::less<>>& serving_stacks();
/// The one of that name, or a framework's newest. \throws UserError (path workload.stack)
const ServingStack& find_serving_stack(Framework framework, const std::string& name);

}  // namespace fabricast
