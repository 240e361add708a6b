// Questions of a server, each answered by a process of its own.
//
// A process per question makes limits of time and memory real, ends a question at once when it is cancelled, and keeps
// a fault of one from the others. The server has a single thread, so that it may fork; what it has loaded, each process
// has, too, and a question costs a millisecond more than a call.
//
// The server waits with poll for its own descriptors and those of the pool, then calls `step`.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../common/questions.hpp"
#include "../common/reply.hpp"
#include "limits.hpp"

namespace fabricast {

/// A Reply whose diagnostics are JSON.
struct ServiceReply {
  ReplyStatus status = ReplyStatus::internal;
  std::string text, diagnostics = "[]";
  bool out_of_time = false;
  bool answered() const { return status == ReplyStatus::ok || status == ReplyStatus::check_failed; }
};

class WorkPool {
 public:
  using Id = std::uint64_t;
  /// Runs in the process of the question.
  using Job = std::function<Reply(const QuestionRun&)>;
  /// What a question has to tell: either how far it is, or its end, which is its last event.
  struct Event {
    Id id = 0;
    std::optional<double> progress;
    std::optional<ServiceReply> done;
  };

  WorkPool(const ServiceLimits& limits, ServiceFiles files) : limits_(limits), files_(std::move(files)) {}
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// Whether another question would be refused.
  bool full() const { return waiting_.size() >= static_cast<std::size_t>(limits_.waiting); }
  /// Runs a job, now or when others have ended.
  Id submit(Job job);
  /// Ends a question. It has no further events. An unknown id is ignored.
  void cancel(Id id);
  bool idle() const { return running_.empty() && waiting_.empty(); }

  /// Adds the descriptors to wait for.
  void add_to(std::vector<pollfd>& waited) const;
  /// How long poll may wait until a question is out of time, in ms; -1: for ever.
  int patience() const;
  /// Reads what processes have written, without waiting.
  std::vector<Event> step();

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    Id id = 0;
    int process = 0, descriptor = -1;
    Clock::time_point until;
    std::string unread;
    ServiceReply reply;
    bool complete = false;
  };
  void start(Id id, const Job& job);
  void start_waiting();
  /// Reads; whether the process has closed its end.
  bool read_from(Running& running, std::vector<Event>& events);
  bool take_frames(Running& running, std::vector<Event>& events) const;
  ServiceReply end_of(Running& running);

  ServiceLimits limits_;
  ServiceFiles files_;
  Id last_ = 0;
  std::vector<Running> running_;
  std::deque<std::pair<Id, Job>> waiting_;
};

}  // namespace fabricast
