// The profiler plugin, driven as NCCL drives it. The declarations are the test's own, after NCCL's headers, so that a
// wrong layout in the plugin shows.
#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/scratch.hpp"

namespace fabricast {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t coll_type = 2, kernel_type = 64, proxy_type = 8;
constexpr int kernel_stop = 22;

// NCCL's description of an event in versions 5 and 6, with the longest members.
struct Collective5 {
  std::uint64_t seqNumber;
  const char* func;
  void const* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
};

struct ProxyOp5 {
  pid_t pid;
  std::uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};

struct KernelChannel5 {
  std::uint8_t channelId;
  std::uint64_t pTimer;
};

struct Descr5 {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    Collective5 coll;
    ProxyOp5 proxyOp;
    KernelChannel5 kernelCh;
  };
};

// Version 4 differs in the first member.
struct Descr4 {
  std::uint8_t type;
  void* parentObj;
  int rank;
  decltype(Descr5::coll) coll;
};

union StateArgs {
  struct {
    std::size_t transSize;
  } proxyStep;
  struct {
    std::uint64_t pTimer;
  } kernelCh;
};

using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);
template <class Init>
struct Table {
  const char* name;
  Init init;
  int (*startEvent)(void* context, void** handle, void* description);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, StateArgs* arguments);
  int (*finalize)(void* context);
};
using Table4 = Table<int (*)(void**, int*, const char*, std::uint64_t, int, int, int, Logger)>;
using Table5 = Table<int (*)(void**, std::uint64_t, int*, const char*, int, int, int, Logger)>;

std::vector<std::string> logged;
void log_to_test(int, unsigned long, const char*, int, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  logged.emplace_back(text);
}

