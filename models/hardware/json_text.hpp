// A user's JSON with places for messages. For the sources of the models that read JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fabricast/core/error.hpp"

namespace fabricast {

/// Where a key of the file stands, for messages: the first occurrence of the quoted last part of the path.
SourceSpan key_place(const std::string& file, const std::string& text, std::string_view path);

/// \throws UserError with the place of a syntax error, or of a key that is there twice.
nlohmann::json parse_json_text(const std::string& text, const std::string& file);

}  // namespace fabricast
