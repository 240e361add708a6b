// The communicators of a job and the ranks that are behind, as text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/calibrate/job.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_shown = 20;

std::string communicator_of(const JobCommunicator& c) {
  std::string text = c.id;
  if (!c.name.empty()) text += fmt::format(" ({})", c.name);
  if (c.ranks > 0) text += fmt::format(", {}", counted(c.ranks, "rank"));
  return text;
}

std::string words_of_kind(const std::string& what) {
  if (what == "waited_for") return "others wait for it";
  if (what == "other_call") return "a different call than the others";
  return what;
}

}  // namespace

bool any_at_fault(const std::vector<JobCommunicator>& communicators) {
  return std::any_of(communicators.begin(), communicators.end(), [](const JobCommunicator& c) {
    return std::any_of(c.behind.begin(), c.behind.end(), [](const BehindRank& r) { return r.certain; });
  });
}

std::string behind_text(const std::vector<JobCommunicator>& communicators) {
  std::string text;
  std::size_t shown = 0, left = 0;
  for (const JobCommunicator& c : communicators) {
    if (c.behind.empty()) continue;
    if (shown < most_shown) text += fmt::format("  communicator {}\n", communicator_of(c));
    for (const BehindRank& r : c.behind) {
      if (shown++ >= most_shown) {
        ++left;
        continue;
      }
      text += fmt::format("    rank {}{}: {}{}: {}\n", r.rank < 0 ? "?" : std::to_string(r.rank),
                          r.place.empty() ? "" : " on " + r.place, r.certain ? "" : "perhaps ", words_of_kind(r.what),
                          r.detail);
    }
  }
  if (left > 0) text += fmt::format("    and {} more\n", left);
  return text;
}

std::string behind_json(const std::vector<JobCommunicator>& communicators) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const JobCommunicator& c : communicators)
    for (const BehindRank& r : c.behind)
      list.push_back({{"communicator", c.id},
                      {"name", c.name},
                      {"rank", r.rank},
                      {"place", r.place},
                      {"what", r.what},
                      {"detail", r.detail},
                      {"certain", r.certain}});
  return list.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace fabricast
