// Bytes as the trace of a rank: the importer must end in a program or in messages, and must not crash, leak or run into
// undefined behaviour. The first byte says how many ranks share it, and whether they are folded; the rest is the file.
//
//   cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DFABRICAST_FUZZ=ON
//   ninja -C build-fuzz fuzz_trace && build-fuzz/fuzz_trace CORPUS tests/fuzz/trace
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabricast/core/error.hpp"
#include "sim/trace/calls.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// What the simulation counts on.
void check(const fabricast::Program& program, std::int64_t ranks) {
  require(fabricast::ranks_of(program) == ranks);
  for (std::uint32_t i = 0; i < program.activities.size(); ++i) {
    const fabricast::Activity& a = program.activities[i];
    for (const std::uint32_t d : program.dependencies_of(i)) require(d < i);
    require(!program.places_of(i).empty() && a.label < program.labels.size() && a.seconds >= 0);
    for (const fabricast::Place& p : program.places_of(i))
      require(p.actor < program.actors.size() && p.stream < program.actors[p.actor].streams.size());
    require(!a.is_exchange() || a.exchange < program.exchanges.size());
  }
  for (const fabricast::ExchangeKind& kind : program.exchanges) {
    require(kind.bytes > 0 && kind.groups < program.groups.size());
    for (const auto& group : program.groups[kind.groups])
      for (const std::uint32_t r : group) require(r < ranks);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint32_t ranks = 1 + (data[0] & 7u);
  fabricast::TraceSpec spec;
  spec.fold = (data[0] & 8u) != 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    fabricast::trace::Job job;
    job.traces.push_back(fabricast::trace::decode("trace", bytes));
    job.trace_of.assign(ranks, 0);
    const auto time = [](double flops, double moved) { return 1e-12 * (flops + moved); };
    check(fabricast::trace::program_of(std::move(job), {}, spec, time), ranks);
  } catch (const fabricast::UserError& e) { require(!e.diagnostics().empty()); }
  try {
    fabricast::trace::parse_groups("groups", bytes);
  } catch (const fabricast::UserError& e) { require(!e.diagnostics().empty()); }
  return 0;
}
