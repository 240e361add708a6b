// Reads a log line by line and offers each line to the readers of all formats (format.hpp). One stream may mix formats,
// because people paste what a job printed: the header of nccl-tests, NCCL's own lines between its rows, and tables of
// other tools. Memory is bounded whatever the log contains, because a log may come from anyone.
#include "fabricast/calibrate/import.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "fabricast/core/error.hpp"
#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_problems = 1000;
constexpr std::size_t largest_topology = std::size_t{1} << 22;

/// The formats that consist of blocks. The text of nccl-tests comes after them, because it accepts rows without a
/// header.
constexpr std::array block_formats = {
#define FABRICAST_FORMAT(name) name##_format,
#include "formats.inc"
#undef FABRICAST_FORMAT
};

class Blocks {
 public:
  explicit Blocks(ImportSink& sink) {
    for (const auto& make : block_formats) all_.push_back(make(sink));
    auto tests = nccl_tests_format(sink);
    tests_ = tests.get();
    all_.push_back(std::move(tests));
  }

  /// Offers a line to all formats. \returns whether one of them read it
  bool read(std::string_view text, int line) {
    // A title of any format ends the open block: a tool that crashed leaves a table without its end.
    for (const auto& format : all_)
      if (format->begins(text, line)) {
        if (open_ && open_ != format.get()) open_->close();
        open_ = format.get();
        return true;
      }
    return open_ && open_->continues(text, line);
  }
  void close() {
    if (open_) open_->close();
    open_ = nullptr;
  }
  NcclTestsFormat& tests() { return *tests_; }

 private:
  std::vector<std::unique_ptr<BlockFormat>> all_;
  NcclTestsFormat* tests_ = nullptr;  ///< the last of them
  BlockFormat* open_ = nullptr;
};

/// What another program had printed on a line before NCCL interrupted it: the text in front of NCCL's, without NCCL's
/// own host, process, thread and device.
/// NCCL writes with its own buffer, so its line may start in the middle of a row: `12.3node-3:17:42 [0] NCCL INFO`.
std::string_view interrupted(std::string_view before) {
  if (before.ends_with(']')) before = before.substr(0, before.rfind('['));
  before = before.substr(0, before.find_last_not_of(" \t") + 1);
  const std::size_t space = before.find_last_of(" \t");
  const std::string_view host = space == std::string_view::npos ? before : before.substr(space + 1);
  // NCCL's prefix is host:process:thread. Without it, the text in front is a prefix of a launcher.
  if (std::count(host.begin(), host.end(), ':') < 2) return {};
  // `-1node-3:17:42`: the root column of a row, directly followed by a host.
  std::size_t glued = host.starts_with('-') ? 1 : 0;
  while (glued < host.size() && is_digit(host[glued])) ++glued;
  return before.substr(0, before.size() - host.size() + (space == std::string_view::npos ? 0 : glued));
}

class Importer {
 public:
  explicit Importer(std::istream& in) : lines_(in), sink_(out_), blocks_(sink_), nccl_(sink_), probe_(sink_) {}

