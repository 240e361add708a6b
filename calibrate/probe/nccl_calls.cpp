// NCCL's library is loaded when it is needed, so that the program starts without it.
#include "nccl_calls.hpp"

#include <fmt/format.h>

#ifdef FABRICAST_NCCL
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <vector>
#endif

namespace fabricast {

std::string nccl_version_text(int version) {
  // Up to 2.8 the minor version had one digit: 2708 is 2.7.8.
  return version < 10000 ? fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100)
                         : fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

#ifndef FABRICAST_NCCL

const NcclCalls& library_nccl() {
  static const NcclCalls calls = [] {
    NcclCalls c;
    c.missing = [] { return "fabricast was built without NCCL (needs nccl.h 2.17 or newer, and the CUDA toolkit)"; };
    return c;
  }();
  return calls;
}

#else

namespace {

/// Functions that the library lacks are null. They are never called, because `missing` then states the fault.
struct Library {
  void* handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  std::string fault;

  Library() {
    if (!handle) fault = fmt::format("cannot load NCCL: {} (check LD_LIBRARY_PATH)", dlerror());
  }
  template <class F>
  F function(const char* name) {
    F found = handle ? reinterpret_cast<F>(dlsym(handle, name)) : nullptr;
    if (!found && fault.empty()) fault = fmt::format("libnccl.so.2 has no {}: the library is too old", name);
    return found;
  }
};

NcclCalls::Collective collective(Library& library, const char* name) {
  const auto call = library.function<decltype(&ncclAllGather)>(name);
  return [call](const void* from, void* to, std::size_t count, void* communicator, void* stream) -> int {
    return call(from, to, count, ncclFloat, static_cast<ncclComm_t>(communicator), static_cast<cudaStream_t>(stream));
  };
}

NcclCalls::Collective summing(Library& library, const char* name) {
  const auto call = library.function<decltype(&ncclAllReduce)>(name);
  return [call](const void* from, void* to, std::size_t count, void* communicator, void* stream) -> int {
    return call(from, to, count, ncclFloat, ncclSum, static_cast<ncclComm_t>(communicator),
                static_cast<cudaStream_t>(stream));
  };
}

void add_init(NcclCalls& c, Library& library) {
  const auto plain = library.function<decltype(&ncclCommInitRank)>("ncclCommInitRank");
  const auto configured = library.function<decltype(&ncclCommInitRankConfig)>("ncclCommInitRankConfig");
  c.init = [plain, configured](void** out, int ranks, const std::string& id, int rank, int channels) -> int {
    ncclUniqueId unique{};
    if (id.size() != sizeof unique) return ncclInvalidArgument;
    std::memcpy(&unique, id.data(), sizeof unique);
    if (channels == 0) return plain(reinterpret_cast<ncclComm_t*>(out), ranks, unique, rank);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = config.maxCTAs = channels;
    return configured(reinterpret_cast<ncclComm_t*>(out), ranks, unique, rank, &config);
  };
}

void add_collectives(NcclCalls& c, Library& library) {
  c.all_reduce = summing(library, "ncclAllReduce");
  c.reduce_scatter = summing(library, "ncclReduceScatter");
  c.all_gather = collective(library, "ncclAllGather");
  const auto broadcast = library.function<decltype(&ncclBroadcast)>("ncclBroadcast");
  c.broadcast = [broadcast](const void* from, void* to, std::size_t count, void* communicator, void* stream) -> int {
    return broadcast(from, to, count, ncclFloat, 0, static_cast<ncclComm_t>(communicator),
                     static_cast<cudaStream_t>(stream));
  };
  const auto reduce = library.function<decltype(&ncclReduce)>("ncclReduce");
  c.reduce = [reduce](const void* from, void* to, std::size_t count, void* communicator, void* stream) -> int {
    return reduce(from, to, count, ncclFloat, ncclSum, 0, static_cast<ncclComm_t>(communicator),
                  static_cast<cudaStream_t>(stream));
  };
  const auto send = library.function<decltype(&ncclSend)>("ncclSend");
  c.send = [send](const void* from, std::size_t count, int peer, void* communicator, void* stream) -> int {
    return send(from, count, ncclFloat, peer, static_cast<ncclComm_t>(communicator), static_cast<cudaStream_t>(stream));
  };
  const auto receive = library.function<decltype(&ncclRecv)>("ncclRecv");
  c.receive = [receive](void* to, std::size_t count, int peer, void* communicator, void* stream) -> int {
    return receive(to, count, ncclFloat, peer, static_cast<ncclComm_t>(communicator),
                   static_cast<cudaStream_t>(stream));
  };
}

NcclCalls made() {
  Library library;
  NcclCalls c;
  const auto text = library.function<decltype(&ncclGetErrorString)>("ncclGetErrorString");
  const auto last = library.function<decltype(&ncclGetLastError)>("ncclGetLastError");
  c.reason = [text, last](int error) {
    const std::string said = last(nullptr);
    return fmt::format("{}{}{}", text(static_cast<ncclResult_t>(error)), said.empty() ? "" : ": ", said);
  };
  const auto version = library.function<decltype(&ncclGetVersion)>("ncclGetVersion");
  c.version = [version](int* out) -> int { return version(out); };
  const auto make_id = library.function<decltype(&ncclGetUniqueId)>("ncclGetUniqueId");
  c.make_id = [make_id](std::string* out) -> int {
    ncclUniqueId id{};
    const int error = make_id(&id);
    out->assign(id.internal, sizeof id.internal);
    return error;
  };
  add_init(c, library);
  const auto give_up = library.function<decltype(&ncclCommAbort)>("ncclCommAbort");
  c.abandon = [give_up](void* communicator) -> int { return give_up(static_cast<ncclComm_t>(communicator)); };
  const auto async_error = library.function<decltype(&ncclCommGetAsyncError)>("ncclCommGetAsyncError");
  c.async_error = [async_error](void* communicator, int* out) -> int {
    ncclResult_t state = ncclSuccess;
    const int error = async_error(static_cast<ncclComm_t>(communicator), &state);
    *out = state;
    return error;
  };
  const auto start = library.function<decltype(&ncclGroupStart)>("ncclGroupStart");
  const auto end = library.function<decltype(&ncclGroupEnd)>("ncclGroupEnd");
  c.group_start = [start]() -> int { return start(); };
  c.group_end = [end]() -> int { return end(); };
  add_collectives(c, library);
  c.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  c.set_variable = [](const std::string& name, const std::optional<std::string>& value) {
    if (value)
      setenv(name.c_str(), value->c_str(), 1);
    else
      unsetenv(name.c_str());
  };
  c.missing = [fault = library.fault] { return fault; };
  return c;
}

}  // namespace

const NcclCalls& library_nccl() {
  static const NcclCalls calls = made();
  return calls;
}

#endif

}  // namespace fabricast
