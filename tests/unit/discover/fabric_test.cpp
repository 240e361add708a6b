#include <catch2/catch.hpp>

#include <algorithm>

#include "fabricast/discover/hostlist.hpp"
#include "read_text.hpp"
#include "support/begin_as.hpp"
#include "support/fabrics.hpp"
#include "support/subnet_text.hpp"

namespace fabricast {
namespace {

using test::begin_as;
using test::fabric_of_text;

TEST_CASE("names in natural order", "[discover]") {
  std::vector<std::string> names = {"dgx10", "dgx2",    "dgx02",  "dgx1", "a", "dgx",
                                    "dgx2b", "dgx2a10", "dgx2a9", "10",   "9"};
  std::sort(names.begin(), names.end(), natural_less);
  CHECK(names == std::vector<std::string>{"9", "10", "a", "dgx", "dgx1", "dgx02", "dgx2", "dgx2a9", "dgx2a10", "dgx2b",
                                          "dgx10"});
  for (const std::string& a : names) {
    CHECK_FALSE(natural_less(a, a));
    for (const std::string& b : names) CHECK((a == b || natural_less(a, b) != natural_less(b, a)));
  }
}

TEST_CASE("lists of hosts as Slurm writes them", "[discover]") {
  const auto names = [](std::string_view text) { return expand_hostlist(text).names; };
  using List = std::vector<std::string>;
  CHECK(names("login") == List{"login"});
  CHECK(names("dgx[001-003,7],login1") == List{"dgx001", "dgx002", "dgx003", "dgx7", "login1"});
  CHECK(names("r[0-1]n[08-10]x") == List{"r0n08x", "r0n09x", "r0n10x", "r1n08x", "r1n09x", "r1n10x"});
  CHECK(names("[1-2]") == List{"1", "2"});
  CHECK(names("a[5]") == List{"a5"});
  const auto fault = [](std::string_view text) {
    const Hostlist list = expand_hostlist(text);
    CHECK(list.names.empty());
    return fmt::format("{}: {}", list.at, list.error);
  };
  CHECK(fault("") == "0: the list of hosts is empty");
  CHECK(fault("a,") == "2: expected a name after the comma");
  CHECK(fault("a,,b") == "2: expected a name");
  CHECK(fault("a[1-3") == "5: missing closing bracket");
  CHECK(fault("a[]") == "2: expected a number");
  CHECK(fault("a[3-1]") == "5: the range is descending");
  CHECK(fault("a]") == "1: unmatched ]");
  CHECK(fault("a[0-9999999]") == "11: more than 200000 hosts");
  CHECK(fault("a[0-9999]b[0-9999]") == "18: more than 200000 hosts");
  CHECK(fault("a[99999999999999999999]") == "2: expected a number");
}

struct SlurmRead {
  SlurmTopology topology;
  std::vector<std::string> errors;
};

SlurmRead read_slurm(const std::string& text) {
  std::istringstream in(text);
  FileProblems problems("topology.conf");
  SlurmRead read;
  read.topology = read_slurm_topology(in, problems);
  read.errors = test::texts(problems.errors());
  return read;
}

const std::string tree =
    "# two leaves under one\n"
    "SwitchName=leaf1 Nodes=dgx[01-04] LinkSpeed=400\n"
    "switchname=leaf2 nodes=dgx[05-06],\\\n"
    "login\n"
    "SwitchName=top Switches=leaf[1-2]  # the end\n";

TEST_CASE("a tree of switches of Slurm", "[discover]") {
  CHECK(is_slurm_topology(tree));
  CHECK_FALSE(is_slurm_topology("switches: [SwitchName=a]\n"));
  const SlurmRead read = read_slurm(tree);
  CHECK(read.errors == std::vector<std::string>{});
  CHECK(read.topology.hosts() ==
        std::vector<std::string>{"dgx01", "dgx02", "dgx03", "dgx04", "dgx05", "dgx06", "login"});
  const FileFabric fabric = fabric_of_slurm(read.topology, 2, 2);
  CHECK(fabric.hosts.size() == 7);
  CHECK(fabric_text(fabric) ==
        "hosts          7  2 NIC ports each\nswitches       2  leaf\nswitches       1  spine\n"
        "cables        14  NIC to leaf\ncables         7  leaf to spine\n");
  CHECK(fabric.links.back().from == "leaf2");
  CHECK(fabric.links.back().count == 3);  // six ports at 2:1
}

TEST_CASE("blocks of Slurm", "[discover]") {
  const SlurmRead read = read_slurm("BlockName=b1 Nodes=n[1-4]\nBlockName=above Nodes=n[5-8]\nBlockSizes=4,8\n");
  CHECK(read.errors == std::vector<std::string>{});
  const FileFabric fabric = fabric_of_slurm(read.topology, 1, 1);
  REQUIRE(fabric.switches.size() == 3);
  CHECK(fabric.switches[2].name == "above_all");
  CHECK(fabric.switches[2].tier == Tier::spine);
}

TEST_CASE("damaged files of Slurm are told by line and column", "[discover]") {
  CHECK_THAT(read_slurm("SwitchName=a Nodes=n[1-\n").errors, begin_as("1:24: expected a number"));
  CHECK_THAT(read_slurm("SwitchName=a \\\n Nodes=n1,\\\nn[x]\n").errors, begin_as("3:3: expected a number"));
  CHECK_THAT(read_slurm("SwitchName=a Nods=n1\n").errors, begin_as("1:14: unknown key 'Nods'"));
  CHECK_THAT(read_slurm("SwitchName=a\nSwitchName=b Nodes=x Switches=a\n").errors,
             begin_as("1:1: 'a' has neither", "2:1: 'b' has both"));
  CHECK_THAT(read_slurm("Nodes=n1\n").errors, begin_as("1:1: SwitchName or BlockName is missing"));
  CHECK_THAT(read_slurm("SwitchName=a Nodes=x\nSwitchName=a Nodes=x,y\n").errors,
             begin_as("2:1: duplicate name 'a'", "2:1: the host 'x' is on two switches"));
  CHECK_THAT(read_slurm("SwitchName=a Nodes=x\nSwitchName=b Switches=a,a,c\n").errors,
             begin_as("2:1: 'a' is listed twice below 'b'", "2:1: unknown switch 'c'"));
  CHECK_THAT(read_slurm("SwitchName=a Switches=b\nSwitchName=b Switches=a\n").errors,
             begin_as("1:1: 'a' is below itself"));
  CHECK_THAT(read_slurm("SwitchName=a Nodes=x\nBlockName=b Nodes=y\n").errors,
             begin_as("2:1: the file has both blocks and switches"));
  CHECK_THAT(read_slurm("# nothing\n").errors, begin_as("1:1: the file has no switch"));
}

TEST_CASE("what looks wrong is named", "[discover]") {
  const Fabric made = test::fabric_of("rail_optimized", test::demand_of(16, 2), {{"switch.ports", "16"}});
  std::string text = test::SubnetText(made).ibnetdiscover();
  // One cable of a NIC at half width, told alike by both ends.
  const auto halve = [&](const std::string& name, const std::string& begin) {
    const std::size_t block = text.find("# \"" + name + "\"", text.find(begin));
    const std::size_t speed = text.find("4xNDR", block);
    text.replace(speed, 5, "2xNDR");
  };
  halve("node3 mlx5_1", "Switch");
  halve("node3 mlx5_1", "Ca\t1 \"H-" + test::SubnetText(made).guid(made.endpoint(3, 1)));
  const FileFabric fabric = fabric_of_text(text);
  CHECK_THAT(test::texts(fabric_findings(fabric)), begin_as("0:0: node3.mlx5_1 to leaf1 port"));

  FileFabric fewer = fabric;
  fewer.links.erase(std::find_if(fewer.links.begin(), fewer.links.end(),
                                 [](const FileFabricLink& link) { return link.from == "leaf1"; }));
  for (FileFabricLink& link : fewer.links)
    if (link.from == "node5.mlx5_1") link.to = "leaf0";
  const auto findings = test::texts(fabric_findings(fewer));
  CHECK_THAT(findings, begin_as("0:0: node3.mlx5_1", "0:0: leaf1 has", "0:0: the NICs of node5 are on 1 switch"));
}

TEST_CASE("hosts that differ are left out, and NICs can be picked", "[discover]") {
  FileFabric fabric;
  fabric.switches = {{"leaf", Tier::leaf, {}, 0}};
  for (int h = 0; h < 4; ++h) {
    FileFabricHost host{fmt::format("n{}", h), {{"mlx5_0"}, {"mlx5_1"}, {"mlx5_2"}}};
    if (h == 2) host.nics.pop_back();
    for (const FileFabricNic& nic : host.nics) {
      FileFabricLink link;
      link.from = host.name + "." + nic.name, link.to = "leaf";
      fabric.links.push_back(link);
    }
    fabric.hosts.push_back(host);
  }
  std::vector<Diagnostic> warnings;
  FileFabric most = fabric;
  choose_hosts(most, 0, {}, warnings);
  CHECK(most.hosts.size() == 3);
  CHECK(most.links.size() == 9);
  CHECK_THAT(test::texts(warnings), begin_as("0:0: left out 1 host whose number of NIC ports is not 3: n2 (2)"));
  warnings.clear();
  FileFabric two = fabric;
  choose_hosts(two, 0, {"mlx5_1", "mlx5_0"}, warnings);
  CHECK(warnings.empty());
  CHECK(two.hosts.size() == 4);
  CHECK(two.hosts[0].nics[0].name == "mlx5_1");
  CHECK(two.links.size() == 8);

  // What only a left-out host was on goes with it.
  FileFabric parts = fabric;
  parts.switches.push_back({"other", Tier::leaf, {}, 0});
  parts.switches.push_back({"above", Tier::leaf, {}, 0});
  for (FileFabricLink& link : parts.links)
    if (link.from.starts_with("n2.")) link.to = "other";
  FileFabricLink up;
  up.from = "above", up.to = "other";
  parts.links.push_back(up);
  choose_hosts(parts, 0, {}, warnings);
  find_tiers(parts, warnings);
  CHECK(parts.switches.size() == 1);
  CHECK(parts.links.size() == 9);
  CHECK_THAT(test::texts(warnings), begin_as("0:0: left out 1 host", "0:0: left out 2 switches that lead to no host"));
  warnings.clear();
  FileFabric none = fabric;
  choose_hosts(none, 0, {"mlx5_9"}, warnings);
  CHECK(none.hosts.empty());
  warnings.clear();

  order_hosts(two, {"n3", "n9", "n1", "n0"}, warnings);
  CHECK(two.hosts[0].name == "n3");
  CHECK(two.hosts[3].name == "n2");
  CHECK_THAT(test::texts(warnings), begin_as("0:0: 1 host of the fabric is not in the list of hosts and comes last: n2",
                                             "0:0: 1 listed host is not on the fabric: n9"));
}

}  // namespace
}  // namespace fabricast
