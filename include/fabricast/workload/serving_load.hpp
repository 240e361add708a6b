// Requests that come to a serving engine, and what each of them waits for: continuous batching, pass by pass.
//
// A client's request goes through a frontend to an engine, which admits it at the beginning of a pass when there is a
// place and room in the cache. Prompts have passes of their own, or go into the passes that decode; either way a pass
// holds at most so many tokens. A request keeps its place and its room until its last token. What a pass takes is asked
// of the caller, so nothing here knows a GPU.
//
// Times are s from the beginning of the load, as the client sees them. Pure functions; deterministic.
// Not modelled: eviction and preemption (an engine that admits more than fits at full length is given its mean need),
// priorities, cancelled requests, routers that look at caches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/workload/inference.hpp"

namespace fabricast {

/// closed: so many clients, each of which sends its next request when its last one has ended; poisson: at a mean rate,
/// whatever has ended; trace: at times from a file.
enum class Arrivals { closed, poisson, trace };
template <>
struct EnumNames<Arrivals> {
  static constexpr std::array<std::string_view, 3> names{"closed", "poisson", "trace"};
};

/// A request; lengths in tokens.
struct ServingRequest {
  double arrival = 0;       ///< s; not read where clients wait for answers
  std::int64_t input = 1;   ///< of the prompt
  std::int64_t output = 1;  ///< of the answer
  std::int64_t cached = 0;  ///< of the prompt that a prefix cache has; less than `input`
};

struct ServingLoad {
  std::int64_t clients = 0;              ///< that wait for answers; 0: requests come at their own times
  std::vector<ServingRequest> requests;  ///< in the order in which they come
};

/// How lengths and times of requests are sampled.
struct LoadRecipe {
  Arrivals arrivals = Arrivals::closed;  ///< closed or poisson
  std::int64_t clients = 1;
  double rate = 0;  ///< requests/s
  std::int64_t requests = 1;
  std::int64_t input = 1, output = 1;  ///< mean, tokens
  double spread = 0;                   ///< lengths are uniform in the mean x (1 - spread .. 1 + spread)
  double cached = 0;                   ///< part of a prompt that a prefix cache has
  std::uint64_t seed = 1;
};
ServingLoad sampled_load(const LoadRecipe& recipe);

/// Seconds of a pass of replicas that begin it together, one pass of each; some may be empty.
using PassSeconds = std::function<double(std::span<const InferencePass>)>;

/// What is between clients and engines; s of a request.
struct Frontend {
  double before = 0;  ///< from the client until an engine can see it
  double after = 0;   ///< from an engine to the client, for tokens
  double serial = 0;  ///< of `before`, during which it works on no other request
};

/// When an engine begins passes with prompts, beside having any.
struct PromptPolicy {
  bool mixed = false;    ///< prompts go into passes that decode
  bool chunked = false;  ///< prompts are cut to fill a pass
  /// Passes that prompts wait, at most, until they fill `fill` of a pass and each replica that begins it has one.
  std::int64_t wait = 0;
  double fill = 0;
  std::int64_t receive = 1;  ///< decode passes from one look at what has come to the next
};

/// Replicas that work on requests.
struct ServingPool {
  int replicas = 1;
  int together = 1;            ///< replicas whose passes begin together, as they share experts; divides `replicas`
  int sequences = 1;           ///< of a replica at once
  std::int64_t tokens = 1;     ///< of a pass with prompts, at most
  std::int64_t cache = 0;      ///< tokens that a replica's cache holds; 0: no limit
  double reserved = 1;         ///< part of its output that a request is admitted with room for
  std::int64_t width = 1;      ///< tokens of a sequence that a decode pass computes; more with speculation
  double tokens_per_step = 1;  ///< of those that hold
  PromptPolicy prompts;
  PassSeconds seconds;
};

/// s from the beginning of the load.
struct ServedRequest {
  double arrival = 0, first_token = 0, end = 0;
  std::int64_t output = 1;
  double wait() const { return first_token - arrival; }
  /// Mean time between tokens; 0: there is one token alone.
  double between() const { return output > 1 ? (end - first_token) / static_cast<double>(output - 1) : 0; }
};
struct Served {
  std::vector<ServedRequest> requests;  ///< as in the load
  double longest_gap = 0;               ///< s between two tokens of a request
  double median_gap = 0;                ///< s, over all tokens but first ones
  double seconds = 0;                   ///< until the last token
  double sequences = 0;                 ///< that were decoded at once, mean over time and replicas
};

/// Prompts and decoding on the same GPUs.
Served serve(const ServingLoad& load, const Frontend& frontend, const ServingPool& pool);

/// The cache of a prompt on its way to the GPUs that decode.
struct CacheTransfer {
  double seconds = 0;  ///< of a request; a sender has one at a time
  double exposed = 0;  ///< s after the prompt's pass
};
/// Prompts on GPUs of their own. The first token is there when the cache is and its replica has a place.
Served serve_apart(const ServingLoad& load, const Frontend& frontend, const ServingPool& prompts,
                   const CacheTransfer& transfer, const ServingPool& decoding);

}  // namespace fabricast
