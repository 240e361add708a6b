// Hash functions by their definitions, and the tables that compute them quickly (hash.hpp).
#include "hash.hpp"

#include <bit>

namespace fabricast {

namespace {

/// Most significant bit first.
std::uint32_t crc16(const Tuple& tuple, std::uint32_t polynomial, std::uint32_t start) {
  std::uint32_t crc = start;
  for (const std::uint8_t byte : tuple) {
    crc ^= std::uint32_t{byte} << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U ? (crc << 1) ^ polynomial : crc << 1) & 0xFFFFU;
  }
  return crc;
}

/// Least significant bit first, so the polynomial is mirrored.
std::uint32_t crc32(const Tuple& tuple) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::uint8_t byte : tuple) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1U ? (crc >> 1) ^ 0xEDB88320U : crc >> 1;
  }
  return ~crc;
}

/// The xor of the tuple's 16-bit words, each rotated by `turn` bits more than the one before.
std::uint32_t fold(const Tuple& tuple, int turn) {
  std::uint16_t sum = 0;
  for (std::size_t i = 0; i < tuple.size(); i += 2) {
    const std::uint32_t word = std::uint32_t{tuple[i]} << 8 | (i + 1 < tuple.size() ? tuple[i + 1] : 0U);
    sum ^= std::rotl(static_cast<std::uint16_t>(word), turn * static_cast<int>(i / 2));
  }
  return sum;
}

}  // namespace

std::uint32_t hash_by_definition(HashFunction function, const Tuple& tuple) {
  switch (function) {
    // 16-bit functions have a companion in the upper half, so that all functions give 32 bits (CRC-16/CCITT with
    // CRC-16/BUYPASS).
    case HashFunction::crc16: return crc16(tuple, 0x1021, 0xFFFF) | crc16(tuple, 0x8005, 0) << 16;
    case HashFunction::crc32: return crc32(tuple);
    case HashFunction::xor16: return fold(tuple, 0) | fold(tuple, 3) << 16;
  }
  return 0;
}

namespace {

// All three are linear over xor: the hash of a tuple is that of zeros xor a contribution of each byte at its position.
// A table for each position therefore computes any of them with 13 lookups.
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
