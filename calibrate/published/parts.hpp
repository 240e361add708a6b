// Words of published tables and what they are in a scenario: one table each, in a file of its own.
//
// Every lookup gives the parts of the scenario that the words stand for, and adds to a MappedRow what it had to assume,
// what a scenario cannot say, and, if that decides, what is missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabricast/calibrate/published_steps.hpp"
#include "mapping.hpp"

namespace fabricast::published {

/// A note's parts: `basis; conf=..; complete=..; sw=..; net=..; remarks`.
struct Note {
  std::string software, network, remarks;
  bool says(std::string_view words) const { return remarks.find(words) != std::string::npos; }
  /// Behind words, as 20 in `offload_layers=20`; 0: there is none, or it is larger than an int.
  std::int64_t number(std::string_view words) const;
};
Note note_of(const PublishedRow& row);

/// A release of software: the stack it is, or the nearest that there is.
struct Release {
  std::string_view source;     ///< what the row's source begins with; empty: any
  std::string_view named;      ///< part of the note's `sw=`; empty: any
  std::string_view framework;  ///< of the stack
  std::string_view stack;
  bool exact;                  ///< the stack is of this release
  bool sequence;               ///< ranks of tensor parallelism also split what is between the products
  bool splits_experts;         ///< experts are split as all else
  std::string_view recompute;  ///< where the row does not state it
  std::string_view selective;  ///< what it calls `selective`
};
/// Null: unknown.
const Release* find_release(const PublishedRow& row, const Note& note);

/// `node`, `fabric` and `routing` of the scenario, and the nodes of the job.
void say_system(Json& scenario, const PublishedRow& row, const Note& note, MappedRow& mapped);
/// `workload.model`, and whether it has experts; layers: what the pipeline cuts.
struct SaidModel {
  Json json;
  int layers = 0;
  bool experts = false;
};
SaidModel say_model(const PublishedRow& row, MappedRow& mapped);
/// `precision` and `scaling`.
void say_precision(Json& workload, const PublishedRow& row, MappedRow& mapped);
void say_recompute(Json& workload, const PublishedRow& row, const Release& software, MappedRow& mapped);
/// `parallel`, of a model with so many layers.
Json say_parallel(const PublishedRow& row, const Note& note, const Release& software, const SaidModel& model,
                  MappedRow& mapped);
/// `overlap`, `compiled` and `experts`, and settings that a scenario has no key for.
void say_settings(Json& workload, const PublishedRow& row, const Note& note, const SaidModel& model, MappedRow& mapped);

}  // namespace fabricast::published
