// NCCL collectives, and sends between pairs of GPUs. Every rank of the session takes part in every measurement, so all
// ranks create the same communicators in the same order. They keep communicators, because creating one takes longer
// than a measurement.
#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "fabricast/collective/collective.hpp"
#include "fabricast/core/quantity.hpp"
#include "nccl_trials.hpp"

namespace fabricast {

using Json = nlohmann::json;

namespace {

constexpr double alone_patience_s = 30;
constexpr std::size_t most_groups = 4;  // each holds memory on every GPU
constexpr BytesPerSecond assumed_rate{2e10};

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char b : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(b));
  return text;
}

std::string unhex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

/// The message of rank 0 to each other rank before a trial.
struct Order {
  NcclPart part;
  std::string id;  ///< of a new communicator; empty: use the existing one
};

std::string to_text(const Order& o) {
  return Json{{"gpus", o.part.place.gpus},
              {"first", o.part.place.first},
              {"ranks", o.part.place.ranks},
              {"from", o.part.from},
              {"to", o.part.to},
              {"check", o.part.check},
              {"id", hex(o.id)}}
      .dump();
}

Order order_of(const std::string& text) {
  try {
    const Json j = Json::parse(text);
    Order o;
    o.part.place = {j.at("gpus").get<std::vector<int>>(), j.at("first"), j.at("ranks")};
    o.part.from = j.at("from");
    o.part.to = j.at("to");
    o.part.check = j.at("check");
    o.id = unhex(j.at("id"));
    return o;
  } catch (const std::exception&) { throw ProbeFailure("rank 0 sent a malformed description of the communicator"); }
}

/// Default sizes in ascending order, as in nccl-tests: 8 B to 512 MiB.
constexpr Bytes sweep[] = {{8}, {1 << 10}, {16 << 10}, {128 << 10}, {1 << 20}, {8 << 20}, {64 << 20}, {512 << 20}};
constexpr Bytes pair_sizes[] = {{8}, {1 << 20}, {64 << 20}};
constexpr CollectiveOp collectives[] = {
    CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::broadcast,
    CollectiveOp::reduce,     CollectiveOp::alltoall,   CollectiveOp::sendrecv};

