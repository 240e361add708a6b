// The section workload.model: presets, keys that override them, and what does not make a model.
#include <catch2/catch.hpp>
#include <map>

#include "fabricast/workload/model_spec.hpp"
#include "fabricast/workload/stages.hpp"

namespace fabricast {
namespace {

/// Gives fields the values that a file would.
class Given : public FieldVisitor {
 public:
  explicit Given(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  void scalar(const FieldInfo& info, ScalarRef value) override {
    const auto it = values_.find(std::string(info.name));
    if (it == values_.end()) return;
    const std::string& text = it->second;
    if (auto* p = std::get_if<int*>(&value)) **p = std::stoi(text);
    if (auto* p = std::get_if<std::int64_t*>(&value)) **p = std::stoll(text);
    if (auto* p = std::get_if<double*>(&value)) **p = std::stod(text);
    if (auto* p = std::get_if<bool*>(&value)) **p = text == "true";
    if (auto* p = std::get_if<std::string*>(&value)) **p = text;
    if (auto* p = std::get_if<WordRef>(&value))
      for (std::size_t i = 0; i < p->words.size(); ++i)
        if (p->words[i] == text) p->set(p->target, i);
    values_.erase(it);
  }
  bool enter(const FieldInfo&) override { return false; }
  void leave() override {}
  std::size_t enter_list(const FieldInfo&, std::size_t size) override { return size; }
  void string_map(const FieldInfo&, std::map<std::string, std::string>&) override {}
  bool all_taken() const { return values_.empty(); }

 private:
  std::map<std::string, std::string> values_;
};

ModelSpec spec(std::map<std::string, std::string> values, ModelSpec s = {}) {
  Given given(std::move(values));
  visit_fields(given, s);
  CHECK(given.all_taken());
  return s;
}
Transformer model(std::map<std::string, std::string> values) { return resolve(spec(std::move(values))); }

std::vector<std::string> faults(std::map<std::string, std::string> values) {
  std::vector<std::string> list;
  try {
    model(std::move(values));
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics())
      list.push_back(d.path + ": " + d.message + (d.hint.empty() ? "" : " | " + d.hint));
  }
  return list;
}
using List = std::vector<std::string>;

const std::map<std::string, std::string> gpt3 = {{"layers", "96"}, {"hidden", "12288"}, {"heads", "96"},
                                                 {"ffn", "49152"}, {"vocab", "51200"},  {"sequence", "2048"}};
std::map<std::string, std::string> with(std::map<std::string, std::string> values,
                                        const std::map<std::string, std::string>& more) {
  for (const auto& [key, value] : more) values[key] = value;
  return values;
}

TEST_CASE("missing dimensions follow from the others", "[workload]") {
  const Transformer m = model(gpt3);
  CHECK(m.kv_heads == 96);
  CHECK(m.head_dim == 128);
  CHECK_FALSE(m.gated);  // 4 times as wide
  CHECK(model(with(gpt3, {{"ffn", "28672"}})).gated);
  CHECK(model(with(gpt3, {{"gated", "true"}})).gated);
  CHECK_FALSE(model(with(gpt3, {{"ffn", "28672"}, {"gated", "false"}})).gated);
  const Transformer experts = model(with(gpt3, {{"experts", "8"}, {"active_experts", "2"}}));
  CHECK(experts.expert_ffn == 49152);
  CHECK(experts.gated);
  const Transformer latent = model(with(gpt3, {{"kv_rank", "512"}, {"rope_dim", "64"}}));
  CHECK(latent.value_dim == 128);
  CHECK(latent.query_width() == 96 * 192);
  // Without a preset no dense part is asked for where no layer has one.
  CHECK_NOTHROW(model({{"layers", "4"},
                       {"hidden", "64"},
                       {"heads", "4"},
                       {"vocab", "100"},
                       {"sequence", "8"},
                       {"experts", "4"},
                       {"active_experts", "1"},
                       {"expert_ffn", "32"}}));
}

TEST_CASE("keys override a preset", "[workload]") {
  const Transformer m = model({{"preset", "llama3-70b"}});
  CHECK(m.name == "llama3-70b");
  CHECK((m.layers == 80 && m.kv_heads == 8 && m.head_dim == 128 && m.gated));
  const Transformer shorter = model({{"preset", "llama3-70b"}, {"layers", "8"}, {"sequence", "4096"}});
  CHECK((shorter.layers == 8 && shorter.sequence == 4096 && shorter.hidden == 8192));
  // What follows from others does so from the changed ones.
  CHECK(model({{"preset", "llama3-70b"}, {"hidden", "4096"}}).head_dim == 64);
  CHECK_FALSE(model({{"preset", "nemotron4-340b"}, {"ffn", "65536"}}).gated);
  // Visited again, as to write it, the preset does not undo the keys.
  CHECK(resolve(spec({}, spec({{"preset", "llama3-70b"}, {"layers", "8"}}))).layers == 8);
  CHECK(model({{"preset", "llama3.1-405b"}}).sequence == 131072);
}

TEST_CASE("keys override a config", "[workload]") {
  ModelSpec s;
  s.imported = resolve(preset_model("mixtral-8x7b"));
  const Transformer m = resolve(spec({{"config", "config.json"}, {"layers", "2"}}, s));
  CHECK((m.name == "config.json" && m.layers == 2 && m.experts == 8 && m.hidden == 4096));
  CHECK(resolve(spec(gpt3, s)).experts == 0);  // not named
  s = spec({{"config", "config.json"}, {"preset", "llama2-7b"}}, s);
  CHECK_THROWS_WITH(resolve(s), Catch::Contains("workload.model.config: names a second model in addition to preset"));
}

TEST_CASE("inconsistent dimensions are refused by name", "[workload]") {
  const std::string start = "workload.model.";
  CHECK(faults({}).front() == start +
                                  "layers: is missing | use a preset, e.g. preset: llama3-70b, or give layers, "
                                  "hidden, heads, ffn, vocab and sequence");
  CHECK(faults({}).size() == 6);
  CHECK(faults({{"preset", "llama3-70"}}) == List{start + "preset: unknown model 'llama3-70' | did you mean "
                                                          "'llama3-70b'?"});
  CHECK(faults({{"preset", "zzz"}}).front().find("deepseek-v2, deepseek-v3") != std::string::npos);
  CHECK(faults(with(gpt3, {{"heads", "100"}})) ==
        List{start + "heads: 100 heads do not divide hidden 12288 | give head_dim, or change the number of heads"});
  CHECK(faults(with(gpt3, {{"heads", "100"}, {"head_dim", "128"}})).empty());
  CHECK(faults(with(gpt3, {{"kv_heads", "7"}})) ==
        List{start +
             "kv_heads: 7 kv_heads do not divide 96 heads | each key-value head serves an equal number of heads"});
  CHECK(faults(with(gpt3, {{"experts", "8"}})) ==
        List{start + "active_experts: is missing: how many of the 8 experts a token uses"});
  CHECK(faults(with(gpt3, {{"experts", "8"}, {"active_experts", "9"}})) ==
        List{start + "active_experts: 9 are more than the 8 experts | at most 8"});
  CHECK(faults(with(gpt3, {{"experts", "8"}, {"active_experts", "2"}, {"dense_layers", "97"}})) ==
        List{start + "dense_layers: 97 are more than the 96 layers"});
  const auto in_groups = [&](const char* groups, const char* active) {
    return faults(with(gpt3, {{"experts", "8"},
                              {"active_experts", "2"},
                              {"expert_ffn", "9"},
                              {"expert_groups", groups},
                              {"active_groups", active}}));
  };
  CHECK(in_groups("4", "2").empty());
  CHECK(in_groups("3", "2") == List{start + "expert_groups: 8 experts cannot be split into 3 equal groups"});
  CHECK(in_groups("4", "0") == List{start + "active_groups: is missing: how many of the 4 groups a token uses"});
  CHECK(in_groups("4", "5") == List{start + "active_groups: 5 are more than the 4 groups | at most 4"});
  CHECK(in_groups("8", "1") == List{start + "active_groups: 1 groups have fewer than 2 experts"});
  CHECK(in_groups("0", "1") == List{start + "active_groups: needs expert_groups"});
  CHECK(faults(with(gpt3, {{"active_experts", "2"}})) == List{start + "active_experts: needs experts"});
  CHECK(faults(with(gpt3, {{"q_rank", "64"}})) == List{start + "q_rank: needs kv_rank"});
  CHECK(faults(with(gpt3, {{"kv_rank", "64"}})) ==
        List{start + "rope_dim: is missing: latent attention (kv_rank) needs it"});
  CHECK(faults(with(gpt3, {{"full_every", "2"}})) == List{start + "full_every: needs window"});
  CHECK(faults(with(gpt3, {{"layers", "100000"}, {"ffn", "100000000"}})) ==
        List{"workload.model: the model would have about 4e+17 parameters | check its dimensions"});
}

TEST_CASE("layers are divided as evenly as possible", "[workload]") {
  CHECK(layers_of_chunks(8, 4) == std::vector<int>{2, 2, 2, 2});
  CHECK(layers_of_chunks(126, 8) == std::vector<int>{15, 16, 16, 16, 15, 16, 16, 16});
  CHECK(layers_of_chunks(2, 4) == std::vector<int>{0, 1, 0, 1});
  CHECK(layers_of_chunks(8, 4, {1, 3, 3, 1}) == std::vector<int>{1, 3, 3, 1});
  CHECK(layers_of_chunks(8, 4, {4, 4}) == std::vector<int>{2, 2, 2, 2});
  // A vocabulary of 128,256 is worth 1.8 layers of Llama-3 8B at 8,192 tokens, and 0.6 of 405B.
  CHECK(balanced_layers(resolve(preset_model("llama3-8b")), 4, 1) == std::vector<int>{9, 8, 8, 7});
  CHECK(balanced_layers(resolve(preset_model("llama3-8b")), 4, 2) == std::vector<int>{5, 4, 4, 4, 4, 4, 4, 3});
  CHECK(balanced_layers(resolve(preset_model("llama3-405b")), 2, 1) == std::vector<int>{63, 63});
}

}  // namespace
}  // namespace fabricast
