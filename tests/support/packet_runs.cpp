#include "support/packet_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include "fabricast/engine/dcqcn.hpp"
#include "fabricast/engine/max_min.hpp"
#include "fabricast/engine/port_shares.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "support/fabrics.hpp"

namespace fabricast::test {

namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::string part;
  for (std::istringstream in(text); std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

int spine_of(char letter) {
  if (letter == '.') return -1;
  return letter <= '9' ? letter - '0' : letter - 'a' + 10;
}

void read_header(PacketCase& packets, const std::string& line) {
  std::map<std::string, std::string> value;
  for (const std::string& word : split(line, ' '))
    if (const auto at = word.find('='); at != std::string::npos) value[word.substr(0, at)] = word.substr(at + 1);
  const auto number = [&](const char* key) { return std::stoll(value.at(key)); };
  packets.transport = value.at("transport"), packets.routing = value.at("routing"), packets.kind = value.at("kind");
  packets.leaves = static_cast<std::uint32_t>(number("leaves"));
  packets.hosts_per_leaf = static_cast<std::uint32_t>(number("hosts_per_leaf"));
  packets.spines = static_cast<std::uint32_t>(number("spines"));
  packets.rate = {static_cast<double>(number("gbps")) * 1e9 / 8};
  packets.latency = {static_cast<double>(number("latency_ns")) * 1e-9};
  packets.payload = {number("payload")}, packets.header = {number("header")}, packets.back = {number("back")};
  packets.bytes = {number("bytes")};
  packets.degree = static_cast<std::uint32_t>(number("degree"));
}

void read_row(PacketCase& packets, const std::string& line) {
  auto cells = split(line, ',');
  if (cells.size() == 6) cells.push_back(cells[5]);  // one flow: its end is the mean
  if (cells.size() != 7) throw std::runtime_error("not seven cells");
  const int seed = std::stoi(cells[0]);
  if (packets.runs.empty() || packets.runs.back().seed != seed) packets.runs.push_back({seed, {}, {}});
  PacketRun& run = packets.runs.back();
  const auto from = static_cast<std::uint32_t>(std::stoul(cells[2]));
  std::vector<std::uint32_t> targets;
  if (cells[3] == "*") {
    for (std::uint32_t host = 0; host < packets.hosts(); ++host)
      if (host != from) targets.push_back(host);
  } else {
    for (const std::string& word : split(cells[3], ' '))
      targets.push_back(static_cast<std::uint32_t>(std::stoul(word)));
  }
  if (!cells[4].empty() && cells[4].size() != targets.size()) throw std::runtime_error("not a spine for each target");
  run.sources.push_back({run.flows.size(), targets.size(), {std::stod(cells[5]) * 1e-6}, {std::stod(cells[6]) * 1e-6}});
  for (std::size_t i = 0; i < targets.size(); ++i)
    run.flows.push_back({from, targets[i], cells[1].at(0), cells[4].empty() ? -1 : spine_of(cells[4][i])});
}

/// The links of a flow, and those of its acknowledgements.
struct Way {
  std::vector<std::uint32_t> there, back;
  Seconds latency;
  std::size_t links = 0;
};

/// The network of a case: our own fabric and the router that spreads.
class Network {
 public:
  /// \param seed  of flowlets; 0: every flow is spread
  explicit Network(const PacketCase& packets, std::uint64_t seed = 0) : packets_(packets), fabric_(build(packets)) {
    if (seed > 0)
      router_ = router_of("adaptive", fabric_, state_, seed, {{"by", "flowlet"}});
    else
      router_ = router_of(packets.routing == "adaptive" ? "adaptive" : "spray", fabric_, state_);
    for (std::uint32_t r = 0; r < resources(); ++r) capacities_.push_back(capacity(fabric_, *router_, state_, r).value);
  }
  bool between_switches(std::uint32_t resource) const { return resource >= 2 * packets_.hosts(); }

  /// Bytes per second, by resource.
  const std::vector<double>& capacities() const { return capacities_; }
  std::uint32_t resources() const { return fabric_.links() + router_->bundles(); }

  Way way(const PacketFlow& flow) const {
    Way way;
    Path there, back;
    if (!router_->route({flow.from, flow.to, 0, 0}, there) || !router_->route({flow.to, flow.from, 0, 0}, back))
      throw std::runtime_error("no path");
    way.latency = there.latency, way.links = there.resources.size();
    way.there = there.resources, way.back = back.resources;
    if (packets_.routing != "ecmp" || flow.spine < 0) return way;
    // One path, as the packets went; acknowledgements on the same cables.
    const Clos& clos = *fabric_.clos();
    const auto spine = static_cast<std::uint32_t>(flow.spine);
    way.there = {Clos::endpoint_up(flow.from), clos.leaf_to_spine(clos.leaf_of(flow.from), spine),
                 clos.spine_to_leaf(clos.leaf_of(flow.to), spine, 0), Clos::endpoint_down(flow.to)};
    way.back.clear();
    for (const std::uint32_t link : way.there) way.back.push_back(link ^ 1U);
    return way;
  }

 private:
  static Fabric build(const PacketCase& packets) {
    FabricDemand demand = demand_of(packets.hosts(), 1);
    demand.port_rate = packets.rate;
    demand.header_efficiency =
        static_cast<double>(packets.payload.value) / static_cast<double>((packets.payload + packets.header).value);
    // All of a link's latency as fibre.
    const double metres = packets.latency / propagation(Metres{1});
    return fabric_of("leaf_spine", demand,
                     {{"leaves", std::to_string(packets.leaves)},
                      {"spines", std::to_string(packets.spines)},
                      {"nodes_per_leaf", std::to_string(packets.hosts_per_leaf)},
                      {"switch.ports", std::to_string(packets.hosts())},
                      {"switch.latency", "0ns"},
                      {"switch.rate", fmt::format("{}Gbps", packets.rate.value * 8 / 1e9)},
                      {"cable", fmt::format("{}m", metres)}});
  }

  const PacketCase& packets_;
  LinkState state_;
  Fabric fabric_;
  std::unique_ptr<Router> router_;
  std::vector<double> capacities_;
};

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

/// Rates of the open flows as the flow engine shares links.
/// \param efficiency  of links between switches that flows of several hosts use
std::vector<double> share(const Network& network, const PacketRun& run, const std::vector<Way>& ways,
                          const std::vector<std::size_t>& open, double back, double efficiency) {
  SharingProblem problem;
  problem.capacity = network.capacities();
  if (efficiency != 1) {
    // Of each link a host that sends over it, and whether there is another.
    std::vector<std::uint32_t> sender(network.resources(), nobody);
    std::vector<char> several(network.resources(), 0);
    for (const std::size_t f : open)
      for (const std::uint32_t link : ways[f].there) {
        if (sender[link] == nobody) sender[link] = run.flows[f].from;
        if (sender[link] != run.flows[f].from) several[link] = 1;
      }
    for (std::uint32_t r = 0; r < network.resources(); ++r)
      if (several[r] != 0 && network.between_switches(r)) problem.capacity[r] *= efficiency;
  }
  // This runs once for each flow that ends, with all that are open: room is made at once.
  std::size_t links = 0;
  for (const std::size_t f : open) links += ways[f].there.size() + ways[f].back.size();
  problem.link.reserve(links);
  problem.use.reserve(links);
  problem.first.reserve(open.size() + 1);
  problem.first.push_back(0);
  for (const std::size_t f : open) {
    problem.link.insert(problem.link.end(), ways[f].there.begin(), ways[f].there.end());
    problem.use.resize(problem.link.size(), 1);
    problem.link.insert(problem.link.end(), ways[f].back.begin(), ways[f].back.end());
    problem.use.resize(problem.link.size(), back);
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
  }
  problem.weight.assign(open.size(), 1);
  problem.cap.assign(open.size(), unlimited);
  return fill(problem).level;
}

/// The same by port, and fair where shares by port are not settled, as in forecasts. Acknowledgements do not count in
/// shares by port.
std::vector<double> share_ports(const Network& network, const PacketRun& run, const std::vector<Way>& ways,
                                const std::vector<std::size_t>& open, double back) {
  PortProblem problem;
  problem.capacity = network.capacities();
  problem.first.push_back(0);
  for (const std::size_t f : open) {
    problem.link.insert(problem.link.end(), ways[f].there.begin(), ways[f].there.end());
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.cap.push_back(unlimited);
  }
  const PortShares shares = share_by_port(problem);
  return shares.settled ? shares.rate : share(network, run, ways, open, back, 1);
}

/// With NVIDIA's settings as in the runs, or without marks. Thresholds are those of tests/packets/study.py.
DcqcnProblem problem_of(const PacketCase& packets, PacketModel model) {
  DcqcnProblem problem;
  if (model == PacketModel::dcqcn) {
    problem.settings.xoff = {240 * 4160};
  } else {
    problem.settings = pauses_alone({(packets.name.ends_with("deep") ? 75 : 25) * 4160});
    problem.step = Seconds{0.2e-6};
  }
  return problem;
}

/// Ends without what a flow takes on an empty network. Acknowledgements take their part of links that have traffic both
/// ways.
std::vector<double> rates_run(const PacketCase& packets, const Network& network, const std::vector<Way>& ways,
                              double back, PacketModel model, std::uint64_t seed) {
  DcqcnProblem problem = problem_of(packets, model);
  problem.packet = packets.payload + packets.header;
  const double wire = fractional(problem.packet) / fractional(packets.payload);
  std::vector<bool> used(network.resources(), false);
  problem.first.push_back(0);
  for (const Way& way : ways) {
    for (const std::uint32_t link : way.there) used[link] = true;
    problem.link.insert(problem.link.end(), way.there.begin(), way.there.end());
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.bytes.push_back(Bytes{packets.bytes / packets.payload * problem.packet.value});
    problem.round_trip.push_back(2 * way.latency + static_cast<double>(way.links) * (problem.packet / packets.rate));
  }
  for (std::uint32_t r = 0; r < network.resources(); ++r)
    problem.capacity.push_back(BytesPerSecond{network.capacities()[r] * wire *
                                              ((r ^ 1U) < network.resources() && used[r ^ 1U] ? 1 - back : 1)});
  std::vector<double> ends;
  for (const Seconds end : dcqcn_ends(problem, seed).end) ends.push_back(end.value);
  return ends;
}

/// What the shipped parameters say of such a transport: those of RoCE, whose sources are these runs.
double efficiency_of(const PacketCase& packets) {
  const fabricast::Network network = shipped_hardware().network("roce");
  return (packets.routing == "spray" ? network.sprayed_efficiency : network.contended_efficiency).value;
}

}  // namespace

PacketCase read_packet_case(const std::string& file) {
  std::ifstream in(file);
  PacketCase packets;
  packets.name = std::filesystem::path(file).stem().string();
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) try {
      if (line.starts_with("# transport="))
        read_header(packets, line);
      else if (!line.starts_with("#") && !line.starts_with("seed"))
        read_row(packets, line);
    } catch (const std::exception& problem) {
      throw std::runtime_error(fmt::format("{}:{}: {}", file, number, problem.what()));
    }
  if (packets.runs.empty()) throw std::runtime_error(file + ": no runs");
  return packets;
}

