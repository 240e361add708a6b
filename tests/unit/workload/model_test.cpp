// Counts of parameters and operations, and the published models.
#include "fabricast/workload/model_spec.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "fabricast/core/names.hpp"

namespace fabricast {
namespace {

Transformer preset(std::string_view name) { return resolve(preset_model(name)); }

TEST_CASE("parameters of every preset are as published", "[workload]") {
  CHECK(model_presets().size() >= 45);
  for (const ModelPreset& p : model_presets()) {
    INFO(p.name);
    const ParameterCount c = count_parameters(preset(p.name));
    CHECK(static_cast<double>(c.total) == Approx(p.parameters).epsilon(p.tolerance));
    if (p.active > 0)
      CHECK(static_cast<double>(c.active) == Approx(p.active).epsilon(p.active_tolerance));
    else
      CHECK(c.active == c.total);
    CHECK((p.dimensions.experts > 0) == (p.active > 0));
    CHECK(p.tolerance <= 0.08);
    CHECK_FALSE(p.summary.empty());
    CHECK((p.source.find('[') != std::string::npos || p.source.find("guess") != std::string::npos));
  }
}

TEST_CASE("presets state formats of released checkpoints that have fewer than 16 bits", "[workload]") {
  const auto formats = [](std::string_view name) {
    const ModelPreset* preset = find_by_name(model_presets(), name);
    REQUIRE(preset);
    return std::pair(preset->checkpoint, preset->expert_checkpoint);
  };
  using Formats = std::pair<std::optional<NumberFormat>, std::optional<NumberFormat>>;
  CHECK(formats("deepseek-v3") == Formats{NumberFormat::fp8, std::nullopt});
  CHECK(formats("gpt-oss-120b") == Formats{std::nullopt, NumberFormat::fp4});
  CHECK(formats("llama3-70b") == Formats{});
}

TEST_CASE("counts match a calculation by hand", "[workload]") {
  // GPT-2, of which every tensor is known: 12 layers of 7,087,872, embeddings of 39,383,808, a norm of 1,536.
  Transformer m;
  m.layers = 12, m.hidden = 768, m.heads = m.kv_heads = 12, m.head_dim = 64, m.ffn = 3072, m.vocab = 50257;
  m.sequence = 1024, m.gated = false, m.tied = m.biases = m.learned_positions = true;
  const ParameterCount c = count_parameters(m);
  CHECK(c.attention == 4 * 768 * 768 + 4 * 768 + 2 * 768);
  CHECK(c.ffn == 8 * 768 * 768 + 5 * 768 + 2 * 768);
  CHECK(c.attention + c.ffn == 7087872);
  CHECK(c.embedding == 39383808);
  CHECK(c.head == 1536);
  CHECK(c.total == 124439808);

  // One layer of experts: 3 dense matrices of 2 x 5 each, a router of 2 x 4, norms of 2.
  Transformer e;
  e.layers = 2, e.hidden = 2, e.heads = e.kv_heads = 1, e.head_dim = 2, e.ffn = 7, e.vocab = 3, e.sequence = 1;
  e.experts = 4, e.active_experts = 2, e.shared_experts = 1, e.expert_ffn = 5, e.dense_layers = 1;
  const ParameterCount n = count_parameters(e);
  CHECK(n.attention == 4 * 4 + 2);
  CHECK(n.ffn == 3 * 2 * 7 + 2);
  CHECK(n.experts == 4 * 30);
  CHECK(n.shared == 30 + 8 + 2);
  CHECK(n.total == 2 * 18 + 44 + 40 + 120 + 6 + (6 + 2));
  CHECK(n.total - n.active == 2 * 30);
  // A scale of head_dim for the queries, and one for the keys.
  Transformer q = e;
  q.qk_norm = true;
  CHECK(count_parameters(q).attention == n.attention + 2 * 2);

  // Three mixers among the two layers: one of attention, two of Mamba with 2 heads of 3 whose states have 5 numbers each
  // and share 1 group: in 2 -> 2 x 6 + 2 x 5 + 2, out 6 -> 2, 4 taps and a bias over 6 + 2 x 5, 3 numbers a head, norms.
  Transformer h = e;
  h.attention_layers = 1, h.mamba_layers = 2, h.mamba_heads = 2, h.mamba_head_dim = 3, h.state_dim = 5;
  const std::int64_t mixer = 2 * 24 + 6 * 2 + 16 * 5 + 3 * 2 + 6 + 2;
  CHECK(count_parameters(h).total == n.total - 18 + 2 * mixer);
  // Its matrices once, and five operations for each of 6 x 5 numbers of a state, of each of 7 tokens.
  CHECK(model_flops(h, 7).linear == Approx(model_flops(e, 7).linear + 7 * (2 * (2 * 60 - 16) + 2 * 5 * 30)));
  CHECK(model_flops(h, 7).attention == Approx(model_flops(e, 7).attention / 2));

  // Latent attention: queries 2 -> 3 -> 2 heads of 4 + 1, keys and values 2 -> 6 + 1 -> 2 heads of 4 + 5, 10 -> 2.
  Transformer l = e;
  l.heads = l.kv_heads = 2, l.head_dim = 4, l.q_rank = 3, l.kv_rank = 6, l.rope_dim = 1, l.value_dim = 5;
  CHECK(count_parameters(l).attention == (2 * 3 + 3 * 10) + 2 * 7 + 6 * 18 + 10 * 2 + (3 + 6) + 2);
  CHECK(l.cache_width() == 7);
}

/// FLOP/s of a GPU with as many tokens a second.
double rate(std::string_view name, double tokens) {
  const Transformer m = preset(name);
  return tokens * model_flops(m, m.sequence).training(false) / static_cast<double>(m.sequence);
}

TEST_CASE("FLOPs agree with published throughput and utilization", "[workload]") {
  // Tokens/s and TFLOP/s of a GPU [NeMo-performance].
  const auto nemo = [](std::string_view name, double tokens, double tflops) {
    INFO(name);
    // Published in whole TFLOP/s and tokens/s.
    CHECK(rate(name, tokens) / 1e12 == Approx(tflops).epsilon(0.003));
  };
  nemo("gpt3-5b", 22521, 736), nemo("gpt3-20b", 5851, 750);
  nemo("gpt3-175b", 726, 782), nemo("gpt3-175b", 782, 842);
  nemo("llama2-7b", 16847, 776), nemo("llama2-13b", 8646, 754), nemo("llama2-70b", 1707, 759);
  nemo("nemotron3-8b", 12701, 653), nemo("nemotron3-22b", 4256, 554), nemo("nemotron4-340b", 322, 678);
  nemo("llama3-8b", 12036, 697), nemo("llama3-70b", 1533, 738);
  // Tokens/s and MFU of A100s [LLM-foundry].
  const auto foundry = [](std::string_view name, double tokens, double mfu) {
    INFO(name);
    CHECK(100 * rate(name, tokens) / 312e12 == Approx(mfu).epsilon(0.003));
  };
  foundry("mpt-70b", 410, 53.33), foundry("mpt-30b", 865, 52.25), foundry("mpt-13b", 1972, 51.93);
  foundry("mpt-7b", 3623, 50.14);
  // 768 sequences in 40.0 s on 256 A100s: 53.0 % [Jiang2024].
  CHECK(100 * rate("megascale-175b", 768 * 2048 / 40.0 / 256) / 312e12 == Approx(53.0).margin(0.2));
}

TEST_CASE("FLOPs of a step follow Megatron's formula", "[workload]") {
  // 72 B s l h^2 (1 + s / 6h + V / 12 l h) [Narayanan2021], with nothing computed again.
  for (const char* name : {"megatron-sc21-1.7b", "megatron-sc21-145b", "korthikanti-1t"}) {
    INFO(name);
    const Transformer m = preset(name);
    const double s = 2048, l = m.layers, h = static_cast<double>(m.hidden), v = 51200;
    CHECK(model_flops(m, 2048).training(false) ==
          Approx(72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))).epsilon(1e-12));
  }
}

