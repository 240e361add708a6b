// The parallelism of a published step.
//
// Sources state degrees, not layouts. What they leave open follows from the software's defaults (software.cpp) and is
// listed as an assumption.
#include <fmt/format.h>

#include <optional>

#include "fabricast/core/scan.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

/// How replicas shard their state, from the column `fsdp`.
struct Sharing {
  int zero = -1;  ///< ZeRO stage; -1: none
  int shard = 0;  ///< size of a group; 0: all replicas
};
/// Null if the words are unknown.
std::optional<Sharing> sharing_of(std::string_view fsdp) {
  if (fsdp.empty() || fsdp == "0") return Sharing{};
  // FSDP shards parameters, gradients and optimizer state, which is ZeRO stage 3.
  if (fsdp == "1") return Sharing{3, 0};
  if (const auto group = small_number(fsdp)) return *group > 1 ? std::optional(Sharing{3, *group}) : std::nullopt;
  auto rest = after(fsdp, "ZeRO");
  const auto zero = rest ? take_number(*rest) : std::nullopt;
  if (!zero || *zero < 0 || *zero > 3) return std::nullopt;
  if (rest->empty() || *rest == "(all)") return Sharing{*zero, 0};
  auto group = after(*rest, "(");
  const auto shard = group ? take_number(*group) : std::nullopt;
  if (!shard || *shard < 1 || *group != ")") return std::nullopt;
  return Sharing{*zero, *shard};
}

/// Layers of each chunk if embedding and output count as one layer each.
Json layers_with_ends(int layers, int chunks) {
  Json list = Json::array();
  // The first and the last chunk have one layer less.
  const int each = (layers + 2) / chunks;
  for (int c = 0; c < chunks; ++c) list.push_back(each - (c == 0) - (c == chunks - 1));
  return list;
}

/// Writes `interleave` and `layers`.
void cut_pipeline(Json& parallel, const PublishedRow& row, const Note& note, int layers, MappedRow& mapped) {
  int chunks = row.interleave;
  if (chunks == 0) {
    chunks = note.says("interleaved") ? 2 : 1;
    mapped.assumed.push_back({"workload.parallel.interleave", fmt::format("{}", chunks), "not stated"});
  }
  if (chunks > 1) parallel["interleave"] = chunks;
  // The split is only needed where layers do not divide evenly but layers + 2 do: Megatron core then counts embedding
  // and output as a layer each.
  const int all = row.pipeline * chunks;
  const bool stated = note.says("type:transformer|embed");
  if (layers % all == 0 || (layers + 2) % all != 0 || (chunks == 1 && !stated && note.says("plain"))) return;
  parallel["layers"] = layers_with_ends(layers, all);
  if (!stated)
    mapped.assumed.push_back({"workload.parallel.layers", "embedding and output count as one layer each",
                              fmt::format("{} layers do not divide into {} equal chunks; two more do", layers, all)});
}

}  // namespace

Json say_parallel(const PublishedRow& row, const Note& note, const Release& software, const SaidModel& model,
                  MappedRow& mapped) {
  Json parallel = Json::object();
  if (row.tensor > 1) {
    parallel["tensor"] = row.tensor;
    // Rows state sequence parallelism in the column of recomputation: `seqpar+selective`.
    const bool stated = row.recompute.starts_with("seqpar");
    if (stated || software.sequence) parallel["sequence"] = true;
    if (!stated)
      mapped.assumed.push_back({"workload.parallel.sequence", software.sequence ? "true" : "false",
                                "not stated; the software's usual setting"});
  }
  if (row.context > 1) parallel["context"] = row.context;
  if (row.pipeline > 1) {
    parallel["pipeline"] = row.pipeline;
    cut_pipeline(parallel, row, note, model.layers, mapped);
  }
  if (model.experts) {
    if (row.expert > 1) parallel["expert"] = row.expert;
    // Whether tensor parallelism also splits experts differs between releases: ETP is expert tensor parallelism.
    const bool whole = note.says("ETP=1") || !software.splits_experts;
    if (row.tensor > 1 && !whole) parallel["expert_tensor"] = row.tensor;
    if (row.tensor > 1 && !note.says("ETP="))
      mapped.assumed.push_back({"workload.parallel.expert_tensor", fmt::format("{}", whole ? 1 : row.tensor),
                                "not stated; the software's default"});
  }
  if (row.data > 0) parallel["data"] = row.data;
  const auto sharing = sharing_of(row.fsdp);
  if (!sharing) {
    miss(mapped, "workload.parallel.zero: unknown sharding '" + row.fsdp + "'");
    return parallel;
  }
  if (sharing->zero >= 0) parallel["zero"] = sharing->zero;
  if (sharing->shard > 0) parallel["shard"] = sharing->shard;
  // FSDP within groups, plain data parallelism between them.
  if (note.says("FSDP+DP"))
    mapped.assumed.push_back({"workload.parallel.shard", "all replicas", "the FSDP group is not stated"});
  return parallel;
}

}  // namespace fabricast::published
