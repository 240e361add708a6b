// Fabricast as the network of ASTRA-sim: one header between ASTRA-sim's AstraNetworkAPI and fabricast.h.
//
//   FabricastClock       the events of a simulation, in order of their time
//   FabricastNetwork     AstraNetworkAPI: messages of ranks, timed as NCCL's sends
//   FabricastCollective  an Algorithm of the system layer: a whole collective, timed as NCCL runs it
//
// ASTRA-sim's own collectives send every step of a ring or a tree as a message. NCCL runs a collective as one kernel with
// many channels, protocols and pipelined slices, so a sum over such messages is no time of NCCL's. FabricastCollective
// therefore asks for the collective as a whole: all ranks of the group arrive, the call takes its time from the last one
// on, and all leave. It is made where the system layer makes the algorithm of a phase
// (Sys::generate_collective_phase, for the type of custom collectives): `new FabricastCollective(collective_type,
// data_size, comm_group)`. System files then name any word under `all-reduce-implementation-custom` and the like, with
// `preferred-dataset-splits: 1`, because ASTRA-sim waits for as many parts of a custom collective as that says.
//
// Written against ASTRA-sim 518bd51 (March 2026). Not modelled: collectives of different groups that slow each other
// down, and messages that share a NIC. Single-threaded, as ASTRA-sim is.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <fabricast.h>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "astra-sim/system/CommunicatorGroup.hh"
#include "astra-sim/system/StreamBaseline.hh"
#include "astra-sim/system/Sys.hh"
#include "astra-sim/system/astraccl/Algorithm.hh"

namespace AstraSim {

/// The scenario's network, shared by all ranks of a simulation.
class FabricastTimes {
 public:
  /// \throws std::runtime_error with Fabricast's diagnostics
  explicit FabricastTimes(const std::string& scenario_file) {
    fabricast_scenario* scenario = nullptr;
    fabricast_result* result = nullptr;
    require(fabricast_open_file(scenario_file.c_str(), nullptr, 0, &scenario, &result), result);
    // A simulation takes the median; without intervals answers come faster.
    const fabricast_status status =
        fabricast_network_open(scenario, "{\"intervals\": false}", nullptr, &network_, &result);
    fabricast_scenario_free(scenario);
    require(status, result);
  }
  ~FabricastTimes() { fabricast_network_free(network_); }
  FabricastTimes(const FabricastTimes&) = delete;
  FabricastTimes& operator=(const FabricastTimes&) = delete;

  int ranks() const { return static_cast<int>(fabricast_network_ranks(network_, nullptr)); }

  /// Nanoseconds of a call, on the stream of a GPU.
  double nanoseconds(const char* call, std::uint64_t bytes, const std::vector<std::uint32_t>& ranks) const {
    if (bytes == 0 || ranks.size() < 2) return 0;
    const auto size = static_cast<std::int64_t>(bytes);
    fabricast_call_time time = FABRICAST_CALL_TIME_INIT;
    // Known answers, which are most, need no result object.
    if (fabricast_network_time(network_, call, &size, 1, ranks.data(), ranks.size(), 0, nullptr, &time, nullptr) !=
        FABRICAST_OK) {
      fabricast_result* result = nullptr;
      require(fabricast_network_time(network_, call, &size, 1, ranks.data(), ranks.size(), 0, nullptr, &time, &result),
              result);
    }
    return time.seconds * 1e9;
  }

 private:
  /// \param result  by reference, because the call that sets it is an argument as well
  static void require(fabricast_status status, fabricast_result*& result) {
    const std::string why = fabricast_result_diagnostics(result, nullptr);
    fabricast_result_free(result);
    if (status != FABRICAST_OK) throw std::runtime_error(why);
  }

  fabricast_network* network_ = nullptr;
};

/// Events in order of their time; those of one time in the order in which they were scheduled.
class FabricastClock {
 public:
  using Handler = void (*)(void*);
  double now() const { return now_; }
  void schedule(double delay_ns, Handler handler, void* argument) {
    events_.push({now_ + delay_ns, count_++, handler, argument});
  }
  void run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      event.handler(event.argument);
    }
  }

 private:
  struct Event {
    double time;
    std::uint64_t number;
    Handler handler;
    void* argument;
    bool operator<(const Event& other) const {
      return std::tie(other.time, other.number) < std::tie(time, number);  // the earliest is on top
    }
  };
  std::priority_queue<Event> events_;
  double now_ = 0;
  std::uint64_t count_ = 0;
};

/// What all ranks of a simulation share.
struct FabricastWorld {
  explicit FabricastWorld(const std::string& scenario_file) : times(scenario_file) {}
  FabricastTimes times;
  FabricastClock clock;

  struct Handler {
    FabricastClock::Handler call = nullptr;
    void* argument = nullptr;
  };
  /// A message that was sent or is waited for.
  struct Message {
    bool arrived = false;
    Handler received;  ///< empty: not yet waited for
  };
  using Route = std::tuple<int, int, int, std::uint64_t>;  // tag, source, target, bytes
  std::map<Route, std::deque<std::shared_ptr<Message>>> sent, awaited;

