// Bandwidths are those that Inspector writes: `size` is the count times the element, except for all_gather and
// reduce_scatter, whose size is that of all ranks.
#include "profiler_record.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fabricast/collective/collective.hpp"

namespace fabricast::plugin {

namespace {

using Json = nlohmann::json;

/// A line of JSON, piece by piece: a tree of values takes ten times as long as its text.
class Line {
 public:
  Line() { line_.reserve(768); }
  Line& text(std::string_view text) {
    line_ += text;
    return *this;
  }
  /// A program may name its communicator in any encoding.
  void word(std::string_view word) { line_ += Json(word).dump(-1, ' ', false, Json::error_handler_t::replace); }
  template <class Number>
  void number(Number number) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    const std::string_view written(digits, static_cast<std::size_t>(end - digits));
    line_ += written;
    // A number that may have a fraction keeps its type for those who read it.
    if (std::is_floating_point_v<Number> && written.find_first_of(".e") == std::string_view::npos) line_ += ".0";
  }
  std::string take() { return std::move(line_); }

 private:
  std::string line_;
};

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
  const double ns = static_cast<double>(call.gpu_stop - call.gpu_start);
  const double bytes = static_cast<double>(call.count) * call.element;
  const Factors factors = factors_of(call.function, communicator.ranks);
  const double rate = ns > 0 ? factors.size * bytes / ns : 0;  // B/ns is GB/s
  Line line;
  line.text("{\"header\":{\"id\":").word(id);
  if (!communicator.name.empty()) line.text(",\"comm_name\":").word(communicator.name);
  line.text(",\"rank\":").number(communicator.rank);
  line.text(",\"n_ranks\":").number(communicator.ranks);
  line.text(",\"nnodes\":").number(communicator.nodes);
  line.text("},\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"fabricast " FABRICAST_VERSION
            "\",\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":");
  line.number(call.stopped_us);
  line.text(",\"hostname\":").word(process.host);
  line.text(",\"pid\":").number(process.pid);
  line.text("},\"coll_perf\":{\"coll\":").word(call.function);
  line.text(",\"coll_sn\":").number(call.sequence);
  line.text(",\"coll_msg_size_bytes\":").number(call.count * static_cast<std::uint64_t>(call.element));
  line.text(",\"coll_exec_time_us\":").number(ns * 1e-3);
  line.text(",\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":").number(rate);
  line.text(",\"coll_busbw_gbs\":").number(rate * factors.bus);
  line.text(",\"coll_algo\":").word(call.algorithm);
  line.text(",\"coll_proto\":").word(call.protocol);
  line.text(",\"coll_channels\":").number(call.channels);
  line.text(",\"event_trace_ts\":{\"coll_start_ts\":").number(call.launched_us);
  line.text(",\"kernel_events\":[{\"kernel_start_ts\":").number(call.started_us);
  line.text(",\"kernel_stop_ts\":").number(call.stopped_us);
  line.text("}]}}}\n");
  return line.take();
}

}  // namespace fabricast::plugin
