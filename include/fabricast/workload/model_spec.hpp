// Where a transformer's dimensions come from: a preset (a published model), a config.json of Hugging Face, or the
// scenario itself. A scenario may also start from a preset or a config and change single dimensions.
//
//   ModelSpec spec = preset_model("llama3-70b");
//   spec.dimensions.layers = 40;                 // half of it
//   const Transformer model = resolve(spec);     // throws if something is missing or does not fit together
//
// Pure functions; safe to call concurrently. Errors are UserErrors with paths below `workload.model`, or with file and
// line for a config.json.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "fabricast/hardware/compute.hpp"
#include "fabricast/workload/model.hpp"

namespace fabricast {

/// Whether the feed-forward block is gated; automatic: unless it is dense and 4 times as wide as the model, as was
/// usual before Llama.
enum class Gated { automatic, on, off };
template <>
struct EnumNames<Gated> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};

/// A published model.
struct ModelPreset {
  std::string name, summary, source;  ///< key of the scenario, one line, and keys of docs/references.md
  Transformer dimensions;             ///< as given; 0 where a dimension follows from others (see ModelSpec)
  double parameters = 0;              ///< published number
  double active = 0;                  ///< published number of active parameters; 0: all are active
  double tolerance = 0;               ///< relative: published numbers are rounded, and vocabularies padded
  double active_tolerance = 0;        ///< the same for `active`
  /// Formats of the released checkpoint: of linear layers, experts included, and of routed experts where only these
  /// have fewer bits. None: 16 bits, or not certain. `fabricast init` writes them; scenarios do not default to them.
  std::optional<NumberFormat> checkpoint, expert_checkpoint;
};
/// All presets, sorted by name. Parsed once.
const std::vector<ModelPreset>& model_presets();

/// Section `workload.model`. The dimensions of a preset or config are defaults, which keys of the section override.
struct ModelSpec {
  std::string preset;  ///< name of a published model; empty: none. Not together with `config`
  std::string config;  ///< path of a config.json; empty: none
  std::optional<Transformer>
      imported;  ///< contents of `config`; the reader of files sets it before it visits the fields
  Gated gated = Gated::automatic;
  /// As given. 0 in kv_heads, head_dim, expert_ffn and value_dim: follows from other dimensions. `gated` above counts
  /// instead of its member of the same name.
  Transformer dimensions;
};
/// The keys of the section. When the visitor changes `preset` or `config`, all dimensions are replaced at once, so keys
/// that are visited later override them wherever they stand in the file.
/// \throws UserError (path workload.model.preset) if the preset is unknown.
void visit_fields(FieldVisitor& visit, ModelSpec& spec);

/// The spec of a preset. \throws UserError (path workload.model.preset) if the preset is unknown.
ModelSpec preset_model(std::string_view name);

/// The model with all its dimensions: derived ones are filled in, and dimensions are checked against each other. Its
/// name is that of the preset or config, and is for output only. \throws UserError with everything that is missing or
/// inconsistent.
Transformer resolve(const ModelSpec& spec);

/// The model of a config.json as Hugging Face's transformers library writes it [transformers-configs]. \param file  its
/// name in messages
/// \throws UserError with the position of everything that is missing, not a number, or inconsistent.
Transformer read_hugging_face(const std::string& text, const std::string& file);

}  // namespace fabricast