  /// Ranks that wait for the others of their collective.
  struct Meeting {
    std::vector<std::pair<Sys*, Callable*>> arrived;
  };
  std::map<std::pair<std::vector<std::uint32_t>, int>, Meeting> meetings;  // by group and number of the call

  /// The world of a simulation, which algorithms find here.
  static FabricastWorld*& current() {
    static FabricastWorld* world = nullptr;
    return world;
  }
};

/// The network of one rank.
class FabricastNetwork : public AstraNetworkAPI {
 public:
  FabricastNetwork(int number, FabricastWorld& world) : AstraNetworkAPI(number), world_(world) {}

  timespec_t sim_get_time() override { return {NS, world_.clock.now()}; }

  void sim_schedule(timespec_t delta, void (*handler)(void*), void* argument) override {
    world_.clock.schedule(static_cast<double>(delta.time_val), handler, argument);
  }

  int sim_send(void*, std::uint64_t count, int, int target, int tag, sim_request*, void (*handler)(void*),
               void* argument) override {
    const auto message = matched(world_.awaited, world_.sent, {tag, rank, target, count});
    const double time = world_.times.nanoseconds(
        "send", count, {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(target)});
    // The sender's buffer is free when the message has arrived: NCCL's send is a kernel that waits for its last slice.
    auto* const arrival = new Arrival{world_, message, {handler, argument}};
    world_.clock.schedule(time, arrive, arrival);
    return 0;
  }

  int sim_recv(void*, std::uint64_t count, int, int source, int tag, sim_request*, void (*handler)(void*),
               void* argument) override {
    const auto message = matched(world_.sent, world_.awaited, {tag, source, rank, count});
    message->received = {handler, argument};
    if (message->arrived) world_.clock.schedule(0, handler, argument);
    return 0;
  }

 private:
  using Messages = std::map<FabricastWorld::Route, std::deque<std::shared_ptr<FabricastWorld::Message>>>;
  struct Arrival {
    FabricastWorld& world;
    std::shared_ptr<FabricastWorld::Message> message;
    FabricastWorld::Handler sent;
  };

  /// The first message of a route that the other side knows, or a new one that this side knows first.
  static std::shared_ptr<FabricastWorld::Message> matched(Messages& others, Messages& own,
                                                          const FabricastWorld::Route& route) {
    const auto other = others.find(route);
    if (other == others.end()) {
      own[route].push_back(std::make_shared<FabricastWorld::Message>());
      return own[route].back();
    }
    const auto message = other->second.front();
    other->second.pop_front();
    if (other->second.empty()) others.erase(other);
    return message;
  }

  static void arrive(void* argument) {
    const std::unique_ptr<Arrival> arrival(static_cast<Arrival*>(argument));
    arrival->message->arrived = true;
    if (arrival->sent.call) arrival->sent.call(arrival->sent.argument);
    if (const auto& received = arrival->message->received; received.call) received.call(received.argument);
  }

  FabricastWorld& world_;
};

/// A collective as a whole.
class FabricastCollective : public Algorithm {
 public:
  /// \param bytes  as the system layer counts them: what a rank contributes
  /// \param group  null: all ranks
  FabricastCollective(ComType type, std::uint64_t bytes, const CommunicatorGroup* group) {
    comType = type;
    data_size = final_data_size = bytes;
    if (group)
      for (const int rank : group->involved_NPUs) ranks_.push_back(static_cast<std::uint32_t>(rank));
  }

  void run(EventType, CallData*) override {
    FabricastWorld& world = *FabricastWorld::current();
    if (ranks_.empty())
      for (int rank = 0; rank < stream->owner->total_nodes; ++rank) ranks_.push_back(static_cast<std::uint32_t>(rank));
    // Streams of a group are numbered alike on all of its ranks.
    const auto key = std::make_pair(ranks_, stream->stream_id);
    FabricastWorld::Meeting& meeting = world.meetings[key];
    meeting.arrived.emplace_back(stream->owner, this);
    if (meeting.arrived.size() < ranks_.size()) return;
    const auto time = static_cast<Tick>(world.times.nanoseconds(name(), bytes(), ranks_) + 0.5);
    const std::vector<std::pair<Sys*, Callable*>> all = std::move(meeting.arrived);
    world.meetings.erase(key);
    for (const auto& [owner, waiting] : all) owner->register_event(waiting, EventType::General, nullptr, time);
  }

  void call(EventType, CallData*) override { exit(); }

 private:
  const char* name() const {
    switch (comType) {
      case ComType::All_Reduce: return "all_reduce";
      case ComType::All_Gather: return "all_gather";
      case ComType::Reduce_Scatter: return "reduce_scatter";
      case ComType::All_to_All: return "alltoall";
      default: throw std::runtime_error("fabricast: this collective has no counterpart in NCCL");
    }
  }
  /// As nccl-tests counts them: the whole buffer of an all-gather.
  std::uint64_t bytes() const { return comType == ComType::All_Gather ? data_size * ranks_.size() : data_size; }

  std::vector<std::uint32_t> ranks_;
};

}  // namespace AstraSim
