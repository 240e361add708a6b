// Parses JSON files of users, with positions for messages.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// Position of a key in the file. Finds the parts of the path one after the other as quoted text.
SourceSpan key_place(const std::string& file, const std::string& text, std::string_view path);

/// Parses a text. \throws UserError with the position of a syntax error, a number out of range, or a duplicate key.
nlohmann::json parse_json_text(const std::string& text, const std::string& file);

}  // namespace fabricast
