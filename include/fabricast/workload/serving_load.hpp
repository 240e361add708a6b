// A serving engine under load: requests that arrive, and how long each waits. Continuous batching is simulated pass by
// pass.
//
// A request passes a frontend to an engine. The engine admits it at the start of a pass if a sequence slot is free and
// the KV cache has room. Prompts have passes of their own or join passes that decode; in both cases a pass holds a
// limited number of tokens. A request keeps its slot and its cache until its last token. The caller supplies the time
// of a pass, so nothing here depends on a GPU.
//
// Times are seconds from the start of the load, as the client sees them. Pure and deterministic functions; safe to call
// concurrently if the caller's PassSeconds is.
// Not modelled: eviction and preemption (an engine that admits more than fits at full length is modelled with its
// average need), priorities, cancelled requests, and routers that consider caches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/inference.hpp"

namespace fabricast {

/// How requests arrive.
enum class Arrivals {
  closed,   ///< a fixed number of clients, each of which sends its next request when its last one has ended
  poisson,  ///< at a mean rate, independently of earlier requests
  trace     ///< at the times of a file
};
template <>
struct EnumNames<Arrivals> {
  static constexpr std::array<std::string_view, 3> names{"closed", "poisson", "trace"};
};

/// A request; lengths in tokens.
struct ServingRequest {
  Seconds arrival;          ///< ignored for closed arrivals
  std::int64_t input = 1;   ///< of the prompt
  std::int64_t output = 1;  ///< of the answer
  std::int64_t cached = 0;  ///< of the prompt, in a prefix cache; less than `input`
};

/// Requests, and who sends them.
struct ServingLoad {
  std::int64_t clients = 0;              ///< of closed arrivals; 0: requests arrive at their own times
  std::vector<ServingRequest> requests;  ///< in the order of arrival
};

/// How lengths and arrival times are sampled.
struct LoadRecipe {
  Arrivals arrivals = Arrivals::closed;  ///< closed or poisson
  std::int64_t clients = 1;
  double rate = 0;  ///< requests/s
  std::int64_t requests = 1;
  std::int64_t input = 1, output = 1;  ///< mean, tokens
  double spread = 0;                   ///< lengths are uniform in mean x (1 - spread .. 1 + spread)
  double cached = 0;                   ///< fraction of a prompt that is in a prefix cache
  std::uint64_t seed = 1;
};
/// A load sampled by the recipe. The same recipe gives the same load.
ServingLoad sampled_load(const LoadRecipe& recipe);

/// The time of one pass of replicas that start it together, given one pass per replica; some may be empty.
using TimeOfPass = std::function<Seconds(std::span<const InferencePass>)>;

/// What lies between clients and engines, per request.
struct Frontend {
  Seconds before;  ///< from the client until an engine can see the request
  Seconds after;   ///< from an engine to the client, for tokens
  Seconds serial;  ///< part of `before` in which the frontend handles no other request
  /// Time to load a cached token of a prompt into the memory of a replica's GPUs, before the engine sees the request. A
  /// replica loads one prefix at a time.
  Seconds load;
};

/// When an engine starts passes with prompts, given that it has prompts.
struct PromptPolicy {
  bool mixed = false;    ///< prompts join passes that decode
  bool chunked = false;  ///< prompts are cut to fill a pass
  /// Maximum number of passes that prompts wait. They start earlier if they fill the fraction `fill` of a pass and
  /// every replica that starts it together has a prompt.
  std::int64_t wait = 0;
  double fill = 0;
  std::int64_t receive = 1;  ///< decode passes between two checks for new requests
  /// The host plans a pass while the one before it runs. A request that arrives during a pass joins the one after the
  /// next, unless the engine is idle.
  bool ahead = false;
};

/// Replicas that serve requests.
struct ServingPool {
  int replicas = 1;
  int together = 1;            ///< replicas whose passes start together because they share experts; divides `replicas`
  int sequences = 1;           ///< maximum number of concurrent sequences per replica
  std::int64_t tokens = 1;     ///< maximum tokens of a pass with prompts
  std::int64_t cache = 0;      ///< tokens in a replica's KV cache; 0: no limit
  double reserved = 1;         ///< fraction of its output for which a request needs room to be admitted
  std::int64_t width = 1;      ///< tokens per sequence that a decode pass computes; more than 1 with speculation
  double tokens_per_step = 1;  ///< accepted tokens per decode pass, on average
  PromptPolicy prompts;
  TimeOfPass time;
};

/// Times of a request, from the start of the load.
struct ServedRequest {
  Seconds arrival, first_token, end;
  std::int64_t output = 1;
  /// Time to first token (TTFT).
  Seconds wait() const { return first_token - arrival; }
  /// Mean time between tokens (TPOT); 0 if there is a single token.
  Seconds between() const { return output > 1 ? (end - first_token) / static_cast<double>(output - 1) : Seconds{}; }
};
/// Outcome of a load.
struct Served {
  std::vector<ServedRequest> requests;  ///< in the order of the load
  Seconds longest_gap;                  ///< between two tokens of a request, maximum
  Seconds median_gap;                   ///< over all tokens except first ones
  Seconds time;                         ///< until the client has the last token
  double sequences = 0;                 ///< decoded concurrently per replica, averaged over time
};

/// Serves a load on replicas that both process prompts and decode.
Served serve(const ServingLoad& load, const Frontend& frontend, const ServingPool& pool);

/// KV-cache transfer of a prompt to the GPUs that decode.
struct CacheTransfer {
  Seconds time;     ///< per request; a sender handles one at a time
  Seconds exposed;  ///< from the end of the prompt's pass until the cache has arrived, if the sender is idle
};
/// Serves a load with prompts on GPUs of their own. The first token is available when the KV cache has arrived and its
/// replica has a free slot.
Served serve_apart(const ServingLoad& load, const Frontend& frontend, const ServingPool& prompts,
                   const CacheTransfer& transfer, const ServingPool& decoding);

}  // namespace fabricast
