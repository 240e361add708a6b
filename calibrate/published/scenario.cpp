// Makes the scenario of a published row.
//
// parts.hpp has one lookup for each part of a scenario. All of them run even if an early one fails, but only the first
// reason is kept (`miss`), so counts by reason name the first obstacle in this order.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "parts.hpp"

namespace fabricast {

namespace published {

namespace {

/// The step time as published, or computed from the tokens/s of a GPU. 0 if neither is stated.
Seconds step_time_of(const PublishedRow& row) {
  if (row.step_seconds > 0) return {row.step_seconds};
  if (!(row.tokens_per_second > 0)) return {};
  // Tokens of a step over tokens per second of all GPUs.
  return {static_cast<double>(row.global_batch) * row.sequence / (row.tokens_per_second * row.gpus)};
}

/// The micro-batch of a row that does not state it. torchtitan does not accumulate gradients: the batch of a rank is
/// one micro-batch, or one per pipeline stage [torchtitan-benchmarks].
std::int64_t usual_micro_batch(const PublishedRow& row, const Release& software, MappedRow& mapped) {
  const std::int64_t batches = std::int64_t{row.data} * row.pipeline;
  const bool whole = software.stack.starts_with("torchtitan") && batches > 0 && row.global_batch % batches == 0;
  const std::int64_t micro = whole ? std::max<std::int64_t>(1, row.global_batch / batches) : 1;
  mapped.assumed.push_back(
      {"workload.batch.micro", std::to_string(micro), whole ? "not stated; one micro-batch per stage" : "not stated"});
  return micro;
}

Json batch_of(const PublishedRow& row, const Note& note, const Release& software, MappedRow& mapped) {
  if (row.global_batch == 0) miss(mapped, "workload.batch.global: not stated");
  std::int64_t micro = row.micro_batch > 0 ? row.micro_batch : usual_micro_batch(row, software, mapped);
  // Micro-batch size times number of micro-batches is the batch of a rank. If the row contradicts itself, the number of
  // micro-batches counts.
  const std::int64_t batches = note.number("GA=") * row.data;
  if (batches > 0 && row.global_batch % batches == 0 && row.global_batch / batches != micro) {
    mapped.assumed.push_back({"workload.batch.micro", std::to_string(row.global_batch / batches),
                              fmt::format("the row states {}, but also {} micro-batches", micro, note.number("GA="))});
    micro = row.global_batch / batches;
  }
  return {{"global", row.global_batch}, {"micro", micro}};
}

Json workload_of(const PublishedRow& row, const Note& note, const Release& software, MappedRow& mapped) {
  const SaidModel model = say_model(row, mapped);
  // An unknown model has no dimensions; the note says whether it is an MoE model, so that counts are by the right kind.
  mapped.experts = model.experts || note.says("; moe");
  Json workload = {{"kind", "training_step"}, {"framework", software.framework}, {"stack", software.stack}};
  if (!software.exact)
    mapped.assumed.push_back({"workload.stack", std::string(software.stack), "nearest to " + note.software});
  workload["model"] = model.json;
  say_precision(workload, row, mapped);
  workload["batch"] = batch_of(row, note, software, mapped);
  workload["parallel"] = say_parallel(row, note, software, model, mapped);
  say_recompute(workload, row, note, software, mapped);
  say_settings(workload, row, note, model, mapped);
  return workload;
}

/// The row with the split of its release's presets, where the note states one because the published split cannot have
/// run: its memory would be far above the GPU's.
PublishedRow with_preset(PublishedRow row, const Note& note, MappedRow& mapped) {
  if (note.number("preset mbs=") == 0) return row;
  const auto preset = [&](std::string_view words, int& value) {
    if (const std::int64_t stated = note.number(words); stated > 0) value = static_cast<int>(stated);
  };
  preset("preset mbs=", row.micro_batch);
  preset("preset pp=", row.pipeline);
  preset("preset vp=", row.interleave);
  preset("preset dp=", row.data);
  mapped.assumed.push_back({"workload.parallel",
                            fmt::format("pipeline {}, interleave {}, data {}, micro-batch {}", row.pipeline,
                                        row.interleave, row.data, row.micro_batch),
                            "the release's preset; the published split needs more memory than the GPU has"});
  return row;
}

MappedRow mapped_row(const PublishedRow& published) {
  MappedRow mapped;
  mapped.row = published;
  mapped.time = step_time_of(published);
  const Note note = note_of(published);
  const PublishedRow row = with_preset(published, note, mapped);
  if (!(mapped.time > Seconds{})) miss(mapped, "step_s: not stated, nor tok_s_gpu with batch and sequence");
  const Release* software = find_release(row, note);
  Json scenario = {{"fabricast", 1}};
  say_system(scenario, row, note, mapped);
  if (!software)
    miss(mapped, "workload.stack: unknown software '" + note.software + "'");
  else
    scenario["workload"] = workload_of(row, note, *software, mapped);
  if (mapped.missing.empty())
    mapped.scenario = scenario.dump();
  else {
    // Assumptions about a row without a forecast affect nothing.
    mapped.assumed.clear();
    mapped.unsaid.clear();
  }
  return mapped;
}

}  // namespace

}  // namespace published

MappedRow map_published_row(const PublishedRow& row) { return published::mapped_row(row); }

std::vector<MappedRow> map_published_rows(const std::vector<PublishedRow>& rows) {
  std::map<std::string, int> numbers;
  std::vector<MappedRow> mapped;
  for (const PublishedRow& row : rows) {
    mapped.push_back(map_published_row(row));
    mapped.back().id = fmt::format("{}/{}", row.source, ++numbers[row.source]);
  }
  return mapped;
}

}  // namespace fabricast
