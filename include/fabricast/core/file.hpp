// Whole files in, whole files out.
#pragma once

#include <cstddef>
#include <string>

namespace fabricast {

/// Reads a whole file, or what a pipe gives until it ends.
/// \throws UserError if it can not be read, or holds more than `most` bytes.
std::string read_file(const std::string& path, std::size_t most = std::size_t{1} << 28);

/// Writes a file whole or not at all: beside, then moved into place. Devices and pipes are written to as they are.
/// \throws UserError if it can not be written; then nothing is left behind, and an older file stays as it was.
void write_file(const std::string& path, const std::string& content);

/// The system's words for an error number, in our spelling: "no such file or directory".
std::string system_reason(int error);

/// Finds out before long work whether `write_file` has a chance.  \throws UserError
void check_writable(const std::string& path);

}  // namespace fabricast
