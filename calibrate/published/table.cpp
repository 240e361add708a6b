// The columns of the table of published steps.
//
// The names of columns are a contract with tables of users (docs/calibrate/published-steps.md).
#include <array>

#include "../cases/data_path.hpp"
#include "csv_reader.hpp"
#include "fabricast/calibrate/published_steps.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

const std::array<published::CsvColumn<PublishedRow>, 21> columns{{
    {"source", &PublishedRow::source, true},
    {"system", &PublishedRow::system, true},
    {"model", &PublishedRow::model, true},
    {"gpus", &PublishedRow::gpus, true},
    {"precision", &PublishedRow::precision, true},
    {"gbs_seqs", &PublishedRow::global_batch, false},
    {"mbs", &PublishedRow::micro_batch, false},
    {"seq", &PublishedRow::sequence, false},
    {"fsdp", &PublishedRow::fsdp, false},
    {"tp", &PublishedRow::tensor, false},
    {"pp", &PublishedRow::pipeline, false},
    {"cp", &PublishedRow::context, false},
    {"vp", &PublishedRow::interleave, false},
    {"ep", &PublishedRow::expert, false},
    {"dp", &PublishedRow::data, false},
    {"recompute", &PublishedRow::recompute, false},
    {"step_s", &PublishedRow::step_seconds, false},
    {"tok_s_gpu", &PublishedRow::tokens_per_second, false},
    {"tflops_gpu", &PublishedRow::tflops, false},
    {"mfu_pct", &PublishedRow::mfu, false},
    {"note", &PublishedRow::note, false},
}};

}  // namespace

std::string shipped_training_steps_path() { return shipped_data_path("training_steps.csv"); }

std::vector<PublishedRow> parse_published_rows(const std::string& text, const std::string& path) {
  return published::CsvReader<PublishedRow>(columns, text, path).read();
}

std::vector<PublishedRow> read_published_rows(const std::string& path) {
  return parse_published_rows(read_file(path, published::largest_csv_file), path);
}

}  // namespace fabricast
