// Hash functions that switches use, over the 13 bytes of an IPv4 5-tuple.
//
// crc16 is CRC-16/CCITT-FALSE (polynomial 0x1021), crc32 is the Ethernet CRC (0x04C11DB7, reflected), xor folds the
// bytes to 16 bits. CRC is linear: crc(a xor b) = crc(a) xor crc(b) up to a constant. Two consequences are used here:
// a hash is the xor of one table entry per byte, and a per-switch seed only xors a constant. The second is physics,
// not an optimization: seeds alone do not undo polarization between tiers; different bits of the hash do.
#pragma once

#include <array>
#include <cstdint>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

enum class HashFunction { crc16, crc32, xor16 };
template <>
struct EnumNames<HashFunction> {
  static constexpr std::array<std::string_view, 3> names{"crc16", "crc32", "xor"};
};

/// 5-tuple in wire order: source IP, destination IP, source port, destination port, protocol.
using Tuple = std::array<std::uint8_t, 13>;

/// The hash of a whole tuple, computed bit by bit: the definition, against which the tables are tested.
std::uint32_t hash_by_definition(HashFunction function, const Tuple& tuple);

/// Number of bits of the result.
constexpr int hash_bits(HashFunction function) { return function == HashFunction::crc32 ? 32 : 16; }

/// hash(tuple) = constant xor, over positions, at[position][byte].
struct HashTables {
  std::uint32_t constant = 0;
  std::array<std::array<std::uint32_t, 256>, 13> at{};
};
const HashTables& hash_tables(HashFunction function);

}  // namespace fabricast