std::vector<PacketCase> read_packet_cases(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<PacketCase> cases;
  for (const std::string& file : files) cases.push_back(read_packet_case(file));
  return cases;
}

std::vector<Seconds> flow_ends(const PacketCase& packets, const PacketRun& run, PacketModel model, std::uint64_t seed) {
  const Network network(packets, model == PacketModel::flowlet ? seed : 0);
  const double efficiency = model == PacketModel::reactive ? efficiency_of(packets) : 1;
  const auto wire = static_cast<double>((packets.payload + packets.header).value);
  const double back = static_cast<double>(packets.back.value) / wire;
  std::vector<Way> ways;
  std::vector<std::size_t> open;
  for (const PacketFlow& flow : run.flows) open.push_back(ways.size()), ways.push_back(network.way(flow));
  std::vector<double> left(ways.size(), static_cast<double>(packets.bytes.value)), end(ways.size());
  if (model == PacketModel::dcqcn || model == PacketModel::pauses) {
    end = rates_run(packets, network, ways, back, model, seed);
    open.clear();
  }
  for (double now = 0; !open.empty();) {
    const std::vector<double> rate = model == PacketModel::ports ? share_ports(network, run, ways, open, back)
                                                                 : share(network, run, ways, open, back, efficiency);
    double step = unlimited;
    for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, left[open[i]] / rate[i]);
    now += step;
    std::vector<std::size_t> still_open;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t f = open[i];
      const bool ends = left[f] / rate[i] <= step * (1 + 1e-9);
      left[f] -= step * rate[i];
      if (ends)
        end[f] = now;
      else
        still_open.push_back(f);
    }
    open = std::move(still_open);
  }
  std::vector<Seconds> ends;
  for (std::size_t f = 0; f < ways.size(); ++f) {
    const auto links = static_cast<double>(ways[f].links);
    const double ack = static_cast<double>(packets.header.value);
    ends.push_back(Seconds{end[f]} + 2 * ways[f].latency +
                   Seconds{((links - 1) * wire + links * ack) / packets.rate.value});
  }
  return ends;
}

