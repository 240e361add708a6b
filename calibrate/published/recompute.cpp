// What is computed again, in the words of published tables.
#include <fmt/format.h>

#include <array>

#include "parts.hpp"

namespace fabricast::published {

namespace {

struct RecomputeName {
  std::string_view name, word;
};

constexpr std::array<RecomputeName, 6> recompute_names{{
    {"none", "none"},
    {"full", "full"},
    {"selective(op)", "ops"},
    {"ops", "ops"},
    {"core_attn", "selective"},
    {"seqpar+selective", "selective"},
}};

}  // namespace

std::string say_recompute(const PublishedRow& row, const Release& software, MappedRow& mapped) {
  if (row.recompute.empty()) {
    mapped.assumed.push_back({"workload.recompute", std::string(software.recompute), "not stated"});
    return std::string(software.recompute);
  }
  if (row.recompute == "selective") return std::string(software.selective);
  for (const RecomputeName& r : recompute_names)
    if (r.name == row.recompute) return std::string(r.word);
  miss(mapped, "workload.recompute: single modules");
  return {};
}

}  // namespace fabricast::published
