// NCCL's graph XML: reads a file of NCCL_GRAPH_DUMP_FILE in place of the search, and writes what the search found. Only
// the part inside a node is in it, as in NCCL; wiring between nodes follows from the rules of connect.cc [NCCL-xml].
// Errors are collected with their lines, so that one run reports all of them.
#include "fabricast/planner/graph_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fabricast/core/names.hpp"
#include "fabricast/core/xml.hpp"

namespace fabricast {

namespace {

/// Graphs by NCCL's ids, which are the indices. Patterns 4 to 6 belong to one graph each, patterns 1 to 3 are trees.
struct GraphId {
  std::string_view name;
  SearchGraph SearchGraphs::*graph;
  int pattern;  ///< 0: the tree pattern of the graph
};
constexpr std::array<GraphId, 5> graph_ids = {{{"ring", &SearchGraphs::ring, 4},
                                               {"tree", &SearchGraphs::tree, 0},
                                               {"collnet chain", &SearchGraphs::collnet_chain, 0},
                                               {"nvls", &SearchGraphs::nvls, 5},
                                               {"collnet direct", &SearchGraphs::collnet_direct, 6}}};

// NCCL has at most 64 channels, and each channel of a graph runs twice.
constexpr int most_graph_channels = 32;
constexpr int most_devices = 1 << 16;

/// Reads the graphs of a file and collects errors.
class GraphReader {
 public:
  SearchGraphs read(const XmlElement& root) {
    if (root.name != "graphs")
      xml_.fault(root, fmt::format("<{}> instead of <graphs>", root.name),
                 "use a file written by NCCL_GRAPH_DUMP_FILE");
    if (const auto version = xml_.integer(root, "version", 0, 1 << 20); version && *version != 1)
      xml_.fault(root, fmt::format("unknown format version {}", *version), "version 1 is supported");
    xml_.finish();
    for (const XmlElement& child : root.children)
      if (child.name == "graph") read_graph(child);
    xml_.finish();
    return std::move(graphs_);
  }

 private:
  void read_graph(const XmlElement& element) {
    // The attributes that channels and NCCL's choice need. The others may be missing.
    for (const char* key : {"id", "pattern", "speedintra", "speedinter", "typeintra", "typeinter"})
      xml_.required(element, key);
    const auto id = xml_.integer(element, "id", 0, graph_ids.size() - 1),
               pattern = xml_.integer(element, "pattern", 1, 6);
    const auto intra = xml_.number(element, "speedintra", 0.001, 10000),
               inter = xml_.number(element, "speedinter", 0.001, 10000);
    if (!id || !pattern || !intra || !inter) return;
    const GraphId& what = graph_ids[static_cast<std::size_t>(*id)];
    SearchGraph& graph = graphs_.*what.graph;
    if (graph.channels > 0) return xml_.fault(element, fmt::format("duplicate graph {} ({})", *id, what.name));
    if (what.pattern == 0 ? *pattern > 3 : *pattern != what.pattern)
      xml_.fault(element, fmt::format("pattern {} is not valid for graph {} ({})", *pattern, *id, what.name));
    if (what.pattern == 0) graph.pattern = static_cast<TreePattern>(std::min<std::int64_t>(*pattern, 3));
    graph.bw_intra = *intra;
    graph.bw_inter = *inter;
    graph.latency_inter = xml_.number(element, "latencyinter", 0, 1e6).value_or(0);
    graph.cross_nic = static_cast<int>(xml_.integer(element, "crossnic", 0, 2).value_or(0));
    graph.same_channels = xml_.integer(element, "samechannels", 0, 1).value_or(0) == 1;
    graph.type_intra = read_type(element, "typeintra");
    graph.type_inter = read_type(element, "typeinter");
    for (const XmlElement& child : element.children)
      if (child.name == "channel") graph.shapes.push_back(read_channel(child));
    graph.channels = static_cast<int>(graph.shapes.size());
    if (graph.channels == 0 || graph.channels > most_graph_channels)
      xml_.fault(element, fmt::format("{} channels are not between 1 and {}", graph.channels, most_graph_channels));
    if (const auto count = xml_.integer(element, "nchannels", 0, 1 << 20); count && *count != graph.channels)
      xml_.fault(element,
                 fmt::format("nchannels is {}, but the number of channels that follow is {}", *count, graph.channels));
  }

  PathType read_type(const XmlElement& element, std::string_view attribute) {
    const std::string* text = element.find(attribute);
    if (!text) return PathType::LOC;
    const auto type = enum_from<PathType>(*text);
    if (!type)
      xml_.fault(element, fmt::format("{} '{}' is not a path type", attribute, *text),
                 suggestion(*text, EnumNames<PathType>::names));
    return type.value_or(PathType::LOC);
  }

