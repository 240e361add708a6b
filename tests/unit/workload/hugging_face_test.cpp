// Models read from config.json files.
#include <catch2/catch.hpp>

#include "fabricast/workload/model_spec.hpp"

namespace fabricast {
namespace {

std::int64_t total(const Transformer& m) { return count_parameters(m).total; }
std::int64_t total(std::string_view preset) { return total(resolve(preset_model(preset))); }
Transformer read(const std::string& text) { return read_hugging_face(text, "config.json"); }

std::vector<std::string> faults(const std::string& text) {
  std::vector<std::string> list;
  try {
    read(text);
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics())
      list.push_back(d.where.file + ":" + std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " +
                     (d.path.empty() ? "" : d.path + ": ") + d.message + (d.hint.empty() ? "" : " | " + d.hint));
  }
  return list;
}
using List = std::vector<std::string>;

const std::string llama = R"({
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "hidden_act": "silu",
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "max_position_embeddings": 8192,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05,
  "rope_scaling": null,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "vocab_size": 128256
})";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("configs of published models agree with their presets", "[workload]") {
  CHECK(total(read(llama)) == total("llama3-8b"));
  CHECK(read(llama).sequence == 8192);
  CHECK(total(read(R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "vocab_size": 32000,
    "max_position_embeddings": 4096, "num_attention_heads": 64, "num_hidden_layers": 80, "num_key_value_heads": 8})")) ==
        total("llama2-70b"));
  const Transformer mistral = read(R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
    "max_position_embeddings": 32768, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "sliding_window": 4096, "vocab_size": 32000})");
  CHECK(total(mistral) == total("mistral-7b"));
  CHECK((mistral.window == 4096 && mistral.full_layers() == 0));
  const Transformer mixtral = read(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
    "max_position_embeddings": 32768, "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "num_local_experts": 8, "sliding_window": null, "vocab_size": 32000})");
  CHECK(total(mixtral) == total("mixtral-8x7b"));
  CHECK((mixtral.window == 0 && mixtral.active_experts == 2));
  CHECK(total(read(R"({"model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568,
    "max_position_embeddings": 32768, "max_window_layers": 80, "num_attention_heads": 64, "num_hidden_layers": 80,
    "num_key_value_heads": 8, "sliding_window": 131072, "use_sliding_window": false, "vocab_size": 152064})")) ==
        total("qwen2.5-72b"));
  CHECK(total(read(R"({"model_type": "qwen3", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 25600,
    "max_position_embeddings": 40960, "num_attention_heads": 64, "num_hidden_layers": 64, "num_key_value_heads": 8,
    "vocab_size": 151936, "tie_word_embeddings": false})")) == total("qwen3-32b"));
  const Transformer moe = read(R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128,
    "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960, "mlp_only_layers": [],
    "moe_intermediate_size": 1536, "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 94, "num_key_value_heads": 4, "vocab_size": 151936})");
  CHECK(total(moe) == total("qwen3-235b-a22b"));
  CHECK(count_parameters(moe).active == count_parameters(resolve(preset_model("qwen3-235b-a22b"))).active);
  const std::string deepseek = R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168,
    "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280})";
  CHECK(total(read(deepseek)) == total("deepseek-v3"));
  const auto grouped = [&](const std::string& all, const std::string& some) {
    return read(changed(deepseek, "\"n_shared_experts\"",
                        "\"n_group\": " + all + ", \"topk_group\": " + some + ", \"n_shared_experts\""));
  };
  CHECK(grouped("8", "4").active_groups == resolve(preset_model("deepseek-v3")).active_groups);
  CHECK(grouped("8", "4").expert_groups == 8);
  CHECK(grouped("1", "1").expert_groups == 0);
  // Lite models do not compress queries.
  CHECK(read(changed(deepseek, "\"q_lora_rank\": 1536", "\"q_lora_rank\": null")).q_rank == 0);
  CHECK(total(read(R"({"model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 5120,
    "intermediate_size": 12288, "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 1536,
    "n_routed_experts": 160, "n_shared_experts": 2, "num_attention_heads": 128, "num_experts_per_tok": 6,
    "num_hidden_layers": 60, "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400})")) == total("deepseek-v2"));
  CHECK(total(read(R"({"model_type": "nemotron", "head_dim": 192, "hidden_size": 18432, "intermediate_size": 73728,
    "max_position_embeddings": 4096, "num_attention_heads": 96, "num_hidden_layers": 96, "num_key_value_heads": 8,
    "vocab_size": 256000, "hidden_act": "relu2"})")) == total("nemotron4-340b"));
  const Transformer oss = read(R"({"model_type": "gpt_oss", "attention_bias": true, "head_dim": 64,
    "hidden_size": 2880, "intermediate_size": 2880, "layer_types": ["sliding_attention", "full_attention",
    "sliding_attention", "full_attention"], "max_position_embeddings": 131072, "num_attention_heads": 64,
    "num_experts_per_tok": 4, "num_hidden_layers": 36, "num_key_value_heads": 8, "num_local_experts": 128,
    "sliding_window": 128, "vocab_size": 201088})");
  CHECK(total(oss) == total("gpt-oss-120b"));
  CHECK((oss.full_layers() == 18 && oss.window == 128));
  CHECK(total(read(R"({"model_type": "mpt", "attn_config": {"alibi": false}, "d_model": 4096, "expansion_ratio": 4,
    "learned_pos_emb": true, "max_seq_len": 2048, "n_heads": 32, "n_layers": 32, "no_bias": true,
    "vocab_size": 50368})")) == total("mpt-7b"));
  CHECK(total(read(R"({"model_type": "falcon", "alibi": false, "bias": false, "hidden_size": 14848,
    "max_position_embeddings": 2048, "multi_query": true, "new_decoder_architecture": true, "num_attention_heads": 232,
    "num_hidden_layers": 80, "num_kv_heads": 8, "tie_word_embeddings": false, "vocab_size": 65024})")) ==
        total("falcon-180b"));
}

TEST_CASE("configs of other families count as published", "[workload]") {
  CHECK(total(read(R"({"model_type": "gpt2", "activation_function": "gelu_new", "n_ctx": 1024, "n_embd": 768,
    "n_head": 12, "n_inner": null, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257})")) == 124439808);
  const auto close = [](const std::string& text, double parameters) {
    CHECK(static_cast<double>(total(read(text))) == Approx(parameters).epsilon(0.005));
  };
  close(R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 2048,
    "num_attention_heads": 64, "num_hidden_layers": 44, "tie_word_embeddings": false, "vocab_size": 50432})",
        20.55e9);
  close(R"({"model_type": "opt", "ffn_dim": 16384, "hidden_size": 4096, "max_position_embeddings": 2048,
    "num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 50272})",
        6.66e9);
  close(R"({"model_type": "falcon", "bias": false, "hidden_size": 4544, "multi_query": true,
    "new_decoder_architecture": false, "num_attention_heads": 71, "num_hidden_layers": 32, "num_kv_heads": 71,
    "max_position_embeddings": 2048, "vocab_size": 65024})",
        6.92e9);
  close(R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "sliding_window": 2047,
    "tie_word_embeddings": false, "vocab_size": 32064})",
        3.82e9);
  close(R"({"model_type": "gemma", "head_dim": 256, "hidden_size": 3072, "intermediate_size": 24576,
    "max_position_embeddings": 8192, "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 16,
    "vocab_size": 256000})",
        8.54e9);
  close(R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632, "max_position_embeddings": 8192,
    "moe_intermediate_size": 1408, "num_attention_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
    "num_hidden_layers": 24, "num_key_value_heads": 16, "shared_expert_intermediate_size": 5632, "vocab_size": 151936})",
        14.3e9);
  close(R"({"model_type": "dbrx", "attn_config": {"kv_n_heads": 8}, "d_model": 6144, "ffn_config": {
    "ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}, "max_seq_len": 32768, "n_heads": 48,
    "n_layers": 40, "vocab_size": 100352})",
        131.6e9);
}

