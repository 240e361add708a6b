// Hash functions of switches, over the 13 bytes of an IPv4 5-tuple.
//
// crc16 is CRC-16/CCITT-FALSE (polynomial 0x1021), crc32 is the Ethernet CRC (0x04C11DB7, reflected), and xor folds the
// bytes to 16 bits. All three are linear: hash(a xor b) = hash(a) xor hash(b) up to a constant. This has two
// consequences. A hash is the xor of one table entry per byte. And a seed per switch only xors a constant. The second
// one is physics, not an optimization: seeds alone do not remove polarization between tiers, but a different function
// of the headers does.
//
// Two tiers that choose independently among 128 cables each need 14 independent bits. A 16-bit function has too few, so
// switches that hash differently by tier use two functions, as chips that offer crc16 and xor do. Each function
// therefore has a companion, and the *wide* hash holds both: the function's own bits below, and those of the companion
// above.
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

/// The number of the function's own bits, which are the low ones of the wide hash.
constexpr int hash_bits(HashFunction function) { return function == HashFunction::crc32 ? 32 : 16; }

/// The wide hash of a tuple, computed bit by bit. This is the definition that the tables are tested against.
///
///   crc16   CRC-16/CCITT-FALSE, above it CRC-16/BUYPASS (polynomial 0x8005)
///   crc32   all 32 bits are its own
///   xor     xor of the 16-bit words, above it the same with each word rotated by three bits more than the one before
std::uint32_t hash_by_definition(HashFunction function, const Tuple& tuple);

/// hash(tuple) = constant xor, over positions, at[position][byte].
struct HashTables {
  std::uint32_t constant = 0;
  std::array<std::array<std::uint32_t, 256>, 13> at{};
};
const HashTables& hash_tables(HashFunction function);

}  // namespace fabricast
