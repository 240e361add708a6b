// Files below a root: the kernel's own, a copy of another host's, or made up by a test.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricast {

/// Paths are relative to the root, a leading slash counts for nothing. What can not be read is empty, never a fault.
class Tree {
 public:
  explicit Tree(std::filesystem::path root) : root_(std::move(root)) {}
  bool has(const std::string& path) const;
  /// The first line without blanks at its ends.
  std::string line(const std::string& path) const;
  std::vector<std::string> lines(const std::string& path) const;
  /// As it is, at most 1 MiB.
  std::string content(const std::string& path) const;
  /// The number on the first line, if it starts with one.
  std::optional<double> number(const std::string& path) const;
  /// Entries of a folder, numbers in them in order: mlx5_2 before mlx5_10.
  std::vector<std::string> names(const std::string& folder) const;
  /// Where a path leads when all links are followed, relative to the root; empty if nowhere, or out of the root.
  std::string target(const std::string& path) const;

 private:
  std::filesystem::path below(const std::string& path) const;
  std::filesystem::path root_;
};

/// "mlx5_2" before "mlx5_10".
bool natural_less(const std::string& a, const std::string& b);
std::string trimmed(const std::string& text);
std::vector<std::string> split(const std::string& text, char separator);

/// "5.15.0-91-generic" as {5, 15, 0}: numbers up to the first that is not joined by a dot.
std::vector<int> version_numbers(const std::string& text);

}  // namespace fabricast
