// PyTorch's flight recorder: the last calls of every process group of one rank (torch/csrc/distributed/c10d,
// FlightRecorder). As a pickle, which the watchdog writes, or as JSON.
//
// A call has a duration only if it is completed and TORCH_NCCL_ENABLE_TIMING was set. `collective_seq_id` counts the
// calls of a process group over all collectives, so ranks that run different ones are found out. The dump does not
// state its rank, and JSON states the groups behind the calls: the calls, a few thousand, are held until then.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"
#include "job_reader.hpp"
#include "json_items.hpp"
#include "pickle.hpp"
#include "torch_group.hpp"

namespace fabricast::live {

namespace {

using nlohmann::json;

constexpr std::size_t longest_pickle = std::size_t{1} << 26;
constexpr std::size_t most_entries = 1'000'000;

/// Sum over tensors of the product of their dimensions; -1 if it is malformed or too large.
std::int64_t elements_of(const json& sizes) {
  std::int64_t all = 0;
  if (!sizes.is_array()) return -1;
  for (const json& tensor : sizes) {
    if (!tensor.is_array()) return -1;
    std::int64_t product = 1;
    for (const json& dimension : tensor) {
      if (!dimension.is_number_integer()) return -1;
      const auto n = dimension.get<std::int64_t>();
      if (n < 0 || n > (std::int64_t{1} << 48) || (n > 0 && product > (std::int64_t{1} << 48) / n)) return -1;
      product *= n;
    }
    all += product;
    if (all > (std::int64_t{1} << 48)) return -1;
  }
  return all;
}

/// A pickled value as JSON, `depth` levels deep.
json json_of(const Pickle& pickle, const PickleValue& value, int depth) {
  using Kind = PickleValue::Kind;
  switch (value.kind) {
    case Kind::none: return nullptr;
    case Kind::boolean: return value.integer != 0;
    case Kind::integer: return value.integer;
    case Kind::real: return value.real;
    case Kind::text: return std::string(value.text.substr(0, 1 << 20));
    case Kind::list: {
      json list = json::array();
      if (depth > 0)
        for (std::size_t i = 0; i < std::min<std::size_t>(value.items.size(), 4096); ++i)
          list.push_back(json_of(pickle, pickle.at(value.items[i]), depth - 1));
      return list;
    }
    case Kind::dictionary: return nullptr;  // none of the keys that are read holds one
  }
  return nullptr;
}

class FlightRecorder : public HeldReader {
 public:
  FlightRecorder(const LiveSource& source, std::size_t piece, Job& job)
      : source_(source), reader_(source, piece), job_(job), rank_(rank_of_name(source.name)) {}
  const std::string& name() const override { return source_.name; }

 private:
  struct Entry {
    std::string group, operation, state;
    std::int64_t sequence = -1, created = 0, timeout_ms = 0;
    std::int64_t input = -1, output = -1;  ///< bytes
    double milliseconds = -1;              ///< -1: not stated
    int line = 0, column = 0;
  };

  void read() override {
    const int first = reader_.peek();
    if (first == 0x80)
      read_pickled();
    else
      read_json();
    settle();
  }

  void read_pickled() {
    std::string bytes;
    if (!reader_.read_all(bytes, longest_pickle))
      return job_.problem(name(), 0, 0, "ignored: the pickle is larger than 64 MiB");
    const PickleResult result = read_pickle(bytes);
    if (!result.pickle) {
      job_.problem(name(), 1, static_cast<int>(result.offset) + 1, result.error);
      return read_part(result.part);
    }
    const Pickle& pickle = *result.pickle;
    if (const PickleValue* version = pickle.find(pickle.top(), "comm_lib_version"))
      see_version(json_of(pickle, *version, 0));
    if (const PickleValue* groups = pickle.find(pickle.top(), "pg_config");
        groups && groups->kind == PickleValue::Kind::dictionary)
      for (std::size_t i = 0; i + 1 < groups->items.size(); i += 2)
        if (const PickleValue* ranks = pickle.find(pickle.at(groups->items[i + 1]), "ranks"))
          see_group(json_of(pickle, pickle.at(groups->items[i]), 0), json_of(pickle, *ranks, 1));
    const PickleValue* entries = pickle.find(pickle.top(), "entries");
    if (!entries || entries->kind != PickleValue::Kind::list)
      return job_.problem(name(), 1, 0, "the dump has no entries");
    std::size_t number = 0;
    for (const std::uint32_t at : entries->items) see_pickled(pickle, pickle.at(at), ++number);
  }

