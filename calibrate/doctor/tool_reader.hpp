// Parses the output of tools, line by line. A line that begins the output of a tool switches the parser to that tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools.hpp"

namespace fabricast {

/// Adds to the facts it was given. Unknown lines are ignored; nothing is thrown.
class ToolReader {
 public:
  explicit ToolReader(ToolFacts& facts) : facts_(facts) {}
  void take(std::string_view line);
  /// Whether some line was recognised so far.
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
  int number_ = -1;     // GPU of `nvidia-smi nvlink`
  std::string unit_;    // of systemd
  std::string netdev_;  // named by the command before the output; empty: not named
};

}  // namespace fabricast
