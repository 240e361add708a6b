// Kernels that were timed alone, as cases of the fit of steps. They determine the efficiency of a GPU without the
// schedule, the communication and the host of a step. Keys are read strictly: a misspelt size would otherwise be
// forecast as its default.
#include "fabricast/calibrate/kernel_case.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/hardware/device_names.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

template <class E>
E word(const std::string& key, const json& value) {
  if (const auto e = enum_from<E>(value.get<std::string>())) return *e;
  throw std::invalid_argument(fmt::format("'kernel.{}': unknown value '{}', not one of {}", key,
                                          value.get<std::string>(),
                                          fmt::join(EnumNames<E>::names.begin(), EnumNames<E>::names.end(), ", ")));
}

/// The sizes that a kind requires.
std::vector<const char*> needed(KernelKind kind) {
  switch (kind) {
    case KernelKind::gemm: return {"m", "n", "k"};
    case KernelKind::stream:
    case KernelKind::optimizer: return {"bytes"};
    default: return {"heads", "tokens"};
  }
}

AttentionHeads heads_of(const KernelCase& c) {
  const std::int64_t kv_heads = c.kv_heads > 0 ? c.kv_heads : c.heads;
  // Keys and values of equal width, and both in the cache.
  return {c.heads, kv_heads, c.head_dim, c.head_dim, 2 * kv_heads * c.head_dim};
}

}  // namespace

KernelCase kernel_case(const std::string& text) {
  const json j = json::parse(text);
  KernelCase c;
  const std::map<std::string, std::int64_t*> sizes{{"m", &c.m},           {"n", &c.n},
                                                   {"k", &c.k},           {"count", &c.count},
                                                   {"heads", &c.heads},   {"kv_heads", &c.kv_heads},
                                                   {"bytes", &c.bytes},   {"sequences", &c.sequences},
                                                   {"tokens", &c.tokens}, {"head_dim", &c.head_dim}};
  for (const auto& [key, value] : j.items()) {
    if (const auto size = sizes.find(key); size != sizes.end()) {
      // Larger than any real kernel.
      const std::int64_t most = key == "bytes" ? std::int64_t{1} << 50 : std::int64_t{1} << 30;
      if (!value.is_number_integer() || value < 1 || value > most)
        throw std::invalid_argument(fmt::format("'kernel.{}' must be a whole number above 0, at most {}", key, most));
      *size->second = value.get<std::int64_t>();
    } else if (key == "gpu") {
      c.gpu = value.get<std::string>();
    } else if (key == "kind") {
      c.kind = word<KernelKind>(key, value);
    } else if (key == "precision") {
      c.precision = word<Precision>(key, value);
    } else if (key == "causal") {
      c.causal = value.get<bool>();
    } else if (key == "short_loop") {
      c.short_loop = value.get<bool>();
    } else if (key == "flash_2") {
      c.flash_2 = value.get<bool>();
    } else if (key == "gap") {
      c.gap = value.get<bool>();
    } else {
      throw std::invalid_argument(fmt::format("'kernel.{}': unknown key", key));
    }
  }
  if (c.gpu.empty()) throw std::invalid_argument("'kernel.gpu' is missing");
  for (const char* key : needed(c.kind))
    if (*sizes.at(key) == 0) throw std::invalid_argument(fmt::format("'kernel.{}' is missing", key));
  // Each size is limited above; this limits their product.
  const double results = static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.count);
  if (results > 0x1p60)
    throw std::invalid_argument("'kernel.m', 'n' and 'count' give more results than any memory holds");
  if (c.kv_heads > 0 && c.heads % c.kv_heads != 0)
    throw std::invalid_argument("'kernel.kv_heads' must divide 'kernel.heads'");
  return c;
}

namespace {

double alone(const KernelCase& c, const Kernels& kernels) {
  const AttentionBlock block{heads_of(c), c.sequences, c.tokens, c.tokens, c.causal};
  switch (c.kind) {
    case KernelKind::gemm: return gemm(kernels, c.m, c.n, c.k, c.precision, c.count).value;
    case KernelKind::flash_forward: return flash_forward(kernels, block).value;
    case KernelKind::flash_backward: return flash_backward(kernels, block).value;
    case KernelKind::decode_attention:
      return decode_attention(kernels, heads_of(c), c.sequences, c.tokens, format_of(c.precision)).value;
    case KernelKind::stream: return stream(kernels, Bytes{c.bytes}).value;
    case KernelKind::optimizer: return optimizer(kernels, Bytes{c.bytes}).value;
  }
  return 0;
}

}  // namespace

Seconds kernel_time(const KernelCase& c, const Hardware& hardware) {
  if (!find_gpu(hardware, c.gpu)) {
    std::vector<std::string_view> known;
    for (const auto& [name, kind] : hardware.gpus) known.push_back(name);
    throw UserError(fmt::format("kernel.gpu: unknown GPU '{}'", c.gpu), suggestion(c.gpu, known));
  }
  // A kernel does not depend on the node; any node with this GPU will do.
  const NodeSpec node = default_node(hardware, c.gpu, {});
  Kernels kernels = resolve_kernels(node, hardware);
  check_precision(kernels, c.precision, "kernel.precision");
  // In a short loop the GPU has not yet reached its power limit and clocks higher than in a step (`burst`).
  if (c.short_loop && c.kind == KernelKind::gemm) kernels.speed *= kernels.model.burst.value;
  const bool attention = c.kind == KernelKind::flash_forward || c.kind == KernelKind::flash_backward;
  const double rate = attention && c.flash_2 ? kernels.model.flash_2.value : 1;
  return Seconds{alone(c, kernels) / rate} + (c.gap ? kernels.kernel_gap() : Seconds{});
}

}  // namespace fabricast