  /// A damaged pickle: its entries and groups are whole, but not yet attached to the dump.
  void read_part(const Pickle& pickle) {
    for (const PickleValue& value : pickle.values) {
      const PickleValue *group = pickle.find(value, "name"), *ranks = pickle.find(value, "ranks");
      if (group && ranks) see_group(json_of(pickle, *group, 0), json_of(pickle, *ranks, 1));
    }
    std::size_t number = 0;
    for (const PickleValue& value : pickle.values)
      if (pickle.find(value, "collective_seq_id")) see_pickled(pickle, value, ++number);
  }

  void see_pickled(const Pickle& pickle, const PickleValue& from, std::size_t number) {
    json entry = json::object();
    for (const char* key : {"process_group", "collective_seq_id", "profiling_name", "time_created_ns", "duration_ms",
                            "input_sizes", "input_dtypes", "output_sizes", "output_dtypes", "state", "is_p2p",
                            "timeout_ms", "time_discovered_started_ns", "time_discovered_completed_ns"})
      if (const PickleValue* value = pickle.find(from, key)) entry[key] = json_of(pickle, *value, 2);
    see_entry(entry, 1, 0, fmt::format("entry {}: ", number));
  }

  void read_json() {
    JsonItems items(reader_, {"entries"});
    JsonItem item;
    bool any = false;
    for (auto next = JsonItems::Next::end; (next = items.next(item)) != JsonItems::Next::end;) {
      if (next == JsonItems::Next::damaged) {
        job_.problem(name(), item.line, item.column, items.why());
        continue;
      }
      const bool wanted = item.key == "entries" || item.key == "pg_config" || item.key == "comm_lib_version";
      if (!wanted) continue;
      const json value = json::parse(item.text, nullptr, false);
      if (value.is_discarded()) {
        job_.problem(name(), item.line, item.column, "malformed JSON");
      } else if (item.key == "entries") {
        any = true;
        if (value.is_object()) see_entry(value, item.line, item.column, {});
      } else if (item.key == "comm_lib_version") {
        see_version(value);
      } else if (value.is_object()) {
        for (const auto& [group, config] : value.items())
          if (config.is_object() && config.contains("ranks")) see_group(json(group), config["ranks"]);
      }
    }
    if (!any) job_.problem(name(), 0, 0, "the dump has no entries");
  }

  void see_version(const json& version) {
    if (version.is_string() && job_.nccl_version.empty()) job_.nccl_version = shown(version.get<std::string>(), 20);
  }

