#include "rendezvous.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <set>

namespace fabricast {

using probe::Clock;
using probe::Deadline;
using probe::Door;
using probe::SocketError;
using probe::Wire;

namespace {

std::string random_pass() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw Unavailable("cannot get random numbers from the system");
  std::string text;
  for (const unsigned char b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

/// Names the missing ranks, at most eight of them.
std::string missing(const std::set<int>& here, int ranks) {
  std::string text;
  int count = 0;
  for (int r = 1; r < ranks; ++r)
    if (!here.contains(r) && ++count <= 8) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
  return fmt::format("rank{} {}{} did not connect", count > 1 ? "s" : "", text, count > 8 ? ", ..." : "");
}

/// Rank 0: accepts all ranks and sends them the roster.
Meeting gather(const SessionOptions& options, const Member& self) {
  const ProbePlace& place = options.place;
  const std::string at = options.bind.empty() ? place.master : options.bind;
  Meeting meeting;
  meeting.pass = random_pass();
  meeting.door.emplace_back(probe::listen_at(at, place.port));
  meeting.members.resize(static_cast<std::size_t>(place.ranks));
  meeting.wires.resize(static_cast<std::size_t>(place.ranks));
  meeting.members[0] = self;
  meeting.members[0].address = place.master;
  meeting.members[0].port = place.port;
  std::set<int> here;
  std::string refused;
  const Deadline deadline = probe::after(options.timeout.value);
  while (static_cast<int>(here.size()) + 1 < place.ranks) {
    auto came = meeting.door[0].next(deadline);
    if (!came)
      throw Unavailable(fmt::format("{} to {} port {} within {:g} s{}", missing(here, place.ranks), at, place.port,
                                    options.timeout.value, refused));
    Wire& wire = came->first;
    const std::string from = probe::peer_address(wire.socket());
    Hello hello = read_hello(came->second, options, here);
    if (hello.refused.empty()) {
      here.insert(hello.rank);
      meeting.members[static_cast<std::size_t>(hello.rank)] = std::move(hello.member);
      meeting.wires[static_cast<std::size_t>(hello.rank)] = std::move(wire);
      continue;
    }
    refused = fmt::format("; refused a connection from {}: {}", from, hello.refused);
    options.on_note(fmt::format("refused a connection from {}: {}", from, hello.refused));
    try {
      wire.send(roster_text({hello.refused, {}, {}}), probe::after(1));
    } catch (const SocketError&) {
      // The refused side has already closed the connection.
    }
  }
  const std::string roster = roster_text({{}, meeting.pass, meeting.members});
  for (int r = 1; r < place.ranks; ++r)
    meeting.wires[static_cast<std::size_t>(r)].send(roster, probe::after(options.timeout.value));
  return meeting;
}

/// Other ranks: connect to rank 0 and wait for the roster.
Meeting join(const SessionOptions& options, const Member& self) {
  const ProbePlace& place = options.place;
  const Deadline deadline = probe::after(options.timeout.value);
  const std::string zero = fmt::format("rank 0 at {} port {}", place.master, place.port);
  Wire wire = [&] {
    try {
      return Wire(probe::connect_until(place.master, place.port, options.bind, deadline));
    } catch (const SocketError& e) {
      throw Unavailable(fmt::format("{} did not answer within {:g} s: {}", zero, options.timeout.value, e.what()));
    }
  }();
  Meeting meeting;
  const std::string address = probe::own_address(wire.socket()).first;
  meeting.door.emplace_back(probe::listen_at(options.bind.empty() ? address : options.bind, 0));
  Member named = self;
  named.address = address;
  named.port = probe::own_address(meeting.door[0].listener()).second;
  std::string answer;
  try {
    wire.send(hello_text(options, named), deadline);
    // Rank 0 may wait for other ranks for another timeout.
    answer = wire.receive(deadline + (deadline - Clock::now()));
  } catch (const SocketError& e) { throw Unavailable(fmt::format("{}: {}", zero, e.what())); }
  Roster roster;
  try {
    roster = read_roster(answer);
  } catch (const ProbeFailure&) { throw Unavailable(zero + " is not a fabricast probe"); }
  if (!roster.refused.empty()) throw UserError(fmt::format("{} refused rank {}: {}", zero, place.rank, roster.refused));
  meeting.pass = roster.pass;
  meeting.members = std::move(roster.members);
  if (static_cast<int>(meeting.members.size()) != place.ranks)
    throw Unavailable(fmt::format("{} reports {} ranks, not {}", zero, meeting.members.size(), place.ranks));
  meeting.wires.push_back(std::move(wire));
  return meeting;
}

void check_token(const SessionOptions& options) {
  const std::string& at = options.bind.empty() || options.place.rank > 0 ? options.place.master : options.bind;
  if (options.token.empty() && !probe::is_loopback(at))
    throw UserError(
        fmt::format("a token is needed: rank 0 listens at {}, which other hosts can reach", at),
        "give all ranks the same FABRICAST_TOKEN or --token; on one host, --master 127.0.0.1:PORT needs none");
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Meeting meet(const SessionOptions& options, const Member& self) {
  if (options.place.ranks == 1) {
    Meeting alone;
    alone.members.push_back(self);
    return alone;
  }
  try {
    check_token(options);
    return options.place.rank == 0 ? gather(options, self) : join(options, self);
  } catch (const SocketError& e) { throw Unavailable(e.what()); }
}

}  // namespace fabricast
