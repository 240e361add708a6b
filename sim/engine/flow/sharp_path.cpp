#include <algorithm>

#include "fabricast/collective/algorithm.hpp"
#include "paths.hpp"

namespace fabricast {

namespace {

class SharpPath {
 public:
  SharpPath(const Services& services, SliceBytes bytes)
      : s_(services), v_(services.view()), bytes_(bytes), chain_(v_.plan.algorithm == Algorithm::collnetchain) {}

  Pipeline operator()() {
    const int gpus = v_.comm.gpus();
    if (chain_) {
      for (int p = gpus - 1; p > 0; --p) add_worker(static_cast<std::size_t>(2 * (p - 1)), true);
      add_worker(no_hop, false);
    } else {
      add_copy(true);
      add_head(true);
    }
    add_network();
    if (chain_) {
      for (int p = 0; p + 1 < gpus; ++p) add_worker(static_cast<std::size_t>(2 * p + 1), true);
      add_last();
    } else {
      add_head(false);
      add_copy(false);
    }
    return std::move(path_);
  }

 private:
  static constexpr std::size_t no_hop = static_cast<std::size_t>(-1);

  void add_worker(std::size_t hop, bool inside) {
    Station w;
    const auto service = [&](double bytes) { return Service{s_.threads(bytes), 0, s_.link(hop, bytes)}; };
    w.whole = service(bytes_.whole), w.tail = service(bytes_.tail);
    if (inside) w.latency = v_.costs.hop_inside;
    path_.stations.push_back(w);
  }
  void add_last() {
    Station w;
    w.whole = {s_.receive(bytes_.whole), 0, 0}, w.tail = {s_.receive(bytes_.tail), 0, 0};
    path_.stations.push_back(w);
  }
  /// A GPU hands the chunks of all heads over, or takes them.
  void add_copy(bool in) {
    Station w;
    const auto service = [&](double bytes) {
      if (v_.costs.in_place) return Service{};
      return Service{in ? s_.threads(bytes) : s_.receive(bytes), 0, in ? s_.slowest_link(bytes) : 0};
    };
    w.whole = service(bytes_.whole), w.tail = service(bytes_.tail);
    if (in) w.latency = v_.costs.hop_inside;
    path_.stations.push_back(w);
  }
  void add_head(bool up) {
    Station w;
    const bool nvls = v_.plan.algorithm == Algorithm::nvls;
    const auto service = [&](double bytes) {
      const double link = nvls ? (up ? s_.reduce(0, bytes) : s_.multicast(0, bytes)) : up ? 0 : s_.slowest_link(bytes);
      return Service{s_.threads(bytes), 0, link};
    };
    w.whole = service(bytes_.whole), w.tail = service(bytes_.tail);
    if (!up) w.latency = v_.costs.hop_inside;
    path_.stations.push_back(w);
  }
  /// The proxy thread, and the tree of switches.
  void add_network() {
    Station proxy, tree;
    proxy.server = tree.server = true;
    proxy.whole = s_.proxy({1, v_.costs.sends, v_.costs.sends}, bytes_.whole);
    proxy.tail = s_.proxy({1, v_.costs.sends, v_.costs.sends}, bytes_.tail);
    const auto service = [&](double bytes) {
      const double all = bytes * s_.tree_seconds();
      return Service{all / std::max(1.0, s_.tree_sharers()), all, all};
    };
    tree.whole = service(bytes_.whole), tree.tail = service(bytes_.tail);
    // The result is the acknowledgement: no slot travels back.
    tree.latency = v_.costs.network_latency(bytes_.whole) + v_.loads.mean_latency(v_.channel);
    path_.stations.push_back(proxy);
    path_.stations.push_back(tree);
  }

  const Services& s_;
  const ChannelView& v_;
  SliceBytes bytes_;
  bool chain_;
  Pipeline path_;
};

}  // namespace

Pipeline sharp_path(const Services& services, SliceBytes bytes) { return SharpPath(services, bytes)(); }

}  // namespace fabricast
