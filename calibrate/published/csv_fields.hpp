// Splits a line of CSV into fields by RFC 4180, except that a field cannot span lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast::published {

struct CsvField {
  std::string text;
  int column = 1;  ///< where it begins, from 1
};

/// The fields of a line. Unquoted fields are trimmed.
/// \param broken  receives the column of a quoted field that does not end properly; the fields after it are missing
std::vector<CsvField> csv_fields(std::string_view line, std::optional<int>& broken);

}  // namespace fabricast::published
