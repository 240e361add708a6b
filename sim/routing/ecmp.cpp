// ECMP: each switch hashes the packet's headers and takes one of the equal-cost next hops [RFC2992].
//
// One queue pair keeps one path. Two queue pairs may collide on a link while another link stays idle; this policy
// exists to show that effect. A seed represents one launch of the job, with new QP numbers and therefore new UDP source
// ports.
//
//   hash, fields     what the switches compute (hash.hpp)
//   salt             per_switch: each switch xors a constant of its own; shared: none
//   bits             per_tier: each tier has its own hash function; same: all tiers have the same one.
//                    salt shared with bits same is full polarization: a spine repeats the choice of the leaf
//
// With H the wide hash of the headers (hash.hpp), n links to choose from, and mix64 a 64-bit finalizer [Steele2014],
//
//   per_tier:  link = floor( n x top 32 bits of mix64( seed xor (place, H) ) / 2^32 ),  place = the switch, or its tier
//                     if the salt is shared
//   same:      link = (H xor salt of the switch) mod n, with the function's own bits
//
// With per_tier the choices of two tiers are independent, whatever their numbers of links. Using different bits of one
// hash would not achieve this. A rotation by r bits multiplies by 2^r modulo 2^32 - 1, which is divisible by 3, 5 and
// 17, so tiers whose numbers of links are multiples of these would still make correlated choices. There are also not
// enough bits for four tiers of 128 links.
#include <span>

#include "fabricast/core/rng.hpp"
#include "hash.hpp"
#include "router.hpp"

namespace fabricast {

enum class HashField { src_ip, dst_ip, src_port, dst_port, protocol };
template <>
struct EnumNames<HashField> {
  static constexpr std::array<std::string_view, 5> names{"src_ip", "dst_ip", "src_port", "dst_port", "protocol"};
};
enum class HashSalt { per_switch, shared };
template <>
struct EnumNames<HashSalt> {
  static constexpr std::array<std::string_view, 2> names{"per_switch", "shared"};
};
enum class HashBits { per_tier, same };
template <>
struct EnumNames<HashBits> {
  static constexpr std::array<std::string_view, 2> names{"per_tier", "same"};
};

struct EcmpSpec {
  HashFunction hash = HashFunction::crc32;
  std::vector<HashField> fields = {HashField::src_ip, HashField::dst_ip, HashField::src_port, HashField::dst_port,
                                   HashField::protocol};
  HashSalt salt = HashSalt::per_switch;
  HashBits bits = HashBits::per_tier;
  std::int64_t seed = 1;
  int seeds = 16;
};

void visit_fields(FieldVisitor& visit, EcmpSpec& spec) {
  visit("hash", spec.hash, "hash function of the switches");
  visit("fields", spec.fields, "header fields that the hash covers");
  visit("salt", spec.salt,
        "per_switch: each switch adds a different constant to the hash; shared: all add the same one");
  visit("bits", spec.bits,
        "per_tier: each tier has its own hash function; same: all tiers have the same one (polarization)");
  visit("seed", spec.seed, "seed of the first sample: QP numbers and salts", at_least(0));
  visit("seeds", spec.seeds, "number of samples", between(1, 100000));
}

Samples samples(const EcmpSpec& spec) { return {static_cast<std::uint64_t>(spec.seed), spec.seeds}; }
PathKind paths_of(const EcmpSpec&) { return PathKind::by_chance; }

namespace {

/// A Chooser (router.hpp).
class EcmpChooser {
 public:
  using Key = std::uint32_t;

  EcmpChooser(const EcmpSpec& spec, std::uint64_t seed)
      : own_bits_(hash_bits(spec.hash) == 32 ? 0xFFFFFFFFU : 0xFFFFU),
        per_tier_(spec.bits == HashBits::per_tier),
        salted_(spec.salt == HashSalt::per_switch),
        seed_(mix64(seed ^ 0x65636d70)),
        tables_(hash_tables(spec.hash)) {
    std::array<bool, 5> hashed{};
    for (const HashField field : spec.fields) hashed[static_cast<std::size_t>(field)] = true;
    by_queue_pair_ = hashed[static_cast<std::size_t>(HashField::src_port)];
    // A field that is not hashed contributes nothing, so its tables are zero.
    constexpr std::array<std::size_t, 6> first = {0, 4, 8, 10, 12, 13};
    for (std::size_t f = 0; f < 5; ++f)
      for (std::size_t i = first[f]; i < first[f + 1] && !hashed[f]; ++i) tables_.at[i].fill(0);
    constexpr std::uint16_t roce_port = 4791;
    constant_ =
        tables_.constant ^ tables_.at[10][roce_port >> 8] ^ tables_.at[11][roce_port & 0xFF] ^ tables_.at[12][17];
  }

  Key key(const Flow& flow) const {
    // QP numbers are consecutive, from a start that differs by NIC and sample.
    const std::uint32_t local = (qp_base(flow.from) + flow.from_qp) & 0xFFFFFF,
                        remote = (qp_base(flow.to) + flow.to_qp) & 0xFFFFFF;
    const std::uint16_t port = roce_source_port(local, remote);
    return constant_ ^ address(flow.from, 0) ^ address(flow.to, 4) ^ tables_.at[8][port >> 8] ^
           tables_.at[9][port & 0xFF];
  }

  /// Whether choices of different queue pairs, and of the same queue pair at different tiers, are independent.
  bool independent() const { return per_tier_ && by_queue_pair_; }
  std::uint64_t seed() const { return seed_; }

  std::uint32_t pick(Key key, std::uint32_t vertex, int tier, std::uint32_t choices) const {
    if (per_tier_) {
      const std::uint64_t place = salted_ ? vertex : static_cast<std::uint32_t>(tier);
      return pick_of(mix64(seed_ ^ (place << 32 | key)), choices);
    }
    if (salted_) key ^= static_cast<std::uint32_t>(mix64(seed_ ^ vertex));
    key &= own_bits_;
    return (choices & (choices - 1)) == 0 ? key & (choices - 1) : key % choices;
  }

 private:
  std::uint32_t qp_base(std::uint32_t endpoint) const {
    return static_cast<std::uint32_t>(mix64(seed_ + endpoint) >> 40);
  }

  /// Contribution of an endpoint's IP address, 10.a.b.c by its number, to the hash. \param first  table of the field
  std::uint32_t address(std::uint32_t endpoint, std::size_t first) const {
    const std::uint32_t ip = 0x0A000000U + endpoint;
    return tables_.at[first][ip >> 24] ^ tables_.at[first + 1][ip >> 16 & 0xFF] ^
           tables_.at[first + 2][ip >> 8 & 0xFF] ^ tables_.at[first + 3][ip & 0xFF];
  }
  std::uint32_t own_bits_;
  bool per_tier_, salted_, by_queue_pair_ = false;
  std::uint64_t seed_;
  HashTables tables_;
  std::uint32_t constant_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_router(const EcmpSpec& spec, const Fabric& fabric, const LinkState& state,
                                    std::uint64_t seed) {
  return make_choosing_router(fabric, state, EcmpChooser(spec, seed));
}

RoutingPolicy ecmp_routing() {
  return make_routing_policy<EcmpSpec>("ecmp", "hash of the packet headers at each switch; one path per queue pair",
                                       "[RFC2992]");
}

}  // namespace fabricast