  ChannelShape read_channel(const XmlElement& channel) {
    ChannelShape shape;
    for (const XmlElement& child : channel.children) {
      if (child.name == "net") {
        xml_.required(child, "dev");
        const auto dev = xml_.hexadecimal(child, "dev");
        if (!dev) continue;
        // The upper half distinguishes the hosts of an NVLink domain.
        if ((*dev & 0xffffffff) > most_devices) {
          xml_.fault(child, fmt::format("dev '{}' is out of range", *child.find("dev")));
          continue;
        }
        const int nic = static_cast<int>(*dev & 0xffffffff);
        // The order of elements is the order of the channel: a <net> before the GPUs is where data enters, one behind
        // them is where it leaves.
        (shape.gpus.empty() ? shape.nic_in : shape.nic_out) = nic;
      }
      if (child.name != "gpu") continue;
      xml_.required(child, "dev");
      const auto gpu = xml_.integer(child, "dev", 0, most_devices);
      if (!gpu) continue;
      if (std::find(shape.gpus.begin(), shape.gpus.end(), static_cast<int>(*gpu)) != shape.gpus.end())
        xml_.fault(child, fmt::format("GPU {} is listed twice on a channel", *gpu));
      shape.gpus.push_back(static_cast<int>(*gpu));
    }
    if (shape.gpus.empty()) xml_.fault(channel, "a channel has no GPU");
    if ((shape.nic_in < 0) != (shape.nic_out < 0))
      xml_.fault(channel, "a channel must have a <net> before and after its GPUs, or none");
    return shape;
  }

  XmlReader xml_;
  SearchGraphs graphs_;
};

}  // namespace

SearchGraphs read_graphs(const std::string& text, const std::string& file) {
  return GraphReader().read(parse_xml(text, file));
}

// Graphs of another machine would lead to wrong paths without notice, so they must match the node in all numbers.
void check_graphs(const SearchGraphs& graphs, const Node& node, bool network) {
  const auto refuse = [](std::string message, std::string hint = {}) {
    throw UserError::at("nccl.env.NCCL_GRAPH_FILE", std::move(message), std::move(hint));
  };
  const auto gpus = static_cast<std::size_t>(node.spec.gpus);
  for (const GraphId& id : graph_ids) {
    const SearchGraph& graph = graphs.*id.graph;
    for (const ChannelShape& shape : graph.shapes) {
      // A channel of NVLS lists its head only, all others list every GPU.
      const bool head_only = id.graph == &SearchGraphs::nvls;
      if (head_only ? shape.gpus.size() > gpus : shape.gpus.size() != gpus)
        refuse(fmt::format("a channel of graph {} has {} GPUs, but the node has {}", id.name, shape.gpus.size(), gpus));
      const int highest = *std::max_element(shape.gpus.begin(), shape.gpus.end());
      if (highest >= node.spec.gpus)
        refuse(fmt::format("graph {} names GPU {}, but the node has {} GPUs", id.name, highest, gpus));
      if (network && shape.nic_in < 0)
        refuse(fmt::format("graph {} has no NICs: it was written on a single node", id.name),
               "dump it in a larger job");
      if (!network && shape.nic_in >= 0)
        refuse(fmt::format("graph {} has NICs: it was written by a job on several nodes", id.name),
               "dump it on a single node");
      if (std::max(shape.nic_in, shape.nic_out) >= node.nics)
        refuse(fmt::format("graph {} names NIC {}, but the node has {} NICs", id.name,
                           std::max(shape.nic_in, shape.nic_out), node.nics));
    }
  }
}

std::string write_graphs(const SearchGraphs& graphs) {
  // NCCL writes `dev` of a NIC in hexadecimal. `rank` equals `dev` of a GPU, since the ranks of a node are in the order
  // of its GPUs.
  std::string out = "<graphs version=\"1\">\n";
  for (std::size_t i = 0; i < graph_ids.size(); ++i) {
    const SearchGraph& g = graphs.*graph_ids[i].graph;
    if (g.channels == 0) continue;
    const int pattern = graph_ids[i].pattern ? graph_ids[i].pattern : static_cast<int>(g.pattern);
    out += fmt::format("  <graph id=\"{}\" pattern=\"{}\" crossnic=\"{}\" nchannels=\"{}\" speedintra=\"{}\" ", i,
                       pattern, g.cross_nic, g.channels, g.bw_intra);
    out += fmt::format("speedinter=\"{}\" latencyinter=\"{}\" typeintra=\"{}\" typeinter=\"{}\" samechannels=\"{}\">\n",
                       g.bw_inter, g.latency_inter, name_of(g.type_intra), name_of(g.type_inter),
                       static_cast<int>(g.same_channels));
    for (const ChannelShape& shape : g.shapes) {
      out += "    <channel>\n";
      if (shape.nic_in >= 0) out += fmt::format("      <net dev=\"{:x}\"/>\n", shape.nic_in);
      for (const int gpu : shape.gpus) out += fmt::format("      <gpu dev=\"{}\" rank=\"{}\"/>\n", gpu, gpu);
      if (shape.nic_out >= 0) out += fmt::format("      <net dev=\"{:x}\"/>\n", shape.nic_out);
      out += "    </channel>\n";
    }
    out += "  </graph>\n";
  }
  return out + "</graphs>\n";
}

}  // namespace fabricast
