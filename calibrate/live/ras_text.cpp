// Reads NCCL's RAS status, text (`ncclras`, `ncclras -v`, or `status` to the RAS port), as NCCL 2.24 and newer write it
// (src/ras/client_support.cc). 2.24 and 2.25 count all operations together and give missing ranks as a list of numbers.
//
// The text names only what differs: of communicators those in trouble, of their ranks those that are few. The others are
// counted (`RasCommunicator::unnamed`). Communicators of one hash, which the JSON tells apart, are told apart by their
// number in the text. Of several statuses in a file, as a loop appends them, the last one counts.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "fabricast/core/scan.hpp"
#include "ras_snapshot.hpp"

namespace fabricast::live {

namespace {

constexpr std::size_t most_troubled = 100'000;  ///< communicators
constexpr std::size_t most_named_ranks = 2'000'000;
constexpr int largest = 1 << 20;

/// What precedes the first `mark`, with the rest after it.
struct Split {
  std::string_view before, after;
};
std::optional<Split> split(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return Split{text.substr(0, at), text.substr(at + mark.size())};
}

class RasText {
 public:
  RasText(const LiveSource& source, std::size_t piece, const std::function<void(RasCommunicator)>& take,
          const std::function<void(std::string)>& version, const std::function<void(int, int, std::string)>& problem)
      : reader_(source, piece), take_(take), version_(version), problem_(problem) {}

  void read() {
    std::string_view line;
    bool cut = false;
    while (reader_.next_line(line, cut)) {
      if (cut)
        refuse("ignored: a line is too long");
      else
        see(line);
    }
    if (part_ != Part::before) end_status();
  }

 private:
  enum class Part { before, job, table, errors, warnings };
  enum class Block { none, processes, dead, missing, error, mismatch };

  /// A rank of a line: `Rank 3 ... -- GPU 0 (NVML 4) managed by process 12 on node 10.0.0.1`.
  struct NamedRank {
    int rank = 0;
    std::string_view what;  ///< between the number and the dashes
    std::string place = "unknown";
    std::string process;  ///< node and process
  };
  /// Ranks that launched equally many of an operation.
  struct Count {
    std::int64_t launched = 0;
    int ranks = 0;
    std::vector<int> named;
  };
  struct Troubled {
    RasCommunicator out;
    std::map<std::string, std::vector<Count>> counts;  ///< by operation
    std::map<int, std::size_t> ranks;                  ///< where those of `out` are, by number
    std::set<int> gone;                                ///< missing ranks
    int missing = 0, missing_line = 0;                 ///< ranks without data, as they are counted
  };

  void refuse(std::string why) { problem_(reader_.line(), 1, std::move(why)); }
  void unknown(std::string_view line) {
    refuse(fmt::format("'{}' is not understood: damaged, or of another version of NCCL", shown(line, 60)));
  }

  void see(std::string_view line) {
    // What the port answers to commands, and the echo of a terminal.
    if (part_ == Part::before && !line.starts_with("NCCL version ")) return;
    if (line.starts_with("NCCL version ")) return begin_status(line);
    if (trimmed(line).empty() || line == "OK") return;
    if (line.starts_with("Communicators...")) return enter(Part::table);
    if (line == "Errors") return enter(Part::errors);
    if (line == "Warnings") return enter(Part::warnings);
    if (line.starts_with("=====") || part_ == Part::job) return;
    if (part_ == Part::table) return see_row(line);
    if (line.starts_with('#')) return see_communicator(line);
    if (line.starts_with("  ")) return see_detail(line.substr(2));
    communicator_ = nullptr;
    block_ = line == "INCOMPLETE" || line == "TIMEOUT" ? Block::processes : line == "DEAD" ? Block::dead : Block::none;
    if (block_ == Block::none) unknown(line);
  }

  void enter(Part part) {
    part_ = part;
    block_ = Block::none;
    communicator_ = nullptr;
  }

  void begin_status(std::string_view line) {
    clear();
    enter(Part::job);
    const auto words = words_of(line);
    if (words.size() > 2) version_(shown(words[2], 20));
  }

