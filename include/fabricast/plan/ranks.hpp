// Processes of one job that send each other texts: what a sweep needs of MPI.
//
// MPI itself stands in a program of its own (sim/plan/mpi), started only where a launcher has started several ranks, so that
// a run alone neither needs nor loads it.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace fabricast {

struct Message {
  int from = 0;
  std::string text;
};

/// Used from one thread.
class Ranks {
 public:
  virtual ~Ranks() = default;
  /// Returns before the text has arrived. What is sent to a rank that has died is lost.
  virtual void send(int to, const std::string& text) = 0;
  /// The next text that has come, from any rank; nothing if there is none.
  virtual std::optional<Message> receive() = 0;
  /// Leaves the job. \param all  whether all ranks do; else those that are gone are not waited for
  virtual void leave(bool all) = 0;

  int rank = 0, size = 1;
  double patience = 5;  ///< s that the last word of a rank is waited for
};

/// The ranks that a launcher (mpirun, srun) has started; null for a process alone.
/// \throws Unavailable if there are several and MPI is not built in, or does not see them all
std::unique_ptr<Ranks> launched_ranks();

}  // namespace fabricast
