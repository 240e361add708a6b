// Engines that are kept between forecasts of one world.
//
// An engine keeps what it has counted: connections on links do not depend on the size of a message. A caller that asks
// for one size after another (a notebook, a server) would count them anew for each. So a world may keep its engines;
// each forecast borrows one and gives it back. Results do not depend on what an engine has run before.
//
// Bounded: a pool keeps at most `kept_engines`, and only of communicators of at most `kept_ranks`, whose counts are
// small. An engine that is given back while an exception is thrown is dropped.
//
// Safe to use from several threads: an engine has one borrower at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "fabricast/engine/engine.hpp"

namespace fabricast {

/// Most idle engines of a pool. If another one comes back, the one that has waited longest is dropped.
inline constexpr std::size_t kept_engines = 8;
/// Largest communicator whose engines a pool takes back. Those of larger ones are dropped after use.
inline constexpr std::int64_t kept_ranks = 4096;

class EnginePool;

/// A borrowed engine, or one that belongs to the borrower alone. Destruction gives it back. Use a lease from one
/// thread. A moved-from lease may only be destroyed.
class EngineLease {
 public:
  /// An engine with the setup that it refers to. It is not moved in memory, because the engine keeps the reference.
  struct Engine {
    NetworkSetup setup;
    std::uint64_t seed = 0;  ///< of the sample of the network that the engine simulates
    std::unique_ptr<NetworkEngine> engine;
  };
  /// \param pool  gets the engine back; null: nobody does
  EngineLease(std::unique_ptr<Engine> engine, std::shared_ptr<EnginePool> pool);
  EngineLease(EngineLease&&) noexcept;
  EngineLease& operator=(EngineLease&&) = delete;
  /// Gives the engine back, or drops it if an exception is what ends the lease: an interrupted engine may have counted
  /// half of something.
  ~EngineLease();

  /// The engine itself, valid as long as the lease.
  NetworkEngine* operator->() const { return engine_->engine.get(); }

 private:
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<EnginePool> pool_;
  int exceptions_ = 0;  ///< in flight when it was borrowed
};

/// An engine that nobody else will use; it is destroyed with the lease. \throws what make_engine throws
EngineLease lone_engine(EngineKind kind, NetworkSetup setup, std::uint64_t seed);

/// The idle engines of one world. Leases keep the pool alive, so it may be dropped while engines are on loan.
class EnginePool {
 public:
  /// An engine of the sample `seed`, kept or new. Engines of the chunk kind are never kept: they have nothing to reuse.
  /// A new engine is built outside the lock, so two threads may build one each for the same sample.
  /// \pre every call for one pool has the same kind and setup  \throws what make_engine throws
  static EngineLease take(const std::shared_ptr<EnginePool>& pool, EngineKind kind, const NetworkSetup& setup,
                          std::uint64_t seed);

 private:
  friend class EngineLease;
  void give_back(std::unique_ptr<EngineLease::Engine> engine);

  std::mutex mutex_;
  std::vector<std::unique_ptr<EngineLease::Engine>> idle_;
};

}  // namespace fabricast
