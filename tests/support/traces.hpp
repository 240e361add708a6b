// Traces from bytes to a program, and what is said of bad ones.
#pragma once

#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "sim/trace/calls.hpp"

namespace fabricast::test {

/// Each file is of a rank, or, of one file, of `spec.ranks`.
inline Program program_of_files(const std::vector<std::string>& files, const TraceSpec& spec = {},
                                const std::string& groups = {}, const KernelTime& kernel_time = {}) {
  trace::Job job;
  for (std::size_t f = 0; f < files.size(); ++f)
    job.traces.push_back(trace::decode("t." + std::to_string(f) + ".et", files[f]));
  const std::size_t ranks = spec.ranks > 0 ? static_cast<std::size_t>(spec.ranks) : files.size();
  for (std::uint32_t r = 0; r < ranks; ++r) job.trace_of.push_back(files.size() == 1 ? 0 : r);
  trace::NamedGroups named;
  if (!groups.empty()) named = trace::parse_groups("groups.json", groups);
  return trace::program_of(std::move(job), std::move(named), spec, kernel_time);
}

/// Messages as the user sees them, without hints.
inline std::vector<std::string> faults_of(const std::vector<std::string>& files, const TraceSpec& spec = {},
                                          const std::string& groups = {}) {
  std::vector<std::string> said;
  try {
    program_of_files(files, spec, groups);
  } catch (const UserError& e) {
    for (Diagnostic d : e.diagnostics()) {
      d.hint.clear();
      std::string text = render(d);
      said.push_back(text.substr(0, text.find('\n')));
    }
  }
  return said;
}

}  // namespace fabricast::test