  void end_status() {
    if (part_ != Part::warnings) refuse("the status is cut off");
    for (auto& [name, c] : troubled_) {
      finish(c);
      const int named = static_cast<int>(c.out.missing.size());
      if (named < c.missing)
        problem_(
            c.missing_line, 1,
            fmt::format("{} of {} missing ranks are not named: `ncclras -v` names more", c.missing - named, c.missing));
      take_(std::move(c.out));
    }
    clear();
  }

  void clear() {
    sizes_.clear();
    troubled_.clear();
    ids_.clear();
    dead_.clear();
    ranks_ = 0;
    enter(Part::before);
  }

  /// A group of communicators: number, communicators, nodes, ranks per node, ranks per communicator, ranks, status, errors.
  void see_row(std::string_view line) {
    if (line.starts_with("Group ") || trimmed(line).starts_with('#') || line.starts_with("No communicator")) return;
    const auto words = words_of(line);
    const auto number = words.size() == 8 ? small_number(words[0]) : std::nullopt;
    const auto size = words.size() == 8 ? small_number(words[4]) : std::nullopt;
    if (!number || !size || *number != static_cast<int>(sizes_.size()) || *size < 0 || *size > largest)
      return unknown(line);
    sizes_.push_back(*size);
  }

  /// `#0-1 (e36577b654be0acb) MISMATCH`: group, number in it, hash.
  void see_communicator(std::string_view line) {
    communicator_ = nullptr;
    block_ = Block::none;
    const auto words = words_of(line);
    if (words.size() != 3) return unknown(line);
    const auto place = split(words[0].substr(1), "-");
    const auto group = place ? small_number(place->before) : std::nullopt;
    const std::string_view hash = words[1].size() > 2 ? words[1].substr(1, words[1].size() - 2) : std::string_view();
    std::uint64_t value = 0;
    const auto read = std::from_chars(hash.data(), hash.data() + hash.size(), value, 16);
    if (!group || hash.empty() || read.ptr != hash.data() + hash.size() || !words[1].ends_with(')'))
      return unknown(line);
    if (*group < 0 || static_cast<std::size_t>(*group) >= sizes_.size() || sizes_[static_cast<std::size_t>(*group)] < 1)
      return refuse("the group of this communicator is not in the table above");
    if (words[2] != "INCOMPLETE" && words[2] != "ERROR" && words[2] != "MISMATCH") return unknown(line);
    const std::string name(words[0]);
    if (!troubled_.contains(name) && troubled_.size() >= most_troubled)
      return refuse("ignored: there are too many communicators");
    const auto [at, fresh] = troubled_.try_emplace(name);
    communicator_ = &at->second;
    if (fresh) {
      communicator_->out.id = fmt::format("0x{:x}", value);
      // Two of one hash: the JSON has a second one for this.
      if (!ids_.insert(communicator_->out.id).second) communicator_->out.id += ":" + name;
      communicator_->out.size = sizes_[static_cast<std::size_t>(*group)];
    }
    block_ = words[2] == "INCOMPLETE" ? Block::missing : words[2] == "ERROR" ? Block::error : Block::mismatch;
    status_.clear();
    operation_.clear();
    fault_.clear();
  }

  void see_detail(std::string_view line) {
    switch (block_) {
      case Block::none: return;  // of what was refused
      case Block::processes:
      case Block::dead: return see_process(line);
      case Block::missing: return see_missing(line);
      case Block::error: return see_error(line);
      case Block::mismatch: return see_mismatch(line);
    }
  }

  /// `Process 12 on node 10.0.0.1 managing GPU 0`, in a list whose heading counts them.
  void see_process(std::string_view line) {
    if (line.find("job process") != std::string_view::npos || line.starts_with("Encountered ") ||
        line.starts_with("[could not find"))
      return;
    const auto process = after(line, "Process ");
    const auto parts = process ? split(*process, " on node ") : std::nullopt;
    const auto node = parts ? split(parts->after, " managing GPU") : std::nullopt;
    if (!node) return unknown(line);
    if (block_ == Block::dead && dead_.size() < most_named_ranks)
      dead_.insert(fmt::format("{}, process {}", node->before, parts->before));
  }

