// Files below a root directory: those of this host, a copy of another host's, or made up by a test.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricast {

/// Paths are relative to the root; a leading slash is ignored. Links that lead out of the root are not followed.
/// Reading never throws: a file that cannot be read is empty. Immutable; safe to use concurrently.
class Tree {
 public:
  explicit Tree(std::filesystem::path root) : root_(std::move(root)) {}
  bool has(const std::string& path) const;
  /// The first line, trimmed.
  std::string line(const std::string& path) const;
  /// The lines that are not blank, trimmed.
  std::vector<std::string> lines(const std::string& path) const;
  /// The bytes of a regular file, up to about 1 MiB.
  std::string content(const std::string& path) const;
  /// The number on the first line, if it starts with one.
  std::optional<double> number(const std::string& path) const;
  /// Names of a folder's entries, in the order of `natural_less`.
  std::vector<std::string> names(const std::string& folder) const;
  /// The path after following all links, relative to the root; empty if it does not exist or lies outside the root.
  std::string target(const std::string& path) const;

 private:
  std::filesystem::path below(const std::string& path) const;
  std::filesystem::path root_;
};

/// Whether a comes before b when numbers in them are compared by value: "mlx5_2" before "mlx5_10".
bool natural_less(const std::string& a, const std::string& b);
/// The text without white space and zero bytes at its ends.
std::string trimmed(const std::string& text);
/// The parts between separators, trimmed; empty ones are left out.
std::vector<std::string> split(const std::string& text, char separator);

/// The numbers at the start of a version, joined by dots: {5, 15, 0} of "5.15.0-91-generic".
std::vector<int> version_numbers(const std::string& text);

}  // namespace fabricast
