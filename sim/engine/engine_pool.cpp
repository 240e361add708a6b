// Lends engines and takes them back (engine/engine_pool.hpp).
#include "fabricast/engine/engine_pool.hpp"

#include <algorithm>
#include <exception>

namespace fabricast {

EngineLease::EngineLease(std::unique_ptr<Engine> engine, std::shared_ptr<EnginePool> pool)
    : engine_(std::move(engine)), pool_(std::move(pool)), exceptions_(std::uncaught_exceptions()) {}

EngineLease::EngineLease(EngineLease&&) noexcept = default;

EngineLease::~EngineLease() {
  // An engine that was interrupted may have counted half of something.
  if (engine_ && pool_ && std::uncaught_exceptions() == exceptions_) pool_->give_back(std::move(engine_));
}

namespace {

std::unique_ptr<EngineLease::Engine> new_engine(EngineKind kind, NetworkSetup setup, std::uint64_t seed) {
  auto engine = std::make_unique<EngineLease::Engine>();
  engine->setup = std::move(setup);
  engine->seed = seed;
  engine->engine = make_engine(kind, engine->setup, seed);
  return engine;
}

}  // namespace

EngineLease lone_engine(EngineKind kind, NetworkSetup setup, std::uint64_t seed) {
  return {new_engine(kind, std::move(setup), seed), nullptr};
}

EngineLease EnginePool::take(const std::shared_ptr<EnginePool>& pool, EngineKind kind, const NetworkSetup& setup,
                             std::uint64_t seed) {
  {
    const std::scoped_lock lock(pool->mutex_);
    const auto it =
        std::find_if(pool->idle_.begin(), pool->idle_.end(), [&](const auto& e) { return e->seed == seed; });
    if (it != pool->idle_.end()) {
      std::unique_ptr<EngineLease::Engine> engine = std::move(*it);
      pool->idle_.erase(it);
      return {std::move(engine), pool};
    }
  }
  // The chunk engine keeps nothing that would help the next plan.
  const bool kept = kind != EngineKind::chunk && setup.comm->ranks() <= kept_ranks;
  return {new_engine(kind, setup, seed), kept ? pool : nullptr};
}

void EnginePool::give_back(std::unique_ptr<EngineLease::Engine> engine) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(engine));
  // The one that has waited longest goes first.
  if (idle_.size() > kept_engines) idle_.erase(idle_.begin());
}

}  // namespace fabricast
