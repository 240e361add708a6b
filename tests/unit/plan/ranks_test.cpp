// Rows over the ranks of a job, some of which fall silent. Ranks are threads here; MPI is tried in tests/golden/plan.
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "fabricast/core/file.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/plan/sweep.hpp"
#include "support/scratch.hpp"

using namespace fabricast;

namespace {

struct Post {
  std::mutex mutex;
  std::map<int, std::deque<Message>> boxes;
};

/// \param words  texts that it sends before it falls silent
class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Post& post, int own, int all, int words) : post_(post), words_(words) {
    rank = own, size = all, patience = Seconds{0.2};
  }
  void send(int to, const std::string& text) override {
    if (words_-- <= 0) return;
    const std::scoped_lock lock(post_.mutex);
    post_.boxes[to].push_back({rank, text});
  }
  std::optional<Message> receive() override {
    const std::scoped_lock lock(post_.mutex);
    auto& box = post_.boxes[rank];
    if (box.empty()) return std::nullopt;
    Message first = std::move(box.front());
    box.pop_front();
    return first;
  }
  void leave(bool all) override { left_with_all = all, left = true; }

  std::atomic<bool> left = false, left_with_all = false;

 private:
  Post& post_;
  int words_;
};

struct Played {
  std::vector<std::string> rows;
  bool all_left = false;
};

/// \param words  that each rank beside 0 sends
Played play(const Study& study, const std::vector<int>& words) {
  Post post;
  const int size = static_cast<int>(words.size()) + 1;
  std::vector<std::unique_ptr<ThreadRanks>> ranks;
  constexpr int any_number = 1 << 20;
  for (int r = 0; r < size; ++r)
    ranks.push_back(
        std::make_unique<ThreadRanks>(post, r, size, r == 0 ? any_number : words[static_cast<std::size_t>(r - 1)]));
  SweepOptions options;
  options.intervals = false, options.run.threads = 1;
  std::vector<std::thread> others;
  for (int r = 1; r < size; ++r)
    others.emplace_back([&, r] { run_sweep_on_ranks(study, options, *ranks[static_cast<std::size_t>(r)]); });
  Played played;
  std::size_t put = 0;
  SweepOptions head = options;
  head.put = [&](const SweepRow&) { ++put; };
  for (const SweepRow& row : run_sweep_on_ranks(study, head, *ranks[0]).rows) played.rows.push_back(row_to_json(row));
  CHECK(put == played.rows.size());
  for (std::thread& t : others) t.join();
  stop_requested = false;  // the followers stop their own work by it, which is this process here
  played.all_left = ranks[0]->left_with_all;
  return played;
}

Study study_in(const Scratch& scratch) {
  write_file(scratch / "s.yaml",
             "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nworkload: {sizes: [1MiB]}\n"
             "sweep: {cluster.nodes: [2, 3, 4, 5, 6, 7], fabric.kind: [rail_only, fat_tree]}\n");
  return read_study(scratch / "s.yaml");
}

}  // namespace

TEST_CASE("rows are the same on threads and on ranks, even if some ranks stop responding") {
  const Scratch scratch;
  const Study study = study_in(scratch);
  SweepOptions alone;
  alone.intervals = false, alone.run.threads = 2;
  std::vector<std::string> expected;
  for (const SweepRow& row : run_sweep(study, alone).rows) expected.push_back(row_to_json(row));
  REQUIRE(expected.size() == 12);
  constexpr int any_number = 1 << 20;
  const Played healthy = play(study, {any_number, any_number, any_number});
  CHECK(healthy.rows == expected);
  CHECK(healthy.all_left);
  // One never says a word, one falls silent with a row in hand, one after three rows.
  const Played broken = play(study, {0, 1, 4});
  CHECK(broken.rows == expected);
  CHECK_FALSE(broken.all_left);
}

TEST_CASE("known rows are not forecast again") {
  const Scratch scratch;
  const Study study = study_in(scratch);
  SweepOptions options;
  options.intervals = false;
  SweepRow there;
  there.row = 5, there.state = RowState::refused, there.why = "kept";
  options.have = {there};
  std::size_t put = 0;
  options.put = [&](const SweepRow&) { ++put; };
  const SweepResult result = run_sweep(study, options);
  CHECK(put == 11);
  CHECK(result.rows[5].why == "kept");
}
