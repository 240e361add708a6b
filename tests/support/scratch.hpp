// A folder of its own for a test, gone after it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>

namespace fabricast {

class Scratch {
 public:
  Scratch() {
    static std::atomic<int> next = 0;
    path = std::filesystem::temp_directory_path() /
           ("fabricast-test-" + std::to_string(getpid()) + "-" + std::to_string(next++));
    std::filesystem::create_directories(path);
  }
  ~Scratch() {
    std::error_code gone;
    std::filesystem::remove_all(path, gone);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  std::size_t files() const {
    const std::filesystem::directory_iterator first(path);
    return static_cast<std::size_t>(std::distance(first, std::filesystem::directory_iterator()));
  }
  std::filesystem::path path;
};

}  // namespace fabricast
