// Symbolic proofs of the schedules.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "fabricast/collective/algorithm.hpp"
#include "support/reducing.hpp"

namespace fabricast {
namespace {

constexpr auto all_reduce = CollectiveOp::all_reduce;

using test::node_of;

void prove(const Planner& planner, CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) {
  const std::string fault = test::proof_of(planner, op, algorithm, protocol, bytes);
  if (fault == "cannot run") return;
  INFO(name_of(op) << " " << name_of(algorithm) << " " << name_of(protocol) << ", " << bytes << " B, "
                   << planner.comm.nodes() << " nodes of " << planner.comm.gpus());
  CHECK(fault == "right");
}

TEST_CASE("every schedule gives every rank every contribution once", "[collective]") {
  // A small buffer, so that small sizes take several loops as well.
  const test::Variables variables = {{"NCCL_BUFFSIZE", "4096"}};
  for (const int gpus : {1, 2, 3, 5, 8})
    for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 7U}) {
      if (gpus == 1 && nodes == 1) continue;
      const Planner planner = test::planner_of(node_of(gpus, gpus), nodes, variables);
      for (const CollectiveAlgorithm& algorithm : collective_algorithms())
        for (std::size_t op = 0; op < EnumNames<CollectiveOp>::names.size(); ++op) {
          if (!algorithm.supports(static_cast<CollectiveOp>(op))) continue;
          for (const std::int64_t bytes : {1L, 8L, 1000L, 65537L, 1000003L})
            prove(planner, static_cast<CollectiveOp>(op), algorithm.algorithm, Protocol::simple, bytes);
          if (algorithm.algorithm == Algorithm::p2p) continue;  // its plan picks the protocol
          for (const auto protocol : {Protocol::ll, Protocol::ll128})
            prove(planner, static_cast<CollectiveOp>(op), algorithm.algorithm, protocol, 1000003);
        }
    }
}

/// Algorithms whose pattern depends on the bits or factors of the number of ranks, or on the depth of a tree.
constexpr Algorithm by_count[] = {Algorithm::nvls,         Algorithm::nvlstree, Algorithm::collnetdirect,
                                  Algorithm::collnetchain, Algorithm::pat,      Algorithm::p2p};

TEST_CASE("schedules are correct for all numbers of ranks up to 65, for any number of ranks per node", "[collective]") {
  const test::Variables variables = {{"NCCL_MAX_NCHANNELS", "2"}, {"NCCL_BUFFSIZE", "65536"}};
  std::map<Algorithm, std::set<std::int64_t>> proven;
  for (int n = 2; n <= 65; ++n)
    for (int gpus = 1; gpus <= n; ++gpus) {
      if (n % gpus != 0 || (gpus > 8 && gpus != n)) continue;
      const Planner planner =
          test::reducing_planner(node_of(gpus, gpus), static_cast<std::uint32_t>(n / gpus), variables);
      REQUIRE(planner.comm.sharp.available() == (gpus != n));
      for (const Algorithm algorithm : by_count)
        for (std::size_t o = 0; o < EnumNames<CollectiveOp>::names.size(); ++o) {
          const auto op = static_cast<CollectiveOp>(o);
          if (!find_by_algorithm(algorithm)->supports(op)) continue;
          for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{n}, n * 7919L + 5}) {
            const std::string fault = test::proof_of(planner, op, algorithm, Protocol::simple, bytes);
            if (fault == "cannot run") break;
            INFO(name_of(op) << " " << name_of(algorithm) << ", " << bytes << " B, " << n / gpus << " nodes of "
                             << gpus);
            CHECK(fault == "right");
            proven[algorithm].insert(n);
          }
        }
    }
  // Trees of heads and CollNetDirect take several nodes of several GPUs.
  std::set<std::int64_t> all, in_nodes;
  for (int n = 2; n <= 65; ++n) {
    all.insert(n);
    for (int gpus = 2; gpus <= 8 && gpus < n; ++gpus)
      if (n % gpus == 0) in_nodes.insert(n);
  }
  for (const Algorithm algorithm : by_count) {
    INFO(name_of(algorithm));
    const bool joins_nodes = algorithm == Algorithm::nvlstree || algorithm == Algorithm::collnetdirect;
    CHECK(proven[algorithm] == (joins_nodes ? in_nodes : all));
  }
}

TEST_CASE("schedules on nodes with fewer NICs than GPUs, and on meshes", "[collective]") {
  NodeSpec mesh = test::preset_spec("dgx-v100");
  mesh.intranode = Intranode::nvlink_mesh, mesh.gpus = 4, mesh.nics.count = 2;
  for (const NodeSpec& spec : {node_of(8, 4), node_of(8, 1), node_of(5, 2), mesh, test::node_spec("a100-pcie")})
    for (const std::uint32_t nodes : {1U, 2U, 5U}) {
      const Planner planner = test::planner_of(spec, nodes);
      for (const CollectiveAlgorithm& algorithm : collective_algorithms())
        for (const auto op : {CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_gather,
                              CollectiveOp::reduce_scatter, all_reduce})
          if (algorithm.supports(op)) prove(planner, op, algorithm.algorithm, Protocol::simple, 777777);
    }
}

TEST_CASE("schedules on many ranks", "[collective]") {
  const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), 13, {{"NCCL_MAX_NCHANNELS", "4"}});
  prove(planner, all_reduce, Algorithm::ring, Protocol::simple, 4000001);
  prove(planner, all_reduce, Algorithm::tree, Protocol::simple, 4000001);
  const Planner domain = test::planner_of(test::with_gpus(test::preset_spec("gb200-tray"), 72), 1);
  prove(domain, all_reduce, Algorithm::ring, Protocol::ll, 100001);
}

TEST_CASE("large buffers in several loops of full chunks", "[collective]") {
  const Planner planner = test::planner_of(node_of(2, 2), 2, {{"NCCL_MAX_NCHANNELS", "2"}});
  for (const auto op : {all_reduce, CollectiveOp::all_gather, CollectiveOp::broadcast})
    prove(planner, op, Algorithm::ring, Protocol::simple, (std::int64_t{1} << 30) + 12345);
  prove(planner, all_reduce, Algorithm::tree, Protocol::ll128, (std::int64_t{1} << 28) + 77);
}

}  // namespace
}  // namespace fabricast
