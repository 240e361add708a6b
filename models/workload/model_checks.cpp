// Fills in dimensions that follow from others, and checks that the dimensions of a model are consistent.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/real.hpp"
#include "model_parts.hpp"

namespace fabricast {

namespace {

/// Collects what is missing or inconsistent; paths are names of fields.
// All faults are collected, so that one run reports them together. Messages name the field as the user writes it.
class Checks {
 public:
  explicit Checks(const Transformer& model) : m_(model) {}

  std::vector<Diagnostic> run() {
    present();
    attention();
    mamba();
    experts();
    // Sizes only mean something if all dimensions are present and consistent.
    if (list_.empty()) size();
    return std::move(list_);
  }

 private:
  void refuse(std::string field, std::string message, std::string hint = {}) {
    Diagnostic d;
    d.path = std::move(field);
    d.message = std::move(message);
    d.hint = std::move(hint);
    list_.push_back(std::move(d));
  }
  void divides(std::string_view field, std::int64_t part, std::string_view of, std::int64_t whole,
               const std::string& hint) {
    if (part > 0 && whole % part != 0)
      refuse(std::string(field), fmt::format("{} {} do not divide {} {}", part, field, whole, of), hint);
  }

  void present() {
    const auto need = [&](std::string_view field, std::int64_t value) {
      if (value > 0) return;
      refuse(std::string(field), "is missing",
             // Only the first missing dimension carries the hint.
             list_.empty() ? "use a preset, e.g. preset: llama3-70b, or give layers, hidden, heads, ffn, vocab and "
                             "sequence"
                           : "");
    };
    need("layers", m_.layers);
    need("hidden", m_.hidden);
    need("heads", m_.heads);
    if (m_.experts == 0 || m_.dense_layers > 0) need("ffn", m_.ffn);
    need("vocab", m_.vocab);
    need("sequence", m_.sequence);
  }

  void attention() {
    if (m_.heads > 0 && m_.head_dim == 0 && m_.hidden > 0)
      refuse("heads", fmt::format("{} heads do not divide hidden {}", m_.heads, m_.hidden),
             "give head_dim, or change the number of heads");
    divides("kv_heads", m_.kv_heads, "heads", m_.heads, "each key-value head serves an equal number of heads");
    if (m_.kv_rank > 0 && m_.rope_dim == 0) refuse("rope_dim", "is missing: latent attention (kv_rank) needs it");
    if (m_.kv_rank == 0 && m_.q_rank > 0) refuse("q_rank", "needs kv_rank");
    if (m_.full_every > 0 && m_.window == 0) refuse("full_every", "needs window");
    if (m_.qk_norm && m_.kv_rank > 0) refuse("qk_norm", "is not supported with latent attention (kv_rank)");
  }

  void mamba() {
    if (m_.mamba_layers == 0) {
      if (m_.attention_layers > 0)
        refuse("attention_layers", "needs mamba_layers: without it, all layers have attention");
      return;
    }
    if (m_.mamba_heads == 0) refuse("mamba_heads", "is missing: the number of Mamba heads");
    if (m_.mamba_head_dim == 0) refuse("mamba_head_dim", "is missing: the width of a Mamba head");
    if (m_.state_dim == 0) refuse("state_dim", "is missing: the state size of a Mamba head");
    divides("mamba_groups", m_.mamba_groups, "mamba_heads", m_.mamba_heads,
            "each group serves an equal number of heads");
    if (m_.window > 0) refuse("window", "is not supported for models with Mamba layers");
    // A layer has at least one mixer. There may be more: `layers` counts feed-forward blocks.
    if (std::int64_t{m_.mamba_layers} + m_.attention_layers < m_.layers)
      refuse("mamba_layers", fmt::format("{} Mamba mixers and {} attention mixers are fewer than the {} layers",
                                         m_.mamba_layers, m_.attention_layers, m_.layers));
  }