Seconds bytes_bound(const PacketCase& packets, const PacketRun& run) {
  const Network network(packets);
  std::vector<double> bytes(network.resources());
  for (const PacketFlow& flow : run.flows)
    for (const std::uint32_t link : network.way(flow).there) bytes[link] += static_cast<double>(packets.bytes.value);
  Seconds bound;
  for (std::uint32_t r = 0; r < network.resources(); ++r)
    if (bytes[r] > 0) bound = std::max(bound, Seconds{bytes[r] / network.capacities()[r]});
  return bound;
}

PacketEnds packet_ends(const PacketRun& run, char role) {
  PacketEnds ends;
  std::size_t flows = 0;
  for (const PacketSource& source : run.sources) {
    if (run.flows[source.first].role != role) continue;
    ends.last = std::max(ends.last, source.last);
    ends.mean += source.mean * static_cast<double>(source.count);
    flows += source.count;
  }
  ends.mean /= static_cast<double>(flows);
  return ends;
}

PacketEnds model_ends(const PacketRun& run, const std::vector<Seconds>& ends, char role) {
  PacketEnds found;
  std::size_t flows = 0;
  for (std::size_t f = 0; f < ends.size(); ++f) {
    if (run.flows[f].role != role) continue;
    found.last = std::max(found.last, ends[f]), found.mean += ends[f], ++flows;
  }
  found.mean /= static_cast<double>(flows);
  return found;
}

bool has_role(const PacketRun& run, char role) {
  return std::any_of(run.flows.begin(), run.flows.end(), [&](const PacketFlow& flow) { return flow.role == role; });
}

}  // namespace fabricast::test
