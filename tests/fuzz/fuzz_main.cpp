// One reader under libFuzzer: FABRICAST_READER is its function.
#include <cstddef>
#include <cstdint>

#include "reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fabricast::fuzz::FABRICAST_FUZZED({reinterpret_cast<const char*>(data), size});
  return 0;
}