TEST_CASE("an unknown model type is read with the usual keys", "[workload]") {
  CHECK(total(read(changed(llama, "\"llama\"", "\"brand_new\""))) == total("llama3-8b"));
  const std::string inside =
      R"({"model_type": "sees", "vision_config": {"hidden_size": 1}, "text_config": )" + llama + "}";
  CHECK(total(read(inside)) == total("llama3-8b"));
  CHECK(read(changed(llama, "\"rope_scaling\"", "\"use_qk_norm\": true, \"rope_scaling\"")).qk_norm);
  CHECK_FALSE(read(llama).qk_norm);
  // A scenario may give the sequence.
  CHECK(read(changed(llama, "\"max_position_embeddings\": 8192,", "")).sequence == 0);
}

TEST_CASE("errors of a config have a position", "[workload]") {
  CHECK(faults(changed(llama, "\"num_hidden_layers\": 32,", "")) ==
        List{"config.json:1:1: the key 'num_hidden_layers' is missing | or n_layers, n_layer, num_layers"});
  CHECK(faults(changed(llama, "\"intermediate_size\": 14336,", "")) ==
        List{"config.json:1:1: the key 'intermediate_size' is missing | or ffn_dim, ffn_hidden_size, n_inner"});
  CHECK(faults(changed(llama, "\"hidden_size\": 4096", "\"hidden_size\": \"4096\"")) ==
        List{"config.json:5:3: hidden_size: must be a whole number, not \"4096\""});
  CHECK(faults(changed(llama, "14336", "14336.5")) ==
        List{"config.json:6:3: intermediate_size: must be a whole number, not 14336.5"});
  CHECK(faults(changed(llama, "\"num_attention_heads\": 32", "\"num_attention_heads\": -32")) ==
        List{"config.json:9:3: num_attention_heads: -32 is out of range | 1 to 1000000"});
  CHECK(faults(changed(llama, "128256", "128256000000")) ==
        List{"config.json:16:3: vocab_size: 128256000000 is out of range | 1 to 100000000"});
  CHECK(faults(changed(llama, "\"num_attention_heads\": 32", "\"num_attention_heads\": 33")) ==
        List{"config.json:9:3: num_attention_heads: 33 heads do not divide hidden 4096",
             "config.json:11:3: num_key_value_heads: 8 kv_heads do not divide 33 heads"});
  CHECK(faults(changed(llama, "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 0")) ==
        List{"config.json:14:3: tie_word_embeddings: must be true or false, not 0"});
  CHECK(
      faults(changed(llama, "\"llama\"", "\"mamba\"")).front() ==
      "config.json:8:3: model_type: a model of type 'mamba' is not modelled | only transformers that predict the next "
      "token are");
  CHECK(faults(changed(llama, "\"llama\"", "7")).front() == "config.json:8:3: model_type: must be a string, not 7");
  // All at once.
  CHECK(faults(changed(changed(llama, "128256", "-1"), "\"num_hidden_layers\": 32,", "")).size() == 2);
  CHECK(faults("[1, 2]") == List{"config.json:1:1: must be a JSON object"});
  CHECK(faults("") == List{"config.json:1:1: the file is empty"});
  CHECK(faults("{\n  \"hidden_size\": 4096,\n").front().substr(0, 18) == "config.json:3:1: n");
  CHECK(faults("{\"hidden_size\": 1, \"hidden_size\": 2}") == List{"config.json:1:2: hidden_size: duplicate key"});
  CHECK(faults("{\"hidden_size\": 1e999}") == List{"config.json:1:17: the number '1e999' is too large"});
  CHECK(faults("{\"model_type\": \"t5\", \"is_encoder_decoder\": true}").size() >= 2);
}

}  // namespace
}  // namespace fabricast