  std::optional<NamedRank> rank_of(std::string_view line) {
    if (!line.starts_with("Rank ")) return std::nullopt;
    std::string_view rest = line.substr(5);
    const auto rank = take_number(rest);
    const auto parts = split(rest, " -- ");
    if (!rank || *rank < 0 || *rank >= communicator_->out.size || !parts) return std::nullopt;
    NamedRank named;
    named.rank = *rank;
    named.what = trimmed(parts->before);
    const auto gpu = after(parts->after, "GPU ");
    const auto by = gpu ? split(*gpu, " managed by process ") : std::nullopt;
    const auto at = by ? split(by->after, " on node ") : std::nullopt;
    if (!at) return parts->after.starts_with("[process information not found]") ? std::optional(named) : std::nullopt;
    // As the JSON's: the device of CUDA, not of NVML.
    const std::string_view device = by->before.substr(0, by->before.find(' '));
    named.process = shown(fmt::format("{}, process {}", at->after, at->before), 100);
    named.place = shown(fmt::format("{}, GPU {}", named.process, device), 120);
    return named;
  }

  /// Of a list of ranks: whether there is room.
  bool room() {
    if (++ranks_ <= most_named_ranks) return true;
    if (ranks_ == most_named_ranks + 1) refuse("ignored: there are too many ranks");
    return false;
  }

  RasRank& rank(const NamedRank& named) {
    auto& ranks = communicator_->out.ranks;
    const auto [at, fresh] = communicator_->ranks.try_emplace(named.rank, ranks.size());
    if (fresh) {
      ranks.emplace_back();
      ranks.back().rank = named.rank;
      ranks.back().place = named.place;
    }
    return ranks[at->second];
  }

  void add_missing(int number, std::string place, std::string why) {
    if (room() && communicator_->gone.insert(number).second)
      communicator_->out.missing.push_back({number, std::move(place), std::move(why)});
  }

  /// `3,5`: the ranks that 2.24 and 2.25 have no data from.
  void add_numbers(std::string_view numbers) {
    while (!numbers.empty()) {
      const auto number = small_number(trimmed(take_until(numbers, ',')));
      if (!number || *number < 0 || *number >= communicator_->out.size) return refuse("a rank is impossible");
      add_missing(*number, "unknown", "its process does not answer");
    }
  }

  void see_missing(std::string_view line) {
    if (const auto list = after(line, "The missing rank")) return add_numbers(after(*list, ": ").value_or(""));
    if (const auto count = after(line, "Missing communicator data from ")) {
      std::string_view rest = *count;
      const auto ranks = take_number(rest);
      if (!ranks || *ranks < 1 || *ranks > communicator_->out.size) return unknown(line);
      communicator_->missing = *ranks;
      communicator_->missing_line = reader_.line();
      return;
    }
    const auto named = rank_of(line);
    if (!named) return unknown(line);
    add_missing(named->rank, named->place,
                dead_.contains(named->process) ? "RAS considers it dead" : "its process does not answer");
  }

  void see_error(std::string_view line) {
    for (const std::string_view kind : {"Initialization", "Asynchronous"})
      if (line.starts_with(kind)) {
        fault_ = kind == "Initialization" ? "initialization ended with: " : "asynchronous error: ";
        status_.clear();
        return;
      }
    if (const auto named = rank_of(line)) {
      const std::string error(after(named->what, "reported ").value_or(status_));
      if (error.empty() || fault_.empty()) return unknown(line);
      if (room()) rank(*named).error = shown(fault_ + error, 100);
      return;
    }
    const auto group = split(line, " ranks reported ");
    if (!group || !small_number(group->before)) return unknown(line);
    status_ = group->after;
  }

  void see_mismatch(std::string_view line) {
    if (line == "Communicator ranks have different status") {
      status_.clear();
      operation_.clear();
      return;
    }
    if (const auto about = after(line, "Communicator ranks have different ")) {
      const auto operation = split(*about, " operation counts");
      if (!operation) return unknown(line);
      operation_ = shown(operation->before, 40);
      communicator_->counts.try_emplace(operation_);
      return;
    }
    if (const auto numbers = after(line, "The unknown ranks: ")) return add_numbers(*numbers);
    if (operation_.empty())
      see_status(line);
    else
      see_count(line);
  }

