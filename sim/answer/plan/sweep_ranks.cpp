// Distributes rows over the ranks of a job.
//
//   a rank to 0    `ready`: it is idle                `row JSON`: the result of a row, after which it is idle
//   0 to a rank    `do N`: forecast row N             `stop`: all rows are done
//   at the end     `bye` to 0, then from 0 `leave` if every rank has answered, or `gone` if one has not
//
// Every rank has one thread that forecasts and one that communicates, so that it receives messages while it forecasts.
// When no new row is left, idle ranks repeat the rows that other ranks, slow or dead, have not returned. The first
// result of a row counts; all results of a row are the same.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "fabricast/core/stop.hpp"
#include "fabricast/plan/sweep.hpp"

namespace fabricast {

namespace {

// How long a rank sleeps if nothing has happened. Rows take milliseconds to minutes, so polling costs nothing.
constexpr auto pause = std::chrono::milliseconds(1);

/// Forecasts rows one after another on a separate thread.
class Worker {
 public:
  Worker(const Study& study, const EvaluateOptions& how) : study_(study), how_(how), thread_([this] { work(); }) {}
  ~Worker() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  bool idle() const {
    const std::scoped_lock lock(mutex_);
    return !task_ && !result_ && !failure_;
  }
  void give(std::size_t row) {
    {
      const std::scoped_lock lock(mutex_);
      task_ = row;
    }
    wake_.notify_one();
  }
  /// The result of the last row, once; empty while the row runs. \throws what the forecast threw
  std::optional<SweepRow> take() {
    const std::scoped_lock lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::exchange(result_, std::nullopt);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return ended_ || task_; });
      if (ended_) return;
      const std::size_t row = *task_;
      lock.unlock();
      std::optional<SweepRow> result;
      std::exception_ptr failure;
      try {
        result = evaluate(study_, row, how_);
      } catch (...) { failure = std::current_exception(); }
      lock.lock();
      task_.reset();
      result_ = std::move(result);
      failure_ = failure;
    }
  }

  const Study& study_;
  const EvaluateOptions how_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::optional<std::size_t> task_;
  std::optional<SweepRow> result_;
  std::exception_ptr failure_;
  std::thread thread_;
};

/// The rows that are missing, and the ranks that work on them.
class Roster {
 public:
  explicit Roster(const std::vector<SweepRow>& rows) {
    for (const SweepRow& row : rows)
      if (row.state == RowState::not_run) open_.push_back(row.row);
    // Taken from the back, so rows start in the order of the study.
    std::reverse(open_.begin(), open_.end());
  }
  bool all_done() const { return open_.empty() && running_.empty(); }
  /// A row for a rank: a new one, or else one that this rank does not have, with the fewest ranks at work on it.
  std::optional<std::size_t> next(int rank) {
    if (!open_.empty()) {
      const std::size_t row = open_.back();
      open_.pop_back();
      running_[row].insert(rank);
      return row;
    }
    auto best = running_.end();
    for (auto it = running_.begin(); it != running_.end(); ++it)
      if (!it->second.contains(rank) && (best == running_.end() || it->second.size() < best->second.size())) best = it;
    if (best == running_.end()) return std::nullopt;
    best->second.insert(rank);
    return best->first;
  }
  /// \returns whether the row was still missing
  bool finish(std::size_t row) { return running_.erase(row) > 0; }

 private:
  std::vector<std::size_t> open_;
  std::map<std::size_t, std::set<int>> running_;
};

/// Rank 0: distributes rows, forecasts some itself, and collects the results.
class Head {
 public:
  Head(const Study& study, const SweepOptions& options, Ranks& ranks)
      : options_(options),
        ranks_(ranks),
        result_(rows_to_do(study, options.have)),
        roster_(result_.rows),
        worker_(study, {std::max(1, options.run.threads), options.risk, options.intervals, options.site}) {
    for (const SweepRow& row : result_.rows) missing_ += row.state == RowState::not_run;
    wanted_ = missing_;
  }

