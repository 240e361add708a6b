// NCCL Inspector's Prometheus text file: for each GPU, communicator name, operation, range of sizes and algorithm the
// mean time of the calls since the file was last written (plugins/profiler/inspector/inspector_prom.cc).
//
// Nothing identifies a call or a rank, so nothing can be matched. A size is known only to within its range, `64-65KB`
// of 1,024 bytes each. The bandwidth beside it is a geometric mean over sizes and is not used.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "fabricast/core/scan.hpp"
#include "job_reader.hpp"

namespace fabricast::live {

namespace {

constexpr std::string_view time_metric = "nccl_collective_exec_time_microseconds{";

/// A range of sizes: at least `from` and below `below`.
struct SizeRange {
  std::int64_t from = 0, below = 0;
};

/// `8-9KB`. Null if it is malformed.
std::optional<SizeRange> size_range(std::string_view text) {
  constexpr std::array<std::string_view, 5> units = {"B", "KB", "MB", "GB", "TB"};
  const auto low = take_number(text);
  if (!low || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const auto high = take_number(text);
  if (!high || *low < 1 || *high != *low + 1 || *low > 1 << 16) return std::nullopt;
  std::int64_t unit = 1;
  for (const std::string_view name : units) {
    if (text == name) return SizeRange{*low * unit, *high * unit};
    unit *= 1024;
  }
  return std::nullopt;
}

/// Reads `name="value",...` up to the closing brace. \returns the rest behind it; null if it is malformed
std::optional<std::string_view> read_labels(std::string_view text,
                                            std::map<std::string, std::string, std::less<>>& to) {
  to.clear();
  for (;;) {
    if (text.starts_with('}')) return text.substr(1);
    const std::size_t equals = text.find("=\"");
    if (equals == std::string_view::npos || equals == 0 || to.size() > 64) return std::nullopt;
    std::string& value = to[std::string(trimmed(text.substr(0, equals)))];
    text.remove_prefix(equals + 2);
    bool closed = false;
    while (!text.empty() && !closed) {
      const char c = text.front();
      text.remove_prefix(1);
      closed = c == '"';
      if (c == '\\' && !text.empty()) {
        value += text.front() == 'n' ? '\n' : text.front();
        text.remove_prefix(1);
      } else if (!closed) {
        value += c;
      }
    }
    if (!closed) return std::nullopt;
    if (text.starts_with(',')) text.remove_prefix(1);
  }
}

class Prometheus : public RecordReader {
 public:
  Prometheus(const LiveSource& source, std::size_t piece, Job& job)
      : RecordReader(job), reader_(source, piece), job_(job) {}
  const std::string& name() const override { return reader_.name(); }

  bool next(RankCall& call) override {
    std::string_view text;
    bool cut = false;
    while (reader_.next_line(text, cut)) {
      if (cut) {
        problem("line ignored: it is longer than 1 MiB");
        continue;
      }
      if (text.starts_with("nccl_p2p_exec_time")) job_.leave_out(peer_wait);
      if (text.starts_with(time_metric)) {
        if (take(text.substr(time_metric.size()), call)) return true;
      } else if (text.starts_with("nccl_") && text.find('{') == std::string_view::npos) {
        // Half a name of a metric; lines of other exporters may be in the file, too.
        problem("the line is cut off or malformed");
      }
    }
    return false;
  }

 private:
  bool take(std::string_view text, RankCall& call) {
    const auto rest = read_labels(text, labels_);
    if (!rest) return refuse("the labels are cut off or malformed");
    const std::string_view word = trimmed(*rest);
    double time = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), time);
    // A time stamp may follow.
    const bool ended = end == word.data() + word.size() || is_space(*end);
    if (error != std::errc() || !ended || !(time >= 0) || time > 1e12)
      return refuse("the time is missing or impossible");
    const auto op = nccl_operation(label("collective"));
    const auto range = size_range(label("message_size"));
    const auto ranks = whole_number(label("nranks")), nodes = whole_number(label("n_nodes"));
    if (!op) return refuse(fmt::format("unknown collective '{}'", shown(label("collective"), 40)));
    if (!range || !ranks || *ranks < 1 || *ranks > 1 << 20 || !nodes || *nodes < 0 || *nodes > *ranks)
      return refuse("size or number of ranks is missing or impossible");
    if (time == 0) return skip("the time is 0 us");
    const std::int64_t shares = records_share(*op) ? *ranks : 1;
    const std::string name = shown(label("comm_name"), 60);
    call = {};
    call.communicator = job_.communicator(
        {fmt::format("{} of {} ranks", name, *ranks), name, static_cast<int>(*ranks), static_cast<int>(*nodes), false});
    call.op = *op;
    call.bytes = range->from * shares;
    call.bytes_below = range->below * shares;
    call.time_us = time;
    call.alone = true;
    // The file does not say which rank its GPU has; each GPU counts as one that was seen.
    call.rank = rank(call.communicator, fmt::format("{}, {}", label("node"), label("gpu")));
    call.line = reader_.line();
    return true;
  }

  int rank(int communicator, const std::string& gpu) {
    const int number = job_.numbered_place(communicator, gpu);
    job_.place(communicator, number, gpu);
    return number;
  }

  std::string_view label(std::string_view key) const {
    const auto it = labels_.find(key);
    return it == labels_.end() ? std::string_view() : std::string_view(it->second);
  }

  Position position() const override { return {reader_.line()}; }

  ByteReader reader_;
  Job& job_;
  std::map<std::string, std::string, std::less<>> labels_;
};

}  // namespace

std::unique_ptr<CallReader> prometheus_reader(const LiveSource& source, std::size_t piece, Job& job) {
  return std::make_unique<Prometheus>(source, piece, job);
}

}  // namespace fabricast::live
