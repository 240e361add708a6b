// RDMA devices: the list, opening one, and its attributes. Calls that fail throw ProbeFailure.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string_view>

#include "fabricast/calibrate/probe.hpp"
#include "fabricast/core/file.hpp"
#include "verbs_calls.hpp"

namespace fabricast::probe {

/// \param error  errno of the call
/// \throws ProbeFailure
[[noreturn]] inline void verbs_failed(std::string_view call, int error, std::string_view hint = {}) {
  throw ProbeFailure(fmt::format("{}: {}{}{}", call, system_reason(error), hint.empty() ? "" : "; ", hint));
}

/// Owns the list; empty if libibverbs has none. `calls` must outlive it.
class DeviceList {
 public:
  explicit DeviceList(const VerbsCalls& calls) : calls_(calls), list_(calls.get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_) calls_.free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  int count() const { return list_ ? count_ : 0; }
  ibv_device* operator[](int i) const { return list_[i]; }

 private:
  const VerbsCalls& calls_;
  int count_ = 0;
  ibv_device** list_;
};

using Context = std::unique_ptr<ibv_context, std::function<void(ibv_context*)>>;

inline Context open_device(const VerbsCalls& calls, ibv_device* device) {
  errno = 0;
  Context context(calls.open_device(device), [&calls](ibv_context* c) { calls.close_device(c); });
  if (!context) verbs_failed("ibv_open_device", errno, "does this user have access to /dev/infiniband/uverbs*?");
  return context;
}

inline ibv_port_attr query_port(const VerbsCalls& calls, ibv_context* context, std::uint8_t port) {
  ibv_port_attr attributes{};
  if (const int error = calls.query_port(context, port, &attributes)) verbs_failed("ibv_query_port", error);
  return attributes;
}

inline ibv_device_attr query_device(const VerbsCalls& calls, ibv_context* context) {
  ibv_device_attr attributes{};
  if (const int error = calls.query_device(context, &attributes)) verbs_failed("ibv_query_device", error);
  return attributes;
}

}  // namespace fabricast::probe
