// Reads a config.json of Hugging Face's transformers library. Keys differ by model family. A property that all models
// of a family share is not in the file, so the table below holds it [transformers-configs].
//
// A file is read in three steps: the family gives what no key states, keys give dimensions and may override the family,
// and complete() derives the rest and checks it. An unknown family is read by the same keys, as long as it has all
// dimensions. Keys were taken from the configuration classes of the library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "fabricast/core/names.hpp"
#include "json_keys.hpp"
#include "model_parts.hpp"

namespace fabricast {

namespace {

struct Family {
  std::string_view name;
  Gated gated = Gated::on;
  bool tied = false, biases = false, learned_positions = false;
  bool one_kv_head = false;     ///< multi-query attention, unless `multi_query` is false
  bool window_off = false;      ///< `sliding_window` only counts if `use_sliding_window` is true
  int full_every = 0;           ///< if no key states it
  std::int64_t ffn_factor = 0;  ///< width of the feed-forward block relative to the model, if no key states it
  bool qk_norm = false;
};

constexpr auto on = Gated::on, off = Gated::off;
// Defaults of the configuration classes: gated block, tied embeddings, biases, learned positions, one key-value head,
// window off by default, layers per full layer, width factor, norms of queries and keys.
constexpr Family families[] = {
    {"bloom", off, true, true, false, false, false, 0, 4},
    {"falcon", off, true, false, false, true, false, 0, 4},
    {"gemma", on, true},
    {"gemma2", on, true, false, false, false, false, 2},
    {"gemma3_text", on, true, false, false, false, false, 6, 0, true},
    {"gpt2", off, true, true, true, false, false, 0, 4},
    {"gpt_bigcode", off, true, true, true, true, false, 0, 4},
    {"gpt_neox", off, false, true},
    {"gpt_oss", on, false, true, false, false, false, 2},
    {"gptj", off, false, true, false, false, false, 0, 4},
    {"llama", on},
    {"mistral", on},
    {"mixtral", on},
    {"mpt", off, true, false, true, false, false, 0, 4},
    {"nemotron", off},
    {"opt", off, true, true, true},
    {"phi", off, false, true},
    {"phi3", on},
    {"qwen2", on, false, false, false, false, true},
    {"qwen2_moe", on, false, false, false, false, true},
    {"qwen3", on, false, false, false, false, true, 0, 0, true},
    {"qwen3_moe", on, false, false, false, false, true, 0, 0, true},
    {"starcoder2", off, true, true},
};

/// Recurrent and state-space layers, and models with an encoder.
constexpr std::array<std::string_view, 12> not_modelled = {"bamba",      "bart",  "bert",   "falcon_mamba",
                                                           "jamba",      "mamba", "mamba2", "nemotron_h",
                                                           "qwen3_next", "rwkv",  "t5",     "zamba2"};

class ConfigReader {
 public:
  ConfigReader(const std::string& text, const std::string& file) : keys_(text, file) {
    keys_.go_into("text_config", "num_hidden_layers");  // in multimodal models
    const std::string type = keys_.word("model_type").value_or("");
    if (std::find(not_modelled.begin(), not_modelled.end(), type) != not_modelled.end())
      keys_.refuse("model_type", fmt::format("a model of type '{}' is not modelled", type),
                   "only transformers that predict the next token are");
    if (keys_.boolean("is_encoder_decoder").value_or(false))
      keys_.refuse("is_encoder_decoder", "models with an encoder are not modelled");
    const Family* known = find_by_name(families, type);
    family_ = known ? *known : Family{{}, Gated::automatic};
    m_.name = type;
  }

  Transformer read() {
    sizes();
    attention();
    latent();
    experts();
    facts();
    stop_at_faults();
    for (const Diagnostic& d : complete(m_, family_.gated)) {
      if (d.path == "sequence") continue;  // a scenario may state it
      keys_.refuse(key_of(d.path), d.message, {});
    }
    stop_at_faults();
    return m_;
  }

 private:
  using Keys = JsonKeys::Keys;

  void stop_at_faults() const {
    if (!keys_.faults().empty()) throw UserError(keys_.faults());
  }

  template <class T>
  // Whether some key was present, even if its value was refused: a refused value must not count as missing, too.
  bool take(T& target, const Keys& keys, std::int64_t low, std::int64_t high) {
    const auto value = keys_.integer(keys, low, high);
    if (value) target = static_cast<T>(*value);
    return !keys_.first_of(keys).empty();
  }
  template <class T>
  void need(T& target, const Keys& keys, std::int64_t high) {
    if (!take(target, keys, 1, high))
      keys_.refuse({}, fmt::format("the key '{}' is missing", keys.front()),
                   keys.size() == 1 ? "" : fmt::format("or {}", fmt::join(keys.begin() + 1, keys.end(), ", ")));
  }

  // Limits that only keep products within 64 bits; no model comes near.
  static constexpr std::int64_t wide = 10000000;
  // Names of one property in different families, the usual one first.
  inline static const Keys layer_keys = {"num_hidden_layers", "n_layers", "n_layer", "num_layers"};
  inline static const Keys head_keys = {"num_attention_heads", "n_heads", "n_head"};
  inline static const Keys kv_keys = {"num_key_value_heads", "num_kv_heads", "n_head_kv", "attn_config.kv_n_heads"};
  inline static const Keys expert_keys = {"num_local_experts", "n_routed_experts", "num_experts",
                                          "ffn_config.moe_num_experts"};
  inline static const Keys active_keys = {"num_experts_per_tok", "experts_per_token", "moe_topk",
                                          "ffn_config.moe_top_k"};
  inline static const Keys expert_ffn_keys = {"moe_intermediate_size", "ffn_config.ffn_hidden_size",
                                              "intermediate_size"};

