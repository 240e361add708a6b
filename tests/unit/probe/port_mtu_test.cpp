#include "calibrate/probe/port_mtu.hpp"

#include <catch2/catch.hpp>

#include "fake_verbs.hpp"

namespace fabricast {
namespace {

using Ports = std::map<std::pair<std::string, int>, int>;

TEST_CASE("the active MTU of a port is read, and ports whose calls fail are left out", "[port_mtu]") {
  const test::FakeVerbs fake(Seconds{1e-6}, BytesPerSecond{1e9});
  VerbsCalls calls = fake.calls();
  CHECK(active_mtu_of_ports(calls) == Ports{{{"fake0", 1}, 4096}});
  calls.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr* a) {
    return a->state = IBV_PORT_ACTIVE, a->active_mtu = IBV_MTU_1024, 0;
  };
  CHECK(active_mtu_of_ports(calls) == Ports{{{"fake0", 1}, 1024}});
  calls.query_port = [](ibv_context*, std::uint8_t, ibv_port_attr*) { return 5; };
  CHECK(active_mtu_of_ports(calls).empty());
  CHECK(fake.open_objects() == 0);
  calls.open_device = [](ibv_device*) { return static_cast<ibv_context*>(nullptr); };
  CHECK(active_mtu_of_ports(calls).empty());
  calls.get_device_list = [](int*) { return static_cast<ibv_device**>(nullptr); };
  CHECK(active_mtu_of_ports(calls).empty());
}

}  // namespace
}  // namespace fabricast
