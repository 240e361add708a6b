// What a reader of one format is, and the readers there are.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fabricast/calibrate/import.hpp"
#include "fabricast/core/line_reader.hpp"

namespace fabricast {

/// What all readers write to.
class ImportSink {
 public:
  explicit ImportSink(Imported& result) : out(result) {}
  void problem(int line, std::string message);
  /// A variable of NCCL's, up to 1,000 of them.
  void variable(std::string_view name, std::string_view value);
  Imported& out;
};

/// A format whose parts follow each other in blocks: only one block is open at a time. Lines of NCCL and others may
/// stand between those of a block.
class BlockFormat {
 public:
  explicit BlockFormat(ImportSink& sink) : sink_(sink) {}
  virtual ~BlockFormat() = default;
  BlockFormat(const BlockFormat&) = delete;
  BlockFormat& operator=(const BlockFormat&) = delete;
  /// Whether the line starts a block; if so, it is read.
  virtual bool begins(std::string_view text, int line) = 0;
  /// Whether the line belongs to the open block; if so, it is read, or is a problem.
  virtual bool continues(std::string_view text, int line) = 0;
  /// The open block ends.
  virtual void close() = 0;

 protected:
  ImportSink& sink_;
};

std::unique_ptr<BlockFormat> csv_format(ImportSink& sink);
std::unique_ptr<BlockFormat> osu_format(ImportSink& sink);
std::unique_ptr<BlockFormat> perftest_format(ImportSink& sink);
std::unique_ptr<BlockFormat> peer_matrix_format(ImportSink& sink);
std::unique_ptr<BlockFormat> topo_matrix_format(ImportSink& sink);

/// nccl-tests looks at lines of no format, too: a command line names the test.
class NcclTestsFormat : public BlockFormat {
 public:
  using BlockFormat::BlockFormat;
  virtual void see_command(std::string_view text) = 0;
  /// NCCL said its version.
  virtual void see_version(const std::string& version) = 0;
};
std::unique_ptr<NcclTestsFormat> nccl_tests_format(ImportSink& sink);

/// Lines of NCCL itself.
class NcclLog {
 public:
  explicit NcclLog(ImportSink& sink);
  ~NcclLog();
  /// Whether the line is NCCL's; if so, it is read. `before`: what stands in front of it.
  bool read(std::string_view text, int line, std::string_view& before);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Lines by which NCCL tells of the topology and of what is not used; others change nothing.
void read_nccl_hint(std::string_view text, NcclFacts& facts);

/// The JSON file of nccl-tests that starts at the current line. Afterwards the reader stands on the line in which it
/// ends, or on the one that is no JSON any more. \returns whether that line is still to be read as text
bool read_nccl_tests_json(LineReader& lines, ImportSink& sink);

/// Lines of `calibrate probe`.
class ProbeResults {
 public:
  explicit ProbeResults(ImportSink& sink);
  ~ProbeResults();
  /// Whether a line is one of them, by its beginning; measurements only after a line of provenance.
  bool begins(std::string_view text) const;
  /// The current line, all its pieces.
  void read(LineReader& lines);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// NCCL's topology XML that starts at the current line; the reader stands on its last line afterwards, or on the one
/// that is no XML any more. \returns whether that line is still to be read as text
bool read_topology_block(LineReader& lines, ImportSink& sink);

}  // namespace fabricast
