// Memory of a GPU: against published figures, and what would make a step fit.
#include "fabricast/workload/memory.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "fabricast/workload/model_spec.hpp"

namespace fabricast {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr Bytes gpu_80{80LL << 30};
Transformer preset(std::string_view name) { return resolve(preset_model(name)); }
double state(const MemoryUse& use) { return (use.parameters + use.gradients + use.optimizer) / gib; }

TEST_CASE("state and activations are those of Korthikanti et al.", "[workload]") {
  struct Row {
    const char* model;
    int pipeline, interleave, batches, micro;
    double state, none, selective;  // GiB
  };
  for (const Row& row : {Row{"korthikanti-22b", 1, 1, 1, 4, 45.5625, 59.25, 9.5625},
                         Row{"korthikanti-175b", 8, 3, 64, 1, 45.5625, 66.84, 12.35},
                         Row{"korthikanti-530b", 35, 3, 280, 1, 31.640625, 114.02, 23.08},
                         Row{"korthikanti-1t", 64, 1, 512, 1, 32.958984375, 131.25, 26.56}}) {
    INFO(row.model);
    const Transformer model = preset(row.model);
    MemoryQuestion q;
    q.layout.tensor = 8, q.layout.pipeline = row.pipeline, q.interleave = row.interleave;
    q.micro_batch = row.micro, q.micro_batches = row.batches;
    q.schedule = row.interleave > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
    q.fused_attention = false, q.dropout = true;
    // Activations of the first stage. The published state has no embedding: it is that of a stage between.
    CHECK(memory_of(model, q, 0).activations / gib == Approx(row.none).epsilon(0.003));
    CHECK(state(memory_of(model, q, row.pipeline / 2)) == Approx(row.state).epsilon(row.pipeline > 1 ? 0.001 : 0.02));
    q.recompute = Recompute::selective, q.sequence_parallel = true;
    CHECK(memory_of(model, q, 0).activations / gib == Approx(row.selective).epsilon(0.003));
    CHECK(peak_memory(model, q).total() < 80 * gib);
  }
}

TEST_CASE("memory is close to what torchtitan reports", "[workload]") {
  // Peaks of the allocator, GiB [torchtitan-benchmarks].
  MemoryQuestion q;
  q.zero = 3, q.micro_batch = 2, q.recompute = Recompute::ops;
  q.layout.data = q.layout.shard = 8;
  const double few = peak_memory(preset("llama3-8b"), q).total() / gib;
  CHECK(few == Approx(77.0).epsilon(0.05));
  q.layout.data = q.layout.shard = 128;
  const double many = peak_memory(preset("llama3-8b"), q).total() / gib;
  CHECK(many == Approx(62.0).epsilon(0.05));
  CHECK(few - many == Approx(15.0).epsilon(0.1));  // what is sharded
  q.layout.data = q.layout.shard = 32, q.layout.tensor = 8, q.sequence_parallel = true;
  q.micro_batch = 16, q.recompute = Recompute::full;
  CHECK(peak_memory(preset("llama3-70b"), q).total() / gib == Approx(67.6).epsilon(0.15));
  q.layout.data = q.layout.shard = 8, q.layout.pipeline = 8, q.micro_batch = 4, q.micro_batches = 8;
  CHECK(peak_memory(preset("llama3-405b"), q).total() / gib == Approx(82.5).epsilon(0.15));
  q.schedule = PipelineSchedule::interleaved, q.interleave = 2;
  CHECK(peak_memory(preset("llama3-405b"), q).total() / gib == Approx(72.7).epsilon(0.15));
}

TEST_CASE("micro-batches in flight follow the schedule", "[workload]") {
  MemoryQuestion q;
  q.layout.pipeline = 4, q.micro_batches = 16;
  CHECK((micro_batches_in_flight(q, 0) == 4 && micro_batches_in_flight(q, 3) == 1));
  q.micro_batches = 2;
  CHECK((micro_batches_in_flight(q, 0) == 2 && micro_batches_in_flight(q, 3) == 1));
  q.micro_batches = 16, q.schedule = PipelineSchedule::gpipe;
  CHECK((micro_batches_in_flight(q, 0) == 16 && micro_batches_in_flight(q, 3) == 16));
  q.schedule = PipelineSchedule::zero_bubble;
  CHECK((micro_batches_in_flight(q, 0) == 4 && micro_batches_in_flight(q, 3) == 4));
  // p (1 + (p - 1) / p v) on the first stage [Korthikanti2022].
  q.schedule = PipelineSchedule::interleaved, q.interleave = 2;
  CHECK(micro_batches_in_flight(q, 0) == Approx(4 * (1 + 3.0 / 8)));
  CHECK(micro_batches_in_flight(q, 3) == Approx(5.0 / 2));
  q.layout.pipeline = 1;
  CHECK(micro_batches_in_flight(q, 0) == 1);
}

/// 4 layers of 12 million parameters (the vectors beside the matrices are a thousandth), a small vocabulary.
Transformer small() {
  ModelSpec spec;
  Transformer& m = spec.dimensions;
  m.layers = 4, m.hidden = 1000, m.heads = 10, m.ffn = 4000, m.vocab = 1000, m.sequence = 100;
  return resolve(spec);
}

TEST_CASE("each ZeRO stage shards one more kind of state", "[workload]") {
  MemoryQuestion q;
  q.layout.data = q.layout.shard = 8;
  const Transformer model = small();
  const double n = static_cast<double>(count_parameters(model).total);
  const auto bytes = [&] {
    const MemoryUse u = memory_of(model, q, 0);
    return std::array<double, 3>{u.parameters / n, u.gradients / n, u.optimizer / n};
  };
  CHECK(bytes() == std::array<double, 3>{2, 4, 12});
  q.zero = 1;
  CHECK(bytes() == std::array<double, 3>{2, 4, 1.5});
  q.zero = 2;
  CHECK(bytes() == std::array<double, 3>{2, 0.5, 1.5});
  q.zero = 3;  // a 32-bit copy alone
  CHECK(bytes() == std::array<double, 3>{0.5, 0.5, 1});
  CHECK(memory_of(model, q, 0).gathered > 0);
  q.layout.shard = 2;  // hybrid
  CHECK(bytes() == std::array<double, 3>{2, 2, 4});
  q.zero = 0, q.precision = Precision::fp32;
  CHECK(bytes() == std::array<double, 3>{4, 4, 8});
  q.precision = Precision::fp8, q.gradient_bytes = 2;
  CHECK(bytes() == std::array<double, 3>{2, 2, 12});
}

TEST_CASE("stages hold their layers, and the vocabulary where it is used", "[workload]") {
  Transformer model = small();
  MemoryQuestion q;
  q.layout.pipeline = 4, q.micro_batches = 1;
  const ParameterCount c = count_parameters(model);
  const auto elements = [&](int stage) { return memory_of(model, q, stage).parameters / 2; };
  const double layer = static_cast<double>(c.attention + c.ffn);
  CHECK(elements(1) == layer);
  CHECK(elements(2) == layer);
  CHECK(elements(0) == layer + 1e6);
  CHECK(elements(3) == layer + 1e6 + 1000);
  CHECK(memory_of(model, q, 3).logits > 0);
  CHECK(memory_of(model, q, 2).logits == 0);
  MemoryQuestion fused = q;
  fused.fused_loss = true;
  const MemoryModel& kept = shipped_memory_model();
  const double tokens = static_cast<double>(model.sequence * q.micro_batch);
  CHECK(memory_of(model, q, 3).logits - memory_of(model, fused, 3).logits ==
        Approx(tokens * static_cast<double>(model.vocab) * (kept.logit.value - kept.fused_logit.value)));
  model.tied = true;  // both ends have a copy
  CHECK(elements(3) == layer + 1e6 + 1000);
  q.layout.pipeline = 1;
  CHECK(elements(0) == 4 * layer + 1e6 + 1000);
}

TEST_CASE("experts are split by expert parallelism", "[workload]") {
  const Transformer model = preset("deepseek-v3");
  MemoryQuestion q;
  q.layout.data = 64, q.layout.expert = 64, q.layout.pipeline = 1, q.layout.shard = 64, q.zero = 1;
  const ParameterCount c = count_parameters(model);
  const double experts = 58 * static_cast<double>(c.experts);
  const double others = static_cast<double>(c.total) - experts;
  const MemoryUse use = memory_of(model, q, 0);
  CHECK(use.parameters == Approx(2 * (others + experts / 64)));
  // Each expert is on one rank of the 64: nobody to share its state with.
  CHECK(use.optimizer == Approx(12 * (others / 64 + experts / 64)));
  q.layout.expert = 8;
  CHECK(memory_of(model, q, 0).optimizer == Approx(12 * (others / 64 + experts / 8 / 8)));
}

TEST_CASE("activations scale with tokens, and recomputation reduces them", "[workload]") {
  const Transformer model = preset("llama3-8b");
  MemoryQuestion q;
  q.layout.tensor = 2;
  const auto kept = [&] { return memory_of(model, q, 0).activations; };
  const double plain = kept();
  // 2 B of: two norms' inputs and two GEMMs' (whole); queries, keys, values, attention's result, three widths of
  // the feed-forward part, and 4 B per head (split).
  CHECK(plain == Approx(32.0 * 8192 * (2 * 4 * 4096 + (2 * (4096 + 2048 + 4096 + 3 * 14336) + 4 * 32) / 2)));
  q.micro_batch = 3;
  CHECK(kept() == Approx(3 * plain));
  q.micro_batch = 1, q.layout.context = 4;
  CHECK(kept() == Approx(plain / 4));
  q.layout.context = 1, q.sequence_parallel = true;
  const double split = kept();
  CHECK(split < plain);
  double before = split;
  for (const Recompute r : {Recompute::selective, Recompute::ops, Recompute::full}) {
    q.recompute = r;
    CHECK(kept() < before);
    before = kept();
  }
  CHECK(before == Approx(32.0 * 8192 * 2 * 4096 / 2));
  q.recompute = Recompute::none, q.input_bytes = 1;
  CHECK(kept() < split);
  q.input_bytes = 0, q.fused_attention = false;
  CHECK(kept() - split == Approx(32.0 * 8192 * 32 * (2.0 * 8192 - 4) / 2));
  q.fused_attention = true, q.sequence = 4096;
  CHECK(kept() == Approx(split / 2));
}

TEST_CASE("inference holds weights and the KV cache", "[workload]") {
  MemoryQuestion q;
  q.training = false, q.sequence = 8192, q.batch = 16;
  const auto cache = [&](std::string_view name) { return memory_of(preset(name), q, 0).cache; };
  // 80 layers x 8 heads x 128 x keys and values x 2 B: 320 KiB a token.
  CHECK(cache("llama3-70b") == 16 * 8192 * 320.0 * 1024);
  q.layout.tensor = 8;
  CHECK(cache("llama3-70b") == 16 * 8192 * 40.0 * 1024);
  q.layout.tensor = 16;  // 8 heads of keys and values: two ranks hold each
  CHECK(cache("llama3-70b") == 16 * 8192 * 40.0 * 1024);
  q.cache_precision = NumberFormat::fp8;
  CHECK(cache("llama3-70b") == 16 * 8192 * 20.0 * 1024);
  q.cache_precision = NumberFormat::int4;  // 64 B of a head's 128 numbers and 4 of their scales
  CHECK(cache("llama3-70b") == 16 * 8192 * 20.0 * 1024 * 68 / 128);
  q.cache_precision = NumberFormat::int8;
  CHECK(cache("llama3-70b") == 16 * 8192 * 20.0 * 1024);
  // A latent vector of 512 + 64 on every rank.
  CHECK(cache("deepseek-v3") == 16.0 * 8192 * 61 * 576);
  // A window of 4,096; and one of 128 in every second layer.
  q.layout.tensor = 1;
  CHECK(cache("mistral-7b") == 16.0 * 4096 * 32 * 2048);
  CHECK(cache("gpt-oss-120b") == 16.0 * (8192 + 128) * 18 * 1024);

  const Transformer model = preset("llama3-70b");
  const ParameterCount c = count_parameters(model);
  const double vocabulary = static_cast<double>(c.embedding + c.head);
  q.precision = Precision::fp8;
  const MemoryUse use = memory_of(model, q, 0);
  CHECK(use.parameters == Approx(static_cast<double>(c.total) + vocabulary));  // 1 B, 2 B
  CHECK(use.gradients + use.optimizer + use.activations == 0);
  q.tokens = 8192;
  CHECK(memory_of(model, q, 0).workspace == Approx(512 * use.workspace));
  q.precision = Precision::bf16, q.weights = NumberFormat::int4;
  CHECK(memory_of(model, q, 0).parameters ==
        Approx((static_cast<double>(c.total) - vocabulary) * 68 / 128 + 2 * vocabulary));
  q.weights = NumberFormat::int8;
  CHECK(memory_of(model, q, 0).parameters == use.parameters);
  // Three quarters of the weights of 80 layers in host memory, of which two layers are here at a time.
  q.offload_weights = 0.75;
  const MemoryUse away = memory_of(model, q, 0);
  CHECK(away.in_host == Approx(0.75 * (static_cast<double>(c.total) - vocabulary)));
  CHECK(away.parameters == Approx(use.parameters - away.in_host * 78 / 80));
}

TEST_CASE("ways to fit name the key and the memory", "[workload]") {
  const Transformer model = preset("llama3-70b");
  MemoryQuestion q;
  q.layout.tensor = 4, q.layout.data = 16, q.layout.shard = 16, q.micro_batch = 1, q.micro_batches = 8;
  q.layout.pipeline = 4, q.zero = 1;
  const auto fault = memory_fault(model, q, gpu_80);
  REQUIRE(fault);
  CHECK(fault->path == "workload.model");
  CHECK(fault->message.starts_with("does not fit in memory: a GPU has 80.0 GiB, but the model needs "));
  CHECK(fault->message.find("activations") != std::string::npos);
  CHECK(fault->message.find(" on stage 0") != std::string::npos);
  CHECK(fault->hint.substr(0, 12) == "it fits with");
  const std::vector<std::string> routes = settings_that_fit(model, q, gpu_80);
  REQUIRE_FALSE(routes.empty());
  for (const std::string& route : routes) {
    INFO(route);
    CHECK(fault->hint.find(route) != std::string::npos);
    CHECK(std::stod(route.substr(route.find('(') + 1)) <= 80);
  }
  const auto offers = [&](std::string_view start) {
    return std::any_of(routes.begin(), routes.end(), [&](const auto& w) { return w.rfind(start, 0) == 0; });
  };
  CHECK(offers("recompute: "));
  CHECK(offers("parallel.tensor: 8, parallel.data: 8 ("));
  CHECK_FALSE(offers("batch.micro"));  // 1 can not be halved

  // Enough memory: nothing to say.
  CHECK_FALSE(memory_fault(model, q, Bytes{2000LL << 30}));
  // A change alone does not do: two at a time.
  q = {};
  q.layout.data = 32, q.layout.shard = 32, q.micro_batch = 2;
  const std::vector<std::string> pairs = settings_that_fit(model, q, gpu_80);
  REQUIRE_FALSE(pairs.empty());
  for (const std::string& route : pairs) CHECK(route.find(", ") != std::string::npos);
  // No way.
  q = {};
  CHECK(settings_that_fit(preset("megatron-sc21-1t"), q, Bytes{16LL << 30}).empty());
  CHECK(memory_fault(preset("megatron-sc21-1t"), q, Bytes{16LL << 30})->hint.find("more GPUs") != std::string::npos);
}

TEST_CASE("inference that does not fit suggests fewer bits and fewer sequences", "[workload]") {
  MemoryQuestion q;
  q.training = false, q.batch = 64, q.sequence = 8192, q.layout.tensor = 4;
  const std::vector<std::string> routes = settings_that_fit(preset("llama3-70b"), q, gpu_80);
  const auto offers = [&](std::string_view start) {
    return std::any_of(routes.begin(), routes.end(), [&](const auto& w) { return w.rfind(start, 0) == 0; });
  };
  CHECK(offers("batch: 32 ("));
  CHECK(offers("cache_precision: fp8 ("));
  CHECK(offers("parallel.tensor: 8 on 8 GPUs ("));
}

TEST_CASE("memory parameters have an interval and a source", "[workload]") {
  MemoryModel model = shipped_memory_model();
  for (const ParameterRef& p : parameters(model)) {
    INFO(p.name);
    CHECK((p.parameter->low <= p.parameter->value && p.parameter->value <= p.parameter->high));
    CHECK(p.parameter->source.find("guess") != std::string::npos);
  }
}

}  // namespace
}  // namespace fabricast
