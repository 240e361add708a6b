// A profile that overrides the hardware: what it gives is finite, and the same a second time. And a model of residuals.
#include <cmath>

#include "fabricast/hardware/hardware.hpp"
#include "fabricast/residual/residual.hpp"
#include "reader.hpp"

namespace fabricast::fuzz {

void read_profile(std::string_view bytes) {
  const std::string text(bytes);
  if (text.find("\"groups\"") != std::string::npos) {
    taken(text, [&] { return residual_model_json(residual_model_of(text, "file"), "source").size(); });
    return;
  }
  const auto hardware = taken(text, [&] {
    Hardware h = shipped_hardware();
    overlay_profile(h, text, "file");
    return h;
  });
  if (!hardware) return;
  Hardware once = *hardware, twice = *hardware;
  overlay_profile(twice, text, "file");
  const auto first = once.all_parameters(), second = twice.all_parameters();
  require(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Parameter &a = *first[i].second.parameter, &b = *second[i].second.parameter;
    require(std::isfinite(a.value) && a.low <= a.value && a.value <= a.high);
    require(a.value == b.value && a.low == b.low && a.high == b.high);
  }
}

}  // namespace fabricast::fuzz
