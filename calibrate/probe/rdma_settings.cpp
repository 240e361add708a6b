// NCCL's RDMA variables.
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
    // NCCL reads text that is not a number as 0, and truncates numbers that are too large. Neither can be intended, so
    // both are errors here.
    if (end == text || *end != '\0' || errno != 0 || value < -1 || value > v.most)
      throw UserError(fmt::format("{} is not a whole number between 0 and {}", v.name, v.most), "correct or unset it");
    if (value >= 0) settings.*v.setting = static_cast<int>(value);
  }
  return settings;
}

}  // namespace fabricast
