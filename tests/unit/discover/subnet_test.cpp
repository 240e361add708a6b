#include <catch2/catch.hpp>

#include "read_text.hpp"
#include "support/begin_as.hpp"
#include "support/fabrics.hpp"
#include "support/subnet_text.hpp"

namespace fabricast {
namespace {

using test::fabric_of_text;
using test::read_subnet_text;

Fabric two_tiers() { return test::fabric_of("fat_tree", test::demand_of(64, 1), {{"switch.ports", "16"}}); }

/// Everything of a fabric but what a format does not tell.
std::string without_guids(const FileFabric& fabric) {
  FileFabric copy = fabric;
  for (FileFabricSwitch& s : copy.switches) s.guid.clear();
  for (FileFabricHost& host : copy.hosts)
    for (FileFabricNic& nic : host.nics) nic.lmc = 0;
  return fabric_yaml(copy);
}

TEST_CASE("ibnetdiscover's topology is read back", "[discover]") {
  const Fabric made = two_tiers();
  const test::SubnetText text(made);
  const auto read = read_subnet_text(text.ibnetdiscover());
  CHECK(read.errors.empty());
  CHECK(read.warnings.empty());
  CHECK(read.subnet.devices.size() == made.vertices());
  CHECK(read.subnet.cables.size() == made.cables());

  const FileFabric fabric = fabric_of_text(text.ibnetdiscover());
  REQUIRE(fabric.hosts.size() == 64);
  CHECK(fabric.hosts[10].name == "node10");
  REQUIRE(fabric.hosts[10].nics.size() == 1);
  CHECK(fabric.hosts[10].nics[0].name == "mlx5_0");
  CHECK(fabric.hosts[10].nics[0].lid == text.lid(made.endpoint(10, 0)));
  REQUIRE(fabric.switches.size() == made.switches());
  for (std::uint32_t s = 0; s < made.switches(); ++s) {
    const VertexId v(made.endpoints() + s);
    CHECK(fabric.switches[s].name == made.name(v));
    CHECK(fabric.switches[s].tier == made.tier(v));
    CHECK(fabric.switches[s].guid == text.guid(v));
    CHECK(fabric.switches[s].lid == text.lid(v));
  }
  for (const FileFabricLink& link : fabric.links) {
    CHECK(link.rate.value == Approx(50e9));
    CHECK(link.count == 1);
    CHECK(link.to_port > 0);
  }
  CHECK(fabric_text(fabric) ==
        "hosts         64  1 NIC port each\nswitches       8  leaf\nswitches       4  spine\n"
        "cables        64  NIC to leaf, 400Gbps\ncables        64  leaf to spine, 400Gbps\n");
  CHECK(fabric_findings(fabric).empty());
}

TEST_CASE("all tools tell of the same fabric", "[discover]") {
  for (const int nodes : {4, 64}) {
    const Fabric made = test::fabric_of("rail_optimized", test::demand_of(static_cast<std::uint32_t>(nodes), 2),
                                        {{"switch.ports", "16"}});
    const test::SubnetText text(made, "4xHDR");
    const std::string expected = without_guids(fabric_of_text(text.ibnetdiscover()));
    const std::vector<std::string> others = {text.port_list(), text.iblinkinfo(), text.iblinkinfo(true),
                                             text.iblinkinfo(false, true), text.iblinkinfo(true, true)};
    for (const std::string& other : others) {
      const auto read = read_subnet_text(other);
      CHECK(read.errors.empty());
      CHECK(without_guids(fabric_of_text(other)) == expected);
    }
  }
}

TEST_CASE("the order of blocks does not matter", "[discover]") {
  const Fabric made = two_tiers();
  const std::string text = test::SubnetText(made).ibnetdiscover();
  std::vector<std::string> blocks;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", at), text.size());
    blocks.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  std::string turned = blocks.front() + "\n\n";
  for (std::size_t i = blocks.size(); --i > 0;) turned += blocks[i] + "\n\n";
  CHECK(turned != text);
  CHECK(fabric_yaml(fabric_of_text(turned)) == fabric_yaml(fabric_of_text(text)));
}

TEST_CASE("rates of links by width and speed", "[discover]") {
  const auto gbps = [](int width, std::string_view speed) { return infiniband_rate(width, speed)->value * 8e-9; };
  CHECK(gbps(4, "SDR") == Approx(8));
  CHECK(gbps(4, "DDR") == Approx(16));
  CHECK(gbps(4, "QDR") == Approx(32));
  CHECK(gbps(4, "FDR10") == Approx(40));
  CHECK(gbps(4, "FDR") == Approx(54.5454545));
  CHECK(gbps(4, "EDR") == Approx(100));
  CHECK(gbps(2, "HDR") == Approx(100));
  CHECK(gbps(4, "HDR") == Approx(200));
  CHECK(gbps(2, "NDR") == Approx(200));
  CHECK(gbps(8, "NDR") == Approx(800));
  CHECK(gbps(4, "XDR") == Approx(800));
  CHECK(gbps(1, "EDR") == Approx(25));
  CHECK(gbps(12, "QDR") == Approx(96));
  CHECK_FALSE(infiniband_rate(3, "HDR"));
  CHECK_FALSE(infiniband_rate(4, "ZDR"));
}

/// Two hosts on one switch, as printed by tools with every kind of decoration.
const std::string decorated =
    "ibwarn: [17] sim_connect: attached as client 1\n"
    "#\n# Topology file: generated on Tue Sep 15 12:00:00 2026\n#\n"
    "Chassis 1 (guid 0x900a840300b1c000)\n"
    "\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x900a840300b1c000\nswitchguid=0x900a840300b1c000(900a840300b1c000)\n"
    "Switch\t41 \"S-900a840300b1c000\"\t\t# \"MF0;core 1:CS8500/L03/U1\" enhanced port 0 lid 3 lmc 0\t\t# Chassis 1 "
    "Line 3\n"
    "[1][ext 17]\t\"H-0000000000000011\"[1](11) \t\t# \"a \"quoted\" # name\" lid 4 2xHDR s=6 w=2 v=4\n"
    "[2]\t\"H-0000000000000022\"[2](23) \t\t# \"gpu2.site.org HCA-1\" lid 5 4xHDR\n"
    "[3]\t\"H-0000000000000022\"[1](22) \t\t# \"gpu2.site.org HCA-1\" lid 6 4xHDR\r\n"
    "[41]\t\"H-0000000000000033\"[1](33) \t\t# \"Mellanox Technologies Aggregation Node\" lid 7 4xHDR\n"
    "\nvendid=0x2c9\ndevid=0x1017\nsysimgguid=0x11\ncaguid=0x11\n"
    "Ca\t1 \"H-0000000000000011\"\t\t# \"a \"quoted\" # name\"\n"
    "[1](11) \t\"S-900a840300b1c000\"[1][ext 17]\t\t# lid 4 lmc 2 \"MF0;core 1:CS8500/L03/U1\" lid 3 2xHDR\n"
    "\nvendid=0x2c9\ndevid=0x1017\nsysimgguid=0x22\ncaguid=0x22\n"
    "Ca\t2 \"H-0000000000000022\"\t\t# \"gpu2.site.org HCA-1\"\n"
    "[2](23) \t\"S-900a840300b1c000\"[2]\t\t# lid 5 lmc 0 \"MF0;core 1:CS8500/L03/U1\" lid 3 4xHDR\n"
    "[1](22) \t\"S-900a840300b1c000\"[3]\t\t# lid 6 lmc 0 \"MF0;core 1:CS8500/L03/U1\" lid 3 4xHDR\n"
    "\nvendid=0x2c9\ndevid=0xcf09\nsysimgguid=0x33\ncaguid=0x33\n"
    "Ca\t1 \"H-0000000000000033\"\t\t# \"Mellanox Technologies Aggregation Node\"\n"
    "[1](33) \t\"S-900a840300b1c000\"[41]\t\t# lid 7 lmc 0 \"MF0;core 1:CS8500/L03/U1\" lid 3 4xHDR\n";

TEST_CASE("decorations, chassis, aggregation nodes and odd names", "[discover]") {
  const auto read = read_subnet_text(decorated);
  CHECK(read.errors == std::vector<std::string>{});
  std::vector<Diagnostic> warnings;
  FileFabric fabric = fabric_of_subnets({read.subnet}, warnings);
  REQUIRE(fabric.switches.size() == 1);
  CHECK(fabric.switches[0].name == "core 1/L03/U1");
  REQUIRE(fabric.hosts.size() == 2);
  CHECK(fabric.hosts[0].name == "gpu2.site.org");
  REQUIRE(fabric.hosts[0].nics.size() == 2);
  CHECK(fabric.hosts[0].nics[0].name == "HCA-1/1");
  CHECK(fabric.hosts[0].nics[0].lid == 6);
  CHECK(fabric.hosts[0].nics[1].name == "HCA-1/2");
  CHECK(fabric.hosts[1].name == "guid-0000000000000011");
  CHECK(fabric.hosts[1].nics[0].lmc == 2);
  CHECK(fabric.links.size() == 3);
  CHECK_THAT(test::texts(warnings), test::begin_as("21:1: 'a \"quoted\" # name' does not name a host"));

  choose_hosts(fabric, 2, {}, warnings);
  CHECK(fabric.hosts.size() == 1);
  CHECK(fabric.links.size() == 2);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1].message == "left out 1 host whose number of NIC ports is not 2: guid-0000000000000011 (1)");
}

