#include "messages.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"
#include "pass.hpp"

namespace fabricast {

using Json = nlohmann::json;

namespace {

/// The number counts changes of the messages. Every later protocol keeps this field in its first message.
constexpr std::string_view protocol = "fabricast probe 2";

constexpr std::size_t longest_name = 64;  ///< of names that other ranks send, when they are shown
constexpr std::size_t longest_reason = 400;

/// Names and notes come from other hosts and need not be UTF-8.
std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Calls `read`. A key that is missing or has the wrong type becomes a ProbeFailure with the text `what`.
template <class Read>
auto read_as(const char* what, Read read) {
  try {
    return read();
  } catch (const Json::exception&) { throw ProbeFailure(what); }
}

/// An integer within limits. The JSON library would silently truncate a number that does not fit.
int integer_at(const Json& j, const char* key, int low, int high = std::numeric_limits<int>::max()) {
  const Json& value = j.at(key);
  if (!value.is_number_integer()) throw ProbeFailure(fmt::format("'{}' is not a whole number", key));
  const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= std::numeric_limits<int>::max() : true;
  const auto number = fits ? value.get<std::int64_t>() : std::int64_t{-1};
  if (!fits || number < low || number > high) throw ProbeFailure(fmt::format("'{}' is out of range", key));
  return static_cast<int>(number);
}

double amount_at(const Json& j, const char* key) {
  const auto value = j.at(key).get<double>();
  if (!(value >= 0)) throw ProbeFailure(fmt::format("'{}' is negative", key));
  return value;
}

Json facts_json(const std::vector<BackendFacts>& facts) {
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
          {p.at("name"), p.at("network"), {amount_at(p, "rate")}, p.at("device"), p.at("gpu")});
  }
  return facts;
}

/// Why a hello message is refused; empty if it is accepted. Nothing that a stranger sent is repeated before its token
/// has been checked.
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
    return fmt::format("rank 0 runs fabricast {}, rank {} runs {}: all ranks must run the same version",
                       options.version, number("rank"), shown(text("version"), longest_name));
  const long long rank = number("rank"), ranks = number("ranks");
  if (ranks != options.place.ranks)
    return fmt::format("rank 0 expects {} ranks, rank {} expects {}", options.place.ranks, rank, ranks);
  if (rank < 1 || rank >= ranks) return fmt::format("rank {} is not between 1 and {}", rank, ranks - 1);
  if (here.contains(static_cast<int>(rank))) return fmt::format("rank {} has already joined", rank);
  return {};
}

Member member_of(const Json& j) {
  return {
      shown(j.at("host").get<std::string>(), longest_name), j.at("address"), integer_at(j, "port", 0, 65535), {}, {}};
}

/// Checks provenance, which is sent as text and written into the results later.
bool is_provenance(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.contains("host") && json["host"].is_string();
}

Json seconds_json(const std::vector<Seconds>& samples) {
  Json list = Json::array();
  for (const Seconds s : samples) list.push_back(s.value);
  return list;
}

std::vector<Seconds> seconds_of(const Json& list) {
  std::vector<Seconds> samples;
  if (!list.is_array()) throw ProbeFailure("the samples are not a list");
  for (const Json& s : list) samples.push_back({s.get<double>()});
  for (const Seconds s : samples)
    if (!(s.value >= 0)) throw ProbeFailure("a sample is negative");
  return samples;
}

Measurement measurement_of(const Json& j, int ranks) {
  constexpr int most_connections = 4096;
  constexpr std::int64_t most_bytes = std::int64_t{1} << 40;
  Measurement m;
  m.backend = j.at("backend");
  m.what = j.at("what");
  m.memory = j.at("memory");
  m.from = integer_at(j, "from", 0, ranks - 1);
  m.to = integer_at(j, "to", 0, ranks - 1);
  m.from_port = j.at("from_port");
  m.to_port = j.at("to_port");
  const Json& bytes = j.at("bytes");
  if (!bytes.is_number_unsigned() || bytes.get<std::uint64_t>() > most_bytes)
    throw ProbeFailure("'bytes' is out of range");
  m.bytes = {bytes.get<std::int64_t>()};
  m.connections = integer_at(j, "connections", 1, most_connections);
  m.stream = j.at("stream");
  m.everyone = j.at("everyone");
  m.gpus = integer_at(j, "gpus", 0);
  m.in_place = j.at("in_place");
  m.algorithm = j.at("algorithm");
  m.protocol = j.at("protocol");
  m.channels = integer_at(j, "channels", 0);
  return m;
}

}  // namespace

