#include "fabricast/collective/prove.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

namespace fabricast {

namespace {

/// Contributions to a range: how often each rank's data is in it.
using Contributions = std::vector<std::uint8_t>;

struct Message {
  ByteRange range;
  Contributions contributions;
};

struct Held {
  std::int64_t end;
  Contributions contributions;
};

class Prover {
 public:
  Prover(const Communicator& comm, const Plan& plan)
      : comm_(comm), plan_(plan), ranks_(static_cast<std::size_t>(comm.ranks())), held_(ranks_) {}

  std::optional<std::string> run(const CollectiveAlgorithm& algorithm) {
    for (int c = 0; c < plan_.channels; ++c)
      if (auto fault = run_channel(*algorithm.program(comm_, plan_, c)))
        return fmt::format("channel {}: {}", c, *fault);
    return check_result();
  }

 private:
  std::optional<std::string> run_channel(const ChannelProgram& program) {
    const std::int32_t workers = program.workers();
    std::vector<std::int64_t> next(static_cast<std::size_t>(workers), 0);
    std::map<std::pair<std::int32_t, std::int32_t>, std::deque<Message>> wires;
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::int32_t w = 0; w < workers; ++w)
        while (next[static_cast<std::size_t>(w)] < program.steps(w)) {
          const Step step = program.step(w, next[static_cast<std::size_t>(w)]);
          const bool ready = std::all_of(step.from.begin(), step.from.end(), [&](std::int32_t f) {
            return f < 0 || !wires[{f, w}].empty();
          });
          if (!ready) break;
          if (auto fault = perform(program, w, step, wires)) return fault;
          ++next[static_cast<std::size_t>(w)];
          progress = true;
        }
    }
    for (std::int32_t w = 0; w < workers; ++w)
      if (next[static_cast<std::size_t>(w)] < program.steps(w))
        return fmt::format("worker {} waits for ever at step {}", w, next[static_cast<std::size_t>(w)]);
    for (const auto& [ends, queue] : wires)
      if (!queue.empty())
        return fmt::format("{} messages from {} to {} are never received", queue.size(), ends.first, ends.second);
    return std::nullopt;
  }

  template <class Wires>
  std::optional<std::string> perform(const ChannelProgram& program, std::int32_t worker, const Step& step,
                                     Wires& wires) {
    const std::uint32_t rank = program.rank_of(worker).value;
    Contributions sum(ranks_, 0);
    if (step.own) sum[rank] += 1;
    for (const std::int32_t f : step.from) {
      if (f < 0) continue;
      Message message = std::move(wires[{f, worker}].front());
      wires[{f, worker}].pop_front();
      if (message.range.begin != step.range.begin || message.range.size != step.range.size)
        return fmt::format("worker {} expects [{}, +{}) and receives [{}, +{})", worker, step.range.begin,
                           step.range.size, message.range.begin, message.range.size);
      for (std::size_t r = 0; r < ranks_; ++r) sum[r] = static_cast<std::uint8_t>(sum[r] + message.contributions[r]);
    }
    if (step.result && step.range.size > 0) {
      const std::int64_t begin = step.range.begin, end = begin + step.range.size;
      auto& held = held_[rank];
      const auto after = held.lower_bound(begin);
      if ((after != held.end() && after->first < end) ||
          (after != held.begin() && std::prev(after)->second.end > begin))
        return fmt::format("rank {} gets a result twice in [{}, +{})", rank, begin, step.range.size);
      held.emplace_hint(after, begin, Held{end, sum});
    }
    for (const std::int32_t t : step.to)
      if (t >= 0) wires[{worker, t}].push_back({step.range, sum});
    return std::nullopt;
  }

  /// What rank r must hold in the range [begin, end), or nothing if the operation leaves it undefined.
  std::optional<std::string> check_result() const {
    const auto n = static_cast<std::int64_t>(ranks_);
    for (std::int64_t rank = 0; rank < n; ++rank) {
      if (plan_.op == CollectiveOp::reduce && rank != 0) continue;
      const std::int64_t block = plan_.bytes / n;
      const bool scatter = plan_.op == CollectiveOp::reduce_scatter, gather = plan_.op == CollectiveOp::all_gather;
      std::int64_t at = scatter ? rank * block : 0;
      const std::int64_t end = scatter ? at + block : gather ? n * block : plan_.bytes;
      while (at < end) {
        const auto& held = held_[static_cast<std::size_t>(rank)];
        const auto it = held.find(at);
        if (it == held.end()) return fmt::format("rank {} has nothing at byte {}", rank, at);
        for (std::int64_t r = 0; r < n; ++r) {
          const bool one_source = gather || plan_.op == CollectiveOp::broadcast;
          const std::int64_t source = gather ? at / block : 0;
          const int wanted = one_source ? (r == source) : 1;
          if (it->second.contributions[static_cast<std::size_t>(r)] != wanted)
            return fmt::format("rank {} has the contribution of rank {} {} times at byte {}, wanted {}", rank, r,
                               it->second.contributions[static_cast<std::size_t>(r)], at, wanted);
        }
        at = it->second.end;
      }
    }
    return std::nullopt;
  }

  const Communicator& comm_;
  const Plan& plan_;
  std::size_t ranks_;
  std::vector<std::map<std::int64_t, Held>> held_;
};

}  // namespace

std::optional<std::string> schedule_fault(const CollectiveAlgorithm& algorithm, const Communicator& comm,
                                          const Plan& plan) {
  return Prover(comm, plan).run(algorithm);
}

std::optional<std::string> schedule_fault(const Communicator& comm, const Plan& plan) {
  return schedule_fault(*find_by_algorithm(plan.algorithm), comm, plan);
}

}  // namespace fabricast
