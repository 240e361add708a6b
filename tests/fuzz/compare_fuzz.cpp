// Two forecasts (`run --json`), parted by a NUL; without one, a forecast and itself.
#include "fabricast/report/compare.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_compare(std::string_view bytes) {
  const auto end = bytes.find('\0');
  const std::string before(bytes.substr(0, end)), after(end == std::string_view::npos ? bytes : bytes.substr(end + 1));
  // Places are held to the longer one, as either may be at fault.
  const auto compared = taken(before, [&] { return compare_forecasts(before, "file", after, "other"); });
  if (!compared) return;
  if (end == std::string_view::npos) require(compared->passes(0));
  require_clean(comparison_text(*compared, 0.01));
  require_clean(comparison_json(*compared, 0.01));
}

}  // namespace fabricast::fuzz