TEST_CASE("windows and experts count only what is computed", "[workload]") {
  Transformer m = preset("mistral-7b");
  const ModelFlops windowed = model_flops(m, 8192);
  m.window = 8192;
  const ModelFlops whole = model_flops(m, 8192);
  m.window = 0;
  CHECK(whole.attention == model_flops(m, 8192).attention);
  // Half a sequence back: the band has 3/4 of the square's pairs.
  CHECK(windowed.attention == Approx(0.75 * whole.attention));
  m.window = 4096, m.full_every = 2;
  CHECK(model_flops(m, 8192).attention == Approx(0.875 * whole.attention));
  CHECK(whole.forward(true) == whole.forward(false) - whole.attention / 2);

  const Transformer x = preset("mixtral-8x7b");
  const ParameterCount c = count_parameters(x);
  // 2 FLOPs per token and active parameter, but for norms and the input embedding.
  CHECK(model_flops(x, 4096).linear / 4096 ==
        Approx(2.0 * static_cast<double>(c.active - c.embedding - c.head)).epsilon(1e-4));
}

TEST_CASE("the documented table of models agrees with the code", "[workload]") {
  std::ifstream file(FABRICAST_SOURCE_DIR "/docs/models/transformer.md");
  std::stringstream page;
  page << file.rdbuf();
  const auto number = [](double n) {
    char text[32];
    std::snprintf(text, sizeof text, n < 99.95e9 ? "%.1f" : "%.0f", n / 1e9);
    return std::string(text);
  };
  for (const ModelPreset& p : model_presets()) {
    const Transformer m = preset(p.name);
    const ParameterCount c = count_parameters(m);
    std::ostringstream row;
    row << "| " << p.name << " | " << m.layers << " | " << m.hidden << " | " << m.heads << " | " << m.kv_heads << " | "
        << (m.experts > 0 ? std::to_string(m.active_experts) + " of " + std::to_string(m.experts) + " x " +
                                std::to_string(m.expert_ffn)
                          : std::to_string(m.ffn))
        << " | " << m.vocab << " | " << m.sequence << " | " << number(static_cast<double>(c.total)) << " | "
        << (m.experts > 0 ? number(static_cast<double>(c.active)) : "") << " |";
    INFO(row.str());
    CHECK(page.str().find(row.str()) != std::string::npos);
  }
}

}  // namespace
}  // namespace fabricast
