// Traffic of a large step: the time to time its collectives alone, and then hundreds of sets of them together.
//
//   bench_traffic [NODES PIPELINE DATA]       of 8 H100, tensor 8; default 2048 16 128
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "support/collectives.hpp"
#include "support/worlds.hpp"

namespace {

using namespace fabricast;
using namespace fabricast::test;

/// Of a stage: tensor groups inside the nodes, data groups over them, activations to the next stage and back.
Program step_of(std::uint32_t pipeline, std::uint32_t data) {
  Collectives x;
  const std::uint32_t stage = 8 * data;
  for (std::uint32_t s = 0; s < pipeline; ++s) {
    x.add(CollectiveOp::all_gather, 32 << 20, groups_of_ranks(s * stage, stage, 8, 1), Part::tensor);
    const auto groups = static_cast<std::uint32_t>(x.program.groups.size() - 1);
    x.again(CollectiveOp::reduce_scatter, 32 << 20, groups, Part::tensor);
    x.add(CollectiveOp::reduce_scatter, 512 << 20, groups_of_ranks(s * stage, stage, data, 8), Part::data);
    x.again(CollectiveOp::all_gather, 256 << 20, static_cast<std::uint32_t>(x.program.groups.size() - 1), Part::data);
    if (s + 1 == pipeline) break;
    x.add(CollectiveOp::sendrecv, 4 << 20, pairs_of_ranks(s * stage, stage, stage), Part::pipeline);
    RankGroups back = x.program.groups.back();
    for (auto& pair : back) std::swap(pair[0], pair[1]);
    x.add(CollectiveOp::sendrecv, 4 << 20, back, Part::pipeline);
  }
  return x.program;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint32_t otherwise) {
    return argc > i ? static_cast<std::uint32_t>(std::atoi(argv[i])) : otherwise;
  };
  const std::uint32_t nodes = number(1, 2048), pipeline = number(2, 16), data = number(3, 128);
  const auto world =
      world_of(fmt::format("node: {{gpu: h100-sxm}}\ncluster: {{nodes: {}}}\n"
                           "fabric: {{kind: rail_optimized, oversubscription: 2}}\n"
                           "routing: {{kind: ecmp}}\n"
                           "workload: {{kind: collective, collective: all_reduce}}\n",
                           nodes));
  const Program program = step_of(pipeline, data);
  auto begin = std::chrono::steady_clock::now();
  const auto traffic = make_flow_traffic(world, program, 1);
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) traffic->alone(k);
  fmt::print("{} GPUs: {} collectives alone  {:.3f} s\n", 8 * nodes, program.collectives.size(), seconds_since(begin));
  begin = std::chrono::steady_clock::now();
  // Stages are at different places of the step: every set is new.
  constexpr std::uint32_t sets = 400;
  double least = 1;
  for (std::uint32_t i = 0; i < sets; ++i) {
    std::vector<std::uint32_t> kinds;
    for (std::uint32_t k = 0; k < program.collectives.size(); ++k)
      if ((k * 2654435761U + i * 40503U) >> 13 & 1) kinds.push_back(k);
    for (const double pace : paces(*traffic, kinds)) least = std::min(least, pace);
  }
  fmt::print("{} sets together    {:.3f} s, least pace {:.3f}\n", sets, seconds_since(begin), least);
  begin = std::chrono::steady_clock::now();
  std::uint32_t independent = 0;
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) independent += traffic->is_independent(k);
  fmt::print("{} independent    {:.3f} s\n", independent, seconds_since(begin));
}
