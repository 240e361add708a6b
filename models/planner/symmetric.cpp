// Kernels on symmetric memory: NCCL's estimate of each kernel's time, and the plan of the fastest by this estimate
// [NCCL-symmetric]. The header has the equations. The forecast uses the same estimate, with the links of the node as a
// lower bound (models/collective/symmetric.cpp): there are no channels and slots that an engine could follow.
#include "fabricast/planner/symmetric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan_parts.hpp"

namespace fabricast {

namespace {

using Kernel = SymmetricKernel;

bool is_ll(Kernel k) {
  return k == Kernel::all_reduce_ll || k == Kernel::all_reduce_llmc || k == Kernel::all_gather_ll ||
         k == Kernel::all_gather_llmc || k == Kernel::reduce_scatter_ll;
}
/// Whether the NVSwitch reduces or multicasts.
bool in_nvswitch(Kernel k) {
  return k == Kernel::all_reduce_llmc || k == Kernel::all_reduce_ldmc_stmc || k == Kernel::all_gather_llmc ||
         k == Kernel::all_gather_stmc || k == Kernel::reduce_scatter_ldmc;
}
CollectiveOp op_of(Kernel k) {
  return k <= Kernel::all_reduce_ldmc_stmc ? CollectiveOp::all_reduce
         : k <= Kernel::all_gather_stmc    ? CollectiveOp::all_gather
                                           : CollectiveOp::reduce_scatter;
}

// A thread block costs 2.5 % of the estimate when kernels are compared, and may cost 2.5 % of time when the blocks of
// one kernel are reduced: this leaves SMs for computation.
constexpr int most_blocks = 64;
constexpr double block_penalty = 0.025, tolerance = 1.025;
// LL kernels count bytes with 32 bits, the others chunks of 32 B.
constexpr std::int64_t most_ll_bytes = std::int64_t{2} << 30, most_bytes = 32 * most_ll_bytes;

// Smooth minimum of x and the ceiling; `softness` is the width of the transition. log1p and expm1 keep small arguments
// exact.
double softmin(double x, double ceiling, double softness) {
  return ceiling - softness * std::log1p(std::expm1(ceiling / softness) * std::exp(-x / softness));
}
// Smooth maximum of x and 0. For large x the two agree in double precision, and exp would overflow.
double softplus(double x) { return x >= 100 ? x : std::log1p(std::exp(x)); }

/// Bytes on a GPU's links, and the factor on the rate of a thread block.
struct Work {
  double bytes = 0, multiplier = 1;
};
Work work_of(Kernel kernel, double n, double bytes) {
  constexpr double ll_factor = 9;  // twice the bytes, flags, and loops that are not unrolled
  constexpr double llmc_gain = 1.1, mc_gain = 0.55;
  switch (kernel) {
    case Kernel::all_reduce_ll:
    case Kernel::all_gather_ll:
    case Kernel::reduce_scatter_ll: return {n * bytes * ll_factor};
    case Kernel::all_reduce_llmc:
    case Kernel::all_gather_llmc: return {n * bytes * ll_factor, llmc_gain};
    case Kernel::all_reduce_ld_st: return {2 * bytes * (n - 1) / n};
    // Each rank loads its 1/n once through the switch, which reduces all n contributions, and stores the result once,
    // which the switch multicasts. A block's rate counts n times, because one load stands for n.
    case Kernel::all_reduce_ldmc_stmc: return {bytes / n + bytes, n};
    case Kernel::all_gather_st:
    case Kernel::reduce_scatter_ld: return {(n - 1) * bytes};
    case Kernel::all_gather_stmc:
    case Kernel::reduce_scatter_ldmc: return {(n - 1) * bytes, mc_gain * n};
  }
  return {};
}

/// Parameters of the estimate in us and bytes per us.
struct Speed {
  double base, block_rate, peak;
};
// NCCL's fit for two generations: all GPUs before Blackwell, and Blackwell. Rates are given in GiB/s, as in NCCL's
// source.
Speed speed_of(Kernel kernel, int capability) {
  constexpr double gib_per_second = 1073.741824;
  const CollectiveOp op = op_of(kernel);
  const bool reduce_all = op == CollectiveOp::all_reduce, both_in_nvswitch = kernel == Kernel::all_reduce_ldmc_stmc;
  Speed s{};
  if (capability < 100) {
    s = {is_ll(kernel) ? 4.5 : 7.8, reduce_all ? 65.0 : 44.0, both_in_nvswitch ? 480.0 : 320.0};
  } else {
    const double ll = op == CollectiveOp::all_gather ? 8.5 : 11;
    s = {is_ll(kernel) ? ll : reduce_all ? 19.5 : 13, 55, both_in_nvswitch ? 1000.0 : 600.0};
  }
  s.block_rate *= gib_per_second;
  s.peak *= gib_per_second;
  return s;
}

// Reduction and multicast in the NVSwitch need NVLS, and by NCCL's rule at least three ranks.
bool can_multicast(const Planner& planner) { return planner.graphs.nvls.channels > 0 && planner.comm.ranks() > 2; }

std::vector<Kernel> usable_kernels(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  std::vector<Kernel> list;
  for (std::size_t i = 0; i < EnumNames<Kernel>::names.size(); ++i) {
    const auto kernel = static_cast<Kernel>(i);
    const auto& wanted = planner.settings.symmetric_kernel;
    if (op_of(kernel) != op || (wanted && *wanted != EnumNames<Kernel>::names[i])) continue;
    if (in_nvswitch(kernel) && !can_multicast(planner)) continue;
    if (bytes >= (is_ll(kernel) ? most_ll_bytes : most_bytes)) continue;
    list.push_back(kernel);
  }
  return list;
}

}  // namespace

SymmetricRun estimate_symmetric(Kernel kernel, int capability, std::int64_t ranks, std::int64_t bytes, int blocks) {
  const auto n = static_cast<double>(ranks);
  const Work work = work_of(kernel, n, static_cast<double>(bytes));
  const Speed speed = speed_of(kernel, capability);
  const auto time = [&](int b, double bus) {
    return speed.base +
           softplus(bus / softmin(b * speed.block_rate * work.multiplier, speed.peak, speed.block_rate) - 1);
  };
  // LLMC also uses the NVSwitch, but its number of blocks is not limited.
  const bool few = in_nvswitch(kernel) && !is_ll(kernel);
  const int most = blocks > 0 ? blocks
                   : few      ? static_cast<int>(ceil_div(capability < 100 ? 16 : 32, ranks))
                              : most_blocks;
  // The estimate without bytes is returned as well, as the latency of the forecast.
  int used = blocks > 0 ? blocks : 1;
  while (used < most && time(used, work.bytes) > tolerance * time(most, work.bytes)) ++used;
  return {kernel, used, time(used, work.bytes), time(used, 0)};
}

std::string without_symmetric(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  const Communicator& comm = planner.comm;
  const NcclSettings& settings = planner.settings;
  if (comm.version < symmetric_kernels_since)
    return fmt::format("NCCL {} has none; they need 2.27 or later", to_text(comm.version));
  if (op != CollectiveOp::all_reduce && op != CollectiveOp::all_gather && op != CollectiveOp::reduce_scatter)
    return fmt::format("there is none for {}", name_of(op));
  if (!settings.window_enable.value_or(true)) return "NCCL_WIN_ENABLE is 0";
  if (comm.nodes() > 1)
    return "the ranks are in several NVLink domains, and kernels over the network are not simulated";
  if (!comm.node.all_nvlink) return "NVLink does not connect all GPUs";
  if (bytes >= most_bytes) return "they do not support buffers of 64 GiB or more";
  if (usable_kernels(planner, op, bytes).empty()) return fmt::format("NCCL_SYM_KERNEL leaves none for {}", name_of(op));
  return {};
}

Plan plan_symmetric(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  const Communicator& comm = planner.comm;
  Plan plan;
  plan.op = op;
  plan.bytes = bytes;
  plan.algorithm = Algorithm::symmetric;
  plan.registered = true;
  // The estimator counts the contribution of one rank, nccl-tests the buffer of all ranks where ranks have different
  // data.
  const std::int64_t own = op == CollectiveOp::all_reduce ? bytes : bytes / comm.ranks();
  const int capability = comm.node.gpu.compute_capability;
  for (const Kernel kernel : usable_kernels(planner, op, bytes))
    plan.kernels.push_back(
        estimate_symmetric(kernel, capability, comm.ranks(), own, planner.settings.symmetric_blocks.value_or(0)));
  // A stable sort, so that ties keep the order of kernels in NCCL's source.
  const auto weighted = [](const SymmetricRun& r) { return r.estimate_us * (1 + block_penalty * r.blocks); };
  std::stable_sort(plan.kernels.begin(), plan.kernels.end(),
                   [&](const SymmetricRun& a, const SymmetricRun& b) { return weighted(a) < weighted(b); });
  const SymmetricRun& run = plan.kernels.front();
  plan.protocol = is_ll(run.kernel) ? Protocol::ll : Protocol::simple;
  plan.channels = run.blocks;
  plan.threads = 512;
  plan.chunk = bytes;
  plan.shares = {bytes};
  plan.offsets = {0};
  return plan;
}

}  // namespace fabricast
