// The rounds of sends and receives (ncclP2pSchedule), with the channel at which each starts [NCCL-p2p]. peers.hpp has
// the rules.
#include "fabricast/collective/peers.hpp"

#include <bit>
#include <numeric>

namespace fabricast {

namespace {

std::uint32_t reverse_bits(std::uint32_t value, int bits) {
  std::uint32_t reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= (value >> i & 1U) << (bits - 1 - i);
  return reversed;
}

}  // namespace

PeerSchedule::PeerSchedule(const Communicator& comm, int channels) : ranks_(comm.ranks()), channels_(channels) {
  const int local = comm.gpus();
  group_size_ = comm.nodes() == 1 ? local : std::gcd(local, 8);
  groups_ = ranks_ / group_size_;
  // Triangular numbers modulo a power of two take each value once, so every distance occurs. Distances beyond the last
  // group are skipped.
  const auto places = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(groups_)));
  std::int64_t distance = 0;
  for (std::int64_t i = 0; i < places; ++i) {
    if (distance < groups_)
      for (int d = 0; d < group_size_; ++d) {
        PeerRound round{distance, d, 0};
        // On one node rounds are numbered one by one; over the network all rounds of a group distance share a number,
        // because a channel serves up to eight parts at once.
        const auto number = comm.nodes() == 1 ? static_cast<std::uint32_t>(rounds_.size())
                                              : static_cast<std::uint32_t>(distance * ceil_div(group_size_, 8) + d / 8);
        const int bits = log2_up(channels);
        // Reversed bits spread consecutive rounds over all channels, so rounds that run at the same time rarely share
        // one.
        round.base = reverse_bits(number & (static_cast<std::uint32_t>(channels) - 1), bits);
        rounds_.push_back(round);
      }
    distance = (distance + i + 1) & (places - 1);
  }
}

int PeerSchedule::channel(const PeerRound& round, int part) const {
  // The bases of rounds are bit-reversed and so far apart. Parts fill the channels between them.
  return static_cast<int>((round.base + static_cast<std::uint32_t>(part)) &
                          (static_cast<std::uint32_t>(channels_) - 1));
}

std::int64_t PeerSchedule::peer(const PeerRound& round, std::int64_t rank, int sign) const {
  const std::int64_t group = rank / group_size_, place = rank % group_size_;
  const std::int64_t to_group = ((group + sign * round.group) % groups_ + groups_) % groups_;
  const std::int64_t to_place = ((place + std::int64_t{sign} * round.local) % group_size_ + group_size_) % group_size_;
  return to_group * group_size_ + to_place;
}

}  // namespace fabricast
