// Reading and writing files, with the operating system's reason in messages. A file is written to a temporary file next
// to it and then renamed, so that an interrupted run never leaves half a file.
#include "fabricast/core/file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot(const char* what, const std::string& path, const std::string& why, std::string hint = {}) {
  throw UserError(fmt::format("cannot {} '{}': {}", what, path, why), std::move(hint));
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

void write_stream(std::ofstream& out, const std::string& content, const std::string& path) {
  errno = 0;
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  // Errors of buffered data appear when the file is closed.
  out.close();
  if (!out) cannot("write", path, system_reason(errno ? errno : EIO));
}

}  // namespace

// Messages of the system begin with a capital letter, those of this program do not.
std::string system_reason(int error) {
  std::string text = std::generic_category().message(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

// errno is reset before each call, because streams do not set it in all cases; 0 then stands for an unknown reason.
std::string read_file(const std::string& path, std::size_t most) {
  std::error_code error;
  if (path.empty()) cannot("read", path, "the file name is empty");
  if (fs::is_directory(path, error)) cannot("read", path, "is a directory");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) cannot("read", path, system_reason(errno));
  std::string text;
  std::array<char, 1 << 16> block{};
  // Block by block: the size of a pipe is unknown, and a file may grow while it is read.
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) cannot("read", path, fmt::format("larger than {} MiB", most >> 20));
  }
  if (in.bad()) cannot("read", path, system_reason(errno ? errno : EIO));
  return text;
}

void check_writable(const std::string& path) {
  std::error_code error;
  if (path.empty()) cannot("write", path, "the file name is empty");
  if (fs::is_directory(path, error)) cannot("write", path, "is a directory", "name a file in it");
  const fs::path folder = folder_of(path);
  if (!fs::exists(folder, error)) cannot("write", path, fmt::format("directory '{}' does not exist", folder.string()));
  if (!fs::is_directory(folder, error)) cannot("write", path, fmt::format("'{}' is not a directory", folder.string()));
  // A new file needs a writable folder.
  const bool there = fs::exists(path, error);
  if (access(there ? path.c_str() : folder.c_str(), W_OK) != 0) cannot("write", path, system_reason(errno));
}

void write_file(const std::string& path, const std::string& content) {
  check_writable(path);
  std::error_code error;
  // Devices and pipes, such as /dev/stdout, cannot be replaced.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    std::ofstream out(path, std::ios::binary);
    return write_stream(out, content, path);
  }
  // A symbolic link stays; its target is replaced.
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : fs::path(path);
  // The process number keeps concurrent runs apart.
  const fs::path part = fmt::format("{}.{}.part", target.string(), getpid());
  try {
    errno = 0;
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    if (!out) cannot("write", path, system_reason(errno));
    write_stream(out, content, path);
    fs::rename(part, target, error);
    if (error) cannot("write", path, system_reason(error.value()));
  } catch (...) {
    fs::remove(part, error);
    throw;
  }
}

}  // namespace fabricast
