// Descriptors of KV-cache transfers, counted by hand from the shapes of models, and prefixes that are loaded.
#include "fabricast/workload/kv_cache.hpp"

#include <catch2/catch.hpp>

#include "fabricast/workload/inference_spec.hpp"
#include "fabricast/workload/serving_load.hpp"

namespace fabricast {
namespace {

KvPages pages_of(std::int64_t block, std::int64_t contiguous = 1) {
  KvPages pages;
  pages.library = KvLibrary::nixl;
  pages.block = block;
  pages.contiguous = contiguous;
  return pages;
}

Transformer model_of(std::string_view preset) { return resolve(preset_model(preset)); }

// 80 layers of 8 heads of 128, for keys and for values, in 16 bits.
constexpr std::int64_t tokens = 1000;
constexpr Bytes of_one_head{80LL * 2 * 128 * 2 * tokens};

TEST_CASE("a block of a head is a descriptor, for keys and for values of each layer", "[kv]") {
  const KvDescriptors d = descriptors_of(model_of("llama3-70b"), 2, pages_of(16), tokens, of_one_head, 8, 8);
  CHECK(d.bytes == Bytes{16 * 128 * 2});
  CHECK(d.count == 80 * 2 * 63);  // 1,000 tokens fill 62.5 blocks
  // Two heads on each rank.
  const KvDescriptors wide = descriptors_of(model_of("llama3-70b"), 2, pages_of(16), tokens, of_one_head * 2, 4, 4);
  CHECK(wide.bytes == Bytes{16 * 2 * 128 * 2});
  CHECK(wide.count == d.count);
  // Half the layers go to each of two stages.
  CHECK(descriptors_of(model_of("llama3-70b"), 2, pages_of(16), tokens, of_one_head / 2, 8, 8).count == d.count / 2);
  // 16 ranks hold one head each, as copies, at both ends.
  CHECK(descriptors_of(model_of("llama3-70b"), 2, pages_of(16), tokens, of_one_head, 16, 8).count == d.count);
}

TEST_CASE("blocks that lie next to each other are one descriptor", "[kv]") {
  const auto count = [](std::int64_t contiguous, int from = 8) {
    return descriptors_of(model_of("llama3-70b"), 2, pages_of(16, contiguous), tokens, of_one_head, from, 8);
  };
  CHECK(count(0).count == 160);
  CHECK(count(0).bytes == Bytes{128 * 2 * tokens});
  CHECK(count(4).count == 160 * 16);
  CHECK(count(1000).count == count(0).count);
  // Where heads are split anew, a piece ends with its block.
  CHECK(count(0, 4).count == 160 * 63);
  CHECK(count(0, 4).bytes == Bytes{16 * 128 * 2});
}

TEST_CASE("latent attention has one vector of a layer, whatever the ranks", "[kv]") {
  const Transformer model = model_of("deepseek-v3");
  REQUIRE(model.cache_width() == 576);
  const Bytes share{61LL * 576 * 8192};
  for (const int from : {1, 4, 8}) {
    const KvDescriptors d = descriptors_of(model, 1, pages_of(64), 8192, share, from, 8);
    CHECK(d.bytes == Bytes{64 * 576});
    CHECK(d.count == 61 * 128);
  }
}

TEST_CASE("longer blocks and longer runs never need more descriptors, longer prompts never fewer", "[kv]") {
  std::int64_t before = INT64_MAX;
  for (std::int64_t block = 1; block <= 256; block *= 2) {
    const KvDescriptors d = descriptors_of(model_of("llama3-70b"), 2, pages_of(block), tokens, of_one_head, 8, 8);
    CHECK(d.count <= before);
    // Whole blocks cover all bytes, and no more than a block beyond.
    CHECK(d.bytes * d.count >= of_one_head);
    CHECK(d.bytes * d.count < of_one_head + d.bytes * 160);
    before = d.count;
  }
  std::int64_t shorter = 0;
  for (const std::int64_t n : {1, 15, 16, 17, 1000, 100'000}) {
    const std::int64_t count =
        descriptors_of(model_of("llama3-70b"), 2, pages_of(16), n, Bytes{80LL * 2 * 128 * 2 * n}, 8, 8).count;
    CHECK(count == 160 * ((n + 15) / 16));
    CHECK(count >= shorter);
    shorter = count;
  }
}

TEST_CASE("all pieces but the last one can be sent early", "[kv]") {
  CHECK(sent_early(KvStream::layers, 80, 4) == Approx(79.0 / 80));
  CHECK(sent_early(KvStream::chunks, 80, 4) == Approx(3.0 / 4));
  CHECK(sent_early(KvStream::chunks, 80, 1) == 0);
  CHECK(sent_early(KvStream::after, 80, 4) == 0);
}

TEST_CASE("engines bring their library, block and time of sending", "[kv]") {
  const NodeSpec node = default_node(shipped_hardware(), {}, "hgx-h100");
  const auto completed = [&](std::string_view stack, Framework framework, LinkKind link = LinkKind::infiniband) {
    InferenceSpec spec;
    spec.model = preset_model("llama3-70b");
    spec.framework = framework;
    spec.stack = stack;
    spec.phase = InferencePhase::both;
    spec.parallel.tensor = 8;
    spec.disaggregated.prefill.gpus = 8;
    spec.disaggregated.prefill.parallel.tensor = 8;
    NodeSpec other = node;
    other.nics.link = link;
    complete(spec, shipped_hardware(), other, 2, 1);
    return spec;
  };
  const InferenceSpec vllm = completed("vllm-0.11", Framework::vllm);
  CHECK(vllm.kv_cache.library == KvLibrary::nixl);
  CHECK(vllm.kv_cache.block == 16);
  CHECK(vllm.disaggregated.stream == KvStream::after);
  const InferenceSpec sglang = completed("sglang-0.5", Framework::sglang);
  CHECK(sglang.kv_cache.library == KvLibrary::mooncake);
  CHECK(sglang.disaggregated.stream == KvStream::chunks);
  // Without RDMA there is nothing but sends and receives.
  const InferenceSpec sockets = completed("vllm-0.11", Framework::vllm, LinkKind::socket);
  CHECK(sockets.kv_cache.library == KvLibrary::nccl);
  CHECK(sockets.disaggregated.stream == KvStream::layers);
}

TEST_CASE("the host time to post is that of the rank that posts, for all its pairs", "[kv]") {
  InferenceSpec spec;
  spec.model = preset_model("llama3-70b");
  spec.phase = InferencePhase::both;
  spec.input = tokens;
  spec.parallel.tensor = 8;
  spec.disaggregated.prefill.gpus = 8;
  spec.disaggregated.prefill.parallel.tensor = 4;
  const NodeSpec node = default_node(shipped_hardware(), {}, "hgx-h100");
  const auto posting = [&](KvLibrary library) {
    InferenceSpec own = spec;
    own.kv_cache.library = library;
    complete(own, shipped_hardware(), node, 2, 1);
    const KvTransfer t = kv_transfer_of(prefill_step(own, node, 1, shipped_hardware()),
                                        inference_step(own, node, 1, shipped_hardware()));
    CHECK(t.descriptors.count == 160 * 63);
    return t.posting / shipped_hardware().serving_stack("vllm-0.11").descriptor.us();
  };
  // Four ranks write to eight, or eight ranks read from four.
  CHECK(posting(KvLibrary::mooncake) == Approx(2 * 160 * 63));
  CHECK(posting(KvLibrary::nixl) == Approx(160 * 63));
}

TEST_CASE("prefixes are loaded one after the other, before the engine sees their requests", "[kv]") {
  ServingLoad load;
  load.requests.assign(2, {{}, 200, 1, 100});
  ServingPool pool;
  pool.sequences = 8;
  pool.tokens = 1 << 20;
  pool.time = [](std::span<const InferencePass>) { return Seconds{1}; };
  Frontend frontend;
  const auto first_tokens = [&] {
    const Served served = serve(load, frontend, pool);
    return std::pair(served.requests[0].first_token.value, served.requests[1].first_token.value);
  };
  CHECK(first_tokens() == std::pair(1.0, 1.0));
  frontend.load = Seconds{0.05};  // 5 s for each request
  CHECK(first_tokens().first == Approx(6));
  CHECK(first_tokens().second == Approx(11));
  pool.replicas = 2;
  CHECK(first_tokens().first == Approx(6));
  CHECK(first_tokens().second == Approx(6));
  load.requests[1].cached = 0;
  CHECK(first_tokens().second < 6);
}

TEST_CASE("the rest of a prompt sees its prefix", "[kv]") {
  InferenceStep step;
  step.input = 1000;
  step.chunk = 300;
  const auto passes = prefill_passes(step, 1, 500);
  REQUIRE(passes.size() == 2);
  CHECK(passes[0].queries == 300);
  CHECK(passes[0].keys == 800);
  CHECK(passes[1].queries == 200);
  CHECK(passes[1].keys == 1000);
  step.chunk = 8192;
  REQUIRE(prefill_passes(step, 1, 999).size() == 1);
  CHECK(prefill_passes(step, 1, 999).front().queries == 1);
  CHECK(prefill_passes(step, 1, 999).front().keys == 1000);
}

}  // namespace
}  // namespace fabricast
