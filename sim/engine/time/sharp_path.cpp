// The stations of CollNetChain and CollNetDirect: up inside a node, through the switches that reduce, and down again.
//
//   chain   GPU g-1, .., GPU 1, GPU 0, proxy thread, tree of switches, GPU 0, GPU 1, .., GPU g-1
//   heads   GPU, head, proxy thread, tree of switches, head, GPU                                                    (1)
//
// All nodes do the same at the same time, and the switches wait for all of them. So one node stands for all.
#include <algorithm>

#include "fabricast/collective/algorithm.hpp"
#include "paths.hpp"
#include "places.hpp"

namespace fabricast {

namespace {

class SharpPath {
 public:
  SharpPath(const Services& services, SliceBytes bytes, NodePart part)
      : s_(services),
        v_(services.view()),
        bytes_(bytes),
        chain_(part == NodePart::chain),
        nvls_(find_by_algorithm(v_.plan.algorithm)->in_nvswitch) {}

  Pipeline operator()() {
    chain_ ? climb_chain() : climb_to_head();
    add_network();
    chain_ ? descend_chain() : descend_from_head();
    chain_ ? share_chain() : share_heads();
    return std::move(path_);
  }

 private:
  void climb_chain() {
    // Hops of a chain are numbered in pairs: even ones go up, odd ones down.
    for (int p = v_.comm.gpus() - 1; p > 0; --p) add_hop(static_cast<std::size_t>(2 * (p - 1)));
    add([&](double bytes) { return Service{s_.threads(bytes), 0, 0, s_.copying(bytes)}; }, 0);
  }
  void descend_chain() {
    for (int p = 0; p + 1 < v_.comm.gpus(); ++p) add_hop(static_cast<std::size_t>(2 * p + 1));
    add([&](double bytes) { return Service{s_.receive(bytes), 0, 0, s_.receiving(bytes)}; }, 0);
  }
  /// A GPU sends each head its chunk, and the head reduces them, by itself or through the NVSwitch.
  void climb_to_head() {
    // With registered buffers the NVSwitch reads the data in place, and a GPU only signals that they are ready.
    if (v_.costs.in_place)
      add_nothing(v_.costs.hop_inside.value);
    else
      add(
          [&](double bytes) {
            return Service{s_.threads(bytes), 0, s_.slowest_link(bytes)};
          },
          v_.costs.hop_inside.value);
    add([&](double bytes) { return Service{at_head(bytes), 0, nvls_ ? s_.reduce(0, bytes) : 0}; }, 0);
  }
  /// s; with the NVSwitch a head moves one chunk, without it the chunks of all GPUs.
  double at_head(double bytes) const { return s_.threads(bytes) / (nvls_ ? v_.costs.copies : 1); }
  void descend_from_head() {
    const auto link = [&](double bytes) { return nvls_ ? s_.multicast(0, bytes) : s_.slowest_link(bytes); };
    add([&](double bytes) { return Service{at_head(bytes), 0, link(bytes)}; }, v_.costs.hop_inside.value);
    if (v_.costs.in_place)
      add_nothing(0);
    else
      add([&](double bytes) { return Service{s_.receive(bytes), 0, 0}; }, 0);
  }

  /// The paths up and down cross the same links, each while it is busy.
  void share_chain() {
    const auto station = [&](int, int position, bool up) {
      return static_cast<std::uint32_t>(up ? top_ - position : top_ + network_stations + 1 + position);
    };
    // One block copies in both directions, in two parts that slow each other.
    path_.both_directions = v_.costs.both_directions;
    for (int p = 0; p < v_.comm.gpus(); ++p)
      for (const bool up : {true, false}) path_.stations[station(0, p, up)].beside = station(0, p, !up);
    const ChannelShape& shape = v_.comm.tree_shape(v_.channel);
    const auto share = [&](int from, int to) {
      Station& hop = path_.stations[station(0, from, from > to)];
      if (hop.whole.round <= 0) return;
      hop.users = users_of_hop(
          v_.use, shape.gpus[static_cast<std::size_t>(from)], shape.gpus[static_cast<std::size_t>(to)],
          [&](int c) -> const std::vector<int>& { return v_.comm.tree_shape(c).gpus; }, station);
      merge_users(hop.users);
    };
    for (int p = 0; p + 1 < v_.comm.gpus(); ++p) share(p, p + 1), share(p + 1, p);
  }
  void share_heads() {
    // An operation of the NVSwitch crosses the links of all GPUs in one direction and those of its head in the other.
    // Without the NVSwitch GPUs send to each head, and each head sends to all GPUs.
    const auto gpus = static_cast<double>(v_.comm.gpus());
    const double heads = static_cast<double>((nvls_ ? v_.comm.heads : v_.comm.rail_gpus()).size());
    const double own = nvls_ ? heads : gpus - 1, other = nvls_ ? 1 : heads - 1;
    // With the NVSwitch the operation of the head uses the links. Without it the GPU uses them to send its chunks.
    const int up = nvls_ ? top_ : top_ - 1, down = top_ + network_stations + 1;
    const auto share = [&](int station, int beside) {
      std::vector<PlaceUser>& users = path_.stations[static_cast<std::size_t>(station)].users;
      users = {{static_cast<std::uint32_t>(station), own, other}, {static_cast<std::uint32_t>(beside), other, own}};
      merge_users(users);
    };
    share(up, down);
    share(down, up);
  }

  /// Adds a station. \param service  (bytes of a slice) -> Service
  template <class F>
  void add(F service, double latency) {
    Station w;
    w.whole = service(bytes_.whole);
    w.tail = service(bytes_.tail);
    w.latency = latency;
    w.as_they_come = !chain_;
    path_.stations.push_back(w);
  }
  void add_hop(std::size_t hop) {
    add(
        [&](double bytes) {
          return Service{s_.threads(bytes), 0, s_.link(hop, bytes), s_.copying(bytes)};
        },
        v_.costs.hop_inside.value);
  }
  void add_nothing(double latency) {
    add([](double) { return Service{}; }, latency);
  }
  /// The proxy thread, and the tree of switches.
  void add_network() {
    // All later stations are on the path down.
    top_ = static_cast<int>(path_.stations.size()) - 1;
    const auto add_server = [&](auto service) {
      add(service, 0);
      path_.stations.back().server = true;
    };
    add_server([&](double bytes) { return s_.proxy({1, v_.costs.sends, v_.costs.sends}, bytes); });
    add_server([&](double bytes) { return s_.tree(bytes); });
    // The result acts as the acknowledgement, so no slot returns.
    path_.stations.back().latency = v_.costs.network_latency(bytes_.whole).value + v_.loads.mean_latency(v_.channel);
  }

  const Services& s_;
  const ChannelView& v_;
  SliceBytes bytes_;
  bool chain_, nvls_;
  static constexpr int network_stations = 2;
  int top_ = 0;  ///< station next to the NIC, on the path up
  Pipeline path_;
};

}  // namespace

Pipeline sharp_path(const Services& services, SliceBytes bytes, NodePart part) {
  return SharpPath(services, bytes, part)();
}

}  // namespace fabricast
