#include "sim/routing/hash.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/rng.hpp"
#include "fabricast/routing/routing.hpp"

namespace fabricast {
namespace {

/// CRC of any text from the table of a 13-byte tuple: both CRCs have the text "123456789" as their published check.
constexpr Tuple check_text = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};

/// The polynomial division written out: most significant bit first, as the CRC catalogues define it.
std::uint32_t divide(const std::vector<std::uint8_t>& text, int width, std::uint32_t polynomial, std::uint32_t start,
                     bool reflected, std::uint32_t end) {
  const auto mirror = [](std::uint32_t x, int bits) {
    std::uint32_t out = 0;
    for (int i = 0; i < bits; ++i) out |= (x >> i & 1U) << (bits - 1 - i);
    return out;
  };
  const std::uint32_t top = 1U << (width - 1), mask = top | (top - 1);
  std::uint32_t crc = start;
  for (const std::uint8_t raw : text) {
    const std::uint32_t byte = reflected ? mirror(raw, 8) : raw;
    crc ^= byte << (width - 8);
    for (int bit = 0; bit < 8; ++bit) crc = ((crc & top) ? (crc << 1) ^ polynomial : crc << 1) & mask;
  }
  return (reflected ? mirror(crc, width) : crc) ^ end;
}
std::uint32_t crc16(const std::vector<std::uint8_t>& text) { return divide(text, 16, 0x1021, 0xFFFF, false, 0); }
std::uint32_t crc16_buypass(const std::vector<std::uint8_t>& text) { return divide(text, 16, 0x8005, 0, false, 0); }
std::uint32_t crc32(const std::vector<std::uint8_t>& text) {
  return divide(text, 32, 0x04C11DB7, 0xFFFFFFFFU, true, 0xFFFFFFFFU);
}

TEST_CASE("the division gives the published check values", "[routing]") {
  const std::vector<std::uint8_t> text(check_text.begin(), check_text.begin() + 9);
  CHECK(crc16(text) == 0x29B1);  // CRC-16/CCITT-FALSE
  CHECK(crc16_buypass(text) == 0xFEE8);
  CHECK(crc32(text) == 0xCBF43926);
}

TEST_CASE("the hashes of tuples are those CRCs", "[routing]") {
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    Tuple tuple;
    for (std::uint8_t& byte : tuple) byte = static_cast<std::uint8_t>(rng.below(256));
    const std::vector<std::uint8_t> text(tuple.begin(), tuple.end());
    CHECK(hash_by_definition(HashFunction::crc16, tuple) == (crc16(text) | crc16_buypass(text) << 16));
    CHECK(hash_by_definition(HashFunction::crc32, tuple) == crc32(text));
    std::uint32_t words = 0, turned = 0;
    for (std::size_t b = 0; b < 13; b += 2) {
      const std::uint32_t word = std::uint32_t{tuple[b]} << 8 | (b + 1 < 13 ? tuple[b + 1] : 0U);
      const std::size_t turn = 3 * b / 2 % 16;
      words ^= word, turned ^= (word << turn | word >> (16 - turn)) & 0xFFFF;
    }
    CHECK(hash_by_definition(HashFunction::xor16, tuple) == (words | turned << 16));
  }
}

TEST_CASE("tables give the hash by definition", "[routing]") {
  Rng rng(2);
  for (const auto function : {HashFunction::crc16, HashFunction::crc32, HashFunction::xor16}) {
    const HashTables& tables = hash_tables(function);
    for (int i = 0; i < 1000; ++i) {
      Tuple tuple;
      std::uint32_t hash = tables.constant;
      for (std::size_t b = 0; b < tuple.size(); ++b) {
        tuple[b] = static_cast<std::uint8_t>(rng.below(256));
        hash ^= tables.at[b][tuple[b]];
      }
      CHECK(hash == hash_by_definition(function, tuple));
    }
  }
}

TEST_CASE("RoCE source ports have 14 bits of the queue pair numbers [LinuxRoCE]", "[routing]") {
  CHECK(roce_source_port(1, 1) == 0xC001);
  CHECK(roce_source_port(0, 77) == 0xC000);
  CHECK(roce_source_port(1 << 14, 1) == 0xC001);        // bit 14 folds onto bit 0
  CHECK(roce_source_port(1 << 20, 1) == 0xC001);        // bit 20 onto bit 0
  CHECK(roce_source_port(1 << 20, 1 << 20) == 0xC001);  // bit 40 onto 0
  CHECK(roce_source_port(0xFFFFFF, 2) == 0xFFDE);  // 0x1FFFFFE: low 20 bits 0xFFFFE ^ 0x1F = 0xFFFE1, 0x3FE1 ^ 0x3F
  Rng rng(3);
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<std::uint32_t>(rng.below(1 << 24)), b = static_cast<std::uint32_t>(rng.below(1 << 24));
    CHECK(roce_source_port(a, b) >= 49152);
    CHECK(roce_source_port(a, b) == roce_source_port(b, a));
  }
}

}  // namespace
}  // namespace fabricast
