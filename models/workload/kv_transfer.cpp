// KV-cache transfer: which ranks that computed a prompt send which share of its cache to which ranks that decode.
//
// Ranks of a replica are ordered by stage and tensor rank, and so is the cache that they hold: layers by stage, heads
// by tensor rank. With s senders and r receivers, pair i joins sender i s / n and receiver i r / n, n = max(s, r), so
// that neighbouring parts go to neighbouring ranks. The receivers determine the bytes: where they hold copies (fewer
// heads than ranks, or MLA), each needs all of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/workload/inference.hpp"
#include "program_builder.hpp"

namespace fabricast {

KvTransfer kv_transfer_of(const InferenceStep& from, const InferenceStep& to) {
  const ParallelLayout& a = from.layout;
  const ParallelLayout& b = to.layout;
  const int replicas = std::min(a.data, b.data);
  // Ranks of a replica, ordered by stage, then by tensor rank.
  const auto ranks = [&](const InferenceStep& step, int replica) {
    std::vector<std::uint32_t> list;
    for (int s = 0; s < step.layout.pipeline; ++s)
      for (int t = 0; t < step.layout.tensor; ++t)
        list.push_back(step.first_rank + static_cast<std::uint32_t>(step.layout.rank({t, 0, replica, s})));
    return list;
  };
  const int senders = a.tensor * a.pipeline, receivers = b.tensor * b.pipeline, pairs = std::max(senders, receivers);
  // A rank occurs at most once in the groups of a collective, so pairs that share a rank are in different sets.
  const int sets = pairs / std::min(senders, receivers) + (pairs % std::min(senders, receivers) != 0 ? 1 : 0);
  KvTransfer transfer;
  transfer.pairs.resize(static_cast<std::size_t>(sets));
  for (int r = 0; r < replicas; ++r) {
    const auto out = ranks(from, r), in = ranks(to, r);
    for (int i = 0; i < pairs; ++i) {
      // Neighbouring pairs share a rank, so each set takes every `sets`-th pair.
      const auto sender = static_cast<std::size_t>(i * senders / pairs);
      const auto receiver = static_cast<std::size_t>(i * receivers / pairs);
      transfer.pairs[static_cast<std::size_t>(i % sets)].push_back({out[sender], in[receiver]});
    }
  }
  const double layers = static_cast<double>((to.model.layers + b.pipeline - 1) / b.pipeline);
  const double whole = layers * cached_bytes(to) * static_cast<double>(to.input);
  transfer.bytes = std::max<std::int64_t>(1, std::llround(whole * receivers / pairs));
  transfer.total = Bytes{transfer.bytes} * pairs;
  return transfer;
}

// All sets run at once on streams of their own: links decide how they share.
Program kv_transfer_program(const KvTransfer& kv_transfer) {
  ProgramBuilder builder;
  builder.program.actors.push_back({"KV-cache transfer", {}, 1});
  for (std::size_t i = 0; i < kv_transfer.pairs.size(); ++i) {
    builder.program.actors.front().streams.push_back(fmt::format("KV-cache transfer {}", i));
    CollectiveKind kind;
    kind.part = Part::kv_transfer;
    kind.op = CollectiveOp::sendrecv;
    kind.one_way = true;
    kind.bytes = kv_transfer.bytes;
    kind.name = "kv_transfer";
    kind.groups = builder.groups(kv_transfer.pairs[i]);
    Activity a;
    a.part = Part::kv_transfer;
    a.collective = builder.collective(kind);
    a.label = builder.label(kind.name);
    const Place place{0, static_cast<std::uint16_t>(i)};
    builder.add(a, {&place, 1});
  }
  return builder.finish();
}

}  // namespace fabricast
