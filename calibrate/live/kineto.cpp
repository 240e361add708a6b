// torch.profiler: Chrome trace JSON of one rank (Kineto). Only kernels of NCCL that name their collective count.
//
// Kernels have no number, so the n-th of a process group, operation and size is the n-th of the other ranks: profiles
// must begin at the same step. Counts that differ, or kernels out of order, make that impossible (job_tables.cpp).
// Kernels of sends and receives, of barriers and of coalesced calls name no single collective.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"
#include "job_reader.hpp"
#include "json_items.hpp"
#include "torch_group.hpp"

namespace fabricast::live {

namespace {

using nlohmann::json;

class Kineto : public RecordReader {
 public:
  Kineto(const LiveSource& source, std::size_t piece, Job& job)
      : RecordReader(job),
        reader_(source, piece),
        items_(reader_, {"traceEvents"}),
        job_(job),
        rank_(rank_of_name(source.name)) {
    job_.ordered_only = true;
  }
  const std::string& name() const override { return reader_.name(); }

  bool next(RankCall& call) override {
    for (auto next = JsonItems::Next::end; (next = items_.next(item_)) != JsonItems::Next::end;) {
      if (next == JsonItems::Next::damaged) {
        problem(items_.why());
        continue;
      }
      if (item_.element && item_.key == "traceEvents") {
        // Most events are of no interest, and finding that out is much faster than parsing.
        if (item_.text.find("\"Collective name\"") == std::string::npos || item_.text.find("nccl") == std::string::npos)
          continue;
        const json event = json::parse(item_.text, nullptr, false);
        if (event.is_discarded()) {
          problem("malformed event");
          continue;
        }
        if (take(event, call)) return true;
      } else if (item_.key == "distributedInfo" || item_.key == "deviceProperties") {
        see_header(json::parse(item_.text, nullptr, false));
      }
    }
    return false;
  }

 private:
  void see_header(const json& value) {
    if (value.is_discarded()) return problem("malformed JSON");
    if (value.is_object()) {
      if (value.contains("rank") && value["rank"].is_number_unsigned() && value["rank"].get<std::uint64_t>() < 1 << 20)
        rank_ = value["rank"].get<int>();
      if (value.contains("nccl_version") && value["nccl_version"].is_string() && job_.nccl_version.empty())
        job_.nccl_version = shown(value["nccl_version"].get<std::string>(), 20);
    } else if (value.is_array() && !value.empty() && value[0].is_object() && value[0].contains("name") &&
               value[0]["name"].is_string() && job_.gpu.empty()) {
      job_.gpu = shown(value[0]["name"].get<std::string>());
    }
  }

  bool take(const json& event, RankCall& call) {
    try {
      if (event.value("cat", "") != "kernel") return false;
      const json& args = event.at("args");
      const std::string operation = args.at("Collective name").get<std::string>();
      if (args.contains("Src Rank") || args.contains("Dst Rank")) return skip(peer_wait);
      const auto op = torch_operation(operation);
      if (!op) return skip(fmt::format("'{}' is not one collective", shown(operation, 40)));
      if (!waits_for_all(*op)) return skip(early_leave(*op));
      const int each = bytes_of_type(args.at("dtype").get<std::string>());
      const auto in = args.at("In msg nelems").get<std::int64_t>(), out = args.at("Out msg nelems").get<std::int64_t>();
      const auto ranks = args.at("Group size").get<std::int64_t>();
      const double time = event.at("dur").get<double>(), start = event.at("ts").get<double>();
      constexpr std::int64_t most = std::int64_t{1} << 46, most_ranks = 1 << 20;
      if (each == 0 || in < 0 || out < 0 || in > most || out > most || ranks < 1 || ranks > most_ranks ||
          !(time >= 0) || time > 1e12 || !(start >= 0) || start > 1e18)
        return refuse("type, size, group or time of the kernel is missing or impossible");
      if (!rank_) return skip("the file does not state its rank");
      if (in == 0 || out == 0) return skip("the size is 0 B or not stated");
      if (!(time > 0)) return skip("the time is 0 us");
      if (uneven(*op, in, out, ranks, args)) return skip("ranks send different amounts");
      call.communicator = group(args, static_cast<int>(ranks));
      call.rank = *rank_;
      call.op = *op;
      call.bytes = std::max(in, out) * each;
      call.counter = job_.counter(call.communicator, *op, call.bytes);
      Counted& counted = counted_[call.counter];
      if (start < counted.last && !job_.disordered) {
        job_.disordered = true;
        problem("a kernel began before the one that precedes it in the file: calls cannot be matched across ranks");
      }
      counted.last = start;
      call.sequence = counted.calls++;
      call.time_us = time;
      call.when = static_cast<std::uint64_t>(start);
      call.line = item_.line;
      call.column = item_.column;
      job_.place(call.communicator, call.rank, name());
      return true;
    } catch (const json::exception&) {
      problem("a kernel of NCCL lacks a value, or has one of the wrong type");
      return false;
    }
  }

  static bool uneven(CollectiveOp op, std::int64_t in, std::int64_t out, std::int64_t ranks, const json& args) {
    if (op == CollectiveOp::all_gather) return out != in * ranks;
    if (op == CollectiveOp::reduce_scatter) return in != out * ranks;
    if (in != out) return true;
    if (op != CollectiveOp::alltoall) return false;
    // Splits are listed if they are not all the same, or if the caller passed them.
    for (const char* key : {"In split size", "Out split size"}) {
      const auto splits = rank_list(args.value(key, "[]"));
      if (!splits) return true;
      for (const int split : splits->ranks)
        if (split != splits->ranks.front()) return true;
    }
    return false;
  }

  int group(const json& args, int ranks) {
    const std::string name = shown(args.value("Process Group Name", ""), 60);
    const std::string list = args.value("Process Group Ranks", "");
    const std::string id = name + " " + shown(list, 60);
    if (const auto it = groups_.find(id); it != groups_.end()) return it->second;
    const auto parsed = rank_list(list);
    const int number = job_.communicator(
        {id, shown(args.value("Process Group Description", ""), 60), ranks, 0, parsed && parsed->scattered()});
    if (groups_.size() < 10'000) groups_.emplace(id, number);
    return number;
  }

  Position position() const override { return {item_.line, item_.column}; }

  struct Counted {
    std::int64_t calls = 0;
    double last = 0;
  };

  ByteReader reader_;
  JsonItems items_;
  Job& job_;
  std::optional<int> rank_;
  JsonItem item_;
  std::map<std::string, int> groups_;
  std::map<int, Counted> counted_;
};

}  // namespace

std::unique_ptr<CallReader> kineto_reader(const LiveSource& source, std::size_t piece, Job& job) {
  return std::make_unique<Kineto>(source, piece, job);
}

}  // namespace fabricast::live