  void experts() {
    if (m_.experts == 0) {
      if (m_.active_experts > 0) refuse("active_experts", "needs experts");
      if (m_.shared_experts > 0) refuse("shared_experts", "needs experts");
      if (m_.expert_groups > 0) refuse("expert_groups", "needs experts");
      if (m_.dense_layers > 0) refuse("dense_layers", "needs experts: without them all layers are dense");
      return;
    }
    if (m_.active_experts == 0)
      refuse("active_experts", fmt::format("is missing: how many of the {} experts a token uses", m_.experts));
    if (m_.active_experts > m_.experts)
      refuse("active_experts", fmt::format("{} are more than the {} experts", m_.active_experts, m_.experts),
             fmt::format("at most {}", m_.experts));
    groups_of_experts();
    if (m_.expert_ffn == 0) refuse("expert_ffn", "is missing: the width of an expert");
    if (m_.dense_layers > m_.layers)
      refuse("dense_layers", fmt::format("{} are more than the {} layers", m_.dense_layers, m_.layers));
  }

  void groups_of_experts() {
    if (m_.expert_groups == 0) {
      if (m_.active_groups > 0) refuse("active_groups", "needs expert_groups");
      return;
    }
    if (m_.experts % m_.expert_groups != 0)
      refuse("expert_groups",
             fmt::format("{} experts cannot be split into {} equal groups", m_.experts, m_.expert_groups));
    if (m_.active_groups == 0)
      return refuse("active_groups",
                    fmt::format("is missing: how many of the {} groups a token uses", m_.expert_groups));
    if (m_.active_groups > m_.expert_groups)
      refuse("active_groups", fmt::format("{} are more than the {} groups", m_.active_groups, m_.expert_groups),
             fmt::format("at most {}", m_.expert_groups));
    if (m_.active_experts > m_.active_groups * (m_.experts / m_.expert_groups))
      refuse("active_groups", fmt::format("{} groups have fewer than {} experts", m_.active_groups, m_.active_experts));
  }

  /// Refuses models whose counts would overflow 64 bits.
  void size() {
    const double attention =
        real(m_.hidden) * (4.0 * real(m_.heads) * (real(m_.head_dim) + real(m_.rope_dim) + real(m_.value_dim)) +
                           real(m_.q_rank) + real(m_.kv_rank));
    const double mixer = real(m_.hidden) * 4.0 * real(m_.mamba_heads) * (real(m_.mamba_head_dim) + real(m_.state_dim));
    const double ffn = 3.0 * real(m_.hidden) * (real(m_.ffn) + (m_.experts + m_.shared_experts) * real(m_.expert_ffn));
    // An upper bound in double precision; the real count may be smaller.
    const double total = (m_.layers + m_.attention_layers) * (attention + ffn) + m_.mamba_layers * mixer +
                         real(m_.hidden) * (2.0 * real(m_.vocab) + real(m_.sequence));
    if (total > 1e16)
      refuse("", fmt::format("the model would have about {:.0e} parameters", total), "check its dimensions");
  }

  const Transformer& m_;
  std::vector<Diagnostic> list_;
};

}  // namespace

std::vector<Diagnostic> complete(Transformer& m, Gated gated) {
  // Defaults in an order in which each uses only what is already filled in. Latent attention has a key and a value for
  // each head. Models with 4 hidden as their width come from before gated blocks.
  if (m.kv_heads == 0 || m.kv_rank > 0) m.kv_heads = m.heads;
  if (m.head_dim == 0 && m.heads > 0 && m.hidden % m.heads == 0) m.head_dim = m.hidden / m.heads;
  if (m.kv_rank > 0 && m.value_dim == 0) m.value_dim = m.head_dim;
  if (m.experts > 0 && m.expert_ffn == 0) m.expert_ffn = m.ffn;
  m.gated = gated == Gated::automatic ? m.experts > 0 || m.ffn != 4 * m.hidden : gated == Gated::on;
  return Checks(m).run();
}

}  // namespace fabricast
