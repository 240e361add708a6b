// Netlink's bytes: what the kernel is asked, and answers written by hand after linux/dcbnl.h.
#include <catch2/catch.hpp>
#include <cstdint>

#include "fabricast/calibrate/port_flow.hpp"

namespace fabricast {
namespace {

/// Little endian, as on all hosts that this is built for.
std::string number(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string padded(std::string text) {
  text.resize((text.size() + 3) / 4 * 4, '\0');
  return text;
}

std::string attribute(int type, const std::string& value) {
  return padded(number(static_cast<std::uint32_t>(value.size() + 4), 2) + number(static_cast<std::uint32_t>(type), 2) +
                value);
}

/// RTM_GETDCB is 78; dcbmsg is family, command 21 (IEEE_GET), and two bytes of padding.
std::string message(const std::string& attributes, int type = 78) {
  const std::string body = std::string("\0\x15\0\0", 4) + attributes;
  return number(static_cast<std::uint32_t>(16 + body.size()), 4) + number(static_cast<std::uint32_t>(type), 2) +
         number(0, 2) + number(1, 4) + number(0, 4) + body;
}

/// ieee_pfc: capacity, a bit per enabled priority, mbc, delay, and eight counters each of requests and indications.
std::string pfc(unsigned enabled) {
  return padded(std::string("\x08", 1) + number(enabled, 1) + std::string(1, '\0') + std::string(1, '\0') +
                number(7, 2)) +
         std::string(2 * 8 * 8, '\0');
}

constexpr int ifname = 1, ieee = 13, ieee_pfc_type = 2, ieee_app_table = 3, ieee_app = 1;
constexpr int nested = 0x8000;

TEST_CASE("the kernel is asked for one interface", "[doctor]") {
  const std::string request = dcb_request("eth12");
  const std::string expected = number(32, 4) + number(78, 2) + number(1, 2) + number(1, 4) + number(0, 4) +
                               std::string("\0\x15\0\0", 4) + number(10, 2) + number(ifname, 2) +
                               std::string("eth12\0\0\0", 8);
  CHECK(request == expected);
}

TEST_CASE("PFC and DSCP's priorities are read from an answer", "[doctor]") {
  // dcb_app: selector 5 is DSCP, 1 is EtherType; priority; protocol.
  const std::string dscp_26_on_3 = number(5, 1) + number(3, 1) + number(26, 2),
                    fcoe = number(1, 1) + number(3, 1) + number(0x8906, 2);
  const std::string table =
      attribute(ieee_app_table | nested, attribute(ieee_app, dscp_26_on_3) + attribute(ieee_app, fcoe));
  const auto flow = dcb_answer(message(attribute(ifname, std::string("eth0\0", 5)) +
                                       attribute(ieee | nested, attribute(ieee_pfc_type, pfc(8)) + table)));
  REQUIRE(flow.has_value());
  CHECK(flow->pfc == 8u);
  CHECK(flow->trust == "dscp");
  CHECK(flow->priority_of_dscp == std::map<int, int>{{26, 3}});
  const auto bare = dcb_answer(message(attribute(ieee, attribute(ieee_pfc_type, pfc(0)))));
  REQUIRE(bare.has_value());
  CHECK(bare->pfc == 0u);
  CHECK(bare->trust.empty());
}

TEST_CASE("other answers, and damaged ones, tell nothing", "[doctor]") {
  const std::string good = message(attribute(ieee, attribute(ieee_pfc_type, pfc(8))));
  REQUIRE(dcb_answer(good).has_value());
  CHECK_FALSE(dcb_answer(message("", 2)).has_value());  // NLMSG_ERROR: the driver has no DCB
  CHECK_FALSE(dcb_answer(message(attribute(ieee, ""))).has_value());
  CHECK_FALSE(dcb_answer(message(attribute(ieee, attribute(ieee_pfc_type, "short")))).has_value());
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_FALSE(dcb_answer(good.substr(0, size)).has_value());
  // Lengths that lie end the reading, and nothing else.
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const char byte : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[at] = byte;
      dcb_answer(bad);
    }
}

TEST_CASE("interfaces that do not answer are left out", "[doctor]") {
  const auto flow = flow_of_ports({"eth0", "eth1"}, [](const std::string& request) {
    return request.find("eth1") == std::string::npos ? std::string()
                                                     : message(attribute(ieee, attribute(ieee_pfc_type, pfc(8))));
  });
  CHECK(flow.size() == 1);
  CHECK(flow.at("eth1").pfc == 8u);
  // The kernel's own answer for an interface that is not there is an error, or nothing in a sandbox.
  CHECK(flow_of_ports({"no-such-device"}).empty());
}

}  // namespace
}  // namespace fabricast
