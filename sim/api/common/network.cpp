// JSON in and out for the times of calls. Calls of the same group that follow each other are asked together.
#include "network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/report/report.hpp"
#include "question_options.hpp"

namespace fabricast {

namespace {

using Value = nlohmann::json;

constexpr std::int64_t most_kept = 100'000'000;
constexpr QuestionOption network_options_table[] = {
    {"intervals", OptionType::boolean,
     "90 % intervals, which take most of the time of an unknown answer (default: true)"},
    {"measured", OptionType::logs,
     "measurements of this site, on which times are conditioned: logs of nccl-tests, cases (JSON), or CSV of "
     "bytes,time_us"},
    {"kept", OptionType::count, "number of answers to keep, about 150 B each (default: 262144)", {}, 1, most_kept}};
constexpr Question network_question{"network", "times of calls of groups of ranks", network_options_table, nullptr};

/// A call as it was asked, and the place of its answer.
struct AskedCall {
  CallKind kind;
  std::string name;
  std::vector<std::uint32_t> ranks;
  std::int64_t bytes = 0;
  Seconds at;
};

std::vector<std::uint32_t> ranks_of(const Value& value) {
  if (!value.is_array()) throw UserError("ranks: is not a list of whole numbers");
  std::vector<std::uint32_t> ranks;
  for (const Value& rank : value) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() > 0xffffffff)
      throw UserError("ranks: is not a list of whole numbers from 0 on");
    ranks.push_back(rank.get<std::uint32_t>());
  }
  return ranks;
}

std::int64_t bytes_of(const Value& value) {
  if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(largest_size.value))
      throw UserError("bytes: is out of range", fmt::format("between 1 and {}", largest_size.value));
    return value.get<std::int64_t>();
  }
  if (!value.is_string()) throw UserError("bytes: is not a size", R"(a whole number, or a string such as "1MiB")");
  const auto parsed = parse_bytes(value.get<std::string>());
  if (!parsed) throw UserError("bytes: " + parsed.error, parsed.hint);
  return parsed.value.value;
}

AskedCall call_from(const Value& value) {
  if (!value.is_object())
    throw UserError("is not an object", R"({"collective": "all_reduce", "bytes": 1024, "ranks": [0, 1]})");
  AskedCall call;
  for (const auto& [key, member] : value.items()) {
    if (key == "collective") {
      if (!member.is_string()) throw UserError("collective: is not a string");
      call.name = member.get<std::string>();
      call.kind = call_kind_from(call.name);
    } else if (key == "bytes") {
      call.bytes = bytes_of(member);
    } else if (key == "ranks") {
      call.ranks = ranks_of(member);
    } else if (key == "at") {
      if (!member.is_number()) throw UserError("at: is not a number of seconds");
      call.at = Seconds{member.get<double>()};
    } else {
      throw UserError(fmt::format("there is no member '{}'", shown(key, 40)), "known: collective, bytes, ranks, at");
    }
  }
  for (const char* needed : {"collective", "bytes", "ranks"})
    if (!value.contains(needed)) throw UserError(fmt::format("`{}` is missing", needed));
  return call;
}

/// Runs f; its errors say which call they are of.
template <class F>
auto of_call(std::size_t number, F f) {
  try {
    return f();
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults) d.message = fmt::format("call {}: {}", number, d.message);
    throw UserError(std::move(faults));
  }
}

Value parsed_calls(const std::string& text) {
  Value value = Value::parse(text, nullptr, false);
  if (value.is_discarded()) throw UserError("the calls are not JSON");
  if (!value.is_array())
    throw UserError("the calls are not a list", R"([{"collective": ..., "bytes": ..., "ranks": [...]}])");
  return value;
}

}  // namespace

CallTimes open_network(const OpenScenario& scenario, const std::string& options, const QuestionRun& run, Reply& reply) {
  const QuestionOptions checked(network_question, options, run.reads_files);
  CallTimesOptions how;
  how.intervals = checked.boolean("intervals", how.intervals);
  how.kept = checked.count("kept", how.kept);
  reply.diagnostics = scenario.warnings();
  const std::vector<MeasuredFile> measured = checked.measured("measured", reply.diagnostics);
  RunOptions work;
  work.threads = run.threads;
  return call_times_of(scenario.world(), measured, how, work);
}

std::string network_options_schema() { return options_schema(network_question); }

std::string answer_calls(const CallTimes& network, const std::string& calls, int threads) {
  const Value list = parsed_calls(calls);
  std::vector<AskedCall> asked;
  for (std::size_t i = 0; i < list.size(); ++i) asked.push_back(of_call(i, [&] { return call_from(list[i]); }));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::vector<std::int64_t> bytes;
  std::vector<CallTime> times;
  for (std::size_t first = 0; first < asked.size();) {
    const AskedCall& call = asked[first];
    std::size_t end = first;
    bytes.clear();
    while (end < asked.size() && asked[end].kind == call.kind && asked[end].ranks == call.ranks &&
           asked[end].at == call.at)
      bytes.push_back(asked[end++].bytes);
    times.resize(bytes.size());
    of_call(first, [&] { network.times({call.kind, call.ranks, call.at}, bytes, times, threads); });
    for (std::size_t i = first; i < end; ++i) {
      const CallTime& t = times[i - first];
      rows.push_back({{"collective", asked[i].name},
                      {"bytes", asked[i].bytes},
                      {"seconds", t.time.value},
                      {"low", t.low.value},
                      {"high", t.high.value},
                      {"launch", t.launch.value},
                      {"algorithm", name_of(t.algorithm)},
                      {"protocol", name_of(t.protocol)},
                      {"channels", t.channels}});
    }
    first = end;
  }
  return nlohmann::ordered_json{{"fabricast", version_text()}, {"rows", std::move(rows)}}.dump(1) + "\n";
}

}  // namespace fabricast
