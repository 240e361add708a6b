// The parallelism of published serving.
//
// Tables count degrees of one worker; a scenario counts all GPUs. Equal workers are data-parallel replicas of the
// scenario.
#include <fmt/format.h>

#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

/// The number that follows a word: 8 for `dp` in `dp8`. 0 if there is none.
int number_behind(std::string_view text, std::string_view word) {
  auto rest = after(text, word);
  const auto n = rest ? take_number(*rest) : std::nullopt;
  return n && *n > 0 ? *n : 0;
}

/// `1 x (tp1 pp1 dp8 moe_tp1 ep8 batch 64)`
Workers workers_of(std::string_view text) {
  Workers w;
  w.count = number_behind(text, "");
  w.tensor = number_behind(text, "(tp");
  w.pipeline = number_behind(text, " pp");
  w.data = number_behind(text, " dp");
  w.expert = number_behind(text, " ep");
  w.expert_tensor = number_behind(text, " moe_tp");
  w.batch = number_behind(text, " batch ");
  return w;
}

bool complete(const Workers& w) { return w.count > 0 && w.tensor > 0 && w.pipeline > 0 && w.data > 0 && w.expert > 0; }

Workers workers_of(const ServingRow& row) {
  Workers w;
  w.count = 1;
  w.tensor = std::max(1, row.tensor);
  w.pipeline = std::max(1, row.pipeline);
  w.data = std::max(1, row.data);
  w.expert = std::max(1, row.expert);
  w.expert_tensor = number_behind(row.note, "moe tp ");
  return w;
}

/// The value of `parallel.expert_tensor`. 0 if it equals the scenario's default.
int expert_tensor_of(const Workers& w, MappedServing& mapped) {
  if (!mapped.experts) return 0;
  // Without expert parallelism each expert is split over all ranks of a worker, also over its attention data-parallel
  // ranks, where the scenario's default is the tensor degree alone.
  const int split = w.expert_tensor > 0 ? w.expert_tensor : w.expert > 1 ? 1 : w.tensor * w.data;
  if (split == (w.expert > 1 ? 1 : w.tensor)) return 0;
  if (w.expert_tensor == 0)
    mapped.assumed.push_back({"workload.parallel.expert_tensor", fmt::format("{}", split),
                              "not stated; experts are split over all ranks of a worker"});
  return split;
}

/// With whole experts on the ranks of a worker if they cannot be split as stated: 8-bit weights have a scale per block
/// of 128 rows, and engines refuse narrower slices. Some launchers of wide expert parallelism report it as degree 1.
Workers with_possible_experts(Workers w, const ServingRow& row, MappedServing& mapped) {
  constexpr std::int64_t block = 128;
  const ModelPreset* model = find_by_name(model_presets(), row.model);
  const int split = w.expert_tensor > 0 ? w.expert_tensor : w.tensor * w.data;
  if (!model || !mapped.experts || w.expert > 1) return w;
  if (model->dimensions.expert_ffn / split >= block || model->dimensions.experts % split != 0) return w;
  mapped.assumed.push_back({"workload.parallel.expert", fmt::format("{}", split),
                            "slices of an expert on so many ranks would be narrower than a block of its scales"});
  w.expert = split;
  w.expert_tensor = 0;
  return w;
}

/// With whole experts on the ranks of a worker for prompts of TensorRT-LLM with attention of its own on each rank. Some
/// rows of such workers state degree 1. Five pairs of rows that differ only in that have equal times.
Workers with_whole_experts(Workers w, const ServingRow& row, MappedServing& mapped) {
  if (!mapped.experts || row.engine != "trtllm" || w.data == 1 || w.expert > 1) return w;
  w.expert = w.data;
  mapped.assumed.push_back({"workload.disaggregated.prefill.parallel.expert", fmt::format("{}", w.expert),
                            "its times are those of workers with so many expert-parallel ranks"});
  return w;
}

Json parallel_of(const Workers& stated, int gpus, const ServingRow& row, MappedServing& mapped) {
  const Workers w = with_possible_experts(stated, row, mapped);
  Json parallel = {{"tensor", w.tensor}};
  if (w.pipeline > 1) parallel["pipeline"] = w.pipeline;
  if (w.expert > 1) parallel["expert"] = w.expert;
  if (const int degree = expert_tensor_of(w, mapped); degree > 0) parallel["expert_tensor"] = degree;
  // Workers and attention data-parallel ranks of a worker: both have their own requests.
  parallel["data"] = gpus / (w.tensor * w.pipeline);
  return parallel;
}

}  // namespace

std::optional<Disaggregation> disaggregation_of(const ServingRow& row) {
  const auto prompts = after(row.note, "disaggregated: prefill ");
  const auto decoding = prompts ? after(*prompts, "; decode ") : std::nullopt;
  if (!decoding) return std::nullopt;
  Disaggregation d;
  std::string_view first = *prompts;
  d.prompts = workers_of(take_until(first, ';'));
  std::string_view second = *decoding;
  d.decoding = workers_of(take_until(second, ';'));
  // A note that is not in this form is no statement about workers.
  if (!complete(d.prompts) || !complete(d.decoding)) return std::nullopt;
  return d;
}

int replicas_of(const ServingRow& row, int gpus) {
  if (const auto d = disaggregation_of(row)) return d->decoding.count * d->decoding.data;
  return gpus / (std::max(1, row.tensor) * std::max(1, row.pipeline));
}

void say_split(Json& workload, const ServingRow& row, int gpus, MappedServing& mapped) {
  const auto apart = disaggregation_of(row);
  mapped.apart = apart.has_value();
  const Workers decoding = apart ? apart->decoding : workers_of(row);
  const int stated = apart ? apart->prompts.gpus() + decoding.gpus() : decoding.gpus();
  const int all = system_of(row).gpus;
  // With shared GPUs the stated degrees are of one replica; with separate workers they are of all GPUs.
  if (apart ? stated != all : all % stated != 0)
    return miss(mapped, fmt::format("workload.parallel: the degrees need {} GPUs, but there are {}", stated, all));
  workload["parallel"] = parallel_of(decoding, apart ? decoding.gpus() : gpus, row, mapped);
  if (!apart) {
    if (row.note.find("tp 1 assumed") != std::string::npos)
      mapped.assumed.push_back({"workload.parallel.tensor", "1", "the source does not state the split"});
    return;
  }
  // GPUs that fill up the last node are prefill workers (serving_systems.cpp).
  const int prompts = gpus - decoding.gpus();
  workload["disaggregated"] = {
      {"prefill",
       {{"gpus", prompts},
        {"parallel", parallel_of(with_whole_experts(apart->prompts, row, mapped), prompts, row, mapped)}}}};
}

}  // namespace fabricast::serving
