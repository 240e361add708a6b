// Bytes as a log: the importer must end, and must not crash, leak or run into undefined behaviour.
//
//   cmake -S . -B build-fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DFABRICAST_FUZZ=ON
//   ninja -C build-fuzz fuzz_import && build-fuzz/fuzz_import -dict=tests/fuzz/import.dict CORPUS tests/fuzz/import
#include <cstdint>
#include <cstdlib>
#include <istream>
#include <streambuf>

#include "fabricast/calibrate/import.hpp"

namespace {

/// The fuzzer's bytes, not copied.
class Bytes : public std::streambuf {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) {
    // A stream that only reads leaves them as they are.
    char* begin = const_cast<char*>(reinterpret_cast<const char*>(data));
    setg(begin, begin, begin + size);
  }
};

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  std::istream in(&bytes);
  const fabricast::Imported log = fabricast::import_log(in);
  for (const fabricast::LogTable& table : log.tables) {
    require(!table.rows.empty());
    int before = 0;
    for (const fabricast::LogRow& row : table.rows) {
      require(row.line >= before && row.line <= log.lines && row.bytes >= 0 && row.time_us > 0 && row.wrong >= 0);
      before = row.line;
    }
  }
  int before = 0;
  for (const fabricast::Problem& problem : log.problems) {
    require(problem.line >= before && !problem.message.empty());
    before = problem.line;
  }
  if (size % 8 != 0) return 0;  // the writers have less to fear, and take longer
  fabricast::import_text(log);
  fabricast::import_json({{"log", log}});
  return 0;
}
