#include <catch2/catch.hpp>

#include "fabricast/core/names.hpp"
#include "fabricast/discover/check_paths.hpp"
#include "read_text.hpp"
#include "support/begin_as.hpp"
#include "support/fabrics.hpp"
#include "support/subnet_text.hpp"

namespace fabricast {
namespace {

using test::begin_as;

struct TablesRead {
  ForwardingTables tables;
  std::vector<std::string> errors;
};

TablesRead read_tables(const std::string& text) {
  std::istringstream in(text);
  FileProblems problems("lfts.dump");
  TablesRead read;
  read.tables = read_forwarding_tables(in, problems);
  read.errors = test::texts(problems.errors());
  return read;
}

const std::string one_table =
    "Unicast lids [0x0-0x10] of switch Lid 4 guid 0x900A840300B1C000 (leaf (1)):\n"
    "  Lid  Out   Destination\n       Port     Info \n"
    "0x0001 030 : (Channel Adapter portguid 0x0000000000100001: 'node1 mlx5_0')\n"
    "0x0004 000 : (Switch portguid 0x900a840300b1c000: 'leaf (1)')\n"
    "0x0010 255 : (path #1 - illegal port)\n"
    "0x0011 002\n"
    "4 valid lids dumped \n"
    "Multicast mlids [0xc000-0xc3ff] of switch Lid 4 guid 0x900a840300b1c000 (leaf (1)):\n"
    "            0                   1\n0xc000      x    x\n1 valid mlids dumped \n";

TEST_CASE("a dump of one switch", "[discover]") {
  const TablesRead read = read_tables(one_table);
  CHECK(read.errors == std::vector<std::string>{});
  REQUIRE(read.tables.switches.size() == 1);
  const ForwardingTable& table = read.tables.switches[0];
  CHECK(table.guid == "900a840300b1c000");
  CHECK(table.lid == 4);
  CHECK(table.name == "leaf (1)");
  REQUIRE(table.port_of_lid.size() == 0x12);
  CHECK(table.port_of_lid[1] == 30);
  CHECK(table.port_of_lid[2] == no_port);
  CHECK(table.port_of_lid[4] == 0);
  CHECK(table.port_of_lid[0x11] == 2);
}

TEST_CASE("damaged dumps are told by line", "[discover]") {
  const auto damaged = [](const std::string& from, const std::string& to) {
    std::string text = one_table;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return read_tables(text.replace(at, from.size(), to)).errors;
  };
  CHECK_THAT(damaged("Lid 4 guid", "Lid x guid"), begin_as("1:39: invalid LID"));
  CHECK_THAT(damaged("(leaf (1)):", "(leaf"), begin_as("1:66: missing `):` after the name of the switch"));
  CHECK_THAT(damaged("Unicast lids", "lids"), begin_as("1:1: unexpected line in a dump of forwarding tables"));
  CHECK_THAT(damaged("0x0001 030", "0x0001 300"),
             begin_as("4:8: expected a port", "8:1: the table states 4 entries but has 3"));
  CHECK_THAT(damaged("0x0001 030", "0xffff 030"), begin_as("4:7: invalid LID", "8:1: the table states 4 entries"));
  CHECK_THAT(damaged("0x0011 002", "0x0001 002"),
             begin_as("7:11: duplicate entry for LID 0x0001", "8:1: the table states 4 entries"));
  CHECK_THAT(damaged("0x0011 002\n", ""), begin_as("7:1: the table states 4 entries but has 3"));
  CHECK_THAT(read_tables(one_table + one_table).errors.front(), Catch::StartsWith("13:66: duplicate table of switch"));
  CHECK_THAT(read_tables("\n").errors, begin_as("1:1: the file has no forwarding table"));
}

TEST_CASE("tables written from a routing lead the same ways", "[discover]") {
  for (const auto& [kind, ports, nodes] :
       {std::tuple("fat_tree", "8", 24U), std::tuple("fat_tree", "4", 16U), std::tuple("rail_optimized", "8", 12U)}) {
    const std::uint32_t nics = std::string(kind) == "fat_tree" ? 1 : 2;
    const Fabric made = test::fabric_of(kind, test::demand_of(nodes, nics), {{"switch.ports", ports}});
    const LinkState state;
    const auto usual = test::router_of("static", made, state);
    for (const int lmc : {0, 2})
      for (const bool opensm : {false, true}) {
        test::SubnetText text(made);
        text.lmc = lmc;
        const TablesRead read = read_tables(text.tables(*usual, opensm));
        CHECK(read.errors == std::vector<std::string>{});
        const FileFabric contents = test::fabric_of_text(text.ibnetdiscover());
        const PathsChecked checked = check_paths(contents, read.tables);
        CHECK(checked.broken == 0);
        CHECK(checked.routes >= made.endpoints() - 1);

        FileFabricSpec spec;
        static_cast<FileFabric&>(spec) = contents;
        const Fabric fabric = find_by_name(topologies(), "file")->build(spec, test::demand_of(nodes, nics));
        LftSpec lft;
        lft.lids = lmc > 0 ? LidChoice::all : LidChoice::base;
        lft.tables = std::make_shared<ForwardingTables>(read.tables);
        const auto router = find_by_name(routing_policies(), "lft")->make(lft, fabric, state, 1);
        Path expected, path;
        for (std::uint32_t from = 0; from < made.endpoints(); ++from)
          for (std::uint32_t to = 0; to < made.endpoints(); ++to) {
            if (from == to) continue;
            REQUIRE(usual->route({from, to, from, to}, expected));
            REQUIRE(router->route({from, to, from, to}, path));
            REQUIRE(path.resources.size() == expected.resources.size());
            REQUIRE(path.latency.value == Approx(expected.latency.value));
            for (std::size_t i = 0; i < path.resources.size(); ++i) {
              // Cables are numbered otherwise; the switches between them are the same.
              const std::string name = made.name(made.link(LinkId(expected.resources[i])).to);
              if (i + 1 < path.resources.size())
                REQUIRE(fabric.name(fabric.link(LinkId(path.resources[i])).to) == name);
            }
          }
      }
  }
}

/// Two hosts on two leaves under one spine, and tables for them.
struct Small {
  Fabric made = test::fabric_of("leaf_spine", test::demand_of(2, 1), {{"spines", "1"}});
  test::SubnetText text{made};
  LinkState state;
  std::string tables = text.tables(*test::router_of("static", made, state));
  Fabric fabric = build_it();

