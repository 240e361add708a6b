// Ranks: the processes of one job, which send each other texts. This is all that a sweep needs of MPI.
//
// MPI itself runs in a separate program (sim/answer/plan/mpi), which is started only if a launcher has started several
// ranks. A process that runs alone neither needs nor loads MPI. The separation also keeps MPI apart from SimGrid, a
// library with functions of the same names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fabricast/core/units.hpp"

namespace fabricast {

/// A text from another rank.
struct Message {
  int from = 0;      ///< rank of the sender
  std::string text;  ///< any bytes
};

/// The connection of this process to the other ranks. Not thread-safe: use it from one thread.
/// Messages between two ranks arrive in the order in which they were sent.
class Ranks {
 public:
  virtual ~Ranks() = default;
  /// Sends a text. Returns before it has arrived. A text to a rank that has died is lost.
  virtual void send(int to, const std::string& text) = 0;
  /// The next text that has arrived from any rank; empty if there is none. Does not wait for one.
  virtual std::optional<Message> receive() = 0;
  /// Leaves the job; no other call may follow.
  /// \param all  true: all ranks leave, so wait for them; false: some have died, so wait for none
  virtual void leave(bool all) = 0;

  int rank = 0, size = 1;
  Seconds patience{5};  ///< how long to wait for the last message of each rank
};

/// The ranks that a launcher (mpirun, srun) has started; null for a process that runs alone. The number of ranks is
/// read from the environment variables of Open MPI, MPICH and Slurm.
/// \throws Unavailable if there are several ranks, but fabricast is built without MPI or MPI sees another number
std::unique_ptr<Ranks> launched_ranks();

}  // namespace fabricast
