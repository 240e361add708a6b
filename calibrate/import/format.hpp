// The interface of a reader of one format, and the readers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fabricast/calibrate/import.hpp"
#include "fabricast/core/line_reader.hpp"

namespace fabricast {

/// The output of all readers. Bounds what a hostile log can make it hold.
class ImportSink {
 public:
  explicit ImportSink(Imported& result) : out(result) {}
  /// Adds a problem; those beyond the first 1,000 are only counted.
  void problem(int line, std::string message);
  /// Adds a variable of NCCL. The first value counts, and at most 1,000 variables are kept.
  void variable(std::string_view name, std::string_view value);
  Imported& out;
};

/// A format that consists of blocks. Only one block is open at a time. Lines of NCCL and of other programs may
/// interrupt a block.
class BlockFormat {
 public:
  explicit BlockFormat(ImportSink& sink) : sink_(sink) {}
  virtual ~BlockFormat() = default;
  BlockFormat(const BlockFormat&) = delete;
  BlockFormat& operator=(const BlockFormat&) = delete;
  /// Reads the line if it starts a block. \returns whether it does
  virtual bool begins(std::string_view text, int line) = 0;
  /// Reads the line if it belongs to the open block, or reports it as a problem. \returns whether it belongs there
  virtual bool continues(std::string_view text, int line) = 0;
  /// Ends the open block.
  virtual void close() = 0;

 protected:
  ImportSink& sink_;
};

#define FABRICAST_FORMAT(name) std::unique_ptr<BlockFormat> name##_format(ImportSink& sink);
#include "formats.inc"
#undef FABRICAST_FORMAT

/// nccl-tests also uses lines that belong to no format, because versions before 2.17 do not print which test runs.
class NcclTestsFormat : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;
  /// Takes note of a line that may be a command line and name the test.
  virtual void see_command(std::string_view text) = 0;
  /// Takes note of the version that NCCL printed.
  virtual void see_version(const std::string& version) = 0;
};
std::unique_ptr<NcclTestsFormat> nccl_tests_format(ImportSink& sink);

/// Lines that NCCL prints.
class NcclLog {
 public:
  explicit NcclLog(ImportSink& sink);
  ~NcclLog();
  /// Reads the line if NCCL printed it.
  /// \param before  receives the text in front of NCCL's, which may be an interrupted row of a table
  /// \returns whether NCCL printed the line
  bool read(std::string_view text, int line, std::string_view& before);
  /// Sorts NICs and communicators. Call once, at the end of the log.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a line of NCCL about the topology or about features that it does not use. Other lines change nothing.
void read_nccl_hint(std::string_view text, NcclFacts& facts);

/// Reads the JSON file of nccl-tests that starts at the current line. Afterwards the reader is at the line where the
/// JSON ends, or at the first line that is no longer JSON. \returns whether that line is still to be read as text
bool read_nccl_tests_json(LineReader& lines, ImportSink& sink);

/// Lines of `calibrate probe`.
class ProbeResults {
 public:
  explicit ProbeResults(ImportSink& sink);
  ~ProbeResults();
  /// Whether a line begins like one of them. Measurements are recognised only after a provenance line.
  bool begins(std::string_view text) const;
  /// Reads the current line with all its pieces.
  void read(LineReader& lines);
  /// Writes the last tables. Call once, at the end of the log.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads NCCL's topology XML that starts at the current line. Afterwards the reader is at its last line, or at the
/// first line that is no longer XML. \returns whether that line is still to be read as text
bool read_topology_block(LineReader& lines, ImportSink& sink);

}  // namespace fabricast
