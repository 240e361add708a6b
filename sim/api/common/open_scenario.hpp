// A scenario that doors ask questions of: its text, the changes of it, and the world that they make.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/ask/ask.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {

/// An immutable handle, cheap to copy; safe to use from several threads.
class OpenScenario {
 public:
  /// \param name     of the file, for messages and relative paths
  /// \param changes  `key=value` words that override the text
  /// \throws UserError if it is neither a valid scenario nor a valid study
  static OpenScenario of_text(std::string text, std::string name, std::vector<std::string> changes);
  static OpenScenario of_file(const std::string& path, std::vector<std::string> changes);
  /// With further changes. Results of NCCL's topology search are shared, and counts of connections.
  OpenScenario with(const std::vector<std::string>& changes) const;

  /// \throws UserError if it is valid only as a study
  const World& world() const;
  /// \param axes  further axes, `key=[a, b]`
  Study study(const std::vector<std::string>& axes) const;
  const std::vector<Diagnostic>& warnings() const;
  /// The command line that asks the same, for reports.
  std::string command(std::string_view verb) const;

 private:
  struct State;
  /// \param near  a similar world, whose counts are shared; null: none
  static OpenScenario opened(State state, const World* near);
  std::shared_ptr<const State> state_;
};

}  // namespace fabricast
