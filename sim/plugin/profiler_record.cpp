// Bandwidths are those that Inspector writes: `size` is the count times the element, except for all_gather and
// reduce_scatter, whose size is that of all ranks.
#include "profiler_record.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "fabricast/collective/collective.hpp"

namespace fabricast::plugin {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, int>, 11> types = {{{"ncclInt8", 1},
                                                                     {"ncclInt32", 4},
                                                                     {"ncclUint32", 4},
                                                                     {"ncclInt64", 8},
                                                                     {"ncclUint64", 8},
                                                                     {"ncclFloat16", 2},
                                                                     {"ncclFloat32", 4},
                                                                     {"ncclFloat64", 8},
                                                                     {"ncclBfloat16", 2},
                                                                     {"ncclFloat8e4m3", 1},
                                                                     {"ncclFloat8e5m2", 1}}};

/// Bytes that count for bandwidth, in units of the message, and bus bandwidth over algorithm bandwidth.
struct Factors {
  double size = 1, bus = 1;
};

Factors factors_of(std::string_view function, int ranks) {
  if (function == "AllReduce") return {1, bus_factor(CollectiveOp::all_reduce, ranks)};
  if (function == "AllGather" || function == "ReduceScatter")
    return {static_cast<double>(ranks), bus_factor(CollectiveOp::all_gather, ranks)};
  return {};
}

}  // namespace

std::optional<int> element_bytes(const char* type) {
  for (const auto& [name, bytes] : types)
    if (type && name == type) return bytes;
  return {};
}

std::string record_line(const ProfiledProcess& process, const ProfiledCommunicator& communicator,
                        const ProfiledCall& call) {
  char id[19];
  std::snprintf(id, sizeof id, "0x%llx", static_cast<unsigned long long>(communicator.id));
  Json header = {{"id", id}};
  if (!communicator.name.empty()) header["comm_name"] = communicator.name;
  header["rank"] = communicator.rank;
  header["n_ranks"] = communicator.ranks;
  header["nnodes"] = communicator.nodes;
  const double ns = static_cast<double>(call.gpu_stop - call.gpu_start);
  const double bytes = static_cast<double>(call.count) * call.element;
  const Factors factors = factors_of(call.function, communicator.ranks);
  const double rate = ns > 0 ? factors.size * bytes / ns : 0;  // B/ns is GB/s
  const Json line = {
      {"header", std::move(header)},
      {"metadata",
       {{"inspector_output_format_version", "v4.0"},
        {"git_rev", "fabricast " FABRICAST_VERSION},
        {"rec_mechanism", "nccl_profiler_interface"},
        {"dump_timestamp_us", call.stopped_us},
        {"hostname", process.host},
        {"pid", process.pid}}},
      {"coll_perf",
       {{"coll", call.function},
        {"coll_sn", call.sequence},
        {"coll_msg_size_bytes", call.count * static_cast<std::uint64_t>(call.element)},
        {"coll_exec_time_us", ns * 1e-3},
        {"coll_timing_source", "kernel_gpu"},
        {"coll_algobw_gbs", rate},
        {"coll_busbw_gbs", rate * factors.bus},
        {"coll_algo", call.algorithm},
        {"coll_proto", call.protocol},
        {"coll_channels", call.channels},
        {"event_trace_ts",
         {{"coll_start_ts", call.launched_us},
          {"kernel_events", {{{"kernel_start_ts", call.started_us}, {"kernel_stop_ts", call.stopped_us}}}}}}}}};
  // A program may name its communicator in any encoding.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fabricast::plugin
