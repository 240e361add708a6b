// Loads a tuner plugin and asks it as NCCL does, for each version of the interface.
//
// The tables of functions are read as words: word 0 is the name, 1 init, 2 getCollInfo, 3 destroy or finalize, 4
// getChunkSize in version 6. The types of the functions are those of NCCL's documentation of the plugin. Nothing is
// shared with sim/plugin, so that an error there shows.
//
// The log is one for the process; it may be written by several threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fabricast::test {

/// NCCL's cost table in us, by algorithm and protocol in its order; -1: not allowed.
using CostTable = std::array<std::array<float, 3>, 7>;

/// Costs of 100, 101, ... us: all allowed, ring/ll (103) and so on.
CostTable all_allowed();

/// What a plugin said about a call.
struct PluginAnswer {
  int result = 0;
  CostTable costs{};                  ///< after the call; unchanged by version 2
  int algorithm = -1, protocol = -1;  ///< those with cost 0, or version 2's answer; -1: NCCL's choice
  int channels = 0;                   ///< 0: NCCL's choice
};

/// A call. The size is NCCL's: the larger of what is sent and received.
struct TunerCall {
  int function = 4;  ///< broadcast, reduce, all_gather, reduce_scatter, all_reduce
  std::size_t bytes = 0;
  int pipelined = 1;
  bool registered = false;
  int algorithms = 7;  ///< rows of the table that NCCL has
};

/// What the plugin wrote to NCCL's log since the last call.
std::vector<std::string> take_log();

/// One communicator and its tuner.
class TunerOf {
 public:
  /// \param library handle of dlopen
  TunerOf(void* library, int version) : TunerOf(at(symbol(library, version), version)) {}
  /// \param words the table of functions
  static TunerOf at(const void* words, int version) {
    return TunerOf(std::in_place, static_cast<void* const*>(words), version);
  }

  /// The address of ncclTunerPlugin_v<version>, or null.
  static const void* symbol(void* library, int version);

  std::string name() const { return static_cast<const char*>(words_[0]); }
  const void* word(std::size_t i) const { return words_[i]; }
  /// \param log a function as NCCL's log; null: that of take_log
  int init(std::size_t nodes, std::size_t ranks, void* log = nullptr);
  PluginAnswer ask(const TunerCall& call, const CostTable& costs = all_allowed()) const;
  int end();
  void* context() const { return context_; }

 private:
  TunerOf(std::in_place_t, void* const* words, int version) : words_(words), version_(version) {}

  void* const* words_;
  int version_;
  void* context_ = nullptr;
};

}  // namespace fabricast::test