/// The decorated text with one place changed.
std::vector<std::string> after(const std::string& from, const std::string& to) {
  std::string text = decorated;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return read_subnet_text(text).errors;
}

TEST_CASE("damaged topologies are told by line", "[discover]") {
  using test::begin_as;
  CHECK_THAT(
      after("Switch\t41", "Switch\tx"),
      begin_as("11:8: expected the number of ports", "12:1: port without a device",
               "22:1: the link is listed at one end only", "29:1: the link", "30:1: the link", "37:1: the link"));
  CHECK_THAT(after("[2]\t\"H-", "[2]\t\"X-"),
             begin_as("13:6: expected S-, H- or R-",
                      "29:1: the link is listed at one end only: there is no line about port 2"));
  CHECK_THAT(after("lid 5 4xHDR", "lid 5 4xH"),
             begin_as("13:67: unknown width and speed '4xH'", "29:1: the link is listed at one end"));
  CHECK_THAT(after("lid 4 lmc 2", "lid 4 lmc 9"),
             begin_as("12:1: the link is listed at one end", "22:55: invalid LMC"));
  CHECK_THAT(after("lid 4 lmc 2", "lid 49152 lmc 2"),
             begin_as("12:1: the link is listed at one end", "22:49: invalid LID"));
  CHECK_THAT(after("lid 4 lmc 2", "lid 9 lmc 2"),
             begin_as("12:1: port 1 of 'a \"quoted\" # name' has LID 4 here, but LID 9"));
  CHECK_THAT(
      after("\"S-900a840300b1c000\"[2]\t\t# lid 5", "\"S-900a840300b1c000\"[3]\t\t# lid 5"),
      begin_as("13:1: port 2 of 'MF0;core 1:CS8500/L03/U1' connects to port 2 of 'gpu2.site.org HCA-1', which states",
               "29:1: port 2 of 'gpu2.site.org HCA-1' connects to port 3 of"));
  CHECK_THAT(after("\"H-0000000000000033\"\t\t#", "\"H-0000000000000022\"\t\t#"),
             begin_as("15:1: the link is listed at one end", "36:6: duplicate GUID 0000000000000022",
                      "37:1: port without a device"));
  CHECK_THAT(after("[3]\t", "[2]\t"),
             begin_as("14:1: duplicate entry for port 2 of 'MF0;core 1:CS8500/L03/U1'", "30:1: the link is"));
  CHECK_THAT(after("[3]\t", "[300]\t"), begin_as("14:2: invalid port", "30:1: the link is"));
  CHECK_THAT(after("[3]\t", "[42]\t"), begin_as("14:", "30:1: the link is"));
  CHECK_THAT(after("Chassis 1 (guid", "> Chasis"), begin_as("5:1: this is the output of `ibnetdiscover --diff`"));
  CHECK_THAT(after("Chassis 1 (guid", "hello"), begin_as("5:1: unexpected line in the output of ibnetdiscover"));
  CHECK_THAT(after("devid=0xd2f0", "devid=zero"), begin_as("8:7: invalid hexadecimal number"));
  // The slower end counts, with a warning.
  std::string differs = decorated;
  differs.replace(differs.find("lid 5 4xHDR"), 11, "lid 5 1xHDR");
  const auto read = read_subnet_text(differs);
  CHECK(read.errors.empty());
  CHECK_THAT(read.warnings, begin_as("29:1: the ends of a cable differ: port 2"));
}

