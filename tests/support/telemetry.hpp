// Telemetry for tests: recorded samples, files in memory, and made-up jobs whose truth is known.
#pragma once

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "fabricast/calibrate/live.hpp"

namespace fabricast {

/// A file that is held in memory.
/// Copies of a source share its text, so that tests of speed measure reading.
inline LiveSource text_source(std::string name, std::string text) {
  return {std::move(name), [text = std::make_shared<const std::string>(std::move(text))](std::uint64_t offset, char* to,
                                                                                         std::size_t size) {
            if (offset >= text->size()) return std::size_t{0};
            const std::size_t count = std::min<std::size_t>(size, text->size() - offset);
            std::memcpy(to, text->data() + offset, count);
            return count;
          }};
}

inline std::string telemetry_path(const std::string& file) {
  return std::string(FABRICAST_SOURCE_DIR) + "/tests/data/telemetry/" + file;
}

inline std::string telemetry_text(const std::string& file) {
  std::ifstream in(telemetry_path(file), std::ios::binary);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The recorded files, as one job.
inline Imported read_samples(const std::vector<std::string>& files) {
  std::vector<LiveSource> sources;
  for (const std::string& file : files) sources.push_back(live_file(telemetry_path(file)));
  const auto format = live_format_of(telemetry_text(files.at(0)));
  REQUIRE(format);
  return import_job(*format, sources);
}

/// A line of NCCL Inspector.
struct InspectorCall {
  std::string id = "0xa1";
  int rank = 0, ranks = 4, nodes = 1;
  std::string operation = "AllReduce";
  std::int64_t sequence = 0, bytes = 1 << 20, time_us = 100, when = 1'700'000'000'000'000;
  double bandwidth = -1;  ///< GB/s; -1: that of size and time
  std::string timing = "kernel_gpu";
};

inline std::string inspector_line(const InspectorCall& c) {
  const bool shares = c.operation == "AllGather" || c.operation == "ReduceScatter";
  const double traffic = static_cast<double>(c.bytes) * (shares ? c.ranks : 1);
  const double bandwidth = c.bandwidth >= 0 ? c.bandwidth : c.time_us == 0 ? 0 : traffic * 1e-3 / double(c.time_us);
  return fmt::format(
      R"({{"header":{{"id":"{}","rank":{},"n_ranks":{},"nnodes":{}}},"metadata":{{"inspector_output_format_version":"v4.0",)"
      R"("git_rev":"v2.28.9-1","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":{},"hostname":"node{}",)"
      R"("pid":{}}},"coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},"coll_exec_time_us":{},)"
      R"("coll_timing_source":"{}","coll_algobw_gbs":{:.6f},"coll_busbw_gbs":{:.6f}}}}})"
      "\n",
      c.id, c.rank, c.ranks, c.nodes, c.when, c.rank * c.nodes / c.ranks, 1000 + c.rank, c.operation, c.sequence,
      c.bytes, c.time_us, c.timing, bandwidth, bandwidth);
}

inline const LogTable* find_table(const Imported& in, const std::string& operation, int ranks, bool scattered = false) {
  for (const LogTable& t : in.tables)
    if (t.operation == operation && t.ranks == ranks && t.scattered == scattered) return &t;
  return nullptr;
}

inline const LogRow* find_row(const LogTable* table, std::int64_t bytes) {
  if (!table) return nullptr;
  for (const LogRow& r : table->rows)
    if (r.bytes == bytes) return &r;
  return nullptr;
}

inline bool has_problem(const Imported& in, const std::string& text) {
  return std::any_of(in.problems.begin(), in.problems.end(),
                     [&](const Problem& p) { return p.message.find(text) != std::string::npos; });
}

}  // namespace fabricast
