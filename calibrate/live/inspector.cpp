// NCCL Inspector, JSON: a line per collective of one rank (plugins/profiler/inspector of NCCL 2.28 to 2.30).
//
// `coll_msg_size_bytes` is the count that the caller passed, times the size of its type: of all_gather and
// reduce_scatter the share of one rank. `coll_sn` counts the calls of one operation on a communicator. The tool states
// a bandwidth besides, with six decimals, which shows whether a line contradicts itself.
#include <fmt/format.h>

#include <cmath>

#include "fabricast/core/scan.hpp"
#include "inspector_line.hpp"
#include "job_reader.hpp"

namespace fabricast::live {

namespace {

/// "v2.28.9-1" is 2.28.9. Empty for anything else.
std::string version_of_revision(std::string_view text) {
  if (!text.starts_with('v')) return {};
  text.remove_prefix(1);
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
  return digits.find('.') == std::string_view::npos ? std::string() : shown(digits, 20);
}

class Inspector : public RecordReader {
 public:
  Inspector(const LiveSource& source, std::size_t piece, CallSink& sink, bool follows)
      : RecordReader(sink), reader_(source, piece), job_(sink), follows_(follows) {}
  const std::string& name() const override { return reader_.name(); }

  bool next(RankCall& call) override {
    std::string_view text;
    bool cut = false;
    while (reader_.next_line(text, cut, follows_)) {
      if (cut) {
        problem("line ignored: it is longer than 1 MiB");
        continue;
      }
      if (trimmed(text).empty()) continue;
      if (parse(text) && take(call)) return true;
    }
    return false;
  }

 private:
  /// \returns whether the line is a whole record of a collective
  bool parse(std::string_view text) {
    if (!line_.read(text))
      // The writer appends whole lines, so half a line is the end of a file that was copied or cut.
      return refuse(text.ends_with('}') ? "malformed record" : "the record is cut off");
    if (line_.peer_to_peer) return skip(peer_wait);
    if (line_.collective && line_.bad) return refuse("a value has the wrong type");
    return line_.collective;
  }

  bool take(RankCall& call) {
    const auto op = nccl_operation(line_.operation);
    if (!op) return refuse(fmt::format("unknown collective '{}'", shown(line_.operation, 40)));
    constexpr std::int64_t most_ranks = 1 << 20, most_bytes = std::int64_t{1} << 50;
    constexpr double most_time = 1e12;
    if (line_.id.empty() || line_.ranks < 1 || line_.ranks > most_ranks || line_.rank < 0 || line_.nodes > line_.ranks)
      return refuse("communicator, rank or number of ranks is missing or impossible");
    if (line_.rank >= line_.ranks) return refuse(fmt::format("rank {} of {} ranks", line_.rank, line_.ranks));
    if (line_.sequence < 0 || line_.bytes < 0 || line_.bytes > most_bytes || line_.time < 0 || line_.time > most_time)
      return refuse("sequence number, size or time is missing or impossible");
    const bool shared = records_share(*op) || *op == CollectiveOp::gather || *op == CollectiveOp::scatter;
    const std::int64_t bytes = line_.bytes * (shared ? line_.ranks : 1);
    if (bytes > most_bytes) return refuse("the size is impossible");
    if (!agrees(bytes)) return refuse("size, time and bandwidth contradict each other");
    if (line_.timing == "collective_cpu") return skip("timed on the host while the call was issued (collective_cpu)");
    if (!line_.timing.empty() && line_.timing != "kernel_gpu" && line_.timing != "kernel_cpu")
      return refuse(fmt::format("unknown timing source '{}'", shown(line_.timing, 40)));
    if (line_.bytes == 0) return skip("the size is 0 B");
    if (line_.time == 0) return skip("the time is 0 us");
    if (line_.version != last_version_) {
      last_version_ = line_.version;
      job_.see_version(version_of_revision(line_.version));
    }
    call.communicator = communicator();
    if (!job_.same_shape(call.communicator, static_cast<int>(line_.ranks), static_cast<int>(line_.nodes)))
      return refuse("an earlier record of the communicator states another number of ranks or nodes");
    call.rank = static_cast<int>(line_.rank);
    call.op = *op;
    call.bytes = bytes;
    call.sequence = line_.sequence;
    call.counter = static_cast<int>(*op);
    call.time_us = line_.time;
    call.coarse = line_.timing == "kernel_cpu";
    call.when = static_cast<std::uint64_t>(line_.when);
    call.line = reader_.line();
    call.column = 0;
    return true;
  }

  /// Whether the bandwidth that the line states is that of its size and time, up to the last digit.
  bool agrees(std::int64_t bytes) const {
    // 0: NCCL computes none for this operation. The bandwidth of half a microsecond is not told from that of one.
    if (line_.algorithm_bandwidth <= 0 || line_.time == 0) return true;
    const double expected = static_cast<double>(bytes) * 1e-3 / line_.time;
    return std::abs(expected - line_.algorithm_bandwidth) <= 1e-6 + 1e-6 * expected;
  }

  int communicator() {
    // Records of one communicator follow each other, so the last one is usually the right one.
    if (line_.id == last_id_ && line_.rank == last_rank_) return last_;
    last_ = job_.communicator({shown(line_.id, 60), shown(line_.name, 60), static_cast<int>(line_.ranks),
                               static_cast<int>(line_.nodes), false});
    if (!line_.host.empty())
      job_.place(last_, static_cast<int>(line_.rank), fmt::format("{}, process {}", line_.host, line_.pid));
    last_id_ = line_.id;
    last_rank_ = line_.rank;
    return last_;
  }

  Position position() const override { return {reader_.line()}; }

  ByteReader reader_;
  CallSink& job_;
  bool follows_;
  InspectorLine line_;
  std::string last_id_, last_version_;
  std::int64_t last_rank_ = -1;
  int last_ = -1;
};

}  // namespace

std::unique_ptr<CallReader> inspector_reader(const LiveSource& source, std::size_t piece, CallSink& sink,
                                             bool follows) {
  return std::make_unique<Inspector>(source, piece, sink, follows);
}

}  // namespace fabricast::live