bool wanted(const std::vector<std::string>& words, std::string_view word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<NcclSetting> settings_of(const ProbeSettings& settings) {
  const auto or_own = [](auto list, auto own) {
    if (list.empty()) list.push_back(own);
    return list;
  };
  std::vector<NcclSetting> all;
  for (const std::string& algorithm : or_own(settings.algorithms, std::string()))
    for (const std::string& protocol : or_own(settings.protocols, std::string()))
      for (const int channels : or_own(settings.channels, 0)) all.push_back({algorithm, protocol, channels});
  return all;
}

/// Adds the measurement with its estimate: nine samples and a warm-up, of twenty calls each.
void add(std::vector<Measurement>& plan, Measurement m) {
  constexpr double calls = 200;
  const Seconds call = Seconds{30e-6} + m.bytes / assumed_rate;
  m.estimate = Seconds{0.05} + call * calls;
  m.traffic = {static_cast<std::int64_t>(calls * static_cast<double>(m.bytes.value) * std::max(m.bus_factor, 0.0))};
  plan.push_back(std::move(m));
}

class Nccl : public ProbeBackend {
 public:
  Nccl(const NcclCalls& calls, const GpuCalls& gpu) : calls_(calls), gpu_(gpu) {}

  std::string unavailable() override {
    if (std::string reason = calls_.missing(); !reason.empty()) return reason;
    if (std::string reason = gpu_unavailable(gpu_); !reason.empty()) return reason;
    int version = 0;
    if (const int error = calls_.version(&version)) return "ncclGetVersion: " + calls_.reason(error);
    return {};
  }

  // NCCL refuses a GPU that two ranks of one host share, and takes the host from NCCL_HOSTID if that is set. Ranks that
  // claim to be on different hosts may therefore share one: this is how one GPU runs the collectives of several ranks.
  std::vector<ProbePort> ports() override {
    std::vector<ProbePort> ports = gpu_ports(gpu_);
    if (const auto host = calls_.variable("NCCL_HOSTID"))
      for (ProbePort& port : ports) port.device += fmt::format(" of host {}", *host);
    return ports;
  }

  std::vector<Measurement> plan(const ProbeSettings& settings, const std::vector<BackendFacts>& facts) override {
    facts_ = facts;
    // All ranks or none: every rank takes part in creating a communicator.
    for (const BackendFacts& f : facts)
      if (f.ports.empty()) return {};
    refuse_shared_gpus();
    std::vector<Measurement> plan;
    Measurement base;
    base.backend = "nccl";
    base.memory = "gpu";
    base.everyone = true;
    for (const NcclSetting& setting : settings_of(settings)) {
      base.algorithm = setting.algorithm;
      base.protocol = setting.protocol;
      base.channels = setting.channels;
      add_collectives(plan, base, settings);
      // Pairs are measured once: algorithm and protocol do not apply to sends and receives.
      if (setting == NcclSetting{} && wanted(settings.collectives, "send")) add_pairs(plan, base, settings);
    }
    if (plan.empty())
      throw ProbeFailure("nothing to measure: no algorithm or protocol can be forced for alltoall, sendrecv and send");
    return plan;
  }

  std::unique_ptr<ProbeTrial> prepare(const Measurement& m, const ProbeSettings&, ProbeSide side,
                                      const std::vector<PeerLink*>& links) override {
    if (lost_) throw ProbeFailure("the creation of an earlier communicator never finished, and NCCL still waits");
    const NcclSetting setting{m.algorithm, m.protocol, m.channels};
    const Order order = side == ProbeSide::first ? lead(m, setting, links) : follow(setting, links);
    const double timeout = links.empty() ? alone_patience_s : links.front()->timeout();
    if (!order.id.empty()) make_group(setting, order, links, timeout);
    auto trial = prepare_nccl_trial(calls_, gpu_, m, order.part, find(setting), links, side, timeout);
    if (order.part.check) checked_.insert(check_key(m));
    return trial;
  }

 private:
  struct Entry {
    NcclSetting setting;
    std::shared_ptr<NcclGroup> group;
  };

  static std::string check_key(const Measurement& m) {
    return fmt::format("{} {} {}:{} {}:{} {} {} {}", m.what, m.in_place, m.from, m.from_port, m.to, m.to_port,
                       m.algorithm, m.protocol, m.channels);
  }

  void refuse_shared_gpus() const {
    std::map<std::string, std::size_t> owners;
    for (std::size_t r = 0; r < facts_.size(); ++r)
      for (const ProbePort& gpu : facts_[r].ports)
        if (const auto [owner, fresh] = owners.emplace(gpu.device, r); !fresh)
          throw ProbeFailure(
              fmt::format("ranks {} and {} share GPU {}: start one rank per host, or give each rank separate GPUs with "
                          "--device or CUDA_VISIBLE_DEVICES",
                          owner->second, r, gpu.device));
  }

  void add_collectives(std::vector<Measurement>& plan, Measurement base, const ProbeSettings& settings) const {
    base.gpus = gpus();
    base.to = static_cast<int>(facts_.size()) - 1;
    const bool forced = !base.algorithm.empty() || !base.protocol.empty();
    for (const CollectiveOp op : collectives) {
      if (!wanted(settings.collectives, name_of(op)) || (forced && is_point_to_point(op))) continue;
      std::set<std::int64_t> sizes;
      if (settings.sizes.empty())
        for (const Bytes size : sweep) sizes.insert(nccl_bytes(name_of(op), size, base.gpus).value);
      for (const Bytes size : settings.sizes) sizes.insert(nccl_bytes(name_of(op), size, base.gpus).value);
      for (const std::int64_t size : sizes)
        for (const bool in_place : {false, true}) {
          if (in_place && is_point_to_point(op)) continue;
          Measurement m = base;
          m.what = name_of(op);
          m.bytes = {size};
          m.in_place = in_place;
          m.bus_factor = bus_factor(op, base.gpus);
          add(plan, m);
        }
    }
  }

  /// All pairs of GPUs within a rank; between ranks only GPUs of the same number, which are on the same rail.
  void add_pairs(std::vector<Measurement>& plan, Measurement base, const ProbeSettings& settings) const {
    base.what = "send";
    base.gpus = 2;
    base.bus_factor = 1;
    const std::span<const Bytes> sizes = settings.sizes.empty() ? pair_sizes : std::span<const Bytes>(settings.sizes);
    for (std::size_t a = 0; a < facts_.size(); ++a)
      for (std::size_t b = 0; b < facts_.size(); ++b)
        for (const ProbePort& from : facts_[a].ports)
          for (const ProbePort& to : facts_[b].ports) {
            if ((a == b) == (from.name == to.name)) continue;
            base.from = static_cast<int>(a);
            base.to = static_cast<int>(b);
            base.from_port = from.name;
            base.to_port = to.name;
            std::set<std::int64_t> whole;
            for (const Bytes size : sizes) whole.insert(nccl_bytes("send", size, 2).value);
            for (const std::int64_t size : whole) {
              base.bytes = {size};
              add(plan, base);
            }
          }
  }

  int gpus() const {
    std::size_t count = 0;
    for (const BackendFacts& f : facts_) count += f.ports.size();
    return static_cast<int>(count);
  }

  /// The GPUs of a rank, and their NCCL ranks.
  NcclPlace place_of(std::size_t rank) const {
    NcclPlace place;
    place.ranks = gpus();
    for (std::size_t r = 0; r < rank; ++r) place.first += static_cast<int>(facts_[r].ports.size());
    for (const ProbePort& gpu : facts_[rank].ports) place.gpus.push_back(gpu_number(gpu.name));
    return place;
  }

  /// NCCL's rank of a port of a rank.
  int rank_of(int rank, const std::string& port) const {
    const auto& ports = facts_.at(static_cast<std::size_t>(rank)).ports;
    const auto at = std::find_if(ports.begin(), ports.end(), [&](const ProbePort& p) { return p.name == port; });
    return place_of(static_cast<std::size_t>(rank)).first + static_cast<int>(at - ports.begin());
  }

  /// Rank 0: orders a new communicator unless every rank still has the one of this setting.
  Order lead(const Measurement& m, const NcclSetting& setting, const std::vector<PeerLink*>& links) {
    bool all_have = find(setting) != nullptr;
    for (PeerLink* link : links) all_have = link->hear() == "have" && all_have;
    Order order;
    if (!all_have) {
      check_nccl(calls_, calls_.make_id(&order.id), "ncclGetUniqueId");
      std::erase_if(checked_, [&](const std::string& key) { return key.ends_with(setting_key(setting)); });
    }
    if (!m.from_port.empty()) {
      order.part.from = rank_of(m.from, m.from_port);
      order.part.to = rank_of(m.to, m.to_port);
    }
    order.part.check = !checked_.contains(check_key(m));
    for (std::size_t r = 1; r < facts_.size(); ++r) {
      order.part.place = place_of(r);
      links[r - 1]->tell(to_text(order));
    }
    order.part.place = place_of(0);
    return order;
  }

  /// Other ranks: report whether they have the communicator, and wait for the order.
  Order follow(const NcclSetting& setting, const std::vector<PeerLink*>& links) {
    links[0]->tell(find(setting) ? "have" : "have not");
    return order_of(links[0]->hear());
  }

  static std::string setting_key(const NcclSetting& s) {
    return fmt::format(" {} {} {}", s.algorithm, s.protocol, s.channels);
  }

  void make_group(const NcclSetting& setting, const Order& order, const std::vector<PeerLink*>& links, double timeout) {
    std::erase_if(groups_, [&](const Entry& e) { return e.setting == setting; });
    if (groups_.size() >= most_groups) groups_.pop_back();
    Patience patience(links, timeout);
    bool waiting = false;
    try {
      auto group = std::make_shared<NcclGroup>(calls_, gpu_, order.part.place, setting, order.id, [&] {
        waiting = true;
        patience.look();
        waiting = false;
      });
      groups_.push_front({setting, std::move(group)});
    } catch (...) {
      lost_ = waiting;
      throw;
    }
  }

  /// The group of a setting, moved to the front; null if there is none or it is broken.
  std::shared_ptr<NcclGroup> find(const NcclSetting& setting) {
    for (auto e = groups_.begin(); e != groups_.end(); ++e)
      if (e->setting == setting && !e->group->broken()) {
        groups_.splice(groups_.begin(), groups_, e);
        return groups_.front().group;
      }
    return nullptr;
  }

  const NcclCalls& calls_;
  const GpuCalls& gpu_;
  std::vector<BackendFacts> facts_;  ///< on rank 0 only
  std::list<Entry> groups_;          ///< most recently used first
  std::set<std::string> checked_;    ///< on rank 0: keys whose results were checked on the existing communicators
  bool lost_ = false;                ///< a communicator was given up during its creation and cannot be aborted
};

}  // namespace

std::unique_ptr<ProbeBackend> make_nccl_backend(const NcclCalls& calls, const GpuCalls& gpu) {
  return std::make_unique<Nccl>(calls, gpu);
}
std::unique_ptr<ProbeBackend> nccl_probe() { return make_nccl_backend(library_nccl(), library_gpu()); }

}  // namespace fabricast
