// Names of operations and types, from the sources of NCCL (src/debug, the profiler plugins) and PyTorch
// (c10/core/ScalarType, ProcessGroupNCCL).
#include "names.hpp"

#include <array>
#include <utility>

namespace fabricast::live {

namespace {

template <class Value, std::size_t n>
std::optional<Value> lookup(const std::array<std::pair<std::string_view, Value>, n>& table, std::string_view name) {
  for (const auto& [word, value] : table)
    if (word == name) return value;
  return std::nullopt;
}

using Named = std::pair<std::string_view, CollectiveOp>;

constexpr std::array nccl_names = {Named{"AllReduce", CollectiveOp::all_reduce},
                                   Named{"AllGather", CollectiveOp::all_gather},
                                   Named{"ReduceScatter", CollectiveOp::reduce_scatter},
                                   Named{"Broadcast", CollectiveOp::broadcast},
                                   Named{"Reduce", CollectiveOp::reduce},
                                   Named{"AlltoAll", CollectiveOp::alltoall},
                                   Named{"AllToAll", CollectiveOp::alltoall},
                                   Named{"Scatter", CollectiveOp::scatter},
                                   Named{"Gather", CollectiveOp::gather}};

constexpr std::array torch_names = {Named{"allreduce", CollectiveOp::all_reduce},
                                    Named{"all_reduce", CollectiveOp::all_reduce},
                                    Named{"_allgather_base", CollectiveOp::all_gather},
                                    Named{"_all_gather_base", CollectiveOp::all_gather},
                                    Named{"all_gather", CollectiveOp::all_gather},
                                    Named{"allgather", CollectiveOp::all_gather},
                                    Named{"all_gather_into_tensor", CollectiveOp::all_gather},
                                    Named{"_reduce_scatter_base", CollectiveOp::reduce_scatter},
                                    Named{"reduce_scatter", CollectiveOp::reduce_scatter},
                                    Named{"reduce_scatter_tensor", CollectiveOp::reduce_scatter},
                                    Named{"all_to_all", CollectiveOp::alltoall},
                                    Named{"all_to_allv", CollectiveOp::alltoall},
                                    Named{"alltoall", CollectiveOp::alltoall},
                                    Named{"all_to_all_single", CollectiveOp::alltoall},
                                    Named{"broadcast", CollectiveOp::broadcast},
                                    Named{"reduce", CollectiveOp::reduce},
                                    Named{"scatter", CollectiveOp::scatter},
                                    Named{"gather", CollectiveOp::gather}};

using Sized = std::pair<std::string_view, int>;
constexpr std::array types = {Sized{"Float", 4},
                              Sized{"BFloat16", 2},
                              Sized{"Half", 2},
                              Sized{"Double", 8},
                              Sized{"Int", 4},
                              Sized{"Long", 8},
                              Sized{"Short", 2},
                              Sized{"Char", 1},
                              Sized{"Byte", 1},
                              Sized{"Bool", 1},
                              Sized{"Float8_e4m3fn", 1},
                              Sized{"Float8_e5m2", 1},
                              Sized{"Float8_e4m3fnuz", 1},
                              Sized{"Float8_e5m2fnuz", 1},
                              Sized{"UInt16", 2},
                              Sized{"UInt32", 4},
                              Sized{"UInt64", 8},
                              Sized{"ComplexFloat", 8},
                              Sized{"ComplexDouble", 16},
                              Sized{"ncclInt8", 1},
                              Sized{"ncclUint8", 1},
                              Sized{"ncclInt32", 4},
                              Sized{"ncclUint32", 4},
                              Sized{"ncclInt64", 8},
                              Sized{"ncclUint64", 8},
                              Sized{"ncclFloat16", 2},
                              Sized{"ncclFloat32", 4},
                              Sized{"ncclFloat64", 8},
                              Sized{"ncclBfloat16", 2},
                              Sized{"ncclFloat8e4m3", 1},
                              Sized{"ncclFloat8e5m2", 1}};

}  // namespace

std::string early_leave(CollectiveOp op) {
  return "a rank may leave a " + std::string(name_of(op)) +
         " before others have joined, so no rank records its full time";
}

std::optional<CollectiveOp> nccl_operation(std::string_view name) { return lookup(nccl_names, name); }
std::optional<CollectiveOp> torch_operation(std::string_view name) { return lookup(torch_names, name); }
int bytes_of_type(std::string_view name) { return lookup(types, name).value_or(0); }

}  // namespace fabricast::live
