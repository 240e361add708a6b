// Reads the fields of a spec from a YAML tree and records the position of each.
//
// The reader collects all errors of a file, so that one run is enough to fix it. It never throws for an error in the
// file; the caller checks `failed`. Overrides (`--set`) replace values of the file and are read in the same way. Keys
// that no field reads are errors.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"
#include "yaml_tree.hpp"

namespace fabricast {

/// The position of a path, or of the innermost section around it that has one, or else the file without a line.
SourceSpan place_of(const std::map<std::string, SourceSpan>& places, const std::string& file, std::string path);

/// A value that overrides the file: `fabric.switch.rate=800Gbps`.
struct Override {
  std::string path, value;
};

/// The words of `--set`, each `path=value`. A word of another form adds to `faults`.
std::vector<Override> split_overrides(const std::vector<std::string>& words, std::vector<Diagnostic>& faults);

/// The visitor that reads fields. Use: construct, visit the spec, `finish`, then check `failed`.
class YamlReader final : public FieldVisitor {
 public:
  /// \param root       a map with the keys of the spec; a tree must outlive the reader
  /// \param file       name of the file, for messages
  /// \param overrides  in order; the last one of a path wins
  /// \throws UserError if an override is not UTF-8
  YamlReader(const YamlView& root, std::string file, std::vector<Override> overrides);

  void scalar(const FieldInfo& info, ScalarRef value) override;
  bool enter(const FieldInfo& info) override;
  void leave() override;
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override;
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override;

  /// Reports keys of the outermost map and overrides that no field has read.
  void finish();
  /// Adds an error that was found elsewhere. Without a position it gets the position of its path.
  void add(Diagnostic diagnostic);
  /// Whether the file or an override gives this path.
  bool given(const std::string& path) const { return places_.contains(path); }
  /// The position of a path, see `place_of`.
  SourceSpan place(const std::string& path) const;
  const std::map<std::string, SourceSpan>& places() const { return places_; }
  bool failed() const { return !diagnostics_.empty(); }
  std::vector<Diagnostic> take_diagnostics();

 private:
  struct Level {
    YamlView node;  ///< a map or a sequence, or absent
    std::string path;
    std::string origin;                   ///< the override that gave it; empty: the file
    std::vector<std::string_view> known;  ///< names of fields, which are constants
    bool list = false;
    std::size_t next = 0;  ///< next element of a list
  };
  struct Found {
    YamlView node;
    std::string path;
    std::string origin;
    bool there = false;
  };
  Found find(const FieldInfo& info);
  void fail(const std::string& path, std::string message, std::string hint = {});
  void check_keys(const YamlView& map, const std::string& path, const std::string& origin);
  SourceSpan span(const YamlView& node, const std::string& origin) const;
  void report_unknown(const Level& level);
  template <class T>
  void store(const Found& found, const FieldInfo& info, T& target);

  std::string file_;
  std::vector<Override> overrides_;
  std::set<std::string> used_overrides_;
  std::vector<Level> levels_;
  std::set<std::string> known_;  ///< every path that a field has read, if there are overrides
  std::map<std::string, SourceSpan> places_;
  std::vector<Diagnostic> diagnostics_;
  std::size_t entries_ = 0;  ///< list elements read so far, to bound the expansion of aliases
};

/// Parses a YAML text.
/// \param file   name of the file, for messages
/// \param begin  hint on how such a file begins
/// \throws UserError with the position of a syntax error, or if the text is not a single map
YAML::Node parse_yaml(const std::string& text, const std::string& file, const std::string& begin);

}  // namespace fabricast
