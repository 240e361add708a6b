// What all of NCCL's interfaces to plugins share: results and the log.
#pragma once

#include <string>

namespace fabricast::plugin {

/// Results of NCCL's functions.
constexpr int nccl_success = 0, nccl_invalid_usage = 5;

/// Level and areas of a line of the log. NCCL prints a line at its level if one of its areas is switched on; `init` is
/// on unless NCCL_DEBUG_SUBSYS says otherwise.
constexpr int log_info = 3;
constexpr unsigned long log_init = 0x1, log_tuning = 0x40;

/// NCCL's log: level, areas, function, line, format as in printf.
using NcclLog = void (*)(int level, unsigned long areas, const char* function, int line, const char* format, ...);

/// Writes one line at NCCL_DEBUG=INFO. Texts of a file or a variable may hold anything, so control characters are
/// replaced. \param log  null: nothing is written
inline void log_line(NcclLog log, unsigned long areas, std::string text) {
  if (!log) return;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  log(log_info, areas, "fabricast", 0, "fabricast: %s", text.c_str());
}

}  // namespace fabricast::plugin
