// A scenario is read when it is opened, so that its errors come first and questions only compute.
//
// Handles that are made from each other form a family. Callers often ask for one size after another, which changes
// neither the cluster nor NCCL's choices of channels. So a family remembers its last worlds, and a handle whose words
// differ from those of a known one in the value of `workload.sizes` alone is not read again: it takes that world with
// its own sizes. Whatever a reader would refuse is read as usual, so errors are the same.
#include "open_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "fabricast/core/file.hpp"
#include "fabricast/core/shared.hpp"
#include "fabricast/gate/gate.hpp"

namespace fabricast {

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view sizes_word = "workload.sizes=", of_sizes = "workload.sizes";

bool gives_sizes(const std::string& word) { return word.starts_with(sizes_word); }

/// Whether two lists of words differ at most in the values of words that give all sizes.
bool same_but_sizes(const Words& a, const Words& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const std::string& x, const std::string& y) {
    // A word for one element of the list fits only lists that have it.
    return gives_sizes(x) ? gives_sizes(y) : x == y && !x.starts_with(of_sizes);
  });
}

/// What a family remembers of a handle.
struct Known {
  Words changes;
  World world;
  std::vector<Diagnostic> warnings;
};

/// Worlds of a family, those used last at the end. Safe to use from several threads.
class Family {
 public:
  /// The world of a scenario with these words if a known one differs from it in its sizes alone.
  std::optional<Known> with_other_sizes(const Words& changes) {
    const auto last = std::find_if(changes.rbegin(), changes.rend(), gives_sizes);
    if (last == changes.rend()) return std::nullopt;
    std::optional<Known> found = find(changes);
    if (!found) return std::nullopt;
    std::optional<std::vector<Bytes>> sizes = sizes_of_word(last->substr(sizes_word.size()));
    if (!sizes) return std::nullopt;
    found->changes = changes;
    found->world = found->world.with_sizes(std::move(*sizes), {"--set " + *last, 0, 0, 1});
    return found;
  }
  void remember(Known known) {
    constexpr std::size_t most = 16;
    const Scenario& s = known.world.scenario();
    const bool small = known.world.planner().comm.ranks() <= kept_ranks;
    if (s.workload.kind != WorkloadKind::collective || s.workload.sizes.empty() || !small) return;
    const std::scoped_lock lock(mutex_);
    known_.push_back(std::move(known));
    if (known_.size() > most) known_.pop_front();
  }

 private:
  std::optional<Known> find(const Words& changes) {
    const std::scoped_lock lock(mutex_);
    const auto it = std::find_if(known_.rbegin(), known_.rend(),
                                 [&](const Known& known) { return same_but_sizes(known.changes, changes); });
    if (it == known_.rend()) return std::nullopt;
    std::rotate(known_.rbegin(), it, std::next(it));
    return known_.back();
  }

  std::mutex mutex_;
  std::deque<Known> known_;
};

}  // namespace

struct OpenScenario::State {
  Shared<std::string> text;
  std::string name;
  Words changes;
  World world;
  std::exception_ptr invalid;  ///< why it is valid only as a study; null: it is a scenario
  std::vector<Diagnostic> warnings;
  std::shared_ptr<Family> family;
};

OpenScenario OpenScenario::opened(State state, const World* near) {
  try {
    ReadResult read = parse_scenario(state.text, state.name, state.changes);
    state.warnings = std::move(read.warnings);
    state.world = world_of(std::move(read.scenario), state.warnings);
    // What was sampled for DCQCN is kept with the counts, and would be that of other hardware.
    if (near && !state.world.setup().dcqcn) state.world = state.world.with_counts_of(*near);
    state.world = state.world.with_engines_kept();
    state.family->remember({state.changes, state.world, state.warnings});
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
  state.family = std::make_shared<Family>();
  return opened(std::move(state), nullptr);
}

OpenScenario OpenScenario::of_file(const std::string& path, std::vector<std::string> changes) {
  return of_text(read_file(path, std::size_t{4} << 20), path, std::move(changes));
}

OpenScenario OpenScenario::with(const std::vector<std::string>& changes) const {
  State state;
  state.text = state_->text;
  state.name = state_->name;
  state.family = state_->family;
  state.changes = state_->changes;
  state.changes.insert(state.changes.end(), changes.begin(), changes.end());
  if (std::optional<Known> known = state.family->with_other_sizes(state.changes)) {
    state.world = std::move(known->world);
    state.warnings = std::move(known->warnings);
    OpenScenario made;
    made.state_ = std::make_shared<const State>(std::move(state));
    return made;
  }
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