  void sizes() {
    need(m_.layers, layer_keys, 100000);
    need(m_.hidden, {"hidden_size", "d_model", "n_embd", "n_embed"}, wide);
    need(m_.heads, head_keys, 1000000);
    need(m_.vocab, {"vocab_size"}, wide * 10);
    take(m_.sequence, {"max_position_embeddings", "max_seq_len", "n_positions", "seq_length", "n_ctx"}, 1, 1000000000);
    const Keys ffn = {"intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner"};
    // Families without a key for the width multiply the hidden width, by four unless `expansion_ratio` states
    // otherwise. MoE models may have no dense width at all.
    std::int64_t factor = family_.ffn_factor;
    take(factor, {"expansion_ratio"}, 1, 1000);
    if (factor > 0 && keys_.first_of(ffn).empty())
      m_.ffn = factor * m_.hidden;
    else if (keys_.first_of(expert_keys).empty() || !keys_.first_of(ffn).empty())
      need(m_.ffn, ffn, wide * 10);
  }

  void attention() {
    take(m_.head_dim, {"head_dim"}, 1, wide);
    // Falcon: the first models have one key-value head, the later ones state a number.
    const bool groups = keys_.boolean("new_decoder_architecture").value_or(false);
    if (family_.one_kv_head && !groups && keys_.boolean("multi_query").value_or(true))
      m_.kv_heads = 1;
    else
      take(m_.kv_heads, kv_keys, 1, 1000000);
    std::int64_t window = 0;
    if (keys_.boolean("use_sliding_window").value_or(!family_.window_off))
      take(window, {"sliding_window"}, 0, wide * 100);
    m_.window = static_cast<double>(window);
    if (window > 0) m_.full_every = full_every();
  }

  // Newer files list the kind of each layer. The pattern repeats, so the ratio of all layers to those with full
  // attention is enough.
  int full_every() {
    if (const auto kinds = keys_.words("layer_types")) {
      const auto full = std::count(kinds->begin(), kinds->end(), "full_attention");
      return full > 0 ? static_cast<int>(static_cast<std::ptrdiff_t>(kinds->size()) / full) : 0;
    }
    int every = family_.full_every;
    take(every, {"sliding_window_pattern"}, 1, 1000);
    return every;
  }

  void latent() {
    take(m_.kv_rank, {"kv_lora_rank"}, 1, wide);
    if (m_.kv_rank == 0) return;
    // q_lora_rank is null where queries are not compressed (DeepSeek-V2-Lite).
    take(m_.q_rank, {"q_lora_rank"}, 1, wide);
    need(m_.rope_dim, {"qk_rope_head_dim"}, wide);
    need(m_.value_dim, {"v_head_dim"}, wide);
    need(m_.head_dim, {"qk_nope_head_dim"}, wide);
  }

  void experts() {
    take(m_.experts, expert_keys, 0, 100000);
    if (m_.experts == 0) return;
    need(m_.active_experts, active_keys, 100000);
    need(m_.expert_ffn, expert_ffn_keys, wide * 10);
    take(m_.dense_layers, {"first_k_dense_replace"}, 0, 100000);
    take(m_.shared_experts, {"n_shared_experts"}, 0, 1000);
    take(m_.expert_groups, {"n_group"}, 0, 1000);
    take(m_.active_groups, {"topk_group"}, 0, 1000);
    // A token that may go to all groups is not restricted.
    if (m_.active_groups >= m_.expert_groups) m_.expert_groups = m_.active_groups = 0;
    // One wide shared expert counts as several of the usual width.
    std::int64_t shared = 0;
    take(shared, {"shared_expert_intermediate_size"}, 0, wide * 10);
    if (shared > 0 && m_.expert_ffn > 0)
      m_.shared_experts = static_cast<int>((shared + m_.expert_ffn - 1) / m_.expert_ffn);
  }

  void facts() {
    // Biases have a key under many names, and some families state their absence.
    m_.tied = keys_.boolean("tie_word_embeddings").value_or(family_.tied);
    m_.biases = family_.biases;
    for (const std::string_view key : {"bias", "use_bias", "enable_bias", "mlp_bias"})
      m_.biases = keys_.boolean(key).value_or(m_.biases);
    if (const auto none = keys_.boolean("no_bias")) m_.biases = !*none;
    m_.learned_positions = family_.learned_positions;
    m_.qk_norm = keys_.boolean("use_qk_norm").value_or(family_.qk_norm);
    if (m_.learned_positions)
      m_.learned_positions =
          keys_.boolean("learned_pos_emb").value_or(true) && !keys_.boolean("attn_config.alibi").value_or(false);
  }

  // The key of the file for a field of the model, so that a message names what the user can find.
  std::string_view key_of(std::string_view field) const {
    if (field == "layers" || field == "dense_layers") return keys_.first_of(layer_keys);
    if (field == "heads") return keys_.first_of(head_keys);
    if (field == "kv_heads") return keys_.first_of(kv_keys);
    if (field == "active_experts") return keys_.first_of(active_keys);
    if (field == "expert_ffn") return keys_.first_of(expert_ffn_keys);
    return {};
  }

  JsonKeys keys_;
  Family family_;
  Transformer m_;
};

}  // namespace

Transformer read_hugging_face(const std::string& text, const std::string& file) {
  return ConfigReader(text, file).read();
}

}  // namespace fabricast
