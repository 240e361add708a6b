// Rows on disk: what is put is there, in whatever order it came.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "fabricast/core/file.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/plan/store.hpp"
#include "support/scratch.hpp"

using namespace fabricast;

namespace {

Study made_up() {
  Study study;
  study.file = "s.yaml", study.text = "fabricast: 1\n";
  study.axes = {{"a \"quoted\" axis", {{"x", {"a=x"}}, {"y", {"a=y"}}}}, {"b", {{"1", {}}, {"2", {}}, {"3", {}}}}};
  return study;
}

SweepRow row_of(std::size_t number) {
  SweepRow row;
  row.row = number;
  if (number == 4) {
    row.state = RowState::refused, row.why = "it's \"not\" to be";
    return row;
  }
  row.state = RowState::done;
  for (std::size_t m = 0; m < metrics().size(); ++m)
    row.values.push_back(m % 3 == 0 ? std::nullopt : std::optional(0.1 * static_cast<double>(m + number)));
  row.sizes.push_back({8, 1.25, 1.5, 2, 1.4, 3e-9, "ring", "ll", "latency"});
  row.sizes.push_back({1 << 20, 10, 11, 12, 1.3, 7, "tree", "simple", "spine0-leaf1#2"});
  return row;
}

std::string fill(const std::string& file, const std::vector<std::size_t>& order) {
  const Study study = made_up();
  const auto store = open_store(file, study, "", false);
  for (const std::size_t i : order) store->put(row_of(i));
  std::vector<SweepRow> rows;
  for (std::size_t i = 0; i < row_count(study); ++i) rows.push_back(row_of(i));
  store->finish(decide(study, rows));
  return read_file(file);
}

std::string fault_of(const std::string& file, const Study& study, const std::string& settings, bool resume) {
  try {
    (void)open_store(file, study, settings, resume);
  } catch (const UserError& e) { return e.diagnostics().front().message; }
  return "none";
}

}  // namespace

TEST_CASE("a row reads back from its JSON") {
  for (const std::size_t i : {0U, 4U})
    CHECK(row_to_json(row_from_json(row_to_json(row_of(i)))) == row_to_json(row_of(i)));
  CHECK_THROWS_AS(row_from_json("{}"), InternalError);
}

TEST_CASE("interrupted work continues where it stopped") {
  const Scratch scratch;
  const std::string file = scratch / "rows.db";
  const Study study = made_up();
  {
    const auto store = open_store(file, study, "", false);
    store->put(row_of(3)), store->put(row_of(4)), store->put(row_of(0));
  }  // and no finish
  const auto rows = open_store(file, study, "", true)->rows();
  REQUIRE(rows.size() == 3);
  const std::vector<std::size_t> expected = {0, 3, 4};
  for (std::size_t i = 0; i < 3; ++i) CHECK(row_to_json(rows[i]) == row_to_json(row_of(expected[i])));
}

TEST_CASE("a finished file has the same bytes whatever the order of rows") {
  const Scratch scratch;
  const std::string in_order = fill(scratch / "a.db", {0, 1, 2, 3, 4, 5});
  CHECK(fill(scratch / "b.db", {5, 3, 1, 0, 4, 2}) == in_order);
  CHECK(scratch.files() == 2);
}

TEST_CASE("a file of another study or program is refused") {
  const Scratch scratch;
  const std::string file = scratch / "rows.db";
  Study study = made_up();
  open_store(file, study, "", false)->put(row_of(1));
  CHECK(fault_of(file, study, "", false) == file + " already exists");
  CHECK(fault_of(file, study, "other", true) == file + " has rows of another study: different settings");
  study.text += "name: other\n";
  CHECK(fault_of(file, study, "", true) == file + " has rows of another study: different scenario");
  study = made_up(), study.axes[1].values[2].set = {"b=3"};
  CHECK(fault_of(file, study, "", true) == file + " has rows of another study: different axes");
  write_file(file, "no database\n, but long enough to be taken for one by its first bytes, were they others\n");
  CHECK(fault_of(file, made_up(), "", true) == file + ": file is not a database");
  CHECK(fault_of(scratch / "missing/rows.db", study, "", false) != "none");
  const std::string other = scratch / "other.db";
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(other.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, "CREATE TABLE t (x)", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  CHECK(fault_of(other, made_up(), "", true) == other + " is not a database of `fabricast plan`");
}

TEST_CASE("two processes cannot write to one file, but others can read it") {
  const Scratch scratch;
  const std::string file = scratch / "rows.db";
  const Study study = made_up();
  {
    const auto first = open_store(file, study, "", false);
    first->put(row_of(1));
    CHECK(fault_of(file, study, "", true) == file + ": another `fabricast plan` is writing to it");
    first->put(row_of(2));
    sqlite3* reader = nullptr;
    REQUIRE(sqlite3_open_v2(file.c_str(), &reader, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
    CHECK(sqlite3_exec(reader, "SELECT * FROM rows", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(reader);
  }
  CHECK(open_store(file, study, "", true)->rows().size() == 2);
}

TEST_CASE("an empty file, as a full disk leaves it, counts as new") {
  const Scratch scratch;
  const std::string file = scratch / "rows.db";
  for (const bool resume : {false, true}) {
    write_file(file, "");
    std::filesystem::resize_file(file, 0);
    CHECK(fault_of(file, made_up(), "", resume) == "none");
    std::filesystem::remove(file);
  }
}
