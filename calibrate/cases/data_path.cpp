// Where the shipped data are: beside the installed binary, else in the source tree of the build. The path of the binary
// and not the working directory counts, so the program runs from anywhere.
#include "data_path.hpp"

#include <filesystem>

namespace fabricast {

std::string shipped_data_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path binary = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = (binary.parent_path() / FABRICAST_DATA_DIR / file).lexically_normal();
  if (!error && std::filesystem::exists(installed, error)) return installed.string();
  return FABRICAST_SOURCE_DIR "/calibrate/data/" + file;
}

}  // namespace fabricast
