// An answer: what a question has found, and the forms in which it can be written.
//
// `fabricast run` and the other verbs, the C interface, Python and the servers ask the same functions (ask/ask.hpp) and
// write the same answers, so they cannot disagree:
//
//   scenario -> world_of -> World -> answer_run -> Answer -> write("json")
//
// Writers run when they are called, not before: a form that nobody wants costs nothing. An Answer is a value that holds
// its record; it may be copied, moved, and read by several threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/page/page.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// What was found, and its forms.
struct Answer {
  /// A form: `json`, `text`, `csv`, `yaml`, `env`, `kubernetes`, `slurm`.
  struct Form {
    std::string_view name;
    std::function<std::string()> write;  ///< the whole text; the same at every call
  };
  std::vector<Form> forms;                        ///< `json` and `text` are always among them
  std::function<Page(std::string command)> page;  ///< the report; empty: there is none
  std::function<StepTrace()> timeline;            ///< of a step; empty: there is none
  bool good = true;                               ///< false: the answer is that a check has failed (exit code 1)

  /// Whether the answer can be written in a form.
  bool has(std::string_view form) const;
  /// The answer in a form. \pre has(form), else InternalError
  std::string write(std::string_view form) const;
};

/// Runs `f` and returns what it returns. Its UserErrors that name a key get the key's position in the file that was
/// read; diagnostics that have a position keep it. Other exceptions pass unchanged.
/// \param read  a Scenario or a Study
template <class Read, class F>
auto placed(const Read& read, F f) {
  try {
    return f();
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults) read.locate(d);
    throw UserError(std::move(faults));
  }
}

/// Builds the world of a scenario that was read. Errors and warnings have positions in its file.
/// \param warnings  gets those of the world, after what it already has
/// \throws UserError as build_world
World world_of(Scenario scenario, std::vector<Diagnostic>& warnings);

/// The warning of a question that treats the job as if it were alone, if the scenario has other jobs or flows.
std::optional<Diagnostic> others_left_out(const World& world);

/// The middle one of the scenario's sizes, the larger of two: neither latency nor bandwidth alone. For questions that
/// explain one call. \pre the scenario has sizes, as every collective does
Bytes middle_size(const Scenario& scenario);

}  // namespace fabricast
