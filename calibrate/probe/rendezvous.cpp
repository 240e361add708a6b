#include "rendezvous.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "fabricast/core/scan.hpp"
#include "pass.hpp"

namespace fabricast {

using Json = nlohmann::json;
using probe::Clock;
using probe::Deadline;
using probe::Door;
using probe::SocketError;
using probe::Wire;

namespace {

/// Counts changes of what ranks say to each other; also in the first line of any later protocol.
constexpr std::string_view protocol = "fabricast probe 2";

constexpr std::size_t longest_name = 64;  ///< of what others call themselves, where it is shown

std::string random_pass() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw Unavailable("the system has no random numbers");
  std::string text;
  for (const unsigned char b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

Json to_json(const std::vector<BackendFacts>& facts) {
  Json list = Json::array();
  for (const BackendFacts& f : facts) {
    Json ports = Json::array();
    for (const ProbePort& p : f.ports)
      ports.push_back(
          {{"name", p.name}, {"network", p.network}, {"rate", p.rate.value}, {"device", p.device}, {"gpu", p.gpu}});
    list.push_back({{"backend", f.backend}, {"unavailable", f.unavailable}, {"ports", ports}});
  }
  return list;
}

std::vector<BackendFacts> facts_of(const Json& list) {
  std::vector<BackendFacts> facts;
  for (const Json& f : list) {
    facts.push_back({f.at("backend"), f.at("unavailable"), {}});
    for (const Json& p : f.at("ports"))
      facts.back().ports.push_back(
          {p.at("name"), p.at("network"), {p.at("rate").get<double>()}, p.at("device"), p.at("gpu")});
  }
  return facts;
}

/// Why a hello is refused, or empty. Of what a stranger says nothing is repeated before its token is found right.
std::string refusal(const Json& hello, const SessionOptions& options, const std::set<int>& here) {
  if (!hello.is_object() || !hello.contains("protocol")) return "this is not a rank of `fabricast calibrate probe`";
  const auto text = [&](const char* key) {
    return hello.contains(key) && hello[key].is_string() ? hello[key].get<std::string>() : std::string("?");
  };
  if (!same_secret(text("token"), options.token)) return "the token is wrong";
  const auto number = [&](const char* key) {
    return hello.contains(key) && hello[key].is_number_integer() ? hello[key].get<long long>() : -1;
  };
  if (text("protocol") != protocol || text("version") != options.version)
    return fmt::format("rank 0 is fabricast {}, rank {} is {}: all ranks must run the same version", options.version,
                       number("rank"), shown(text("version"), longest_name));
  const long long rank = number("rank"), ranks = number("ranks");
  if (ranks != options.place.ranks)
    return fmt::format("rank 0 expects {} ranks, rank {} expects {}", options.place.ranks, rank, ranks);
  if (rank < 1 || rank >= ranks) return fmt::format("rank {} is not between 1 and {}", rank, ranks - 1);
  if (here.count(static_cast<int>(rank))) return fmt::format("rank {} is there already", rank);
  return {};
}

std::string missing(const std::set<int>& here, int ranks) {
  std::string text;
  int count = 0;
  for (int r = 1; r < ranks; ++r)
    if (!here.count(r) && ++count <= 8) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
  return fmt::format("rank{} {}{} did not come", count > 1 ? "s" : "", text, count > 8 ? ", ..." : "");
}

Json roster_of(const Meeting& meeting) {
  Json members = Json::array();
  for (const Member& m : meeting.members)
    members.push_back({{"host", m.host}, {"address", m.address}, {"port", m.port}});
  return {{"pass", meeting.pass}, {"members", members}};
}

Meeting gather(const SessionOptions& options, const Member& self) {
  const ProbePlace& place = options.place;
  const std::string at = options.bind.empty() ? place.master : options.bind;
  Meeting meeting;
  meeting.pass = random_pass();
  meeting.door.emplace_back(probe::listen_at(at, place.port));
  meeting.members.resize(static_cast<std::size_t>(place.ranks));
  meeting.wires.resize(static_cast<std::size_t>(place.ranks));
  meeting.members[0] = self;
  meeting.members[0].address = place.master, meeting.members[0].port = place.port;
  std::set<int> here;
  std::string refused;
  const Deadline deadline = probe::after(options.timeout.value);
  while (static_cast<int>(here.size()) + 1 < place.ranks) {
    auto came = meeting.door[0].next(deadline);
    if (!came)
      throw Unavailable(fmt::format("{} to {} port {} within {:g} s{}", missing(here, place.ranks), at, place.port,
                                    options.timeout.value, refused));
    const Json hello = Json::parse(came->second, nullptr, false);
    Wire& wire = came->first;
    const std::string from = probe::peer_address(wire.socket());
    std::string reason = refusal(hello, options, here);
    try {
      if (reason.empty()) {
        const int rank = hello.at("rank");
        Member m{shown(hello.at("host").get<std::string>(), longest_name), hello.at("address"), hello.at("port"),
                 hello.at("provenance"), facts_of(hello.at("backends"))};
        here.insert(rank);
        meeting.members[static_cast<std::size_t>(rank)] = std::move(m);
        meeting.wires[static_cast<std::size_t>(rank)] = std::move(wire);
        continue;
      }
    } catch (const Json::exception&) { reason = "its hello is damaged"; }
    refused = fmt::format("; refused one from {}: {}", from, reason);
    options.on_note(fmt::format("refused a connection from {}: {}", from, reason));
    try {
      wire.send(Json{{"refused", reason}}.dump(), probe::after(1));
    } catch (const SocketError&) {
      // It did not wait for the answer.
    }
  }
  const std::string roster = roster_of(meeting).dump();
  for (int r = 1; r < place.ranks; ++r)
    meeting.wires[static_cast<std::size_t>(r)].send(roster, probe::after(options.timeout.value));
  return meeting;
}

Meeting join(const SessionOptions& options, const Member& self) {
  const ProbePlace& place = options.place;
  const Deadline deadline = probe::after(options.timeout.value);
  const std::string zero = fmt::format("rank 0 at {} port {}", place.master, place.port);
  Wire wire = [&] {
    try {
      return Wire(probe::connect_until(place.master, place.port, options.bind, deadline));
    } catch (const SocketError& e) {
      throw Unavailable(fmt::format("{} does not answer within {:g} s: {}", zero, options.timeout.value, e.what()));
    }
  }();
  Meeting meeting;
  const std::string address = probe::own_address(wire.socket()).first;
  meeting.door.emplace_back(probe::listen_at(options.bind.empty() ? address : options.bind, 0));
  Json answer;
  try {
    wire.send(Json{{"protocol", protocol},
                   {"version", options.version},
                   {"token", options.token},
                   {"rank", place.rank},
                   {"ranks", place.ranks},
                   {"host", self.host},
                   {"address", address},
                   {"port", probe::own_address(meeting.door[0].listener()).second},
                   {"provenance", self.provenance},
                   {"backends", to_json(self.backends)}}
                  .dump(),
              deadline);
    // Rank 0 may wait for others as long again.
    answer = Json::parse(wire.receive(deadline + (deadline - Clock::now())), nullptr, false);
  } catch (const SocketError& e) { throw Unavailable(fmt::format("{}: {}", zero, e.what())); }
  try {
    if (answer.is_object() && answer.contains("refused"))
      throw UserError(
          fmt::format("{} refuses rank {}: {}", zero, place.rank, shown(answer["refused"].get<std::string>())));
    meeting.pass = answer.at("pass");
    for (const Json& m : answer.at("members"))
      meeting.members.push_back(
          {shown(m.at("host").get<std::string>(), longest_name), m.at("address"), m.at("port"), {}, {}});
  } catch (const Json::exception&) { throw Unavailable(zero + " is not a fabricast probe"); }
  if (static_cast<int>(meeting.members.size()) != place.ranks)
    throw Unavailable(fmt::format("{} knows {} ranks, not {}", zero, meeting.members.size(), place.ranks));
  meeting.wires.push_back(std::move(wire));
  return meeting;
}

void check_token(const SessionOptions& options) {
  const std::string& at = options.bind.empty() || options.place.rank > 0 ? options.place.master : options.bind;
  if (options.token.empty() && !probe::is_loopback(at))
    throw UserError(
        fmt::format("a token is needed, as rank 0 listens at {}, which other hosts reach", at),
        "the same for all ranks: FABRICAST_TOKEN, or --token; on one host --master 127.0.0.1:PORT needs none");
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
