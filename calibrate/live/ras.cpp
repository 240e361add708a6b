// NCCL's RAS as facts about communicators: who is missing, in error, or has launched fewer calls. No times.
#include <fmt/format.h>

#include <algorithm>

#include "job_reader.hpp"
#include "ras_snapshot.hpp"

namespace fabricast::live {

namespace {

class Ras : public CallReader {
 public:
  Ras(const LiveSource& source, std::size_t piece, Job& job) : source_(source), piece_(piece), job_(job) {}
  const std::string& name() const override { return source_.name; }

  bool next(RankCall&) override {
    read_ras(
        source_, piece_, [this](const RasCommunicator& c) { take(c); },
        [this](std::string version) { job_.see_version(std::move(version)); },
        [this](int line, int column, std::string why) { job_.problem(name(), line, column, std::move(why)); });
    return false;
  }

 private:
  void take(const RasCommunicator& c) {
    const int number = job_.communicator({c.id, {}, c.size, 0, false});
    std::map<std::string, std::int64_t> most = c.unnamed_counts;
    for (const RasRank& r : c.ranks)
      for (const auto& [op, count] : r.counts) most[op] = std::max(most[op], count);
    for (const RasRank& r : c.ranks) {
      job_.state(number, r.rank);
      std::string detail;
      for (const auto& [op, count] : r.counts)
        if (count < most.at(op))
          detail += fmt::format("{}has launched {} of {} {} calls", detail.empty() ? "" : "; ", count, most.at(op), op);
      if (!detail.empty()) job_.behind(number, {r.rank, r.place, "waited_for", std::move(detail), false});
      if (!r.error.empty()) job_.behind(number, {r.rank, r.place, "error", r.error, true});
    }
    for (const RasMissing& r : c.missing) job_.behind(number, {r.rank, r.place, "missing", r.why, true});
  }

  const LiveSource& source_;
  std::size_t piece_;
  Job& job_;
};

}  // namespace

std::unique_ptr<CallReader> ras_reader(const LiveSource& source, std::size_t piece, Job& job) {
  return std::make_unique<Ras>(source, piece, job);
}

}  // namespace fabricast::live
