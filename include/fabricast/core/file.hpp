// Whole files in, whole files out.
//
// Messages name the path and the reason of the operating system. Concurrent calls are safe unless they write to the
// same path from one process.
#pragma once

#include <cstddef>
#include <string>

namespace fabricast {

/// The content of a file, or everything that a pipe delivers until it ends.
/// \param most  limit in bytes, which protects against endless devices and mistaken names; 256 MiB by default
/// \throws UserError if the file cannot be read, is a directory, or holds more than `most` bytes
std::string read_file(const std::string& path, std::size_t most = std::size_t{1} << 28);

/// Writes a file atomically: into a temporary file in the same directory, which then replaces the target. A reader sees
/// the old content or the new one, never a part. A symbolic link stays and its target is replaced. Devices and pipes
/// are written to directly.
/// \throws UserError if the file cannot be written; the temporary file is removed and an existing file is unchanged
void write_file(const std::string& path, const std::string& content);

/// The operating system's description of an errno value, in lower case: "no such file or directory".
std::string system_reason(int error);

/// Checks before long work that `write_file` is likely to succeed: the directory exists and is writable.
/// \throws UserError if the path is empty, a directory or not writable
void check_writable(const std::string& path);

}  // namespace fabricast
