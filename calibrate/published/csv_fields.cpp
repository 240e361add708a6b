// RFC 4180: a quoted field may contain commas, and a quote inside it is doubled. A field that spans lines would make
// every later position in messages wrong, and no shipped table needs one.
#include "csv_fields.hpp"

#include <algorithm>

#include "fabricast/core/scan.hpp"

namespace fabricast::published {

std::vector<CsvField> csv_fields(std::string_view line, std::optional<int>& broken) {
  std::vector<CsvField> fields;
  std::size_t at = 0;
  do {
    CsvField f{{}, static_cast<int>(at + 1)};
    if (at < line.size() && line[at] == '"') {
      std::size_t i = at + 1;
      for (; i < line.size(); ++i) {
        if (line[i] != '"')
          f.text += line[i];
        else if (i + 1 < line.size() && line[i + 1] == '"')
          f.text += line[++i];
        else
          break;
      }
      // The line ended inside the quotes, or text follows the closing quote.
      if (i >= line.size() || (i + 1 < line.size() && line[i + 1] != ',')) broken = f.column;
      at = i + 1;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      f.text = trimmed(line.substr(at, end - at));
      at = end;
    }
    fields.push_back(std::move(f));
    // A comma at the end of the line begins one more, empty field.
    if (broken || at >= line.size()) return fields;
  } while (line[at++] == ',');
  return fields;
}

}  // namespace fabricast::published
