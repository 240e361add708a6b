// Requests in published serving tables: their concurrency, their lengths, and the phase in which they are timed.
//
// Sources count differently: concurrency of the whole service, of a replica, the maximum that a server accepts, or
// none. The scenario needs the sequences of one replica and mean lengths.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "serving_parts.hpp"

namespace fabricast::serving {

namespace {

/// A phase of the tables, its `workload.phase`, and the metrics that the scenario determines.
struct Phase {
  std::string_view name, word;
  std::array<ServingMetric, 7> metrics;
  std::size_t count;
};
using M = ServingMetric;
constexpr std::array<Phase, 4> phases{{
    {"decode", "decode", {M::tpot_ms, M::ttft_ms, M::latency_ms, M::out_tok_s, M::out_tok_s_gpu, M::req_s}, 6},
    {"prefill", "prefill", {M::ttft_ms, M::in_tok_s_gpu}, 2},
    {"requests",
     "both",
     {M::tpot_ms, M::ttft_ms, M::latency_ms, M::out_tok_s, M::out_tok_s_gpu, M::req_s, M::kv_transfer_ms},
     7},
    // Prompts wait for each other, so the time to the first token is that of a queue. It is not forecast.
    {"offline", "both", {M::tpot_ms, M::out_tok_s, M::out_tok_s_gpu, M::req_s}, 4},
}};

bool says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

int at_least_one(double sequences) { return std::max(1, static_cast<int>(std::lround(sequences))); }

/// The concurrency that a client actually achieved, if the source measured it. Else 0.
double achieved_concurrency(const ServingRow& row) {
  auto rest = after(row.note, "achieved concurrency ");
  if (!rest) return 0;
  const auto n = parse_number(std::string(trimmed(take_until(*rest, ';'))));
  return n && n.value > 0 && n.value < 1e6 ? n.value : 0;
}

/// Default limit of prompt tokens per pass in both engines.
constexpr int tokens_of_a_pass = 8192;

/// Whether the row was measured with as many requests as the engine accepts: offline, a peak rate, or a server at the
/// limit of its latency.
bool is_the_most(const ServingRow& row) {
  return row.phase != "requests" || says(row.note, "Server") || says(row.note, "peak");
}

/// Sequences of a replica. 0: the largest batch that fits.
int batch_of(const ServingRow& row, int replicas, MappedServing& mapped) {
  // The order is from the most to the least specific statement.
  if (const auto apart = disaggregation_of(row); apart && apart->decoding.batch > 0) return apart->decoding.batch;
  if (const double achieved = achieved_concurrency(row); achieved > 0) return at_least_one(achieved / replicas);
  std::string_view rest = row.batch;
  if (const auto n = take_number(rest); n && *n > 0 && (rest.empty() || rest.starts_with(' '))) {
    // A plain number is the concurrency of the service, which replicas share.
    const bool of_replica = says(row.batch, "per replica") || says(row.batch, "max");
    return of_replica ? *n : at_least_one(static_cast<double>(*n) / replicas);
  }
  if (row.batch.empty() && row.phase == "prefill" && row.input > 0) {
    // The engine packs prompts into a pass up to its token limit.
    const int together = std::max(1, tokens_of_a_pass / row.input);
    mapped.assumed.push_back({"workload.batch", fmt::format("{}", together), "not stated; prompts fill a pass"});
    return together;
  }
  if (!row.batch.empty() && !says(row.batch, "fills memory") && !says(row.batch, "max") &&
      !says(row.batch, "all at once"))
    miss(mapped, "workload.batch: unknown batch '" + row.batch + "'");
  // A maximum rate is reached with as many requests as fit. Any other figure depends on the concurrency.
  else if (row.batch.empty() && !(is_rate(mapped.metric) && is_the_most(row)))
    miss(mapped, "workload.load.rate: requests arrive at a rate that is not stated");
  else
    mapped.assumed.push_back({"workload.batch", "the largest that fits", "the engine fills its memory"});
  return 0;
}

/// How the benchmark client of a source loads a service.
struct Client {
  std::string_view source;      ///< a prefix of its name
  double spread = 0;            ///< half the width of the lengths' distribution, relative to its mean
  bool states_longest = false;  ///< its rows state the longest length; else the mean
  bool counts_first = true;     ///< its figures include the first request of each client; all of these come at once
};

// Lengths of InferenceX are uniform from 0.8 to 1 of the nominal one, those of SGLang's cookbook from one token. The
// clients of InferenceX, vLLM, SGLang and GenAI-Perf with a number of requests count all requests [InferenceX]
// [VLLM-bench] [SGLang-bench] [AIConfigurator-eval], which is assumed of sources without an entry. NIM's tables are of
// windows of time [NIM-benchmarking], which do not contain the beginning. In SGLang's cookbook, one client after the
// other sends the same prompts to the same service, whose prefix cache holds those of its predecessor: the first ones
// cost nothing.
constexpr std::array<Client, 4> clients{{{"inferencex", 0.1 / 0.9, true},
                                         {"sgl-cookbook", 1, false, false},
                                         {"nim-docs", 0, false, false},
                                         {"lmdeploy", 0, false, false}}};

Client client_of(const ServingRow& row) {
  for (const Client& c : clients)
    if (row.source.starts_with(c.source)) return c;
  // GenAI-Perf measures windows of time unless it is given a number of requests.
  Client other;
  other.counts_first = !says(row.note, "genai-perf");
  return other;
}

int mean_length(const ServingRow& row, int nominal, const char* key, MappedServing& mapped) {
  const Client client = client_of(row);
  if (!client.states_longest || nominal <= 1) return nominal;
  const int mean = static_cast<int>(std::lround(nominal / (1 + client.spread)));
  mapped.assumed.push_back({key, fmt::format("{}", mean), "mean of 0.8 to 1 of the nominal length"});
  return mean;
}

void say_load(Json& workload, const ServingRow& row) {
  const Client client = client_of(row);
  Json load = Json::object();
  if (client.spread > 0) load["spread"] = client.spread;
  if (client.counts_first) load["warmup"] = 0;
  if (!load.empty()) workload["load"] = std::move(load);
}

/// Whether the row's concurrency is a limit that the client did not reach. For two weeks of 2025, InferenceX's script of
/// gpt-oss on H100 with Docker stated 512 whatever the number of requests that the server took at once [InferenceX].
bool is_only_a_limit(const ServingRow& row) {
  return row.source.starts_with("inferencex") && row.model.starts_with("gpt-oss") && row.engine == "vllm" &&
         system_of(row).gpu == "h100-sxm" && row.batch == "512" && says(row.note, "measured 2025-12-0");
}

}  // namespace

void say_requests(Json& workload, const ServingRow& row, int gpus, MappedServing& mapped) {
  const auto phase = std::find_if(phases.begin(), phases.end(), [&](const Phase& p) { return p.name == row.phase; });
  if (phase == phases.end()) return miss(mapped, "workload.phase: unknown phase '" + row.phase + "'");
  const auto end = phase->metrics.begin() + static_cast<std::ptrdiff_t>(phase->count);
  if (std::find(phase->metrics.begin(), end, mapped.metric) == end)
    return miss(mapped, "metric: " + row.metric + " has no forecast in phase " + row.phase);
  if (row.input == 0) return miss(mapped, "workload.input: not stated");
  if (row.output == 0 && row.phase != "prefill") return miss(mapped, "workload.output: not stated");
  // Some rows report the median over the tokens of concurrent clients. Only few tokens are slowed by prompts, so the
  // median differs from the mean and is a metric of its own.
  const bool median = says(row.note, "median token latency") && row.batch != "1";
  if (median) mapped.metric = ServingMetric::itl_p50_ms;
  workload["phase"] = median ? "both" : phase->word;
  if (is_only_a_limit(row)) return miss(mapped, "workload.batch: 512 is the client's limit, not its concurrency");
  workload["batch"] = batch_of(row, replicas_of(row, gpus), mapped);
  workload["input"] = mean_length(row, row.input, "workload.input", mapped);
  workload["output"] = mean_length(row, std::max(1, row.output), "workload.output", mapped);
  if (row.phase == "requests") say_load(workload, row);
  if (says(row.note, "lengths vary widely")) mapped.unsaid.emplace_back("request lengths that vary widely");
}

}  // namespace fabricast::serving
