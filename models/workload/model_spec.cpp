// The section workload.model.
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

void lay_over(ModelSpec& spec, const Transformer& model) {
  spec.dimensions = model;
  spec.gated = model.gated ? Gated::on : Gated::off;
}

}  // namespace

void visit_dimensions(FieldVisitor& visit, Transformer& m, Gated& gated) {
  visit("layers", m.layers, "layers", between(0, 100000));
  visit("hidden", m.hidden, "width of the model", between(0, 1e7));
  visit("heads", m.heads, "heads of attention", between(0, 1e6));
  visit("kv_heads", m.kv_heads, "heads of keys and values; 0: as many as heads", between(0, 1e6));
  visit("head_dim", m.head_dim, "width of a head, of MLA without rope_dim; 0: hidden / heads", between(0, 1e6));
  visit("ffn", m.ffn, "width of a dense feed-forward part", between(0, 1e8));
  visit("vocab", m.vocab, "words, as padded", between(0, 1e8));
  visit("sequence", m.sequence, "tokens of a sequence", between(0, 1e9));
  visit("gated", gated, "a third matrix gates the feed-forward part (SwiGLU); auto: unless ffn is 4 hidden");
  visit("tied", m.tied, "input and output embedding are one matrix");
  visit("biases", m.biases, "linear layers have biases");
  visit("learned_positions", m.learned_positions, "positions have an embedding");
  visit("window", m.window, "tokens that attention looks back; 0: all", between(0, 1e9));
  visit("full_every", m.full_every, "with a window: every so many layers one looks back at all; 0: none does",
        between(0, 1000));
  visit("experts", m.experts, "experts of a layer; 0: none", between(0, 100000));
  visit("active_experts", m.active_experts, "experts that a token goes to", between(0, 100000));
  visit("shared_experts", m.shared_experts, "experts that all tokens go to", between(0, 1000));
  visit("expert_groups", m.expert_groups, "equal groups of experts, of which a token goes to some; 0: to any",
        between(0, 1000));
  visit("active_groups", m.active_groups, "groups whose experts a token goes to", between(0, 1000));
  visit("expert_ffn", m.expert_ffn, "width of an expert; 0: ffn", between(0, 1e8));
  visit("dense_layers", m.dense_layers, "first layers, which have no experts", between(0, 100000));
  visit("q_rank", m.q_rank, "width that queries are compressed to (MLA); 0: they are not", between(0, 1e6));
  visit("kv_rank", m.kv_rank, "width that keys and values are compressed to (MLA); 0: plain attention",
        between(0, 1e6));
  visit("rope_dim", m.rope_dim, "width of a head's rotated part (MLA), beside head_dim", between(0, 1e6));
  visit("mamba_layers", m.mamba_layers, "mixers of Mamba 2 among the layers; 0: all have attention",
        between(0, 100000));
  visit("attention_layers", m.attention_layers, "with mamba_layers: mixers of attention among the layers",
        between(0, 100000));
  visit("mamba_heads", m.mamba_heads, "heads of Mamba 2", between(0, 1e6));
  visit("mamba_head_dim", m.mamba_head_dim, "width of such a head", between(0, 1e6));
  visit("mamba_groups", m.mamba_groups, "groups of heads that share what goes in and out of states", between(1, 1e6));
  visit("state_dim", m.state_dim, "of a head's state, for each of its width", between(0, 1e6));
  visit("mamba_chunk", m.mamba_chunk, "tokens that Mamba 2 takes at once", between(1, 1e6));
  visit("value_dim", m.value_dim, "width of a head's values (MLA); 0: head_dim", between(0, 1e6));
}

void visit_fields(FieldVisitor& visit, ModelSpec& spec) {
  // Presets and configs are defaults: they are laid under the keys when they are first named.
  const std::string preset = spec.preset, config = spec.config;
  visit("preset", spec.preset, "a published model, e.g. llama3-70b; keys below change it");
  visit("config", spec.config, "path of a Hugging Face config.json; keys below change it");
  if (spec.preset != preset && !spec.preset.empty()) lay_over(spec, find_preset(spec.preset).dimensions);
  if (spec.config != config && spec.imported) lay_over(spec, *spec.imported);
  visit_dimensions(visit, spec.dimensions, spec.gated);
}

ModelSpec preset_model(std::string_view name) {
  ModelSpec spec;
  spec.preset = name;
  lay_over(spec, find_preset(name).dimensions);
  return spec;
}

Transformer resolve(const ModelSpec& spec) {
  if (!spec.preset.empty() && !spec.config.empty())
    throw UserError::at("workload.model.config", "names a second model beside preset", "give one of them");
  Transformer model = spec.dimensions;
  model.name = !spec.preset.empty()   ? spec.preset
               : !spec.config.empty() ? spec.config
                                      : fmt::format("{} layers of {}", model.layers, model.hidden);
  std::vector<Diagnostic> faults = complete(model, spec.gated);
  for (Diagnostic& d : faults) d.path = d.path.empty() ? "workload.model" : "workload.model." + d.path;
  if (!faults.empty()) throw UserError(std::move(faults));
  return model;
}

}  // namespace fabricast