struct Plugin {
  void* handle = dlopen(FABRICAST_PROFILER_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  Plugin() {
    REQUIRE(handle);
    logged.clear();
  }
  ~Plugin() { dlclose(handle); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  const Table5& v5() const { return *static_cast<const Table5*>(dlsym(handle, "ncclProfiler_v5")); }
  const Table5& v6() const { return *static_cast<const Table5*>(dlsym(handle, "ncclProfiler_v6")); }
  const Table4& v4() const { return *static_cast<const Table4*>(dlsym(handle, "ncclProfiler_v4")); }
};

struct Folder {
  Scratch scratch;
  std::string path = scratch / "records";
  explicit Folder(bool exists = true) {
    if (exists) std::filesystem::create_directory(path);
    setenv("FABRICAST_PROFILER_DIR", path.c_str(), 1);
  }
  ~Folder() { unsetenv("FABRICAST_PROFILER_DIR"); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// The records of the one file in the folder.
  std::vector<Json> records() const {
    std::vector<Json> all;
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      ++files;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
    }
    CHECK(files == 1);
    return all;
  }
};

/// One communicator of version 5 on this rank.
struct Rank {
  const Table5& table;
  void* context = nullptr;
  int mask = -1;
  Rank(const Table5& t, int ranks, int rank, const char* name = "world", std::uint64_t id = 0xabc) : table(t) {
    REQUIRE(table.init(&context, id, &mask, name, 2, ranks, rank, log_to_test) == 0);
  }
  void finalize() { CHECK(table.finalize(context) == 0); }

  void* launch(const char* func, std::uint64_t sequence, std::size_t count, std::uint8_t channels,
               const char* type = "ncclBfloat16") const {
    Descr5 d{};
    d.type = coll_type;
    d.rank = 0;
    d.coll.seqNumber = sequence;
    d.coll.func = func;
    d.coll.count = count;
    d.coll.datatype = type;
    d.coll.nChannels = channels;
    d.coll.algo = "RING";
    d.coll.proto = "LL128";
    void* handle = nullptr;
    CHECK(table.startEvent(context, &handle, &d) == 0);
    return handle;
  }
  void* channel(void* parent, std::uint8_t id, std::uint64_t start) const {
    Descr5 d{};
    d.type = kernel_type;
    d.parentObj = parent;
    d.kernelCh.channelId = id;
    d.kernelCh.pTimer = start;
    void* handle = nullptr;
    CHECK(table.startEvent(context, &handle, &d) == 0);
    return handle;
  }
  void end(void* channel, std::uint64_t timer) const {
    StateArgs args{};
    args.kernelCh.pTimer = timer;
    CHECK(table.recordEventState(channel, kernel_stop, &args) == 0);
    CHECK(table.stopEvent(channel) == 0);
  }
};

TEST_CASE("a call lasts from its first channel to its last by the GPU's clock", "[profiler]") {
  const Folder folder;
  const Plugin plugin;
  for (const bool newest : {false, true}) {
    Rank rank(newest ? plugin.v6() : plugin.v5(), 4, 3, newest ? "" : "wo\xff\"rld");
    CHECK(rank.mask == (2 | 64));
    void* call = rank.launch("AllGather", 17, 1000, 3);
    REQUIRE(call);
    CHECK(rank.table.stopEvent(call) == 0);  // launched; the kernel has not started
    void* a = rank.channel(call, 0, 5'000'000);
    void* b = rank.channel(call, 1, 4'999'000);
    rank.end(a, 5'040'000);
    void* c = rank.channel(call, 2, 5'010'000);
    rank.end(c, 5'049'000);
    rank.end(b, 5'030'000);
    rank.finalize();
  }
  const std::vector<Json> records = folder.records();
  REQUIRE(records.size() == 2);
  const Json& r = records[0];
  CHECK(r["header"] ==
        Json::parse(R"({"id": "0xabc", "comm_name": "wo�\"rld", "rank": 3, "n_ranks": 4, "nnodes": 2})"));
  CHECK_FALSE(records[1]["header"].contains("comm_name"));
  CHECK(r["metadata"]["inspector_output_format_version"] == "v4.0");
  CHECK(r["metadata"]["pid"] == getpid());
  const Json& p = r["coll_perf"];
  CHECK(p["coll"] == "AllGather");
  CHECK(p["coll_sn"] == 17);
  CHECK(p["coll_msg_size_bytes"] == 2000);
  CHECK(p["coll_exec_time_us"] == 50.0);  // 5,049,000 - 4,999,000 ns
  CHECK(p["coll_timing_source"] == "kernel_gpu");
  // Four ranks of 2,000 B in 50 us are 0.16 GB/s, of which each receives three quarters.
  CHECK(p["coll_algobw_gbs"].get<double>() == Approx(0.16));
  CHECK(p["coll_busbw_gbs"].get<double>() == Approx(0.12));
  CHECK(p["coll_algo"] == "RING");
  CHECK(p["coll_proto"] == "LL128");
  CHECK(p["coll_channels"] == 3);
  const std::int64_t launched = p["event_trace_ts"]["coll_start_ts"];
  const Json& kernel = p["event_trace_ts"]["kernel_events"][0];
  CHECK(launched <= kernel["kernel_start_ts"].get<std::int64_t>());
  CHECK(kernel["kernel_start_ts"].get<std::int64_t>() <= kernel["kernel_stop_ts"].get<std::int64_t>());
  const auto now =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  CHECK(std::abs(now - launched) < 60'000'000);
  REQUIRE(logged.size() == 2);
  CHECK(logged[0].starts_with("fabricast: collectives are recorded in " + folder.path));
}

TEST_CASE("version 4 has its own order of arguments and a narrower type", "[profiler]") {
  const Folder folder;
  const Plugin plugin;
  const Table4& table = plugin.v4();
  void* context = nullptr;
  int mask = 0;
  REQUIRE(table.init(&context, &mask, "inner", 0x77, 1, 8, 5, log_to_test) == 0);
  CHECK(mask == (2 | 64));
  Descr4 d{};
  std::memset(static_cast<void*>(&d), 0xee, sizeof d);  // what follows the narrow type is not zero
  d.type = coll_type;
  d.coll.seqNumber = 1;
  d.coll.func = "AllReduce";
  d.coll.count = 256;
  d.coll.datatype = "ncclFloat32";
  d.coll.nChannels = 1;
  d.coll.algo = "NVLS";
  d.coll.proto = "SIMPLE";
  void* call = nullptr;
  REQUIRE(table.startEvent(context, &call, &d) == 0);
  REQUIRE(call);
  Descr5 k{};
  std::memset(static_cast<void*>(&k), 0xee, sizeof k);
  reinterpret_cast<Descr4&>(k).type = kernel_type;
  k.parentObj = call;
  k.kernelCh.channelId = 0;
  k.kernelCh.pTimer = 100;
  void* channel = nullptr;
  REQUIRE(table.startEvent(context, &channel, &k) == 0);
  StateArgs args{};
  args.kernelCh.pTimer = 1124;
  table.recordEventState(channel, kernel_stop, &args);
  table.stopEvent(channel);
  table.stopEvent(call);
  table.finalize(context);
  const std::vector<Json> records = folder.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0]["header"]["comm_name"] == "inner");
  CHECK(records[0]["header"]["n_ranks"] == 8);
  CHECK(records[0]["header"]["nnodes"] == 1);
  CHECK(records[0]["coll_perf"]["coll_algobw_gbs"].get<double>() == Approx(1.0));  // 1,024 B in 1,024 ns
  CHECK(records[0]["coll_perf"]["coll_busbw_gbs"].get<double>() == Approx(1.75));
}

