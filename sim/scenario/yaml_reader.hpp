// Reads fields out of a YAML tree, and remembers where each of them stood.
//
// The reader collects every fault of a file before it throws, so one run mends one file. This is the only header that
// shows yaml-cpp.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/fields.hpp"

namespace fabricast {

/// The place of a path, or of the nearest thing around it that has one; else the file.
SourceSpan place_of(const std::map<std::string, SourceSpan>& places, const std::string& file, std::string path);

/// A value that wins over the file: `fabric.switch.rate=800Gbps`.
struct Override {
  std::string path, value;
};

class YamlReader final : public FieldVisitor {
 public:
  /// \param root a map; its keys are those of the first visited fields
  YamlReader(const YAML::Node& root, std::string file, std::vector<Override> overrides);

  void scalar(const FieldInfo& info, ScalarRef value) override;
  bool enter(const FieldInfo& info) override;
  void leave() override;
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override;
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override;

  /// Reports keys of the outermost map, and overrides, that no field took.
  void finish();
  /// Adds a fault found elsewhere; if it has no place it gets that of its path.
  void add(Diagnostic diagnostic);
  /// Whether the file or an override gives this path.
  bool given(const std::string& path) const { return places_.contains(path); }
  SourceSpan place(const std::string& path) const;
  const std::map<std::string, SourceSpan>& places() const { return places_; }
  bool failed() const { return !diagnostics_.empty(); }
  std::vector<Diagnostic> take_diagnostics();

 private:
  struct Level {
    YAML::Node node;  ///< a map or a sequence; undefined if absent
    std::string path;
    std::string origin;  ///< the override it comes from; empty: the file
    std::set<std::string> known;
    bool list = false;
    std::size_t next = 0;  ///< element of a list
  };
  struct Found {
    YAML::Node node;
    std::string path;
    std::string origin;
    bool there = false;
  };
  Found find(const FieldInfo& info);
  void fail(const std::string& path, std::string message, std::string hint = {});
  void check_keys(const YAML::Node& map, const std::string& path, const std::string& origin);
  SourceSpan span(const YAML::Node& node, const std::string& origin) const;
  void report_unknown(const Level& level);
  template <class T>
  void store(const Found& found, const FieldInfo& info, T& target);

  std::string file_;
  std::vector<Override> overrides_;
  std::set<std::string> used_overrides_;
  std::vector<Level> levels_;
  std::set<std::string> known_;  ///< every path a field asked for
  std::map<std::string, SourceSpan> places_;
  std::vector<Diagnostic> diagnostics_;
  std::size_t entries_ = 0;  ///< of lists, each time that one is read
};

/// Parses YAML; `begin` says how such a file begins.
/// \throws UserError with the place of a syntax error, or if it is not one map.
YAML::Node parse_yaml(const std::string& text, const std::string& file, const std::string& begin);

}  // namespace fabricast
