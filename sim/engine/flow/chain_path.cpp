#include <algorithm>
#include <tuple>

#include "fabricast/collective/algorithm.hpp"
#include "paths.hpp"

namespace fabricast {

Pipeline chain_path(const Services& s, SliceBytes bytes, int start, std::int64_t nodes) {
  const ChannelView& v = s.view();
  const int gpus = v.comm.gpus();
  const bool by_network = v.comm.nodes() > 1;
  Pipeline path;
  std::vector<Station>& stations = path.stations;
  double by_nic = 0, by_proxy = 0;  // messages per slice of every open channel
  if (by_network) {
    const ChannelShape& shape = v.comm.ring_shape(v.channel);
    for (int c = 0; c < v.plan.channels; ++c) {
      const ChannelShape& other = v.comm.ring_shape(c);
      const double use = v.use[static_cast<std::size_t>(c)];
      if (other.nic_out == shape.nic_out) by_nic += use;
      if (other.gpus.back() == shape.gpus.back()) by_proxy += use > 0 ? 1 : 0;
    }
  }
  const NetworkHop whole = by_network ? s.ring_hop(bytes.whole) : NetworkHop{};
  const auto both = [&](auto seconds) {
    const auto service = [&](double b) {
      const double t = seconds(b);
      return Service{t, 0, 0};
    };
    return std::pair(service(bytes.whole), service(bytes.tail));
  };
  const std::int64_t workers = nodes * gpus;
  for (std::int64_t i = 0; i < workers; ++i) {
    const int position = static_cast<int>((start + i) % gpus);
    Station w;
    if (i + 1 == workers) {
      std::tie(w.whole, w.tail) = both([&](double b) { return s.receive(b); });
      stations.push_back(w);
      break;
    }
    const bool leaves = by_network && position + 1 == gpus;
    const std::size_t hop = leaves ? static_cast<std::size_t>(-1) : static_cast<std::size_t>(position);
    std::tie(w.whole, w.tail) = both([&](double b) { return s.gpu(hop, b); });
    if (i == 0 && v.by_network) w.gap = bytes.whole / v.rate;
    if (!leaves) {
      w.latency = v.costs.hop_inside;
      if (v.costs.cut_through) w.hand_on = v.costs.gpu_overhead(bytes.whole);
      stations.push_back(w);
      continue;
    }
    stations.push_back(w);
    Station proxy, nic;
    proxy.server = nic.server = true;
    proxy.whole = s.proxy({1, by_proxy, by_proxy}, bytes.whole);
    proxy.tail = s.proxy({1, by_proxy, by_proxy}, bytes.tail);
    nic.whole = s.mean_nic(by_nic, bytes.whole), nic.tail = s.mean_nic(by_nic, bytes.tail);
    nic.latency = whole.latency, nic.credit = whole.credit;
    stations.push_back(proxy);
    stations.push_back(nic);
  }
  return path;
}

}  // namespace fabricast
