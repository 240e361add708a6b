// Where a transformer's dimensions come from: a published model, a config.json of Hugging Face, or the scenario itself,
// which may also start from the first two and change single dimensions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/workload/model.hpp"

namespace fabricast {

/// Whether the feed-forward part is gated; automatic: unless it is 4 times as wide as the model, as before Llama.
enum class Gated { automatic, on, off };
template <>
struct EnumNames<Gated> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// A published model.
struct ModelPreset {
  std::string name, summary, source;
  Transformer dimensions;  ///< as given: 0 where it follows from others (ModelSpec)
  double parameters = 0;   ///< published
  double active = 0;       ///< the same, that a token meets; 0: all
  double tolerance = 0;    ///< of both, relative: as they are rounded, and as vocabularies are padded
  double active_tolerance = 0;
};
/// In order of names.
const std::vector<ModelPreset>& model_presets();

/// Section `workload.model`. A preset's or a config's dimensions are defaults that given keys override.
struct ModelSpec {
  std::string preset;
  std::string config;  ///< path of a config.json; empty: none
  std::optional<Transformer>
      imported;  ///< what stands in it: set by whoever reads files, before the fields are visited
  Gated gated = Gated::automatic;
  /// As given. 0 in kv_heads, head_dim, expert_ffn, value_dim: follows from the others. `gated` is above.
  Transformer dimensions;
};
/// \throws UserError (path workload.model.preset) if the preset is unknown.
void visit_fields(FieldVisitor& visit, ModelSpec& spec);

/// The spec of a preset.  \throws UserError as above
ModelSpec preset_model(std::string_view name);

/// The model with all its dimensions.  \throws UserError with all that is missing or does not fit together.
Transformer resolve(const ModelSpec& spec);

/// The model of a config.json, as Hugging Face's transformers write it.  \param file for messages
/// \throws UserError with the places of what is missing, no number, or does not fit together.
Transformer read_hugging_face(const std::string& text, const std::string& file);

}  // namespace fabricast
