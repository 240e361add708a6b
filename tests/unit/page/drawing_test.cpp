// Drawings of fabrics: every cable in one line, few boxes whatever the size, loads where they belong.
#include "fabricast/page/drawing.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "fabricast/core/xml.hpp"
#include "fabricast/page/report_page.hpp"

namespace fabricast {
namespace {

World world_of(const std::vector<std::string>& set) {
  const std::string text =
      "fabricast: 1\nnode: {profile: hgx-h100-roce}\ncluster: {nodes: 64}\n"
      "fabric: {kind: fat_tree}\nworkload: {collective: all_reduce, sizes: [1GiB]}\n";
  return build_world(parse_scenario(text, "drawing.yaml", set).scenario);
}

std::uint32_t cables(const FabricDrawing& d) {
  return std::accumulate(d.lines.begin(), d.lines.end(), 0U,
                         [](std::uint32_t n, const FabricLine& l) { return n + l.cables; });
}

TEST_CASE("all vertices and cables of a fabric are drawn, in few boxes", "[page]") {
  for (const char* kind : {"fat_tree", "rail_optimized", "rail_only", "leaf_spine", "single_switch"})
    for (const char* nodes : {"2", "64", "1000"}) {
      CAPTURE(kind, nodes);
      std::vector<std::string> set = {std::string("fabric.kind=") + kind, std::string("cluster.nodes=") + nodes};
      if (std::string(kind) == "leaf_spine")
        set.insert(set.end(), {"fabric.leaves=40", "fabric.spines=30", "fabric.switch.ports=4096"});
      const auto world = world_of(set);
      const FabricDrawing d = draw_fabric(*world.fabric());
      CHECK(cables(d) == world.fabric()->cables());
      std::uint32_t vertices = 0;
      for (const FabricRow& row : d.rows) {
        CHECK(row.boxes.size() <= 24);
        std::uint32_t of_row = 0;
        for (const FabricBox& b : row.boxes) of_row += b.count;
        CHECK(of_row == row.count);
        vertices += of_row;
      }
      CHECK(vertices == world.fabric()->nodes() + world.fabric()->switches());
    }
}

TEST_CASE("boxes end where pods end", "[page]") {
  const auto world = world_of({"cluster.nodes=1024", "fabric.tiers=3"});
  const Clos& clos = *world.fabric()->clos();
  REQUIRE(clos.groups > 1);
  const FabricDrawing d = draw_fabric(*world.fabric());
  std::uint32_t leaf = 0;
  for (const FabricBox& box : d.rows[1].boxes) {
    const std::uint32_t first = clos.group_of(leaf), last = clos.group_of(leaf + box.count - 1);
    CHECK((first == last || clos.leaves_per_group * (last - first + 1) == box.count));
    leaf += box.count;
  }
}

TEST_CASE("a line has the load of its most loaded link", "[page]") {
  const auto world = world_of({});
  const Fabric& fabric = *world.fabric();
  std::vector<float> load(fabric.links(), 0.25F);
  const std::uint32_t hot = 2 * fabric.endpoints() + 5;  // a way down from a spine
  load[hot] = 0.75F;
  const FabricDrawing d = draw_fabric(fabric, load);
  std::size_t full = 0;
  for (const FabricLine& line : d.lines)
    if (line.most > 0.7) {
      ++full;
      CHECK(line.fullest == fabric.name(LinkId(hot)));
    }
  CHECK(full == 1);
  REQUIRE(d.tiers.size() == 4);
  CHECK(d.tiers[0].name == "nodes to leaf");
  CHECK(d.tiers[0].mean == Approx(0.25));
  CHECK(d.tiers[3].name == "spine to leaf");
  CHECK(d.tiers[3].most == Approx(0.75));
  CHECK(d.tiers[3].fullest == fabric.name(LinkId(hot)));
  CHECK(parse_xml(drawing_svg(d), "fabric.svg").name == "svg");
}

TEST_CASE("the fabric of a million GPUs is a small drawing", "[page]") {
  const auto world = world_of({"cluster.nodes=131072", "fabric.tiers=3", "fabric.switch.ports=256"});
  const FabricDrawing d = scenario_drawing(world);
  CHECK(cables(d) == world.fabric()->cables());
  CHECK(drawing_svg(d).size() < 500'000);
  CHECK(drawing_dot(d).size() < 500'000);
}

TEST_CASE("names with markup stay text in a drawing", "[page]") {
  FabricBuilder builder(1, 1);
  const VertexId tor = builder.add_switch(Tier::leaf, "tor \"<b>\\");
  builder.add_cable(VertexId(0), tor, {}, {});
  const FabricDrawing d = draw_fabric(std::move(builder).build());
  CHECK(parse_xml(drawing_svg(d), "fabric.svg").name == "svg");
  CHECK(drawing_dot(d).find("label=\"tor \\\"<b>\\\\\"") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
