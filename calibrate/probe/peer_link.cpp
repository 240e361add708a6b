#include "peer_link.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fabricast/core/scan.hpp"
#include "fabricast/core/stop.hpp"
#include "pass.hpp"

namespace fabricast {

using probe::SocketError;
using probe::Wire;
using Json = nlohmann::json;

namespace {

constexpr std::string_view failed_prefix = "failed: ";

template <class F>
auto or_failure(F f) {
  try {
    return f();
  } catch (const SocketError& e) { throw ProbeFailure(fmt::format("the connection to the other rank: {}", e.what())); }
}

[[noreturn]] void other_failed(const std::string& line) {
  throw ProbeFailure(std::string(of_other) +
                     shown(std::string_view(line).substr(failed_prefix.size(), line.find('\n') - failed_prefix.size()),
                           longest_reason));
}

}  // namespace

PeerLink::PeerLink(const std::string& host, int port, const std::string& from, const std::string& pass, int number,
                   double timeout)
    : host_(host), from_(from), pass_(pass), port_(port), number_(number), timeout_(timeout), wire_(open(-1)) {}

PeerLink::PeerLink(probe::Door& door, const std::string& pass, int number, double timeout)
    : pass_(pass), number_(number), door_(&door), timeout_(timeout), wire_(open(-1)) {}

Wire PeerLink::open(int index) {
  return or_failure([&]() -> Wire {
    const probe::Deadline deadline = probe::after(timeout_);
    if (!door_) {
      Wire wire(probe::connect_until(host_, port_, from_, deadline));
      wire.send(Json{{"pass", pass_}, {"measurement", number_}, {"connection", index}}.dump(), deadline);
      if (const std::string answer = wire.receive(deadline); answer != "welcome")
        throw SocketError("refused: " + shown(answer));
      return wire;
    }
    while (auto came = door_->next(deadline)) {
      const Json hello = Json::parse(came->second, nullptr, false);
      const bool ours = hello.is_object() && hello.contains("pass") && hello["pass"].is_string() &&
                        same_secret(hello["pass"].get<std::string>(), pass_);
      // A connection of an earlier measurement that failed may arrive late.
      if (!ours || hello.value("measurement", -1) != number_ || hello.value("connection", -2) != index) continue;
      came->first.send("welcome", deadline);
      return std::move(came->first);
    }
    throw SocketError("not opened in time");
  });
}

probe::Socket PeerLink::connection(int index) { return open(index).release(); }

void PeerLink::tell(const std::string& line) {
  or_failure([&] { wire_.send(line, probe::after(timeout_)); });
}

std::string PeerLink::hear(double more) {
  return or_failure([&] {
    std::string line = wire_.receive(probe::after(timeout_ + more));
    if (line.starts_with(failed_prefix)) other_failed(line);
    return line;
  });
}

std::string PeerLink::swap_lines(const std::string& mine) {
  tell(mine);
  return hear();
}

void PeerLink::fail(const std::string& reason) {
  std::string line(failed_prefix);
  for (const char c : reason) line += c == '\n' ? ' ' : c;
  try {
    wire_.send(line, probe::after(1));
  } catch (const SocketError&) {
    // The other side notices that the link is broken.
  }
}

bool PeerLink::has_line() {
  return or_failure([&] {
    if (!wire_.ready()) return false;
    if (wire_.front().starts_with(failed_prefix)) other_failed(wire_.front());
    return true;
  });
}

void PeerLink::check() { has_line(); }

void Patience::look() {
  stop_if_requested();
  for (PeerLink* link : links_) link->check();
  if (probe::Clock::now() >= deadline_) throw ProbeFailure(fmt::format("no progress for {:.0f} s", timeout_));
}

}  // namespace fabricast