  void see_group(const json& group, const json& ranks) {
    if (!group.is_string() || !ranks.is_string() || groups_.size() > 10'000) return;
    const std::string text = ranks.get<std::string>();
    if (auto list = rank_list(text)) groups_[shown(group.get<std::string>(), 60)] = {std::move(*list), shown(text, 60)};
  }

  void see_entry(const json& e, int line, int column, const std::string& where) {
    const auto problem = [&](const char* why) { job_.problem(name(), line, column, where + why); };
    try {
      // Sends and receives are matched by the collective that they belong to, which has an entry of its own.
      if (e.value("is_p2p", false)) return;
      Entry entry;
      const json& group = e.at("process_group");
      entry.group = shown(group.at(0).get<std::string>(), 60);
      if (group.size() > 1) names_.emplace(entry.group, shown(group.at(1).get<std::string>(), 60));
      entry.operation = e.at("profiling_name").get<std::string>();
      if (entry.operation.starts_with("nccl:")) entry.operation.erase(0, 5);
      entry.state = e.at("state").get<std::string>();
      entry.sequence = e.at("collective_seq_id").get<std::int64_t>();
      entry.created = e.at("time_created_ns").get<std::int64_t>();
      if (e.contains("duration_ms") && e["duration_ms"].is_number())
        entry.milliseconds = e["duration_ms"].get<double>();
      if (e.contains("timeout_ms") && e["timeout_ms"].is_number_integer())
        entry.timeout_ms = e["timeout_ms"].get<std::int64_t>();
      for (const char* key : {"time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"})
        if (e.contains(key) && e[key].is_number_integer()) latest_ = std::max(latest_, e[key].get<std::int64_t>());
      entry.input = bytes_of(e.at("input_sizes"), e.at("input_dtypes"));
      entry.output = bytes_of(e.at("output_sizes"), e.at("output_dtypes"));
      entry.line = line;
      entry.column = column;
      if (entry.sequence < 0 || entry.created < 0) return problem("a number is negative");
      if (entry.milliseconds > 1e9) return problem("the duration is impossible");
      if (entries_.size() >= most_entries) return problem("ignored: there are too many entries");
      entries_.push_back(std::move(entry));
    } catch (const json::exception&) { problem("an entry lacks a value, or has one of the wrong type"); }
  }

  static std::int64_t bytes_of(const json& sizes, const json& types) {
    const std::int64_t elements = elements_of(sizes);
    if (elements < 0 || !types.is_array() || types.empty() || !types[0].is_string()) return -1;
    const int each = bytes_of_type(types[0].get<std::string>());
    return each == 0 ? -1 : elements * each;
  }

  /// Turns entries into calls, now that the groups are known.
  void settle() {
    if (!rank_) job_.problem(name(), 0, 0, "the name of the file does not end in the number of its rank");
    for (const Entry& e : entries_) {
      const int number = communicator(e.group);
      RankState* state = rank_ ? job_.state(number, *rank_) : nullptr;
      if (!state) continue;
      state->place = shown(name(), 120);
      state->launched = std::max(state->launched.value_or(0), e.sequence);
      if (e.state == "completed") {
        state->completed = std::max(state->completed.value_or(0), e.sequence);
        continue;
      }
      // The dump does not say when it was written: after the latest time in it.
      const double waited = static_cast<double>(latest_ - e.created) * 1e-9;
      state->waits_s = std::max(state->waits_s, waited);
      state->timed_out = state->timed_out || (e.timeout_ms > 0 && waited * 1e3 >= static_cast<double>(e.timeout_ms));
    }
    for (const Entry& e : entries_) take(e);
    entries_.clear();
  }

  int communicator(const std::string& group) {
    CommunicatorFacts facts;
    facts.id = group;
    if (const auto it = names_.find(group); it != names_.end()) facts.name = it->second;
    if (const auto it = groups_.find(group); it != groups_.end()) {
      // Groups of different ranks may have one name.
      facts.id += " " + it->second.second;
      if (it->second.first.whole) facts.ranks = static_cast<int>(it->second.first.ranks.size());
      facts.scattered = it->second.first.scattered();
    }
    return job_.communicator(facts);
  }

  void take(const Entry& e) {
    const auto op = torch_operation(e.operation);
    // Barriers and groups of calls are no single collective.
    if (!op) return job_.leave_out(fmt::format("'{}' is not one collective", shown(e.operation, 40)));
    if (!waits_for_all(*op)) return job_.leave_out(early_leave(*op));
    if (e.state != "completed") return job_.leave_out("not completed");
    if (e.milliseconds < 0) return job_.leave_out("no duration: TORCH_NCCL_ENABLE_TIMING was not set");
    if (!(e.milliseconds > 0)) return job_.leave_out("the time is 0 us");
    if (e.input <= 0 || e.output <= 0) return job_.leave_out("the size is 0 B or not stated");
    RankCall call;
    call.communicator = communicator(e.group);
    const int ranks = job_.ranks(call.communicator);
    const bool even = *op == CollectiveOp::all_gather       ? ranks == 0 || e.output == e.input * ranks
                      : *op == CollectiveOp::reduce_scatter ? ranks == 0 || e.input == e.output * ranks
                                                            : e.input == e.output;
    if (!even) return job_.leave_out("ranks send different amounts");
    call.rank = rank_.value_or(0);
    call.op = *op;
    call.bytes = std::max(e.input, e.output);
    call.sequence = e.sequence;
    call.time_us = e.milliseconds * 1e3;
    call.when = static_cast<std::uint64_t>(e.created);  // creation orders the files against each other
    call.line = e.line;
    call.column = e.column;
    if (rank_) job_.place(call.communicator, call.rank, name());
    hold(call);
  }

  const LiveSource& source_;
  ByteReader reader_;
  Job& job_;
  std::optional<int> rank_;
  std::map<std::string, std::pair<RankList, std::string>> groups_;
  std::map<std::string, std::string> names_;
  std::vector<Entry> entries_;
  std::int64_t latest_ = 0;  ///< the latest time in the dump, ns
};

}  // namespace

std::unique_ptr<CallReader> flight_recorder_reader(const LiveSource& source, std::size_t piece, Job& job) {
  return std::make_unique<FlightRecorder>(source, piece, job);
}

}  // namespace fabricast::live
