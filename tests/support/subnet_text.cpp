#include "subnet_text.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

namespace fabricast::test {

std::string SubnetText::name(VertexId v) const {
  if (!fabric.is_endpoint(v)) return fmt::format("MF0;{}:MQM9700/U1", fabric.name(v));
  return fmt::format("node{} mlx5_{}", v.value / fabric.ports_per_node(), v.value % fabric.ports_per_node());
}

std::string SubnetText::guid(VertexId v) const {
  return fmt::format("{:016x}", (fabric.is_endpoint(v) ? 0xa088c20300000000ULL : 0x900a840300000000ULL) + v.value * 16);
}

int SubnetText::lid(VertexId v) const {
  const auto v0 = static_cast<int>(v.value), endpoints = static_cast<int>(fabric.endpoints());
  if (!fabric.is_endpoint(v)) return 1 + v0 - endpoints;
  return ((static_cast<int>(fabric.switches()) >> lmc) + 1 + v0) << lmc;
}

int SubnetText::port(LinkId link) const {
  const VertexId from = fabric.link(link).from;
  if (fabric.is_endpoint(from)) return 1;
  const Fabric::Adjacency out(fabric);
  int number = 0;
  for (const LinkId l : out.out(from)) {
    ++number;
    if (l.value == link.value) return number;
  }
  return 0;
}

namespace {

/// Ports of all links, as finding one takes long.
std::vector<int> ports(const Fabric& fabric) {
  std::vector<int> list(fabric.links(), 1);
  const Fabric::Adjacency out(fabric);
  for (std::uint32_t v = fabric.endpoints(); v < fabric.vertices(); ++v) {
    int number = 0;
    for (const LinkId l : out.out(VertexId(v))) list[l.value] = ++number;
  }
  return list;
}

}  // namespace

std::string SubnetText::ibnetdiscover() const {
  const std::vector<int> port_of = ports(fabric);
  const Fabric::Adjacency out(fabric);
  std::string text =
      "#\n# Topology file: generated on Tue Sep 15 12:00:00 2026\n#\n# Initiated from node a088c20300000000 "
      "port a088c20300000000\n";
  for (std::uint32_t v = 0; v < fabric.vertices(); ++v) {
    const VertexId here(v);
    const bool host = fabric.is_endpoint(here);
    const std::string own = guid(here);
    text += fmt::format("\nvendid=0x2c9\ndevid={}\nsysimgguid=0x{}\n{}=0x{}{}\n", host ? "0x1021" : "0xd2f2", own,
                        host ? "caguid" : "switchguid", own, host ? "" : "(" + own + ")");
    text += host ? fmt::format("Ca\t1 \"H-{}\"\t\t# \"{}\"\n", own, name(here))
                 : fmt::format("Switch\t65 \"S-{}\"\t\t# \"{}\" enhanced port 0 lid {} lmc 0\n", own, name(here),
                               lid(here));
    for (const LinkId l : out.out(here)) {
      const VertexId there = fabric.link(l).to;
      const bool to_host = fabric.is_endpoint(there);
      const std::string far = fmt::format("\"{}-{}\"[{}]{}", to_host ? 'H' : 'S', guid(there),
                                          port_of[Fabric::reverse(l).value], to_host ? "(" + guid(there) + ") " : "");
      text +=
          host ? fmt::format("[1]({}) \t{}\t\t# lid {} lmc {} \"{}\" lid {} {}\n", own, far, lid(here), lmc,
                             name(there), lid(there), speed)
               : fmt::format("[{}]\t{}\t\t# \"{}\" lid {} {}\n", port_of[l.value], far, name(there), lid(there), speed);
    }
  }
  return text;
}

std::string SubnetText::port_list() const {
  const std::vector<int> port_of = ports(fabric);
  std::string text;
  const auto end = [&](VertexId v, LinkId l) {
    return fmt::format("{} {:5} {:2} 0x{}", fabric.is_endpoint(v) ? "CA" : "SW", lid(v), port_of[l.value], guid(v));
  };
  for (std::uint32_t i = 0; i < fabric.links(); ++i) {
    const LinkId l(i);
    const auto [from, to] = fabric.link(l);
    text += fmt::format("{} {} {} - {} ( '{}' - '{}' )\n", end(from, l), speed.substr(0, 2), speed.substr(2),
                        end(to, Fabric::reverse(l)), name(from), name(to));
  }
  text += fmt::format("SW {:5} 64 0x{} 4x SDR                                     '{}'\n",
                      lid(VertexId(fabric.endpoints())), guid(VertexId(fabric.endpoints())),
                      name(VertexId(fabric.endpoints())));
  return text;
}

std::string SubnetText::iblinkinfo(bool line, bool switches_only) const {
  static const std::map<std::string, std::string> signalled = {
      {"4xNDR", "4X         106.25 Gbps"}, {"4xHDR", "4X         53.125 Gbps"}, {"4xEDR", "4X       25.78125 Gbps"}};
  const std::vector<int> port_of = ports(fabric);
  const Fabric::Adjacency out(fabric);
  std::string text;
  for (std::uint32_t v = 0; v < fabric.vertices(); ++v) {
    const VertexId here(v);
    const bool host = fabric.is_endpoint(here);
    if (host && switches_only) continue;
    if (!line)
      text += host ? fmt::format("CA: {}:\n", name(here)) : fmt::format("Switch: 0x{} {}:\n", guid(here), name(here));
    const std::string begin = line   ? fmt::format("0x{} \"{:>30}\" ", guid(here), name(here))
                              : host ? fmt::format("      0x{} ", guid(here))
                                     : std::string(11, ' ');
    int most = 0;
    for (const LinkId l : out.out(here)) {
      const VertexId there = fabric.link(l).to;
      most = std::max(most, port_of[l.value]);
      text += fmt::format("{}{:6} {:4}[  ] ==( {} Active/  LinkUp)==>  {}{:6} {:4}[  ] \"{}\" ( )\n", begin, lid(here),
                          port_of[l.value], signalled.at(speed), line ? "0x" + guid(there) + " " : "", lid(there),
                          port_of[Fabric::reverse(l).value], name(there));
    }
    for (int p = most + 1; !host && p <= 64; ++p)
      text += fmt::format("{}{:6} {:4}[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n", begin,
                          lid(here), p);
  }
  return text;
}

std::string SubnetText::tables(const Router& router, bool opensm) const {
  const std::vector<int> port_of = ports(fabric);
  std::vector<std::map<int, int>> port_of_lid(fabric.switches());
  Path path;
  for (std::uint32_t from = 0; from < fabric.endpoints(); ++from)
    for (std::uint32_t to = 0; to < fabric.endpoints(); ++to) {
      if (from == to) continue;
      REQUIRE(router.route({from, to, 0, 0}, path));
      for (const std::uint32_t l : path.resources) {
        const VertexId here = fabric.link(LinkId(l)).from;
        if (fabric.is_endpoint(here)) continue;
        for (int i = 0; i < 1 << lmc; ++i) {
          const auto [it, fresh] =
              port_of_lid[here.value - fabric.endpoints()].emplace(lid(VertexId(to)) + i, port_of[l]);
          REQUIRE((fresh || it->second == port_of[l]));
        }
      }
    }
  std::string text;
  const int most = lid(VertexId(fabric.endpoints() - 1)) + (1 << lmc) - 1;
  for (std::uint32_t s = 0; s < fabric.switches(); ++s) {
    const VertexId here(fabric.endpoints() + s);
    text += opensm ? fmt::format("Unicast lids [0-{}] of switch Lid {} guid 0x{} ('{}'):\n", most, lid(here),
                                 guid(here), name(here))
                   : fmt::format(
                         "Unicast lids [0x0-{:#x}] of switch Lid {} guid 0x{} ({}):\n  Lid  Out   Destination\n"
                         "       Port     Info \n",
                         most, lid(here), guid(here), name(here));
    port_of_lid[s][lid(here)] = 0;
    for (const auto& [to, port] : port_of_lid[s])
      text += opensm ? fmt::format("0x{:04x} {:03} # Channel Adapter portguid 0x0: 'x'\n", to, port)
                     : fmt::format("0x{:04x} {:03} : (Channel Adapter portguid 0x0: 'x')\n", to, port);
    text +=
        opensm ? fmt::format("{} lids dumped\n", most) : fmt::format("{} valid lids dumped \n", port_of_lid[s].size());
  }
  return text;
}

}  // namespace fabricast::test
