// A scenario is read when it is opened, so that its errors come first and questions only compute.
#include "open_scenario.hpp"

#include <fmt/format.h>

#include <exception>

#include "fabricast/core/file.hpp"
#include "fabricast/gate/gate.hpp"

namespace fabricast {

struct OpenScenario::State {
  std::string text, name;
  std::vector<std::string> changes;
  World world;
  std::exception_ptr invalid;  ///< why it is valid only as a study; null: it is a scenario
  std::vector<Diagnostic> warnings;
};

OpenScenario OpenScenario::opened(State state, const World* near) {
  try {
    ReadResult read = parse_scenario(state.text, state.name, state.changes);
    state.warnings = std::move(read.warnings);
    state.world = world_of(std::move(read.scenario), state.warnings, near ? near->searches() : nullptr);
    if (near) state.world = state.world.with_counts_of(*near);
  } catch (const UserError&) {
    // Axes of a study may give what the scenario lacks.
    state.invalid = std::current_exception();
    bool has_axes = false;
    try {
      has_axes = !parse_study(state.text, state.name, state.changes).axes.empty();
    } catch (const UserError&) {}  // the scenario's own errors say more
    if (!has_axes) throw;
  }
  OpenScenario made;
  made.state_ = std::make_shared<const State>(std::move(state));
  return made;
}

OpenScenario OpenScenario::of_text(std::string text, std::string name, std::vector<std::string> changes) {
  constexpr std::size_t most = std::size_t{4} << 20;  // as of files
  if (text.size() > most) throw UserError(fmt::format("{}: longer than {} bytes", name, most));
  State state;
  state.text = std::move(text);
  state.name = std::move(name);
  state.changes = std::move(changes);
  return opened(std::move(state), nullptr);
}

OpenScenario OpenScenario::of_file(const std::string& path, std::vector<std::string> changes) {
  return of_text(read_file(path, std::size_t{4} << 20), path, std::move(changes));
}

OpenScenario OpenScenario::with(const std::vector<std::string>& changes) const {
  State state;
  state.text = state_->text;
  state.name = state_->name;
  state.changes = state_->changes;
  state.changes.insert(state.changes.end(), changes.begin(), changes.end());
  return opened(std::move(state), state_->invalid ? nullptr : &state_->world);
}

const World& OpenScenario::world() const {
  if (state_->invalid) std::rethrow_exception(state_->invalid);
  return state_->world;
}

Study OpenScenario::study(const std::vector<std::string>& axes) const {
  return parse_study(state_->text, state_->name, state_->changes, axes);
}

const std::vector<Diagnostic>& OpenScenario::warnings() const { return state_->warnings; }

std::string OpenScenario::command(std::string_view verb) const {
  std::string text = fmt::format("fabricast {} {}", verb, shell_quoted(state_->name));
  for (const std::string& change : state_->changes) text += " --set " + shell_quoted(change);
  return text;
}

}  // namespace fabricast
