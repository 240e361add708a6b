// The columns of the table of published serving.
//
// The names of columns are a contract with tables of users (docs/calibrate/published-serving.md).
#include <array>

#include "../cases/data_path.hpp"
#include "csv_reader.hpp"
#include "fabricast/calibrate/published_serving.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

constexpr std::array<published::CsvColumn<ServingRow>, 18> serving_columns{{
    {"source", &ServingRow::source, true},
    {"system", &ServingRow::system, true},
    {"model", &ServingRow::model, true},
    {"engine", &ServingRow::engine, true},
    {"version", &ServingRow::version},
    {"precision", &ServingRow::precision, true},
    {"tp", &ServingRow::tensor},
    {"pp", &ServingRow::pipeline},
    {"ep", &ServingRow::expert},
    {"dp", &ServingRow::data},
    {"phase", &ServingRow::phase, true},
    {"input_len", &ServingRow::input},
    {"output_len", &ServingRow::output},
    {"batch_or_concurrency", &ServingRow::batch},
    {"metric", &ServingRow::metric, true},
    {"value", &ServingRow::value, true},
    {"confidence", &ServingRow::confidence},
    {"note", &ServingRow::note},
}};

}  // namespace

std::string shipped_serving_path() { return shipped_data_path("serving.csv"); }

std::vector<ServingRow> parse_serving_rows(const std::string& text, const std::string& path) {
  return published::CsvReader<ServingRow>(serving_columns, text, path).read();
}

std::vector<ServingRow> read_serving_rows(const std::string& path) {
  return parse_serving_rows(read_file(path, published::largest_csv_file), path);
}

}  // namespace fabricast