TEST_CASE("a file that is cut anywhere is never taken for whole", "[discover]") {
  const Fabric made = test::fabric_of("fat_tree", test::demand_of(8, 1), {{"switch.ports", "4"}});
  const test::SubnetText text(made);
  const std::string whole = text.ibnetdiscover();
  REQUIRE(read_subnet_text(whole).errors.empty());
  const std::size_t last = whole.find_last_not_of("\n");
  int cuts = 0;
  for (std::size_t size = whole.find("Ca\t"); size < last; size += 7, ++cuts) {
    INFO(whole.substr(0, size));
    CHECK_FALSE(read_subnet_text(whole.substr(0, size)).errors.empty());
  }
  CHECK(cuts > 100);
  const std::string links = text.iblinkinfo(false, true);
  for (std::size_t size = links.size() / 2; size > links.size() / 2 - 200; size -= 7)
    CHECK_FALSE(read_subnet_text(links.substr(0, size)).errors.empty());
}

TEST_CASE("damaged lists of links and ports are told by line", "[discover]") {
  using test::begin_as;
  const Fabric made = test::fabric_of("single_switch", test::demand_of(2, 1));
  const test::SubnetText text(made);
  const auto damaged = [](std::string whole, const std::string& from, const std::string& to) {
    const std::size_t at = whole.find(from);
    REQUIRE(at != std::string::npos);
    return read_subnet_text(whole.replace(at, from.size(), to)).errors;
  };
  const std::string links = text.iblinkinfo();
  CHECK_THAT(damaged(links, "106.25 Gbps", "107.99 Gbps"), begin_as("2:45: expected width and speed"));
  CHECK_THAT(damaged(links, "Switch: 0x", "Switch: "), begin_as());
  CHECK_THAT(damaged(links, "Switch: 0x", "Switch: !"),
             begin_as("2:1: 'MF0;leaf0:MQM9700/U1' is a switch, but the file does not list its ports",
                      "4:1: 'MF0;leaf0", "5:9: expected a GUID", "6:17: port without a device"));
  CHECK_THAT(damaged(links, "CA: node1", "CB: node1"), begin_as("3:1: unexpected line in the output of iblinkinfo"));
  const std::string ports = text.port_list();
  CHECK_THAT(damaged(ports, "CA ", "CX "),
             begin_as("1:1: expected SW, CA or RT", "2:1: the link is listed at one end"));
  CHECK_THAT(damaged(ports, "4x NDR", "5x NDR"), begin_as("1:", "2:1: the link is listed at one end"));
  CHECK_THAT(damaged(ports, "' - '", "'-'"), begin_as("1:", "2:1: the link is listed at one end"));
}

}  // namespace
}  // namespace fabricast