  SweepResult run() {
    try {
      while (missing_ > 0) {
        stop_if_requested();
        // Both are always tried.
        const bool heard = hear();
        const bool worked = work();
        if (!heard && !worked) std::this_thread::sleep_for(pause);
      }
    } catch (const Interrupted&) { result_.interrupted = true; }
    dismiss();
    return std::move(result_);
  }

 private:
  bool hear() {
    const auto message = ranks_.receive();
    if (!message) return false;
    if (message->text.starts_with("row ")) store(row_from_json(message->text.substr(4)));
    idle_.insert(message->from);
    hand_out();
    return true;
  }
  // Ranks for which there is no row stay idle until the end, or until a row that they do not have is outstanding.
  void hand_out() {
    for (auto it = idle_.begin(); it != idle_.end();) {
      const auto row = roster_.next(*it);
      if (!row) return;
      ranks_.send(*it, fmt::format("do {}", *row));
      it = idle_.erase(it);
    }
  }
  bool work() {
    bool moved = false;
    if (auto row = worker_.take()) {
      store(std::move(*row));
      moved = true;
    }
    if (worker_.idle())
      if (const auto row = roster_.next(0)) {
        worker_.give(*row);
        moved = true;
      }
    return moved;
  }
  void store(SweepRow row) {
    // A repeated row may arrive twice. The first result counts.
    if (!roster_.finish(row.row)) return;
    if (options_.put) options_.put(row);
    --missing_;
    if (options_.run.progress)
      options_.run.progress(static_cast<double>(wanted_ - missing_) / static_cast<double>(wanted_));
    result_.rows[row.row] = std::move(row);
  }
  /// Ends the work of all ranks, and waits for their answers for at most `patience`.
  void dismiss() {
    std::set<int> left;
    for (int r = 1; r < ranks_.size; ++r) ranks_.send(r, "stop"), left.insert(r);
    using Clock = std::chrono::steady_clock;
    // A rank in the middle of a row answers at once: it abandons the row. Patience is for the network, and for ranks
    // that are dead.
    const auto end = Clock::now() +
                     std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(ranks_.patience.value));
    while (!left.empty() && Clock::now() < end) {
      const auto message = ranks_.receive();
      if (message && message->text == "bye") left.erase(message->from);
      if (!message) std::this_thread::sleep_for(pause);
    }
    for (int r = 1; r < ranks_.size; ++r) ranks_.send(r, left.empty() ? "leave" : "gone");
    ranks_.leave(left.empty());
  }

  const SweepOptions& options_;
  Ranks& ranks_;
  SweepResult result_;
  Roster roster_;
  Worker worker_;
  std::size_t missing_ = 0, wanted_ = 0;
  std::set<int> idle_;
};

/// Any other rank: works until rank 0 dismisses it.
void follow(const Study& study, const SweepOptions& options, Ranks& ranks) {
  Worker worker(study, {std::max(1, options.run.threads), options.risk, options.intervals, options.site});
  ranks.send(0, "ready");
  while (true) {
    const auto message = ranks.receive();
    if (message && message->text == "stop") {
      stop_requested = true;  // abandons the row in progress, which rank 0 no longer needs
      ranks.send(0, "bye");
    } else if (message && (message->text == "leave" || message->text == "gone")) {
      return ranks.leave(message->text == "leave");
    } else if (message) {
      worker.give(std::stoul(message->text.substr(message->text.find(' ') + 1)));
    }
    try {
      if (const auto row = worker.take()) ranks.send(0, "row " + row_to_json(*row));
    } catch (const Interrupted&) {}
    if (!message) std::this_thread::sleep_for(pause);
  }
}

}  // namespace

SweepResult run_sweep_on_ranks(const Study& study, const SweepOptions& options, Ranks& ranks) {
  if (ranks.rank == 0) return Head(study, options, ranks).run();
  follow(study, options, ranks);
  return {};
}

}  // namespace fabricast
