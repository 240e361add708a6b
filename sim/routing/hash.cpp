#include "hash.hpp"

namespace fabricast {

std::uint32_t hash_by_definition(HashFunction function, const Tuple& tuple) {
  switch (function) {
    case HashFunction::crc16: {
      std::uint32_t crc = 0xFFFF;
      for (const std::uint8_t byte : tuple) {
        crc ^= std::uint32_t{byte} << 8;
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U ? (crc << 1) ^ 0x1021U : crc << 1) & 0xFFFFU;
      }
      return crc;
    }
    case HashFunction::crc32: {
      std::uint32_t crc = 0xFFFFFFFFU;
      for (const std::uint8_t byte : tuple) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1U ? (crc >> 1) ^ 0xEDB88320U : crc >> 1;
      }
      return ~crc;
    }
    case HashFunction::xor16: {
      std::uint32_t fold = 0;
      for (std::size_t i = 0; i < tuple.size(); ++i) fold ^= std::uint32_t{tuple[i]} << (i % 2 ? 0 : 8);
      return fold;
    }
  }
  return 0;
}

namespace {

HashTables make_tables(HashFunction function) {
  HashTables t;
  Tuple tuple{};
  t.constant = hash_by_definition(function, tuple);
  for (std::size_t position = 0; position < tuple.size(); ++position)
    for (unsigned byte = 0; byte < 256; ++byte) {
      tuple = {};
      tuple[position] = static_cast<std::uint8_t>(byte);
      t.at[position][byte] = hash_by_definition(function, tuple) ^ t.constant;
    }
  return t;
}

}  // namespace

const HashTables& hash_tables(HashFunction function) {
  static const std::array<HashTables, 3> tables = {make_tables(HashFunction::crc16), make_tables(HashFunction::crc32),
                                                   make_tables(HashFunction::xor16)};
  return tables[static_cast<std::size_t>(function)];
}

}  // namespace fabricast
