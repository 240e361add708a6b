// What tools printed, for the doctor: the report is clean, whatever they say.
#include "fabricast/calibrate/doctor.hpp"
#include "reader.hpp"
#include "support/scratch.hpp"

namespace fabricast::fuzz {

void read_tools(std::string_view bytes) {
  static const Scratch empty;
  DoctorExtras extras;
  extras.texts = {{"file", std::string(bytes)}};
  const auto report = taken(bytes, [&] { return doctor(empty.path.string(), extras); });
  if (!report) return;
  for (const Finding& f : report->findings) require(!f.check.empty() && !f.subject.empty());
  require_clean(doctor_text(*report, "1"));
  require_clean(doctor_json(*report, "1"));
}

}  // namespace fabricast::fuzz
