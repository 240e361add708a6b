// Reads keys of a user's JSON object with checks, and collects the errors.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// A JSON object and the errors found in it. A key `a.b` names a member of the object `a`.
class JsonKeys {
 public:
  using Keys = std::vector<std::string_view>;

  /// \throws UserError if the text is not a JSON object
  JsonKeys(const std::string& text, std::string file);
  JsonKeys(const JsonKeys&) = delete;

  /// From now on reads keys inside `key`, if that is an object with the member `has`.
  void go_into(std::string_view key, std::string_view has);

  /// Value of the first key that exists and is not null. Nothing if there is none or its value is invalid.
  std::optional<std::int64_t> integer(const Keys& keys, std::int64_t low, std::int64_t high);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> word(std::string_view key);
  std::optional<std::vector<std::string>> words(std::string_view key);
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// The first key that exists and is not null, or empty.
  std::string_view first_of(const Keys& keys) const;

  /// Records an error. \param key  its place; a key that is missing stands for the start of the file
  void refuse(std::string_view key, std::string message, std::string hint = {});
  const std::vector<Diagnostic>& faults() const { return faults_; }

 private:
  /// Null if the key does not exist or is null.
  const nlohmann::json* find(std::string_view key) const;

  std::string text_, file_, prefix_;
  nlohmann::json root_;
  const nlohmann::json* here_ = nullptr;
  std::vector<Diagnostic> faults_;
};

}  // namespace fabricast
