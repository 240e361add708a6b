// NCCL's variables of RDMA, read as NCCL reads them.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "fabricast/calibrate/probe_session.hpp"

namespace fabricast {

namespace {

struct Variable {
  const char* name;
  int RdmaSettings::*setting;
  long long most;
};

constexpr Variable variables[] = {{"NCCL_IB_TC", &RdmaSettings::traffic_class, 255},
                                  {"NCCL_IB_SL", &RdmaSettings::service_level, 15},
                                  {"NCCL_IB_PKEY", &RdmaSettings::partition, 65535},
                                  {"NCCL_IB_PCI_RELAXED_ORDERING", &RdmaSettings::relaxed_ordering, 2}};

}  // namespace

RdmaSettings rdma_settings_from(const std::map<std::string, std::string>& environment) {
  RdmaSettings settings;
  for (const Variable& v : variables) {
    const auto found = environment.find(v.name);
    if (found == environment.end() || found->second.empty()) continue;
    const char* text = found->second.c_str();
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text, &end, 0);
    // NCCL takes what is no number for 0, and more than the field holds for its lowest bits: neither is meant.
    if (end == text || *end != '\0' || errno != 0 || value < -1 || value > v.most)
      throw UserError(fmt::format("{} is not a whole number between 0 and {}", v.name, v.most), "or unset it");
    if (value >= 0) settings.*v.setting = static_cast<int>(value);
  }
  return settings;
}

}  // namespace fabricast
