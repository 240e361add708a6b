// Keys of a user's JSON object, read with checks; faults are collected.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/error.hpp"

namespace fabricast {

class JsonKeys {
 public:
  using Keys = std::vector<std::string_view>;

  /// \throws UserError if the text is no JSON object
  JsonKeys(const std::string& text, std::string file);
  JsonKeys(const JsonKeys&) = delete;

  /// Keys are read from inside this one from now on, if it is an object that holds `has`.
  void go_into(std::string_view key, std::string_view has);

  /// The first of the keys that is there and not null; none if its value is refused.
  std::optional<std::int64_t> integer(const Keys& keys, std::int64_t low, std::int64_t high);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> word(std::string_view key);
  std::optional<std::vector<std::string>> words(std::string_view key);
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// The first of the keys that is there and not null, or empty.
  std::string_view first_of(const Keys& keys) const;

  /// \param key where the fault is; of one that is missing the file's begin
  void refuse(std::string_view key, std::string message, std::string hint = {});
  const std::vector<Diagnostic>& faults() const { return faults_; }

 private:
  /// A dot leads into an object.
  const nlohmann::json* find(std::string_view key) const;

  std::string text_, file_, prefix_;
  nlohmann::json root_;
  const nlohmann::json* here_ = nullptr;
  std::vector<Diagnostic> faults_;
};

}  // namespace fabricast