TEST_CASE("calls without a time are not written", "[profiler]") {
  const Folder folder;
  const Plugin plugin;
  Rank rank(plugin.v5(), 2, 0);
  CHECK(rank.launch("AllReduce", 1, 8, 1, "ncclFloat4e2m1") == nullptr);
  plugin.v5().stopEvent(rank.launch("AllReduce", 2, 8, 0));  // a copy engine's
  plugin.v5().stopEvent(rank.launch("AllReduce", 3, 8, 2));  // aborted before its kernel
  void* half = rank.launch("AllReduce", 4, 8, 2);            // aborted in its kernel
  plugin.v5().stopEvent(half);
  rank.end(rank.channel(half, 0, 10), 20);
  Descr5 other{};
  other.type = proxy_type;
  void* handle = &other;
  CHECK(plugin.v5().startEvent(rank.context, &handle, &other) == 0);
  CHECK(handle == nullptr);
  CHECK(plugin.v5().stopEvent(nullptr) == 0);
  CHECK(plugin.v5().recordEventState(nullptr, kernel_stop, nullptr) == 0);
  CHECK(rank.channel(nullptr, 0, 5) == nullptr);
  void* whole = rank.launch("AllReduce", 5, 8, 1);
  void* only = rank.channel(whole, 0, 10);
  CHECK(rank.channel(whole, 1, 10) == nullptr);  // more channels than announced
  rank.end(only, 20);
  plugin.v5().stopEvent(whole);
  rank.finalize();
  const std::vector<Json> records = folder.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0]["coll_perf"]["coll_sn"] == 5);
  CHECK(logged.back() == "fabricast: 1 call had a data type of unknown size");
}

TEST_CASE("without a folder, or with one that is not there, the job runs and nothing is recorded", "[profiler]") {
  const Plugin plugin;
  unsetenv("FABRICAST_PROFILER_DIR");
  Rank plain(plugin.v5(), 2, 0);
  CHECK(plain.mask == 0);
  CHECK(plain.launch("AllReduce", 1, 8, 1) == nullptr);
  plain.finalize();
  const Folder missing(false);
  Rank rank(plugin.v6(), 2, 0);
  CHECK(rank.mask == 0);
  rank.finalize();
  REQUIRE(logged.size() == 2);
  CHECK(logged[0] == "fabricast: FABRICAST_PROFILER_DIR is not set; nothing is recorded");
  CHECK(logged[1].find("No such file or directory; nothing is recorded") != std::string::npos);
}

