// A config.json of Hugging Face. A model that is taken has parameters and takes operations.
#include "fabricast/workload/model.hpp"
#include "fabricast/workload/model_spec.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_model(std::string_view bytes) {
  const std::string text(bytes);
  const auto model = taken(text, [&] { return read_hugging_face(text, "file"); });
  if (!model) return;
  require(model->layers > 0 && model->hidden > 0 && model->heads > 0 && model->head_dim > 0);
  const ParameterCount count = count_parameters(*model);
  require(count.total > 0 && count.active > 0 && count.active <= count.total);
  require(model_flops(*model, 128).forward(true) > 0);
}

}  // namespace fabricast::fuzz
