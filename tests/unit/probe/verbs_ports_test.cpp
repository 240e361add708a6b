// The rate of a port: from the codes of PortInfo, and from the kernel's file where the codes do not suffice.
#include "calibrate/probe/verbs_ports.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibrate/probe/verbs_trials.hpp"
#include "fake_verbs.hpp"
#include "support/scratch.hpp"

namespace fabricast {
namespace {

using namespace test;

double gbit(unsigned speed, unsigned width, const std::string& file = {}) {
  return port_rate(speed, width, file).value * 8e-9;
}

TEST_CASE("codes of speed and width are decoded up to XDR", "[probe]") {
  // Each width is a bit: 1X 4X 8X 12X, and 2X, which was added last.
  CHECK(gbit(32, 2) == Approx(100));    // EDR 4X
  CHECK(gbit(64, 2) == Approx(200));    // HDR 4X
  CHECK(gbit(64, 16) == Approx(100));   // HDR100: 2X
  CHECK(gbit(128, 2) == Approx(400));   // NDR 4X
  CHECK(gbit(256, 2) == Approx(800));   // XDR 4X
  CHECK(gbit(256, 16) == Approx(400));  // XDR 2X
  CHECK(gbit(4, 2) == Approx(32));      // QDR 4X: 8 of 10 bits are data
}

TEST_CASE("a narrow field states NDR for XDR, and the kernel's file takes precedence", "[probe]") {
  CHECK(gbit(128, 2, "800 Gb/sec (4X XDR)") == Approx(800));
  CHECK(gbit(128, 2, "400 Gb/sec (4X NDR)") == Approx(400));
  CHECK(gbit(128, 2, "?") == Approx(400));
}

TEST_CASE("the rate of an unknown code is unknown", "[probe]") {
  CHECK(gbit(0, 2) == 0);
  CHECK(gbit(512, 2) == 0);
  CHECK(gbit(128, 32) == 0);
  CHECK(gbit(512, 2, "1600 Gb/sec (4X)") == Approx(1600));
  CHECK(gbit(0, 0, "25 Gb/sec (1X EDR)") == Approx(25));
  for (const char* damaged : {"", "Gb/sec", "-4 Gb/sec", "800", "nan Gb/sec", "1e300 Gb/sec"})
    CHECK(gbit(512, 2, damaged) == 0);
}

/// A port of the fake with this speed code, and a `rate` file unless `file` is empty.
std::vector<ProbePort> ports_with(std::uint8_t speed, const std::string& file) {
  const FakeVerbs fake({1e-6}, {1e9});
  VerbsCalls calls = fake.calls();
  calls.query_port = [speed, plain = calls.query_port](ibv_context* c, std::uint8_t n, ibv_port_attr* a) {
    plain(c, n, a);
    a->active_speed = speed;
    a->active_width = 2;
    return 0;
  };
  const Scratch scratch;
  const auto folder = scratch.path / "sys/class/infiniband/fake0/ports/1";
  std::filesystem::create_directories(folder);
  if (!file.empty()) std::ofstream(folder / "rate") << file << "\n";
  return verbs_ports(calls, scratch.path.string());
}

TEST_CASE("the rate file is read below the root, from the folder of the port", "[probe]") {
  CHECK(ports_with(128, "800 Gb/sec (4X XDR)").at(0).rate.value == Approx(100e9));
  CHECK(ports_with(128, "").at(0).rate.value == Approx(50e9));
  CHECK(ports_with(0, "").at(0).rate.value == 0);
}

TEST_CASE("a plan states where it assumes a rate, and uses the other port's rate if it is known", "[probe]") {
  const FakeVerbs fake({1e-6}, {1e9});
  const VerbsCalls calls = fake.calls();
  GpuCalls no_gpu;
  no_gpu.missing = [] { return "none"; };
  const auto backend = make_verbs_backend(calls, no_gpu);
  ProbeSettings settings;
  settings.sizes = {{1 << 20}}, settings.connections = {1};
  const auto plan_of = [&](double a, double b) {
    return backend->plan(settings, {{"verbs", "", {{"a/1", "roce", {a}}}}, {"verbs", "", {{"b/1", "roce", {b}}}}});
  };
  const auto neither = plan_of(0, 0), one = plan_of(0, 100e9), both = plan_of(100e9, 100e9);
  REQUIRE(neither.size() == one.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].estimate.value == both[i].estimate.value);
    CHECK(std::isfinite(neither[i].estimate.value));
    CHECK(neither[i].estimate.value > one[i].estimate.value);
  }
  CHECK(plan_text(neither, {60}).find("unknown for 6 of them; 100 Gb/s is assumed") != std::string::npos);
  CHECK(plan_text(one, {60}).find("unknown") == std::string::npos);
}

}  // namespace
}  // namespace fabricast
