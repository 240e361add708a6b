// What readers of formats give, and what puts it together: calls of single ranks, matched over ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "byte_reader.hpp"
#include "call_matcher.hpp"
#include "distribution.hpp"
#include "names.hpp"

namespace fabricast::live {

/// A rank of a communicator that a tool says something about.
struct RankState {
  std::string place;
  std::optional<std::int64_t> launched, completed;  ///< calls on the communicator
  double waits_s = 0;      ///< how long its oldest call that is not completed has waited, at least
  bool timed_out = false;  ///< that is beyond the timeout of the call
};

/// Puts the calls of all ranks together.
class Job : public CallSink {
 public:
  explicit Job(std::string tool);

  int communicator(const CommunicatorFacts& facts) override;
  /// Adds a call. A call that contradicts those of other ranks is a problem of its file.
  void add(const std::string& file, const RankCall& call);
  void leave_out(std::string reason) override { ++out_.job.left_out[std::move(reason)]; }
  void see_version(std::string version) override {
    if (nccl_version.empty()) nccl_version = std::move(version);
  }
  void place(int communicator, int rank, std::string_view place) override;
  /// A number for a place of a communicator whose rank is not stated: in order of appearance.
  int numbered_place(int communicator, const std::string& place);
  /// The state of a rank. The numbers of launched calls are compared over ranks at the end.
  RankState* state(int communicator, int rank);
  /// Adds a rank that is behind the others.
  void behind(int communicator, BehindRank rank);
  void problem(const std::string& file, int line, int column, std::string message) override;
  /// Ranks of communicators whose number no record states, found otherwise.
  void set_ranks(int communicator, int ranks);
  /// Notes a rank before its calls are read.
  void member(int communicator, int rank);
  /// The number of ranks, if those that were noted are 0 to n - 1 of at least two; else 0.
  int ranks_noted(int communicator) const;
  int ranks(int communicator) const;
  bool same_shape(int communicator, int ranks, int nodes) const override;

  /// Takes over from a log's header; the first of several counts.
  std::string gpu, nccl_version;
  /// Whether calls are matched by their order because the tool does not number them; and whether records of a file are
  /// out of order, so that even that is not known.
  bool ordered_only = false, disordered = false;
  /// The number of a counter of calls of one operation and size, for tools that do not number them. The same for all
  /// files.
  int counter(int communicator, CollectiveOp op, std::int64_t bytes);

  /// Tables and facts. Call once.
  Imported finish();

 private:
  struct Member {
    std::int64_t late = 0;  ///< matched calls that it joined clearly later than most ranks
    double waited_us = 0;   ///< that most ranks waited for it, summed
  };
  struct Communicator {
    CommunicatorFacts facts;
    std::map<int, Member> members;
    std::map<int, RankState> states;
    std::map<int, std::string> places;
    std::map<std::string, int> place_numbers;
    std::vector<BehindRank> behind;
    std::int64_t matched = 0, part = 0;
    std::int64_t judged = 0;  ///< of the matched calls: those in which every rank waits for all
  };
  /// What rows are distinguished by.
  struct RowKey {
    CollectiveOp op;
    int ranks, nodes;
    bool scattered, coarse;
    std::int64_t bytes;
    auto operator<=>(const RowKey&) const = default;
  };
  struct Row {
    Distribution shortest, skew, each;
    std::int64_t part = 0, bytes_below = 0;
    int line = 0;
  };
  RowKey row_of(const RankCall& call) const;
  void close(const OpenCall& call);
  void complete(OpenCall& call);
  static void late_ranks(Communicator& c);
  static void compare_states(Communicator& c);
  void write_tables();
  void write_facts();
  void warn_of_parts();

  Imported out_;
  std::unordered_map<std::string, int> numbers_;
  std::vector<Communicator> communicators_;
  std::map<RowKey, Row> rows_;
  CallMatcher matcher_;
  std::map<std::tuple<int, CollectiveOp, std::int64_t>, int> counters_;
};

/// Reads the calls of one file in order.
class CallReader {
 public:
  virtual ~CallReader() = default;
  /// Reads on to the next call. \returns false at the end of the file
  virtual bool next(RankCall& call) = 0;
  virtual const std::string& name() const = 0;
};

/// A reader of records, with what every format says of one that gives no call.
class RecordReader : public CallReader {
 protected:
  struct Position {
    int line = 0, column = 0;  ///< from 1; 0: not known
  };

  explicit RecordReader(CallSink& sink) : sink_(sink) {}
  /// Where the record is that is being read.
  virtual Position position() const = 0;
  void problem(std::string why);
  /// A record that is malformed. \returns false
  bool refuse(std::string why);
  /// A record that is valid and gives no time. \returns false
  bool skip(std::string reason);

 private:
  CallSink& sink_;
};

/// A reader that holds the calls of its whole file, because the file states late what they need.
class HeldReader : public CallReader {
 public:
  /// The calls by their start; those that start together as the file orders them.
  bool next(RankCall& call) override;

 protected:
  /// Reads the file. Called once.
  virtual void read() = 0;
  void hold(const RankCall& call) { calls_.push_back(call); }

 private:
  bool read_ = false;
  std::vector<RankCall> calls_;
  std::size_t at_ = 0;
};

/// \param follows  whether the file is still being written: half a line at its end is read later
std::unique_ptr<CallReader> inspector_reader(const LiveSource& source, std::size_t piece, CallSink& sink, bool follows);
std::unique_ptr<CallReader> prometheus_reader(const LiveSource& source, std::size_t piece, Job& job);
std::unique_ptr<CallReader> profiler_reader(const LiveSource& source, std::size_t piece, Job& job);
std::unique_ptr<CallReader> flight_recorder_reader(const LiveSource& source, std::size_t piece, Job& job);
std::unique_ptr<CallReader> kineto_reader(const LiveSource& source, std::size_t piece, Job& job);
std::unique_ptr<CallReader> chakra_reader(const LiveSource& source, std::size_t piece, Job& job);
std::unique_ptr<CallReader> ras_reader(const LiveSource& source, std::size_t piece, Job& job);

/// The number at the end of a file's name, which is the rank where a format does not state it: trace_3, rank0.json.
std::optional<int> rank_of_name(std::string_view file);

}  // namespace fabricast::live
