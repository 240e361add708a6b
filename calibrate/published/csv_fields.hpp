// A line of CSV as its fields, as RFC 4180 has them, on one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricast::published {

struct CsvField {
  std::string text;
  int column = 1;  ///< where it begins
};

/// \param broken  is left the column of a quote that does not end
std::vector<CsvField> csv_fields(std::string_view line, std::optional<int>& broken);

}  // namespace fabricast::published