  void see_status(std::string_view line) {
    if (const auto group = split(line, " ranks have status ")) {
      if (!small_number(group->before)) return unknown(line);
      status_ = group->after;
      return;
    }
    const auto named = rank_of(line);
    if (!named) {
      // 2.24 and 2.25 say of a rank that they do not know nothing but this.
      const auto alone = line.starts_with("Rank ") ? split(line.substr(5), " has status UNKNOWN") : std::nullopt;
      return alone && alone->after.empty() ? add_numbers(alone->before) : unknown(line);
    }
    const std::string status(after(named->what, "has status ").value_or(status_));
    if (status == "NOCOMM") return add_missing(named->rank, named->place, "no data from it");
    if (!room()) return;
    if (status == "ABORT") rank(*named).error = "the communicator is being aborted";
    if (status == "INIT") rank(*named).error = "is being initialized";
  }

  void see_count(std::string_view line) {
    std::vector<Count>& counts = communicator_->counts[operation_];
    const auto launched = [](std::string_view what) -> std::optional<std::int64_t> {
      if (what.ends_with("not launched any operations")) return 0;
      const auto number = after(what, "launched up to operation ");
      return number ? whole_number(trimmed(*number)) : std::nullopt;
    };
    if (const auto named = rank_of(line)) {
      if (named->what.empty()) {
        if (counts.empty()) return unknown(line);
      } else {
        const auto count = launched(named->what);
        if (!count || *count < 0) return unknown(line);
        counts.push_back({*count, 1, {}});
      }
      if (!room()) return;
      counts.back().named.push_back(named->rank);
      rank(*named).counts[operation_] = counts.back().launched;
      return;
    }
    const auto group = split(line, " ranks have ");
    const auto ranks = group ? small_number(group->before) : std::nullopt;
    const auto count = group ? launched(group->after) : std::nullopt;
    if (!ranks || *ranks < 1 || *ranks > communicator_->out.size || !count || *count < 0) return unknown(line);
    counts.push_back({*count, *ranks, {}});
  }

  /// What the ranks have launched that are not named with an operation.
  static void finish(Troubled& c) {
    for (const auto& [operation, counts] : c.counts) {
      std::int64_t most = -1;
      for (const Count& count : counts)
        if (static_cast<int>(count.named.size()) < count.ranks) most = std::max(most, count.launched);
      if (most < 0) continue;
      c.out.unnamed_counts[operation] = most;
      // Who is named with another operation is one of them in this one.
      for (RasRank& rank : c.out.ranks) rank.counts.try_emplace(operation, most);
    }
    const int missing = std::max(c.missing, static_cast<int>(c.out.missing.size()));
    c.out.unnamed = std::max(0, c.out.size - missing - static_cast<int>(c.out.ranks.size()));
    std::sort(c.out.ranks.begin(), c.out.ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  }

  ByteReader reader_;
  const std::function<void(RasCommunicator)>& take_;
  const std::function<void(std::string)>& version_;
  const std::function<void(int, int, std::string)>& problem_;
  Part part_ = Part::before;
  Block block_ = Block::none;
  Troubled* communicator_ = nullptr;
  std::string status_, operation_, fault_;
  std::size_t ranks_ = 0;
  std::vector<int> sizes_;                    ///< ranks of communicators, by group
  std::map<std::string, Troubled> troubled_;  ///< by `#0-1`
  std::set<std::string> ids_;
  std::set<std::string> dead_;  ///< `node, process 12`
};

}  // namespace

void read_ras_text(const LiveSource& source, std::size_t piece, const std::function<void(RasCommunicator)>& take,
                   const std::function<void(std::string)>& version,
                   const std::function<void(int, int, std::string)>& problem) {
  RasText(source, piece, take, version, problem).read();
}

}  // namespace fabricast::live