  Fabric build_it() const {
    FileFabricSpec spec;
    static_cast<FileFabric&>(spec) = test::fabric_of_text(text.ibnetdiscover());
    return find_by_name(topologies(), "file")->build(spec, test::demand_of(2, 1));
  }
  /// What routing says with tables of which one place is changed.
  std::string fault(const std::string& from, const std::string& to) {
    std::string changed = tables;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, from.size(), to);
    LftSpec lft;
    const TablesRead read = read_tables(changed);
    REQUIRE(read.errors.empty());
    lft.tables = std::make_shared<ForwardingTables>(read.tables);
    const auto router = find_by_name(routing_policies(), "lft")->make(lft, fabric, state, 1);
    Path path;
    try {
      return router->route({0, 1, 0, 0}, path) ? "" : "no way";
    } catch (const UserError& e) { return e.diagnostics().front().message; }
  }
};

TEST_CASE("tables that lead nowhere are told by switch and LID", "[discover]") {
  Small small;
  INFO(small.tables);
  const int lid = small.text.lid(small.made.endpoint(1, 0));
  const std::string entry = fmt::format("0x{:04x} ", lid);
  CHECK(small.fault("Info", "Info").empty());
  const std::string begin = fmt::format("the forwarding tables do not lead to LID {} (node1.mlx5_0): ", lid);
  CHECK(small.fault(entry + "002", entry + "000") == begin + "leaf0 has no entry for this LID");
  CHECK(small.fault(entry + "002", entry + "255") == begin + "leaf0 has no entry for this LID");
  CHECK(small.fault(entry + "002", entry + "009") == begin + "leaf0 sends it to port 9, which has no cable");
  CHECK(small.fault("Lid 1 guid 0x9", "Lid 1 guid 0x8") == begin + "leaf0 has no table");
  CHECK(small.fault(entry + "002", entry + "001") == begin + "the route ends at a different NIC");
  // The spine sends it back: a circle.
  const std::size_t spine = small.tables.find("of switch Lid 3");
  REQUIRE(spine != std::string::npos);
  std::string circle = small.tables;
  circle.replace(circle.find(entry + "002", spine), 10, entry + "001");
  small.tables = circle;
  CHECK(small.fault("Info", "Info") == begin + "the route is a loop");
}

TEST_CASE("a link that is down takes its ways, and no others", "[discover]") {
  const Fabric made = test::fabric_of("leaf_spine", test::demand_of(8, 1), {{"spines", "2"}});
  const test::SubnetText text(made);
  LinkState state;
  const auto usual = test::router_of("static", made, state);
  FileFabricSpec spec;
  static_cast<FileFabric&>(spec) = test::fabric_of_text(text.ibnetdiscover());
  const Fabric fabric = find_by_name(topologies(), "file")->build(spec, test::demand_of(8, 1));
  LftSpec lft;
  lft.tables = std::make_shared<ForwardingTables>(read_tables(text.tables(*usual)).tables);
  const RoutingPolicy* policy = find_by_name(routing_policies(), "lft");
  LinkState broken;
  for (const LinkId l : fabric.find_links("leaf0-spine0")) broken.set(l, 0);
  const auto whole = policy->make(lft, fabric, state, 1), around = policy->make(lft, fabric, broken, 1);
  Path before, now;
  int moved = 0;
  for (std::uint32_t to = 4; to < 8; ++to) {
    REQUIRE(whole->route({0, to, 0, 0}, before));
    REQUIRE(around->route({0, to, 0, 0}, now));
    CHECK(test::joins(fabric, now.resources, 0, to));
    bool crossed = false;
    for (const std::uint32_t l : before.resources) crossed = crossed || broken.down(l);
    moved += crossed;
    CHECK((crossed || now.resources == before.resources));
    for (const std::uint32_t l : now.resources) CHECK_FALSE(broken.down(l));
  }
  CHECK(moved == 2);
}

}  // namespace
}  // namespace fabricast
