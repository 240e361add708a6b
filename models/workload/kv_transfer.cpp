// KV-cache transfer: which ranks that computed a prompt send which share of its cache to which ranks that decode.
//
// Ranks of a replica are ordered by stage and tensor rank, and so is the cache that they hold: layers by stage, heads
// by tensor rank. With s senders and r receivers, pair i joins sender i s / n and receiver i r / n, n = max(s, r), so
// that neighbouring parts go to neighbouring ranks. The receivers determine the bytes: where they hold copies (fewer
// heads than ranks, or MLA), each needs all of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

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
  const int layers = (to.model.layers + b.pipeline - 1) / b.pipeline;
  const double whole = layers * cached_bytes(to) * static_cast<double>(to.input);
  transfer.bytes = std::max<std::int64_t>(1, std::llround(whole * receivers / pairs));
  transfer.total = Bytes{transfer.bytes} * pairs;
  transfer.direct = to.pages.direct();
  if (transfer.direct) {
    transfer.rails = to.pages.rails;
    transfer.descriptors = descriptors_of(to.model, stored_bytes_of(to.cache), to.pages, to.input,
                                          Bytes{transfer.bytes}, a.tensor, b.tensor);
    // Decoding ranks read by NIXL, prefill ranks write by Mooncake. A rank posts the descriptors of all its pairs.
    const double each = static_cast<double>(pairs) / (to.pages.library == KvLibrary::nixl ? receivers : senders);
    transfer.posting = static_cast<double>(transfer.descriptors.count) * each * to.pages.descriptor;
  }
  return transfer;
}

namespace {

/// Whether several ranks send to one. The network takes the GPUs of the first rank's node for those of both
/// (traffic.md), and with them the NICs, so that rank has to be the one whose NIC is shared.
bool receivers_share(const KvTransfer& kv_transfer) {
  std::set<std::uint32_t> senders, receivers;
  for (const RankGroups& pairs : kv_transfer.pairs)
    for (const auto& pair : pairs) {
      senders.insert(pair[0]);
      receivers.insert(pair[1]);
    }
  return receivers.size() < senders.size();
}

RankGroups reversed(RankGroups pairs) {
  for (auto& pair : pairs) std::swap(pair[0], pair[1]);
  return pairs;
}

}  // namespace

std::vector<std::uint32_t> kv_transfer_kinds(const KvTransfer& kv_transfer, ProgramBuilder& builder) {
  std::vector<std::uint32_t> kinds;
  const int rails = kv_transfer.direct ? kv_transfer.rails : 1;
  const bool gathers = kv_transfer.direct && receivers_share(kv_transfer);
  for (const RankGroups& pairs : kv_transfer.pairs)
    for (int rail = 0; rail < rails; ++rail) {
      CollectiveKind kind;
      kind.part = Part::kv_transfer;
      // One message either way: from the first rank to the second, or, as a gather of two, the reverse.
      kind.op = gathers ? CollectiveOp::gather : CollectiveOp::sendrecv;
      kind.one_way = !gathers;
      kind.bytes = std::max<std::int64_t>(1, (kv_transfer.bytes + rails - 1) / rails) * (gathers ? 2 : 1);
      kind.name = "kv_transfer";
      // Each rail has connections of its own, and so groups of its own.
      kind.groups = builder.groups(gathers ? reversed(pairs) : pairs);
      if (kv_transfer.direct) kind.direct = {rail, kv_transfer.posting};
      kinds.push_back(builder.collective(std::move(kind)));
    }
  return kinds;
}

// All sets run at once on streams of their own: links decide how they share.
Program kv_transfer_program(const KvTransfer& kv_transfer) {
  ProgramBuilder builder;
  builder.program.actors.push_back({"KV-cache transfer", {}, 1});
  for (const std::uint32_t kind : kv_transfer_kinds(kv_transfer, builder)) {
    std::vector<std::string>& streams = builder.program.actors.front().streams;
    const Place place{0, static_cast<std::uint16_t>(streams.size())};
    streams.push_back(fmt::format("KV-cache transfer {}", streams.size()));
    Activity a;
    a.part = Part::kv_transfer;
    a.collective = kind;
    a.label = builder.label("kv_transfer");
    builder.add(a, {&place, 1});
  }
  return builder.finish();
}

}  // namespace fabricast
