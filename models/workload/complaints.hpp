// Collects the errors of section `workload`, so that a user sees all of them at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// A list of diagnostics with paths below `workload`.
class Complaints {
 public:
  void add(std::string path, std::string message, std::string hint = {}) {
    list_.push_back(
        {Diagnostic::Severity::error, {}, "workload." + std::move(path), std::move(message), std::move(hint)});
  }
  void add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  bool none() const { return list_.empty(); }
  /// Throws what was collected, if anything.
  void raise() {
    if (!list_.empty()) throw UserError(std::move(list_));
  }

 private:
  std::vector<Diagnostic> list_;
};

}  // namespace fabricast
