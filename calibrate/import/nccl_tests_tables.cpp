// Collects rows of nccl-tests into tables and checks that they are consistent [nccl-tests-performance]:
//
//   algbw = bytes / time                            each row
//   busbw = algbw x factor(operation, ranks)        the whole table
//
// The second check catches a header that belongs to another run, and identifies the test where no line names it. All
// comparisons are of intervals, because printed numbers are rounded.
#include "nccl_tests_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "fabricast/collective/collective.hpp"

namespace fabricast {

namespace {

/// Which columns the rows of a test fill in [nccl-tests-performance].
struct TestLook {
  std::string_view test;
  CollectiveOp op;
  bool reduces, rooted;  ///< whether it prints an operator; whether it prints a root
};
constexpr std::array looks = {
    TestLook{"all_reduce", CollectiveOp::all_reduce, true, false},
    TestLook{"reduce_scatter", CollectiveOp::reduce_scatter, true, false},
    TestLook{"sendrecv", CollectiveOp::sendrecv, true, false},
    TestLook{"reduce", CollectiveOp::reduce, true, true},
    TestLook{"broadcast", CollectiveOp::broadcast, false, true},
    TestLook{"scatter", CollectiveOp::scatter, false, true},
    TestLook{"gather", CollectiveOp::gather, false, true},
    TestLook{"all_gather", CollectiveOp::all_gather, false, false},
    TestLook{"alltoall", CollectiveOp::alltoall, false, false},
};

/// Rounding of printed digits is known exactly. The slack is for tools that compute in single precision.
constexpr double slack = 1e-6;

/// What is wrong with a timing of a message of `bytes`. Empty if it is consistent.
std::string fault_of(const TestTiming& t, std::int64_t bytes) {
  if (!(t.time.value > 0)) return fmt::format("the time {:g} is not above 0", t.time.value);
  if (t.algbw.value < 0 || t.busbw.value < 0) return "a bandwidth is negative";
  const double moved = static_cast<double>(bytes) * 1e-3;  // over us: GB/s
  // Bounds of the bandwidth, given the rounding of the time. A time that rounds to 0 allows any bandwidth.
  const double low = moved / t.time.high() * (1 - slack);
  const double high = t.time.low() > 0 ? moved / t.time.low() * (1 + slack) : std::numeric_limits<double>::infinity();
  if (t.algbw.high() < low || t.algbw.low() > high)
    return fmt::format("{} bytes in {:g} us are {:.4g} GB/s, not {:g}", bytes, t.time.value, moved / t.time.value,
                       t.algbw.value);
  return {};
}

bool fits(const std::pair<double, double>& ratio, double factor) {
  return ratio.first <= factor * (1 + slack) && factor * (1 - slack) <= ratio.second;
}

/// Versions without the column print no operator; -1 is "no root".
bool looks_like(const TestLook& look, const std::string& redop, const std::string& root) {
  return look.reduces == (!redop.empty() && redop != "none") && (root.empty() || look.rooted == (root != "-1"));
}

std::string detail_of(const LogTable& table, const char* key) {
  const auto found = table.details.find(key);
  return found == table.details.end() ? std::string() : found->second;
}

/// The range of busbw / algbw that all rows allow; null if they contradict each other or state none.
std::optional<std::pair<double, double>> common_ratio(const LogTable& table) {
  std::pair<double, double> common{0, std::numeric_limits<double>::infinity()};
  for (const LogRow& row : table.rows) {
    if (!row.bus_ratio) continue;
    common.first = std::max(common.first, row.bus_ratio->first);
    common.second = std::min(common.second, row.bus_ratio->second);
  }
  const bool known = std::isfinite(common.second) && common.first <= common.second;
  return known ? std::optional(common) : std::nullopt;
}

}  // namespace

void TestDevices::add(int rank, std::optional<int> of_group, const std::string& host, const std::string& gpu) {
  // Groups of ranks run the same test independently (NCCL_TESTS_SPLIT); a row is that of one group.
  if (ranks.empty()) group = of_group;
  if (group != of_group) return;
  ranks.insert(rank);
  if (!host.empty()) hosts.insert(host);
  if (!gpu.empty()) gpus.insert(gpu);
}

bool figures_fit(const LogTable& table, CollectiveOp op, std::int64_t ranks) {
  if (table.tool != "nccl_tests") return true;
  const auto look = std::find_if(looks.begin(), looks.end(), [&](const TestLook& l) { return l.op == op; });
  // A stated operation is not asked for its columns again.
  if (table.operation.empty() && look != looks.end() &&
      !looks_like(*look, detail_of(table, "redop"), detail_of(table, "root")))
    return false;
  std::size_t fit = 0, stated = 0;
  for (const LogRow& row : table.rows) {
    if (!row.bus_ratio) continue;
    ++stated;
    if (fits(*row.bus_ratio, bus_factor(op, ranks))) ++fit;
  }
  return 2 * fit >= stated;
}

std::int64_t ranks_of_figures(const LogTable& table, CollectiveOp op) {
  const auto ratio = common_ratio(table);
  // Operations whose factor is 1 on any number of ranks.
  if (!ratio || bus_factor(op, 2) == bus_factor(op, 3)) return 0;
  // f = m (n - 1) / n  gives  n = m / (m - f), with m = 2 for all_reduce and 1 for others.
  const double most = 2 * bus_factor(op, 2);
  if (ratio->first >= most) return 0;
  const double least_ranks = most / (most - ratio->first * (1 - slack));
  const double most_ranks = ratio->second * (1 + slack) < most ? most / (most - ratio->second * (1 + slack)) : HUGE_VAL;
  const double ranks = std::ceil(least_ranks);
  const bool one = ranks >= 2 && ranks <= most_ranks && ranks + 1 > most_ranks;
  return one ? static_cast<std::int64_t>(ranks) : 0;
}

std::string figures_text(const LogTable& table) {
  std::vector<std::string> figures;
  for (const char* key : {"redop", "root"})
    if (const std::string value = detail_of(table, key); !value.empty()) figures.push_back(key + (" " + value));
  if (const auto ratio = common_ratio(table))
    figures.push_back(fmt::format("busbw / algbw {:.4g}", (ratio->first + ratio->second) / 2));
  return fmt::format("{}", fmt::join(figures, ", "));
}

std::string operation_of_test(std::string_view program) {
  if (const std::size_t slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  for (const std::string_view end : {"_perf", "_perf_mpi"})
    if (program.ends_with(end)) {
      program.remove_suffix(end.size());
      break;
    }
  // `hypercube` is a test of nccl-tests without a collective of its own.
  const bool known = std::any_of(looks.begin(), looks.end(), [&](const TestLook& l) { return l.test == program; });
  return known || program == "hypercube" ? std::string(program) : std::string();
}

std::optional<TestTiming> timing_of(std::string_view time, std::string_view algbw, std::string_view busbw,
                                    std::string_view wrong) {
  const auto t = printed_number(time), a = printed_number(algbw), b = printed_number(busbw);
  // Results that were not checked count as 0 wrong ones.
  const auto w = wrong == "N/A" ? std::optional<Printed>(Printed{}) : printed_number(wrong);
  if (!t || !a || !b || !w || w->value < 0 || w->value > 9e18) return std::nullopt;
  return TestTiming{*t, *a, *b, static_cast<std::int64_t>(w->value)};
}

void TestTables::start_run() {
  close();
  run_ = {};
  run_has_rows_ = false;
}

void TestTables::open(const TestRow& row) {
  LogTable t;
  t.tool = "nccl_tests";
  t.line = row.line;
  t.cpu_time = row.kind.cpu_time;
  t.operation = run_.operation.empty() ? run_.command : run_.operation;
  t.ranks = static_cast<int>(run_.devices.ranks.size());
  t.nodes = static_cast<int>(run_.devices.hosts.size());
  t.hosts.assign(run_.devices.hosts.begin(), run_.devices.hosts.end());
  // Different GPUs in one run are left out: no scenario has them.
  if (run_.devices.gpus.size() == 1) t.gpu = *run_.devices.gpus.begin();
  t.threads = run_.threads;
  // Each thread of a process drives -g GPUs.
  if (run_.threads > 0 && run_.gpus > 0 && run_.threads <= 4096 && run_.gpus <= 4096)
    t.ranks_per_process = run_.threads * run_.gpus;
  t.iterations = run_.iterations;
  t.nccl_version = run_.nccl_version;
  t.details = run_.details;
  for (const auto& [key, value] :
       {std::pair{"type", row.kind.type}, {"redop", row.kind.redop}, {"root", row.kind.root}})
    if (!value.empty()) t.details[key] = value;
  table_ = std::move(t);
  kind_ = row.kind;
  ratios_.clear();
}

void TestTables::add(const TestRow& row) {
  run_has_rows_ = true;
  if (!row.out_of_place && !row.in_place) return sink_.problem(row.line, "the row has no time");
  if (row.bytes < 0) return sink_.problem(row.line, fmt::format("the size {} is negative", row.bytes));
  for (const auto& place : {row.out_of_place, row.in_place})
    if (place)
      if (const std::string fault = fault_of(*place, row.bytes); !fault.empty()) return sink_.problem(row.line, fault);
  if (table_ && kind_ != row.kind) close();
  if (!table_) open(row);
  LogRow out;
  out.line = row.line;
  out.bytes = row.bytes;
  // Out of place is what most people quote, and what the shipped cases hold.
  out.time_us = (row.out_of_place ? row.out_of_place : row.in_place)->time.value;
  if (row.in_place) out.in_place_us = row.in_place->time.value;
  // The range of busbw / algbw that fits both timings of the row.
  std::pair<double, double> ratio{0, std::numeric_limits<double>::infinity()};
  for (const auto& place : {row.out_of_place, row.in_place}) {
    if (!place) continue;
    out.wrong += std::min(place->wrong, std::numeric_limits<std::int64_t>::max() / 4);
    ratio.first = std::max(ratio.first, place->busbw.low() / place->algbw.high());
    if (place->algbw.low() > 0) ratio.second = std::min(ratio.second, place->busbw.high() / place->algbw.low());
  }
  out.bus_ratio = ratio;
  table_->rows.push_back(out);
  ratios_.push_back(ratio);
}

void TestTables::tell_version(const std::string& version) {
  if (run_.nccl_version.empty()) run_.nccl_version = version;
  if (table_ && table_->nccl_version.empty()) table_->nccl_version = version;
}

void TestTables::check_operation(LogTable& table) {
  const auto count_of = [&](CollectiveOp op) {
    return std::count_if(ratios_.begin(), ratios_.end(),
                         [&](const auto& r) { return fits(r, bus_factor(op, table.ranks)); });
  };
  const auto rows = static_cast<std::ptrdiff_t>(table.rows.size());
  const std::string &redop = kind_.redop, &root = kind_.root;
  if (table.operation.empty() && table.ranks > 1) {
    // Operator, root and busbw / algbw identify the test if only one test fits them.
    std::vector<std::string_view> fitting;
    for (const TestLook& l : looks)
      if (looks_like(l, redop, root) && count_of(l.op) == rows) fitting.push_back(l.test);
    if (fitting.size() == 1) table.operation = fitting[0];
    return;
  }
  const auto look =
      std::find_if(looks.begin(), looks.end(), [&](const TestLook& l) { return l.test == table.operation; });
  if (look == looks.end() || table.ranks < 1) return;
  const std::ptrdiff_t fit = count_of(look->op);
  const double factor = bus_factor(look->op, table.ranks);
  // If most rows contradict the header, the header is wrong. If few do, these rows are.
  if (2 * fit < rows) {
    sink_.problem(table.line, fmt::format("busbw / algbw is not {:.4g}, the factor of {} over {} ranks: the header is "
                                          "from another run",
                                          factor, table.operation, table.ranks));
    table.ranks = table.nodes = 0;
    table.hosts.clear();
    // An operation that only a command line names is as doubtful as the ranks. One in the run's own header is not.
    if (run_.operation.empty()) table.operation.clear();
    return;
  }
  std::vector<LogRow> kept;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (fits(ratios_[i], factor))
      kept.push_back(table.rows[i]);
    else
      sink_.problem(table.rows[i].line, fmt::format("busbw / algbw is not {:.4g} as in the other rows", factor));
  table.rows = std::move(kept);
}

void TestTables::close() {
  if (!table_) return;
  check_operation(*table_);
  if (!table_->rows.empty()) sink_.out.tables.push_back(std::move(*table_));
  table_.reset();
}

}  // namespace fabricast
