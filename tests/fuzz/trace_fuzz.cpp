// The trace of a rank: it ends in a program or in messages. The first byte says how many ranks share it, and whether they are
// folded; the rest is the file.
#include "reader.hpp"
#include "sim/trace/calls.hpp"

namespace fabricast::fuzz {

namespace {

/// What the simulation counts on.
void check(const Program& program, std::int64_t ranks) {
  require(ranks_of(program) == ranks);
  for (std::uint32_t i = 0; i < program.activities.size(); ++i) {
    const Activity& a = program.activities[i];
    for (const std::uint32_t d : program.dependencies_of(i)) require(d < i);
    require(!program.places_of(i).empty() && a.label < program.labels.size() && a.time.value >= 0);
    for (const Place& p : program.places_of(i))
      require(p.actor < program.actors.size() && p.stream < program.actors[p.actor].streams.size());
    require(!a.is_collective() || a.collective < program.collectives.size());
  }
  for (const CollectiveKind& kind : program.collectives) {
    require(kind.bytes > 0 && kind.groups < program.groups.size());
    for (const auto& group : program.groups[kind.groups])
      for (const std::uint32_t r : group) require(r < ranks);
  }
}

}  // namespace

void read_trace(std::string_view input) {
  if (input.empty()) return;
  const auto first = static_cast<unsigned char>(input.front());
  const std::uint32_t ranks = 1 + (first & 7u);
  TraceSpec spec;
  spec.fold = (first & 8u) != 0;
  const std::string_view bytes = input.substr(1);
  try {
    trace::Job job;
    job.traces.push_back(trace::decode("file", bytes));
    job.trace_of.assign(ranks, 0);
    const auto time = [](double flops, double moved) { return Seconds{1e-12 * (flops + moved)}; };
    check(trace::program_of(std::move(job), {}, spec, time), ranks);
  } catch (const UserError& e) { require_stated(e, bytes); }
  try {
    trace::parse_groups("file", bytes);
  } catch (const UserError& e) { require_stated(e, bytes); }
}

}  // namespace fabricast::fuzz