  Imported read() {
    while (again_ || lines_.next()) {
      again_ = false;
      // Lines beyond the reader's buffer are only read if they are JSON, whose readers take a line in pieces.
      if (!lines_.whole() && !long_line()) continue;
      read_line();
    }
    blocks_.close();
    // NCCL's facts and the probe's tables are complete only at the end.
    nccl_.finish();
    probe_.finish();
    out_.lines = lines_.line();
    std::stable_sort(out_.problems.begin(), out_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.line < b.line; });
    return std::move(out_);
  }

 private:
  /// \returns whether the line is JSON, which is read in pieces
  bool long_line() {
    if (!lines_.starts()) return false;
    if (is_json(lines_.text())) return true;
    sink_.problem(lines_.line(), "line ignored: it is longer than 65536 bytes");
    return false;
  }

  // An object, not a list: a line that begins with `[` is more often the prefix of a launcher.
  static bool is_json(std::string_view text) {
    text = trimmed(text);
    if (!text.starts_with('{')) return false;
    text = trimmed(text.substr(1));
    return text.empty() || text.starts_with('"');
  }

  void read_line() {
    std::string_view text = lines_.text();
    const int line = lines_.line();
    // The probe's lines are JSON too, so they are tried before the JSON of nccl-tests.
    if (probe_.begins(text)) {
      blocks_.close();
      probe_.read(lines_);
      return;
    }
    if (is_json(text)) {
      blocks_.close();
      again_ = read_nccl_tests_json(lines_, sink_);
      return;
    }
    if (const std::string_view start = trimmed(text); start.starts_with("<system") && lines_.whole()) {
      blocks_.close();
      again_ = read_topology_block(lines_, sink_);
      return;
    }
    // Most lines contain no escape sequence; only those that do are copied.
    if (!text.empty() && std::memchr(text.data(), '\x1b', text.size())) {
      plain_ = without_escapes(text);
      text = plain_;
    }
    constexpr int most_prefixes = 4;
    std::string_view before;
    // NCCL's lines come before all tables: they may interrupt a table without ending it.
    if (nccl_.read(text, line, before)) {
      if (const auto version = after(text, "NCCL version "))
        blocks_.tests().see_version(shown(version->substr(0, version->find_first_not_of("0123456789.")), 20));
      std::optional<std::string_view> row = interrupted(before);
      // Only text that begins with a digit can be the start of a row.
      for (int i = 0; row && i < most_prefixes; ++i, row = without_prefix(*row))
        if (!trimmed(*row).empty() && is_digit(trimmed(*row).front()) && blocks_.read(*row, line)) break;
      return;
    }
    std::optional<std::string_view> rest = text;
    // As it is first, then without one prefix after the other: a prefix is removed only if the line means nothing with
    // it.
    for (int i = 0; rest && i < most_prefixes; ++i, rest = without_prefix(*rest))
      if (blocks_.read(*rest, line)) return;
    // Versions of nccl-tests before 2.17 do not print the test's name. A command line in the log may.
    if (text.find("_perf") != std::string_view::npos) blocks_.tests().see_command(text);
  }

  Imported out_;
  LineReader lines_;
  ImportSink sink_;
  Blocks blocks_;
  NcclLog nccl_;
  ProbeResults probe_;
  std::string plain_;
  bool again_ = false;
};

}  // namespace

void ImportSink::problem(int line, std::string message) {
  if (out.problems.size() < most_problems)
    out.problems.push_back({line, std::move(message), {}, 0});
  else
    ++out.problems_left_out;
}

void ImportSink::variable(std::string_view name, std::string_view value) {
  constexpr std::size_t most_variables = 1000;
  if (out.nccl.env.size() < most_variables) out.nccl.env.emplace(shown(name), shown(value));
}

namespace {

// Lines of the document after `</system>` are dropped: the last line may continue with other text.
void read_topology_text(std::string& xml, int first, bool fits, ImportSink& sink) {
  if (!fits) return sink.problem(first, "topology file ignored: it is larger than 4 MiB");
  if (const std::size_t end = xml.rfind("</system>"); end != std::string::npos) xml.resize(end + 9);
  try {
    NodeLayout layout = read_topology(xml, {});
    if (sink.out.node) return sink.problem(first, "topology file ignored: it is not the first");
    sink.out.node = std::move(layout);
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics())
      sink.problem(first + std::max(0, d.where.line - 1), "topology file: " + shown(d.message));
  }
}

}  // namespace

bool read_topology_block(LineReader& lines, ImportSink& sink) {
  const int first = lines.line();
  std::string xml;
  bool ended = false, fits = true, inside = false, more = true;
  do {
    const std::string_view text = lines.text();
    // Outside of an element only `<` can begin a line of XML. Anything else shows that the document was cut off.
    if (!inside && lines.starts() && !trimmed(text).empty() && !trimmed(text).starts_with('<')) break;
    fits = fits && xml.size() + text.size() < largest_topology;
    if (fits) xml.append(text).append(lines.ends() ? "\n" : "");
    // An element may span several lines, and these may start with anything.
    if (const std::size_t last = text.find_last_of("<>"); last != std::string_view::npos) inside = text[last] == '<';
    ended = text.find("</system>") != std::string_view::npos;
  } while (!ended && (more = lines.next()));
  read_topology_text(xml, first, fits, sink);
  // If the document was cut off, the line that ended it has not been read yet.
  return more && !ended;
}

bool LogRow::one_size() const {
  return !spread || static_cast<double>(spread->bytes_below) <= 1.05 * static_cast<double>(bytes);
}

bool LogTable::whole_nodes(int gpus_per_node) const {
  if (scattered || ranks < 1 || ranks % gpus_per_node != 0) return false;
  return nodes == 0 || ranks == nodes * gpus_per_node;
}

bool Imported::empty() const {
  return tables.empty() && nccl.line == 0 && nccl.env.empty() && !topo && peers.empty() && !node &&
         job.communicators.empty() && job.records == 0;
}

Imported import_log(std::istream& in) { return Importer(in).read(); }

}  // namespace fabricast