std::string hello_text(const SessionOptions& options, const Member& self) {
  return line_of({{"protocol", protocol},
                  {"version", options.version},
                  {"token", options.token},
                  {"rank", options.place.rank},
                  {"ranks", options.place.ranks},
                  {"host", self.host},
                  {"address", self.address},
                  {"port", self.port},
                  {"provenance", self.provenance},
                  {"backends", facts_json(self.backends)}});
}

Hello read_hello(const std::string& text, const SessionOptions& options, const std::set<int>& here) {
  Hello hello;
  const Json json = Json::parse(text, nullptr, false);
  hello.refused = refusal(json, options, here);
  if (!hello.refused.empty()) return hello;
  const char* damaged = "its hello message is malformed";
  try {
    hello.rank = json.at("rank");
    hello.member = member_of(json);
    hello.member.provenance = json.at("provenance");
    hello.member.backends = facts_of(json.at("backends"));
    if (!is_provenance(hello.member.provenance)) hello.refused = damaged;
  } catch (const Json::exception&) { hello.refused = damaged; } catch (const ProbeFailure&) {
    hello.refused = damaged;
  }
  return hello;
}

std::string roster_text(const Roster& roster) {
  if (!roster.refused.empty()) return line_of({{"refused", roster.refused}});
  Json members = Json::array();
  for (const Member& m : roster.members)
    members.push_back({{"host", m.host}, {"address", m.address}, {"port", m.port}});
  return line_of({{"pass", roster.pass}, {"members", members}});
}

Roster read_roster(const std::string& text) {
  return read_as("its answer is malformed", [&] {
    const Json answer = Json::parse(text);
    Roster roster;
    if (answer.is_object() && answer.contains("refused")) {
      roster.refused = shown(answer["refused"].get<std::string>());
      if (roster.refused.empty()) roster.refused = "no reason given";
      return roster;
    }
    roster.pass = answer.at("pass");
    for (const Json& m : answer.at("members")) roster.members.push_back(member_of(m));
    return roster;
  });
}

std::string order_text(const Order& order) {
  if (order.ends) return line_of({{"end", order.reason}});
  const Measurement& m = order.measurement;
  return line_of({{"measure", order.number},
                  {"share", order.share.value},
                  {"backend", m.backend},
                  {"what", m.what},
                  {"memory", m.memory},
                  {"from", m.from},
                  {"to", m.to},
                  {"from_port", m.from_port},
                  {"to_port", m.to_port},
                  {"bytes", m.bytes.value},
                  {"connections", m.connections},
                  {"stream", m.stream},
                  {"everyone", m.everyone},
                  {"gpus", m.gpus},
                  {"in_place", m.in_place},
                  {"algorithm", m.algorithm},
                  {"protocol", m.protocol},
                  {"channels", m.channels}});
}

Order read_order(const std::string& text, int ranks) {
  return read_as("its message is malformed", [&] {
    const Json json = Json::parse(text);
    Order order;
    if (json.is_object() && json.contains("end")) {
      order.ends = true;
      order.reason = shown(json["end"].get<std::string>(), longest_reason);
      return order;
    }
    order.measurement = measurement_of(json, ranks);
    order.number = integer_at(json, "measure", 0);
    order.share = {amount_at(json, "share")};
    return order;
  });
}

std::string report_text(const RankReport& report) {
  return line_of({{"samples", seconds_json(report.samples)}, {"error", report.error}, {"how", report.how}});
}

RankReport read_report(const std::string& text) {
  return read_as("its report is malformed", [&] {
    const Json json = Json::parse(text);
    return RankReport{seconds_of(json.at("samples")), shown(json.at("error").get<std::string>(), longest_reason),
                      shown(json.at("how").get<std::string>(), longest_reason)};
  });
}

std::string samples_text(const std::vector<Seconds>& samples) { return line_of(seconds_json(samples)); }

std::vector<Seconds> read_samples(const std::string& text) {
  return read_as("the other rank sent a malformed message", [&] { return seconds_of(Json::parse(text)); });
}

}  // namespace fabricast
