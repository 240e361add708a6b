// Collectives run packet by packet (tests/data/packets, by tests/packets/study.py), and the same flows under max-min
// sharing on our own fabric.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/units.hpp"

namespace fabricast::test {

/// A flow of a run. Role c is part of the collective; n, u, d and a are bystanders of an incast: they share with it the
/// NIC of a sender, an uplink of a leaf, a link from a spine down to the receiver's leaf, and nothing.
struct PacketFlow {
  std::uint32_t from = 0, to = 0;
  char role = 'c';
  int spine = -1;  ///< -1: below one leaf, or not one spine
};

/// When the flows of one source and role ended. They follow each other in PacketRun::flows.
struct PacketSource {
  std::size_t first = 0, count = 0;
  Seconds last, mean;
};

struct PacketRun {
  int seed = 0;
  std::vector<PacketFlow> flows;
  std::vector<PacketSource> sources;
};

/// One table: runs that differ by their seed only.
struct PacketCase {
  std::string name;
  std::string transport;  ///< roce, dcqcn, uec, eqds
  std::string routing;    ///< ecmp, flowlet, spray, adaptive
  std::string kind;       ///< permutation, ring, tree, alltoall, incast, bystanders
  std::uint32_t leaves = 0, hosts_per_leaf = 0, spines = 0;
  BytesPerSecond rate;       ///< line rate of every link
  Seconds latency;           ///< of every link
  Bytes payload, header;     ///< of a packet
  Bytes back;                ///< acknowledgements and credits that go back for each packet
  Bytes bytes;               ///< of every flow
  std::uint32_t degree = 0;  ///< of an incast
  std::vector<PacketRun> runs;
  std::uint32_t hosts() const { return leaves * hosts_per_leaf; }
};

/// Reads a table. Throws std::runtime_error with file and line if it is not one.
PacketCase read_packet_case(const std::string& file);
/// Reads all tables of a folder, in the order of their names.
std::vector<PacketCase> read_packet_cases(const std::string& folder);

/// How links are shared.
enum class PacketModel {
  max_min,   ///< congestion control: ideal
  reactive,  ///< the same with the shipped efficiency of contended links
  ports,     ///< none: fair to ports, which are held back by what waits ahead of them (engine/port_shares.hpp)
  pauses,    ///< senders at line rate, whom switches pause (engine/dcqcn.hpp, without marks)
  dcqcn,     ///< DCQCN's rates, simulated with the settings of the runs (engine/dcqcn.hpp)
  flowlet,   ///< max_min on the paths of our router by flowlet, which are not those of the packets
};

/// When each flow ends: its share of the links, changed whenever a flow ends, and what every flow takes on an empty
/// network beyond its bytes: the way there, packet by packet, and the way of the last acknowledgement back.
/// \param seed  of the paths of flowlets, and of DCQCN's marks
std::vector<Seconds> flow_ends(const PacketCase& packets, const PacketRun& run, PacketModel model,
                               std::uint64_t seed = 1);

/// The time that the bytes on the most loaded link take. No run can end earlier, whatever its congestion control.
Seconds bytes_bound(const PacketCase& packets, const PacketRun& run);

/// The last end and the mean end of the flows with a role, in packets and by a model.
struct PacketEnds {
  Seconds last, mean;
};
PacketEnds packet_ends(const PacketRun& run, char role);
PacketEnds model_ends(const PacketRun& run, const std::vector<Seconds>& ends, char role);
bool has_role(const PacketRun& run, char role);

}  // namespace fabricast::test
