// Lost packets: what a connection loses by sending again, how often it waits for a timeout, and when switches drop.
//
// Packets are lost by cables, and by switches whose buffers overflow because nothing stops the senders. The receiver asks
// for the first packet that is missing. Then, with q the fraction of packets that is lost from NIC to NIC, and W the
// packets that a connection sends until it learns of a loss,
//
//     go-back-N          goodput = (1 - q) / (1 - q + q W)     W - 1 good packets are sent again for each lost one    (1)
//     selective repeat   goodput = 1 - q                                                                [Bertsekas1992]
//
// A receiver asks once [IBTA-spec]. If the question or what is sent again is lost as well, only the sender's timeout helps:
//
//     timeouts of a connection = packets x 2 q^2                                                                        (2)
//
// With selective repeat the packets behind go on until the slots are full, so one timeout repairs all that was lost twice
// in them: with w slots-full of packets it is w (1 - e^(-packets x 2 q^2 / w)).
//
// It also has to wait for it after the last packet of a call, if it sends nothing before what is lost has arrived. A rank
// of a tree waits for what comes back down. A rank of a ring, or one that exchanges messages with others, waits for others
// only, and its next call makes the receiver ask. With registered buffers every rank waits until all it sent is
// acknowledged [NCCL-protocols].
//
// Timeouts of one chain of connections add up, because all others of it soon wait: their slots are full or empty. The
// chains of a call are its channels, or single connections of sends and receives. They wait at the same time:
//
//     timeouts of a call in series = max over chains of Poisson( sum of (2) ) + 1 if a last packet is lost             (3)
//
// Switches drop where flows arrive faster than a port sends. It may hold a part of the memory that all ports share, by a
// dynamic threshold [Choudhury1998], with n ports filled at once:
//
//     room = alpha B / (1 + alpha n)                                                                                    (4)
//     filled = min( C t (rho - 1),  connections x slots x (1 - 1 / rho) ),       dropped f = 1 - room / filled, or 0    (5)
//
// with the port's rate C, rho times as much arriving, t until the senders slow down, and slots what NCCL lets a connection
// have in flight (NCCL_BUFFSIZE). Where senders never slow down only the slots limit what fills it. Each of the k
// connections loses a packet twice with probability f^2. Senders that never slow down meet again after every timeout:
// packets show 0.3 to 2.4 (rho - 1) timeouts until all are through (docs/validation-packets.md), and rho - 1 is taken.
//
// Times are seconds. Pure functions and plain values; safe to call concurrently.
//
// Not modelled: bursts of loss on cables, a timeout that grows with each try, NICs that send slowly after a loss, the
// time until the next call repairs a ring's last packet, loss of credits, and other traffic in the same buffer.
#pragma once

#include <cstdint>

#include "fabricast/engine/network.hpp"

namespace fabricast {

/// How packets are lost on a network, and how NICs repair it.
struct LossModel {
  double lost = 0;         ///< q: fraction of packets, from NIC to NIC
  bool selective = false;  ///< selective repeat; else go-back-N
  double window = 1;       ///< what a connection sends until it learns of a loss
  Bytes packet{4096};      ///< payload of a packet
  Seconds timeout;         ///< until a packet without an acknowledgement is sent again
  bool drops = false;      ///< whether switches drop what they have no room for
  bool reacts = true;      ///< whether senders slow down
  Seconds reaction;        ///< t
  Bytes buffer;            ///< B: shared by the ports of a switch
  Bytes slots{4 << 20};    ///< that a connection may have in flight
};

/// Fraction of packets that is lost on a path of several cables.
double lost_on_path(double per_cable, std::uint32_t cables);
/// (1): payload that arrives, as a fraction of what a connection sends. 1 without loss.
double goodput_of(const LossModel& model);
/// (4), bytes. \param ports  that are filled at once, at least 1
double room_of(const LossModel& model, double ports);

/// What a call sends over the network, in packets of its connections.
struct CallPackets {
  double packets = 0;      ///< of all chains
  double chains = 1;       ///< chains of connections; timeouts of one chain add up
  double last = 0;         ///< packets whose loss only a timeout repairs
  double connections = 0;  ///< of all chains
};
/// A call, as far as loss depends on it.
struct CallShape {
  CollectiveOp op = CollectiveOp::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  double bytes = 0;  ///< size of the call
  double ranks = 1, nodes = 1, channels = 1;
  bool registered = false;  ///< whether ranks wait until all that they sent is acknowledged
};
/// A closed form: every channel carries an equal part. None if the call stays inside one node.
CallPackets packets_of(const CallShape& call, Bytes packet);

/// The most overloaded port of switches during a call.
struct Overload {
  double ratio = 1;        ///< rho; at most 1: nothing queues for long
  double connections = 0;  ///< k
  double ports = 1;        ///< n: ports of its switch that are overloaded
  BytesPerSecond rate;     ///< C
};
/// The overload that a plan causes if every connection sends what its NIC port allows, on one sample of the network
/// without faults. Other traffic does not count.
/// \throws UserError if a connection has no path
Overload overload_of(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed);
/// (5): fraction of packets that are dropped while the port is overloaded. 0 if switches do not drop.
double dropped_at(const LossModel& model, const Overload& overload);

/// Expected number of connections of a call that run into a timeout, from (2), last packets and (5).
double timeouts_expected(const LossModel& model, const CallPackets& call, const Overload& overload);
/// A sample of the number of timeouts of a call in series, (3). The same seed gives the same number.
int timeouts_in_series(const LossModel& model, const CallPackets& call, const Overload& overload, std::uint64_t seed);

}  // namespace fabricast
