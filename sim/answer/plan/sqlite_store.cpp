// Rows in a SQLite file (plan/store.hpp has the tables). A row is one transaction, so whatever ends the process leaves
// whole rows.
//
// A file belongs to one study: rows of another scenario, version or setting would be mixed up silently. Hence the
// identity in table `study`, and the lock against a second process.
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "fabricast/core/file.hpp"
#include "fabricast/core/text.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/plan/store.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {

namespace {

// Version of the tables. It is part of the identity, so files of an older format are refused.
constexpr const char* format = "1";

/// Locks a file against other writers while the object lives. SQLite holds its own locks only during transactions, so
/// other programs can read the file in the meantime.
class FileLock {
 public:
  explicit FileLock(const std::string& file) : fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw UserError(fmt::format("{}: {}", file, system_reason(errno)));
    // If the file system does not support locks, work without one.
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    close(fd_);
    throw UserError(fmt::format("{}: another `fabricast plan` is writing to it", file),
                    "wait for it, or give another file");
  }
  ~FileLock() { close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

/// A connection to one file. Every failure is a UserError that names the file.
class Database {
 public:
  explicit Database(std::string file) : file_(std::move(file)) {
    if (sqlite3_open(file_.c_str(), &handle_) != SQLITE_OK) {
      const std::string why = handle_ ? sqlite3_errmsg(handle_) : "out of memory";
      sqlite3_close(handle_);
      throw UserError(fmt::format("{}: {}", file_, why));
    }
    // A reader may hold the file for a moment.
    sqlite3_busy_timeout(handle_, 5000);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  [[noreturn]] void fail() const { throw UserError(fmt::format("{}: {}", file_, sqlite3_errmsg(handle_))); }
  sqlite3* handle() const { return handle_; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  sqlite3* handle_ = nullptr;
};

/// One prepared statement. Values are bound in order with `add`; columns count from 0.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql) : database_(database) {
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK) database.fail();
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& add(std::int64_t value) { return check(sqlite3_bind_int64(handle_, ++bound_, value)); }
  Statement& add(const std::optional<double>& value) {
    return check(value ? sqlite3_bind_double(handle_, ++bound_, *value) : sqlite3_bind_null(handle_, ++bound_));
  }
  Statement& add(std::string_view text) {
    return check(sqlite3_bind_text(handle_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }
  /// Runs the statement up to the next line of its result. \returns false if there is none
  bool step() {
    const int code = sqlite3_step(handle_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail();
    return code == SQLITE_ROW;
  }
  /// Prepares for running the statement with other values.
  void again() { sqlite3_reset(handle_), bound_ = 0; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  double real(int column) const { return sqlite3_column_double(handle_, column); }
  std::optional<double> value(int column) const {
    if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
    return real(column);
  }
  std::string text(int column) const {
    const auto* text = sqlite3_column_text(handle_, column);
    return text ? reinterpret_cast<const char*>(text) : "";
  }

 private:
  Statement& check(int code) {
    if (code != SQLITE_OK) database_.fail();
    return *this;
  }
  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

/// Everything that rows depend on, except the contents of files that the scenario names.
std::vector<std::pair<std::string, std::string>> identity(const Study& study, const std::string& settings) {
  std::string axes, set;
  for (const SweepAxis& axis : study.axes) {
    axes += axis.name + "\n";
    for (const SweepValue& value : axis.values) {
      axes += "  " + value.label + "\n";
      for (const std::string& word : value.set) axes += "    " + word + "\n";
    }
  }
  for (const std::string& word : study.overrides) set += word + "\n";
  return {{"format", format}, {"fabricast", version_text()}, {"scenario", study.text}, {"set", set},
          {"axes", axes},     {"settings", settings}};
}

class SqliteStore final : public RowStore {
 public:
  SqliteStore(const std::string& file, const Study& study, const std::string& settings, bool there)
      : lock_(file), database_(std::make_unique<Database>(file)), study_(study) {
    // Waiting for the disk would be slow, and a row that a crash of the machine loses is merely forecast again.
    database_->run("PRAGMA synchronous = OFF");
    if (there)
      check_same(identity(study, settings));
    else
      create(identity(study, settings));
  }

  // Columns are read by position: row, state, reason, axes, metrics. The identity ensures that they are those of this
  // study.
  std::vector<SweepRow> rows() override {
    std::vector<SweepRow> rows;
    Statement read(*database_, "SELECT * FROM rows ORDER BY row");
    Statement sizes(*database_, "SELECT * FROM sizes WHERE row = ? ORDER BY place");
    while (read.step()) {
      SweepRow row;
      row.row = static_cast<std::size_t>(read.integer(0));
      row.why = read.text(2);
      row.state = enum_from<RowState>(read.text(1)).value_or(RowState::not_run);
      if (row.row >= row_count(study_) || row.state == RowState::not_run) continue;
      const auto first = static_cast<int>(3 + study_.axes.size());
      if (row.state == RowState::done)
        for (std::size_t m = 0; m < metrics().size(); ++m)
          row.values.push_back(read.value(first + static_cast<int>(m)));
      sizes.again();
      sizes.add(static_cast<std::int64_t>(row.row));
      while (sizes.step())
        row.sizes.push_back({sizes.integer(2), sizes.real(3), sizes.real(4), sizes.real(5), sizes.real(6),
                             sizes.real(7), sizes.text(8), sizes.text(9), sizes.text(10)});
      rows.push_back(std::move(row));
    }
    return rows;
  }

  void put(const SweepRow& row) override {
    database_->run("BEGIN");
    std::string sql = "INSERT INTO rows VALUES (?, ?, ?";
    for (std::size_t i = 0; i < study_.axes.size() + metrics().size(); ++i) sql += ", ?";
    Statement write(*database_, sql + ", NULL, NULL, NULL)");
    write.add(static_cast<std::int64_t>(row.row)).add(name_of(row.state)).add(std::string_view(row.why));
    const std::vector<std::size_t> choices = choices_of(study_, row.row);
    for (std::size_t a = 0; a < choices.size(); ++a)
      write.add(std::string_view(study_.axes[a].values[choices[a]].label));
    for (std::size_t m = 0; m < metrics().size(); ++m) write.add(row.values.empty() ? std::nullopt : row.values[m]);
    write.step();
    Statement size(*database_, "INSERT INTO sizes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    std::int64_t place = 0;
    for (const SizeResult& s : row.sizes) {
      size.again();
      size.add(static_cast<std::int64_t>(row.row)).add(place++).add(s.bytes);
      for (const double v : {s.time, s.time_p95, s.time_worst, s.interval, s.bus_bandwidth}) size.add(std::optional(v));
      size.add(std::string_view(s.algorithm)).add(std::string_view(s.protocol)).add(std::string_view(s.bottleneck));
      size.step();
    }
    database_->run("COMMIT");
  }

  void finish(const Decision& decision) override {
    mark(decision);
    // The layout of a vacuumed copy depends on its contents only. The pages of the file itself also depend on the order
    // in which rows were stored.
    const std::string file = database_->file(), copy = file + ".whole";
    std::filesystem::remove(copy);
    {
      Statement vacuum(*database_, "VACUUM INTO ?");
      vacuum.add(std::string_view(copy));
      vacuum.step();
    }
    database_.reset();
    std::error_code failed;
    std::filesystem::rename(copy, file, failed);
    if (failed) throw UserError(fmt::format("{}: {}", file, failed.message()));
  }

 private:
  void mark(const Decision& decision) {
    database_->run("BEGIN");
    Statement write(*database_, "UPDATE rows SET kept = ?, pareto = ?, place = ? WHERE row = ?");
    for (std::size_t place = 0; place < decision.order.size(); ++place) {
      const std::size_t row = decision.order[place];
      write.again();
      write.add(std::int64_t{decision.kept[row]}).add(std::int64_t{decision.on_front[row]});
      write.add(static_cast<std::int64_t>(place + 1)).add(static_cast<std::int64_t>(row));
      write.step();
    }
    database_->run("COMMIT");
  }

  // Axes and metrics are columns by name, so that queries read as in docs/plan.md. Names are quoted: they contain dots.
  void create(const std::vector<std::pair<std::string, std::string>>& about) {
    database_->run("BEGIN");
    database_->run("CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
    std::string columns = "row INTEGER PRIMARY KEY, state TEXT NOT NULL, why TEXT NOT NULL";
    for (const SweepAxis& axis : study_.axes) columns += ", " + double_quoted(axis.name) + " TEXT NOT NULL";
    for (const Metric& metric : metrics()) columns += ", " + double_quoted(metric.name) + " REAL";
    database_->run("CREATE TABLE rows (" + columns + ", kept INTEGER, pareto INTEGER, place INTEGER)");
    database_->run(
        "CREATE TABLE sizes (row INTEGER NOT NULL, place INTEGER NOT NULL, bytes INTEGER NOT NULL, time_us REAL, "
        "time_us_p95 REAL, time_us_worst REAL, interval REAL, busbw_gbps REAL, algorithm TEXT, protocol TEXT, "
        "bottleneck TEXT, PRIMARY KEY (row, place)) WITHOUT ROWID");
    Statement write(*database_, "INSERT INTO study VALUES (?, ?)");
    for (const auto& [key, value] : about) {
      write.again();
      write.add(std::string_view(key)).add(std::string_view(value)).step();
    }
    database_->run("COMMIT");
  }

  void check_same(const std::vector<std::pair<std::string, std::string>>& about) {
    Statement tables(*database_, "SELECT name FROM sqlite_master WHERE name = 'study'");
    if (!tables.step())
      throw UserError(fmt::format("{} is not a database of `fabricast plan`", database_->file()), "give another file");
    Statement read(*database_, "SELECT value FROM study WHERE key = ?");
    for (const auto& [key, value] : about) {
      read.again();
      read.add(std::string_view(key));
      if (!read.step() || read.text(0) != value)
        throw UserError(fmt::format("{} has rows of another study: different {}", database_->file(), key),
                        "to forecast all rows, give another file and omit --resume");
    }
  }

  FileLock lock_;  // declared before the database, so closed after it: closing its descriptor ends SQLite's own locks
  std::unique_ptr<Database> database_;
  const Study& study_;
};

}  // namespace

std::unique_ptr<RowStore> open_store(const std::string& file, const Study& study, const std::string& settings,
                                     bool resume) {
  // An empty file, such as a full disk leaves behind, holds nothing that could be lost.
  std::error_code none;
  const bool there = std::filesystem::file_size(file, none) > 0 && !none;
  if (there && !resume)
    throw UserError(fmt::format("{} already exists", file), "use --resume to continue it, or give another file");
  check_writable(file);
  return std::make_unique<SqliteStore>(file, study, settings, there);
}

}  // namespace fabricast
