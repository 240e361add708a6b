// A file of results that is damaged, and gone on with: SQLite's own faults and rows that nobody wrote are messages. Each three
// bytes are a place in the file and what stands there instead.
#include <fstream>

#include "fabricast/core/file.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/plan/store.hpp"
#include "reader.hpp"
#include "support/scratch.hpp"

namespace fabricast::fuzz {

namespace {

Study small_study() {
  Study s;
  s.file = "s.yaml";
  s.text = "fabricast: 1\n";
  s.axes = {{"a", {{"x", {"a=x"}}, {"y", {"a=y"}}}}};
  return s;
}

/// The bytes of a file with a row of each kind.
std::string whole_file(const std::string& file, const Study& study) {
  {
    const auto store = open_store(file, study, "", false);
    SweepRow done;
    done.state = RowState::done;
    for (std::size_t m = 0; m < metrics().size(); ++m)
      done.values.push_back(m % 2 == 0 ? std::optional<double>(1.5) : std::nullopt);
    done.sizes = {{8, 1.25, 1.5, 2, 1.4, 3e-9, "ring", "ll", "latency"}};
    store->put(done);
    SweepRow refused;
    refused.row = 1;
    refused.state = RowState::refused;
    refused.why = "does not fit";
    store->put(refused);
  }
  return read_file(file);
}

}  // namespace

void read_store(std::string_view bytes) {
  static const Scratch scratch;
  static const std::string file = scratch / "rows.sqlite";
  static const Study study = small_study();
  static const std::string whole = whole_file(file, study);
  std::string damaged = whole;
  for (std::size_t i = 0; i + 2 < bytes.size(); i += 3) {
    const auto high = static_cast<unsigned char>(bytes[i]), low = static_cast<unsigned char>(bytes[i + 1]);
    damaged[(std::size_t{high} * 256 + low) % damaged.size()] = bytes[i + 2];
  }
  std::ofstream(file, std::ios::binary) << damaged;
  taken({}, [&] {
    for (const SweepRow& row : open_store(file, study, "", true)->rows()) {
      require(row.row < row_count(study));
      require(row.values.empty() || row.values.size() == metrics().size());
    }
    return 0;
  });
}

}  // namespace fabricast::fuzz
