// NCCL's example profiler plugin (plugins/profiler/example): a file per communicator and rank, an event per line. A
// collective encloses the events of its kernel, one per channel, with the GPU's clock in ns.
//
// The files state neither the number of ranks nor of nodes. If the files of a job are those of ranks 0 to n - 1 of a
// communicator, it is taken to have n. Some lines are not valid JSON (`"datatype": ncclFloat32`); those are not needed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"
#include "job_reader.hpp"

namespace fabricast::live {

namespace {

using nlohmann::json;

/// The event of a line; discarded if it is not valid JSON.
json event_of(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with('[')) line = trimmed(line.substr(1));
  while (line.ends_with(',') || line.ends_with(']')) line = trimmed(line.substr(0, line.size() - 1));
  return json::parse(line.begin(), line.end(), nullptr, false);
}

bool begins_call(std::string_view line) {
  return line.find("\"cat\": \"COLL\", \"ph\": \"b\"") != std::string_view::npos;
}

class Profiler : public RecordReader {
 public:
  Profiler(const LiveSource& source, std::size_t piece, Job& job)
      : RecordReader(job), reader_(source, piece), job_(job) {
    note_rank(source, piece);
  }
  const std::string& name() const override { return reader_.name(); }

  bool next(RankCall& call) override {
    std::string_view text;
    bool cut = false;
    while (reader_.next_line(text, cut)) {
      if (cut) problem("line ignored: it is longer than 1 MiB");
      if (trimmed(text).ends_with(']')) closed_ = true;
      if (begins_call(text)) {
        begin(text);
      } else if (open_ && text.find("\"cat\": \"GPU\", \"ph\": \"b\"") != std::string_view::npos) {
        see_channel(text);
      } else if (text.find("\"cat\": \"COLL\", \"ph\": \"e\"") != std::string_view::npos) {
        if (end(call)) return true;
      } else if (text.find("\"cat\": \"P2P\", \"ph\": \"b\"") != std::string_view::npos) {
        job_.leave_out(peer_wait);
      }
    }
    if (!ended_ && !closed_) problem("the file is cut off: it does not end with a bracket");
    ended_ = true;
    return false;
  }

 private:
  /// Looks at the first call ahead of all reading, so that the number of ranks is known when calls are matched.
  void note_rank(const LiveSource& source, std::size_t piece) {
    ByteReader ahead(source, piece);
    std::string_view text;
    bool cut = false;
    constexpr std::uint64_t far = std::uint64_t{1} << 20;
    while (ahead.offset() < far && ahead.next_line(text, cut)) {
      if (!begins_call(text)) continue;
      const json event = event_of(text);
      if (event.is_discarded() || !event.contains("args")) continue;
      const json& args = event["args"];
      if (args.is_object() && args.contains("CommHash") && args["CommHash"].is_number_unsigned() &&
          args.contains("Rank") && args["Rank"].is_number_unsigned() && args["Rank"].get<std::uint64_t>() < 1 << 20)
        job_.member(job_.communicator({id_of(args["CommHash"].get<std::uint64_t>()), {}, 0, 0, false}),
                    args["Rank"].get<int>());
      return;
    }
  }

  static std::string id_of(std::uint64_t hash) { return fmt::format("0x{:x}", hash); }

  void begin(std::string_view text) {
    if (open_) problem("a collective has no end");
    open_ = false;
    const json event = event_of(text);
    if (event.is_discarded()) return problem("malformed or truncated event");
    try {
      const json& args = event.at("args");
      const std::string name = event.at("name").get<std::string>();
      const auto op = nccl_operation(name);
      if (!op) return problem(fmt::format("unknown collective '{}'", shown(name, 40)));
      const auto rank = args.at("Rank").get<std::int64_t>(), count = args.at("Count").get<std::int64_t>();
      const auto sequence = args.at("SeqNum").get<std::int64_t>();
      const int each = bytes_of_type(args.at("Datatype").get<std::string>());
      if (rank < 0 || rank >= 1 << 20 || count < 0 || count > std::int64_t{1} << 46 || sequence < 0 || each == 0)
        return problem("rank, count, type or number of the call is missing or impossible");
      call_ = {};
      call_.communicator = job_.communicator({id_of(args.at("CommHash").get<std::uint64_t>()), {}, 0, 0, false});
      settle_ranks();
      call_.rank = static_cast<int>(rank);
      call_.op = *op;
      call_.bytes = count * each;
      call_.sequence = sequence;
      call_.counter = static_cast<int>(*op);
      call_.line = reader_.line();
      start_ = std::numeric_limits<std::uint64_t>::max();
      stop_ = 0;
      open_ = true;
    } catch (const json::exception&) { problem("a collective lacks a value, or has one of the wrong type"); }
  }

  void settle_ranks() {
    const int noted = job_.ranks_noted(call_.communicator);
    if (job_.ranks(call_.communicator) > 0 || noted == 0) return;
    job_.set_ranks(call_.communicator, noted);
    job_.problem(
        {}, 0, 0,
        fmt::format("the files do not state how many ranks a communicator has: {} is assumed, the number of its files",
                    noted));
  }

  void see_channel(std::string_view text) {
    const json event = event_of(text);
    if (event.is_discarded() || !event.is_object()) return problem("malformed or truncated event");
    const json args = event.value("args", json::object());
    if (!args.contains("StartGpuClk") || !args["StartGpuClk"].is_number_unsigned() || !args.contains("StopGpuClk") ||
        !args["StopGpuClk"].is_number_unsigned())
      return problem("a kernel has no clock");
    const auto start = args["StartGpuClk"].get<std::uint64_t>(), stop = args["StopGpuClk"].get<std::uint64_t>();
    // 0: the kernel had not started or ended when the event was written.
    if (start == 0 || stop < start) return;
    start_ = std::min(start_, start);
    stop_ = std::max(stop_, stop);
  }

  bool end(RankCall& call) {
    if (!open_) return false;
    open_ = false;
    if (stop_ <= start_) return skip("the kernel has no times");
    if (call_.bytes == 0) return skip("the size is 0 B");
    const int ranks = job_.ranks(call_.communicator);
    if (records_share(call_.op)) {
      // Without the number of ranks the size of the whole is not known.
      if (ranks == 0) return skip("the number of ranks is not known, and so the size");
      call_.bytes *= ranks;
    }
    call_.time_us = static_cast<double>(stop_ - start_) * 1e-3;
    if (call_.time_us > 1e12) return refuse("the time is impossible");
    call_.when = start_;
    job_.place(call_.communicator, call_.rank, name());
    call = call_;
    return true;
  }

  Position position() const override { return {reader_.line()}; }

  ByteReader reader_;
  Job& job_;
  RankCall call_;
  std::uint64_t start_ = 0, stop_ = 0;
  bool open_ = false, closed_ = false, ended_ = false;
};

}  // namespace

std::unique_ptr<CallReader> profiler_reader(const LiveSource& source, std::size_t piece, Job& job) {
  return std::make_unique<Profiler>(source, piece, job);
}

}  // namespace fabricast::live
