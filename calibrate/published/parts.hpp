// The lookups that map the words of published training tables to parts of a scenario, one file each.
//
// Every lookup writes the part of the scenario that the words stand for. It adds to the MappedRow what it had to
// assume, which settings a scenario has no key for, and what is missing if the row cannot be forecast without a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabricast/calibrate/published_steps.hpp"
#include "mapping.hpp"

namespace fabricast::published {

/// The parts of a note: `basis; conf=..; complete=..; sw=..; net=..; remarks`.
struct Note {
  std::string software, network, remarks;
  bool says(std::string_view words) const { return remarks.find(words) != std::string::npos; }
  /// The number after some words, such as 20 for `offload_layers=`. 0 if there is none, or if it exceeds an int.
  std::int64_t number(std::string_view words) const;
};
Note note_of(const PublishedRow& row);

/// A release of software with the stack that models it, or the nearest one.
struct Release {
  std::string_view source;     ///< prefix of the row's source; empty: any
  std::string_view named;      ///< part of the note's `sw=`; empty: any
  std::string_view framework;  ///< of the stack
  std::string_view stack;
  bool exact;                  ///< whether the stack's parameters are those of this release
  bool sequence;               ///< whether tensor parallelism includes sequence parallelism by default
  bool splits_experts;         ///< whether tensor parallelism splits experts by default
  std::string_view recompute;  ///< default of `workload.recompute`
  std::string_view selective;  ///< the value of `workload.recompute` for what the release calls `selective`
};
/// The release of a row. Null if it is unknown.
const Release* find_release(const PublishedRow& row, const Note& note);

/// Writes `node`, `cluster`, and where necessary `fabric` and `routing`.
void say_system(Json& scenario, const PublishedRow& row, const Note& note, MappedRow& mapped);
/// `workload.model`, its number of layers and whether it is an MoE model.
struct SaidModel {
  Json json;
  int layers = 0;
  bool experts = false;
};
SaidModel say_model(const PublishedRow& row, MappedRow& mapped);
/// Writes `precision` and `scaling`.
void say_precision(Json& workload, const PublishedRow& row, MappedRow& mapped);
/// Writes `recompute` or `recompute_modules`.
void say_recompute(Json& workload, const PublishedRow& row, const Note& note, const Release& software,
                   MappedRow& mapped);
/// The value of `parallel`.
Json say_parallel(const PublishedRow& row, const Note& note, const Release& software, const SaidModel& model,
                  MappedRow& mapped);
/// Writes `overlap`, `compiled`, `experts`, `cuda_graphs` and `offload_layers`, and notes settings without a key.
void say_settings(Json& workload, const PublishedRow& row, const Note& note, const SaidModel& model, MappedRow& mapped);

}  // namespace fabricast::published
