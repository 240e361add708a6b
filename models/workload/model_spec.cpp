// The scenario section workload.model.
//
// A preset or a config.json gives all dimensions, and single keys change some of them. Fields are visited in the order
// below, preset and config first, so single keys override them wherever they are in the scenario.
#include <fmt/format.h>

#include "fabricast/core/names.hpp"
#include "model_parts.hpp"

namespace fabricast {

namespace {

const ModelPreset& find_preset(std::string_view name) {
  if (const ModelPreset* preset = find_by_name(model_presets(), name)) return *preset;
  throw UserError::at("workload.model.preset", fmt::format("unknown model '{}'", name),
                      suggestion(name, names_of(model_presets())));
}

// `gated` becomes explicit, so that a changed width does not change the kind of block.
void use_dimensions(ModelSpec& spec, const Transformer& model) {
  spec.dimensions = model;
  spec.gated = model.gated ? Gated::on : Gated::off;
}

}  // namespace

void visit_dimensions(FieldVisitor& visit, Transformer& m, Gated& gated) {
  visit("layers", m.layers, "layers", between(0, 100000));
  visit("hidden", m.hidden, "width of the model", between(0, 1e7));
  visit("heads", m.heads, "attention heads", between(0, 1e6));
  visit("kv_heads", m.kv_heads, "key-value heads; 0: as many as heads", between(0, 1e6));
  visit("head_dim", m.head_dim, "width of a head (MLA: without rope_dim); 0: hidden / heads", between(0, 1e6));
  visit("ffn", m.ffn, "width of a dense feed-forward block", between(0, 1e8));
  visit("vocab", m.vocab, "tokens of the vocabulary, with padding", between(0, 1e8));
  visit("sequence", m.sequence, "tokens of a sequence", between(0, 1e9));
  visit("gated", gated, "a third matrix gates the feed-forward block (SwiGLU); auto: unless ffn is 4 x hidden");
  visit("tied", m.tied, "input and output embedding share one matrix");
  visit("biases", m.biases, "linear layers have biases");
  visit("learned_positions", m.learned_positions, "positions have an embedding");
  visit("qk_norm", m.qk_norm, "queries and keys are normalized, head by head");
  visit("window", m.window, "window of attention, in tokens; 0: all tokens", between(0, 1e9));
  visit("full_every", m.full_every, "with a window: every n-th layer attends to all tokens; 0: none", between(0, 1000));
  visit("experts", m.experts, "experts per layer; 0: none", between(0, 100000));
  visit("active_experts", m.active_experts, "experts that each token uses", between(0, 100000));
  visit("shared_experts", m.shared_experts, "experts that all tokens use", between(0, 1000));
  visit("expert_groups", m.expert_groups, "equal groups of experts, of which a token uses some; 0: no groups",
        between(0, 1000));
  visit("active_groups", m.active_groups, "groups whose experts a token may use", between(0, 1000));
  visit("expert_ffn", m.expert_ffn, "width of an expert; 0: ffn", between(0, 1e8));
  visit("dense_layers", m.dense_layers, "number of first layers, which have no experts", between(0, 100000));
  visit("q_rank", m.q_rank, "width of compressed queries (MLA); 0: not compressed", between(0, 1e6));
  visit("kv_rank", m.kv_rank, "width of compressed keys and values (MLA); 0: standard attention", between(0, 1e6));
  visit("rope_dim", m.rope_dim, "width of the rotated part of a head (MLA), in addition to head_dim", between(0, 1e6));
  visit("mamba_layers", m.mamba_layers, "Mamba 2 mixers in the model; 0: all layers have attention",
        between(0, 100000));
  visit("attention_layers", m.attention_layers, "with mamba_layers: attention mixers in the model", between(0, 100000));
  visit("mamba_heads", m.mamba_heads, "Mamba 2 heads", between(0, 1e6));
  visit("mamba_head_dim", m.mamba_head_dim, "width of a Mamba 2 head", between(0, 1e6));
  visit("mamba_groups", m.mamba_groups, "groups of Mamba 2 heads that share the projections into and out of states",
        between(1, 1e6));
  visit("state_dim", m.state_dim, "state elements of a Mamba 2 head, per element of its width", between(0, 1e6));
  visit("mamba_chunk", m.mamba_chunk, "tokens that Mamba 2 processes at once", between(1, 1e6));
  visit("value_dim", m.value_dim, "width of a head's values (MLA); 0: head_dim", between(0, 1e6));
}

void visit_fields(FieldVisitor& visit, ModelSpec& spec) {
  // A preset or config supplies defaults. It is applied when its key is read, so keys after it override it.
  const std::string preset = spec.preset, config = spec.config;
  visit("preset", spec.preset, "a published model, e.g. llama3-70b; keys below change it");
  visit("config", spec.config, "path of a Hugging Face config.json; keys below change it");
  if (spec.preset != preset && !spec.preset.empty()) use_dimensions(spec, find_preset(spec.preset).dimensions);
  if (spec.config != config && spec.imported) use_dimensions(spec, *spec.imported);
  visit_dimensions(visit, spec.dimensions, spec.gated);
}

ModelSpec preset_model(std::string_view name) {
  ModelSpec spec;
  spec.preset = name;
  use_dimensions(spec, find_preset(name).dimensions);
  return spec;
}

Transformer resolve(const ModelSpec& spec) {
  if (!spec.preset.empty() && !spec.config.empty())
    throw UserError::at("workload.model.config", "names a second model in addition to preset", "give only one of them");
  Transformer model = spec.dimensions;
  // The name appears in output only.
  model.name = !spec.preset.empty()   ? spec.preset
               : !spec.config.empty() ? spec.config
                                      : fmt::format("{} layers of {}", model.layers, model.hidden);
  std::vector<Diagnostic> faults = complete(model, spec.gated);
  for (Diagnostic& d : faults) d.path = d.path.empty() ? "workload.model" : "workload.model." + d.path;
  if (!faults.empty()) throw UserError(std::move(faults));
  return model;
}

}  // namespace fabricast