// NCCL launches from the program's thread, and reports channels from a thread of each communicator.
TEST_CASE("communicators of one process share a file, from many threads", "[profiler]") {
  const Folder folder;
  const Plugin plugin;
  constexpr int communicators = 4, calls = 5000;
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int i = 0; i < communicators; ++i)
    ranks.push_back(std::make_unique<Rank>(plugin.v5(), 8, i, "c", static_cast<std::uint64_t>(i)));
  std::vector<std::thread> threads;
  for (const auto& rank : ranks)
    threads.emplace_back([&rank] {
      std::mutex mutex;
      std::vector<void*> launched;
      std::thread proxy([&] {
        for (int done = 0; done < calls;) {
          std::vector<void*> ready;
          {
            const std::lock_guard lock(mutex);
            ready.swap(launched);
          }
          for (void* call : ready) {
            ++done;
            const auto start = static_cast<std::uint64_t>(1000 * done);
            void* a = nullptr;
            Descr5 d{};
            d.type = kernel_type;
            d.parentObj = call;
            d.kernelCh.pTimer = start;
            rank->table.startEvent(rank->context, &a, &d);
            StateArgs args{};
            args.kernelCh.pTimer = start + 500;
            rank->table.recordEventState(a, kernel_stop, &args);
            rank->table.stopEvent(a);
          }
        }
      });
      for (int i = 0; i < calls; ++i) {
        Descr5 d{};
        d.type = coll_type;
        d.coll.seqNumber = static_cast<std::uint64_t>(i);
        d.coll.func = "AllReduce";
        d.coll.count = 1;
        d.coll.datatype = "ncclInt8";
        d.coll.nChannels = 1;
        void* call = nullptr;
        rank->table.startEvent(rank->context, &call, &d);
        {
          const std::lock_guard lock(mutex);
          launched.push_back(call);
        }
        rank->table.stopEvent(call);
      }
      proxy.join();
    });
  for (std::thread& t : threads) t.join();
  for (const auto& rank : ranks) rank->finalize();
  std::map<std::string, std::set<int>> seen;
  for (const Json& r : folder.records()) {
    CHECK(r["coll_perf"]["coll_exec_time_us"] == 0.5);
    CHECK(seen[r["header"]["id"]].insert(r["coll_perf"]["coll_sn"].get<int>()).second);
  }
  REQUIRE(seen.size() == communicators);
  for (const auto& [id, numbers] : seen) CHECK(numbers.size() == calls);
}

// NCCL's thread that launches starts and stops the event of a call; the thread of the communicator starts, stamps and
// stops one of each channel. What formats and writes is a third one.
TEST_CASE("what the plugin costs a call", "[profiler]") {
  const Folder folder;
  const Plugin plugin;
  const Table5& table = plugin.v5();
  const auto now = [](clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  constexpr int calls = 20'000, channels = 16;  // fewer than wait before calls are dropped
  const double process = now(CLOCK_PROCESS_CPUTIME_ID), thread = now(CLOCK_THREAD_CPUTIME_ID);
  Rank rank(table, 8, 0);
  std::vector<void*> launched(calls);
  double begin = now(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < calls; ++i) {
    Descr5 d{};
    d.type = coll_type;
    d.coll.seqNumber = static_cast<std::uint64_t>(i);
    d.coll.func = "AllReduce";
    d.coll.count = 1 << 20;
    d.coll.datatype = "ncclBfloat16";
    d.coll.nChannels = channels;
    d.coll.algo = "RING";
    d.coll.proto = "SIMPLE";
    table.startEvent(rank.context, &launched[static_cast<std::size_t>(i)], &d);
    table.stopEvent(launched[static_cast<std::size_t>(i)]);
  }
  const double launch_ns = (now(CLOCK_THREAD_CPUTIME_ID) - begin) / calls;
  begin = now(CLOCK_THREAD_CPUTIME_ID);
  for (void* call : launched) {
    std::array<void*, channels> handles{};
    for (int c = 0; c < channels; ++c) {
      Descr5 d{};
      d.type = kernel_type;
      d.parentObj = call;
      d.kernelCh.channelId = static_cast<std::uint8_t>(c);
      d.kernelCh.pTimer = 1000;
      table.startEvent(rank.context, &handles[static_cast<std::size_t>(c)], &d);
    }
    for (void* handle : handles) {
      StateArgs args{};
      args.kernelCh.pTimer = 2000;
      table.recordEventState(handle, kernel_stop, &args);
      table.stopEvent(handle);
    }
  }
  const double channel_ns = (now(CLOCK_THREAD_CPUTIME_ID) - begin) / calls / channels;
  rank.finalize();
  const double others = (now(CLOCK_PROCESS_CPUTIME_ID) - process) - (now(CLOCK_THREAD_CPUTIME_ID) - thread);
  WARN("launching thread " << launch_ns << " ns a call; communicator's thread " << channel_ns
                           << " ns a channel and call (3 functions); writing thread " << others / calls
                           << " ns a call");
  CHECK(folder.records().size() == calls);
#ifdef FABRICAST_TEST_SPEED
  // Ten times and more of what it takes: neither thread may format, write or wait.
  CHECK(launch_ns < 5'000);
  CHECK(channel_ns < 2'000);
#endif
}

}  // namespace
}  // namespace fabricast
