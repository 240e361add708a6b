// A quick estimate of a step, which selects the splits that are worth a forecast. Collectives run at the full rate of
// the links, and overlapped communication is hidden as far as computation lasts.
//
//    micro-batch  T = (layers / p) (kernels + collectives of a layer) + vocabulary
//    step           = (m + (p - 1) / v) T + max(0, G - hidden) + optimizer + fixed
//
// with p stages, m micro-batches, v chunks of layers per stage and G the time to reduce gradients and gather
// parameters. The bubble is that of interleaved 1F1B [Narayanan2021]. Kernels are those of the forecast. Latency,
// NCCL's choice of algorithm, sharing of links and the imbalance of stages are left out. The result is within 35 % of
// forecasts near the best (docs/models/training-answers.md).
#include <algorithm>

#include "fabricast/report/plan.hpp"
#include "fabricast/workload/layer.hpp"

namespace fabricast {

namespace {

/// Payload rates of a GPU.
struct Rates {
  BytesPerSecond inside, outside;  ///< over NVLink or PCIe inside a domain; over the NICs
  int domain = 1;                  ///< GPUs of a domain
  /// The time of `bytes` of a GPU in a group that spans `span` consecutive ranks.
  Seconds time(double bytes, std::int64_t span) const {
    return Seconds{bytes / (span <= domain ? inside : outside).value};
  }
};

// The NICs of a node serve its GPUs evenly. Without NVLink a GPU has its PCIe link. Nodes without NICs have one rate
// for all groups.
Rates rates_of(const World& world) {
  const Node& node = world.planner().comm.node;
  Rates r;
  r.domain = nvlink_ranks(world.scenario());
  const auto rate_of = [&](const std::string& name) {
    const auto link = world.scenario().hardware->links.find(name);
    return link == world.scenario().hardware->links.end() ? BytesPerSecond{} : link->second.payload_rate();
  };
  r.outside = node.nic_rate(true) * node.nics / world.planner().comm.gpus();
  r.inside = node.nvlink ? static_cast<double>(node.gpu.nvlinks) * rate_of(node.gpu.nvlink) : rate_of(node.gpu.pcie);
  if (r.outside <= BytesPerSecond{}) r.outside = r.inside;
  return r;
}

// All kernels of a half layer, forward and backward. Weight gradients count in full: zero-bubble schedules move them,
// but do not save them.
Seconds sum(const HalfLayer& h) {
  return h.before + h.forward + h.before_backward + h.data_gradient + h.weight_gradient;
}

}  // namespace

Seconds estimate_step(const World& world, const TrainingStep& step) {
  const Rates rates = rates_of(world);
  const ParallelLayout& l = step.layout;
  const Transformer& model = step.model;
  const double layers = static_cast<double>(model.layers) / l.pipeline;
  const double sparse = static_cast<double>(model.expert_layers()) / model.layers;
  const auto layer_time = [&](bool experts) {
    const LayerTimes t = time_layer(step, experts);
    return sum(t.attention) + sum(t.ffn) + recompute_time(step, t, experts);
  };
  // The mean layer: `sparse` is the share of layers with experts. Stages are taken as equal.
  Seconds layer;
  if (sparse < 1) layer += (1 - sparse) * layer_time(false);
  if (sparse > 0) layer += sparse * layer_time(true);

  // Collectives of a layer, forward and backward, with 2 B per value. Tensor parallelism has four all-reduces, expert
  // parallelism four all-to-alls. Context parallelism sends keys and values once forward, and backward together with
  // their gradients.
  const double width = 2.0 * static_cast<double>(model.hidden), tokens = step.tokens();
  Seconds collectives;
  if (l.tensor > 1) {
    // An all-reduce moves 2 (t - 1) / t of its bytes over each rank's links [Patarasuk2009]. Sequence parallelism
    // replaces each by a reduce-scatter and an all-gather, with the same bytes.
    const double share = step.overlap_tensor ? step.stack.tensor_exposed.value : 1;
    collectives += rates.time(share * 4 * 2 * tokens * width * (l.tensor - 1) / l.tensor, l.tensor);
  }
  // Dispatch and combine, forward and backward. Of the tokens, (e - 1) / e go to other ranks.
  if (l.expert > 1)
    collectives += rates.time((step.overlap_expert ? step.stack.expert_exposed.value : 1) * sparse * 4 *
                                  dispatched_tokens(step) * width * (l.expert - 1) / l.expert,
                              std::int64_t{l.expert} * (l.expert_tensor > 1 ? l.tensor : 1));
  if (l.context > 1)
    collectives += step.stack.context_exposed.value *
                   rates.time(3 * 2 * tokens * static_cast<double>(model.cache_width()) / l.tensor * (l.context - 1),
                              std::int64_t{l.tensor} * l.context);

  const VocabularyTimes v = time_vocabulary(step);
  const double m = step.micro_batches();
  const MtpTimes further = time_mtp(step);
  // A stage that holds the vocabulary and, if there is multi-token prediction, its layers: the others wait for it.
  const Seconds stage = (layers + step.mtp_layers) * (layer + collectives) +
                        (1 + step.mtp_layers) * (v.forward + v.backward) +
                        step.mtp_layers * (further.forward + further.backward);
  Seconds time = (m + static_cast<double>(l.pipeline - 1) / step.interleave) * stage;

  // Gradients and parameters of replicas.
  const ParameterCount count = count_parameters(model);
  const double experts = static_cast<double>(count.experts) * model.expert_layers();
  // Parameters of a GPU: experts are divided by their own degrees, all else by tensor. Vocabulary counts as spread over
  // the stages.
  const double held = (static_cast<double>(count.total) - experts) / l.tensor / l.pipeline +
                      experts / l.expert / l.expert_tensor / l.pipeline;
  const double replicas = static_cast<double>(l.data) * l.context;
  if (replicas > 1) {
    const double gradient = step.stack.gradient_bytes * step.compression, parameter = 2;
    // ZeRO 2 and 3 reduce the gradients of every micro-batch, and ZeRO 3 gathers parameters for each forward and
    // backward pass [Rajbhandari2020]. With a pipeline, gradients are reduced once, after the last micro-batch.
    const bool always = step.zero >= 2 && l.pipeline == 1;
    const double bytes = step.zero == 3 && always ? m * (2 * parameter + gradient)
                         : always                 ? m * gradient + parameter
                                                  : gradient + parameter;
    const Seconds moved = rates.time(held * bytes, std::int64_t{l.tensor} * l.context * l.data);
    // What is reduced once can only overlap with the backward pass of the last micro-batch, about two thirds of its
    // time.
    const Seconds hidden = step.overlap_data ? (always ? time : stage * 2 / 3) : Seconds{};
    time += std::max(Seconds{}, moved - hidden);
  }
  const double shared = step.zero > 0 ? l.shard : 1;
  return time + optimizer(step.kernels, Bytes{static_cast<std::int64_t>(held / shared * step.stack.optimizer.value)}) +
         Seconds{step.stack.step_fixed.value};
}

}  // namespace fabricast
