// Reads what tools print, a line at a time. A line that begins another tool's output changes what follows is taken for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools.hpp"

namespace fabricast {

class ToolReader {
 public:
  explicit ToolReader(ToolFacts& facts) : facts_(facts) {}
  void take(std::string_view line);
  /// Whether anything was known so far.
  bool known() const { return known_; }

 private:
  enum class Tool { none, smi, nvlink, service, imex, qos };
  bool begins(std::string_view line);
  bool take_kernel(std::string_view line);
  bool take_command(std::string_view line);
  bool begin_service(std::string_view line);
  void begin_smi();
  void take_smi(std::string_view line);
  void take_nvlink(std::string_view line);
  void take_service(std::string_view line);
  void take_imex(std::string_view line);
  void take_qos(std::string_view line);

  ToolFacts& facts_;
  Tool tool_ = Tool::none;
  bool known_ = false;
  SmiGpu* gpu_ = nullptr;
  std::string section_;
  int number_ = -1;            // of a GPU of nvlink
  std::string unit_, netdev_;  // netdev: as the command before the output named it
};

}  // namespace fabricast
