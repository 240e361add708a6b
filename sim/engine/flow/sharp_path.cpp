#include <algorithm>

#include "fabricast/collective/algorithm.hpp"
#include "paths.hpp"

namespace fabricast {

namespace {

class SharpPath {
 public:
  SharpPath(const Services& services, SliceBytes bytes)
      : s_(services),
        v_(services.view()),
        bytes_(bytes),
        chain_(v_.plan.algorithm == Algorithm::collnetchain),
        nvls_(v_.plan.algorithm == Algorithm::nvls) {}

  Pipeline operator()() {
    chain_ ? climb_chain() : climb_to_head();
    add_network();
    chain_ ? descend_chain() : descend_from_head();
    return std::move(path_);
  }

 private:
  void climb_chain() {
    for (int p = v_.comm.gpus() - 1; p > 0; --p) add_hop(static_cast<std::size_t>(2 * (p - 1)));
    add([&](double bytes) { return Service{s_.threads(bytes), 0, 0}; }, 0);
  }
  void descend_chain() {
    for (int p = 0; p + 1 < v_.comm.gpus(); ++p) add_hop(static_cast<std::size_t>(2 * p + 1));
    add([&](double bytes) { return Service{s_.receive(bytes), 0, 0}; }, 0);
  }
  /// A GPU hands the chunks of all heads over; a head adds them up, by itself or through the NVSwitch.
  void climb_to_head() {
    if (v_.costs.in_place)
      add_nothing(v_.costs.hop_inside);
    else
      add([&](double bytes) { return Service{s_.threads(bytes), 0, s_.slowest_link(bytes)}; }, v_.costs.hop_inside);
    add([&](double bytes) { return Service{s_.threads(bytes), 0, nvls_ ? s_.reduce(0, bytes) : 0}; }, 0);
  }
  void descend_from_head() {
    const auto link = [&](double bytes) { return nvls_ ? s_.multicast(0, bytes) : s_.slowest_link(bytes); };
    add([&](double bytes) { return Service{s_.threads(bytes), 0, link(bytes)}; }, v_.costs.hop_inside);
    if (v_.costs.in_place)
      add_nothing(0);
    else
      add([&](double bytes) { return Service{s_.receive(bytes), 0, 0}; }, 0);
  }

  /// \param service  of a slice of so many bytes
  template <class F>
  void add(F service, double latency) {
    Station w;
    w.whole = service(bytes_.whole), w.tail = service(bytes_.tail), w.latency = latency;
    path_.stations.push_back(w);
  }
  void add_hop(std::size_t hop) {
    add([&](double bytes) { return Service{s_.threads(bytes), 0, s_.link(hop, bytes)}; }, v_.costs.hop_inside);
  }
  void add_nothing(double latency) {
    add([](double) { return Service{}; }, latency);
  }
  /// The proxy thread, and the tree of switches.
  void add_network() {
    const auto add_server = [&](auto service) {
      add(service, 0);
      path_.stations.back().server = true;
    };
    add_server([&](double bytes) { return s_.proxy({1, v_.costs.sends, v_.costs.sends}, bytes); });
    add_server([&](double bytes) { return s_.tree(bytes); });
    // The result is the acknowledgement: no slot travels back.
    path_.stations.back().latency = v_.costs.network_latency(bytes_.whole) + v_.loads.mean_latency(v_.channel);
  }

  const Services& s_;
  const ChannelView& v_;
  SliceBytes bytes_;
  bool chain_, nvls_;
  Pipeline path_;
};

}  // namespace

Pipeline sharp_path(const Services& services, SliceBytes bytes) { return SharpPath(services, bytes)(); }

}  // namespace fabricast
