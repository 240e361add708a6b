// As much of ASTRA-sim's interface as the adapter of docs/examples/astra_sim uses, so that it can be tested without
// ASTRA-sim: the names and signatures of 518bd51 (March 2026), and behaviour only where the test needs some.
#pragma once

#include <cstdint>
#include <vector>

namespace AstraSim {

using Tick = unsigned long long;
enum time_type_e { SE = 0, MS, US, NS, FS };
struct timespec_t {
  time_type_e time_res;
  long double time_val;
};
struct sim_request {};
struct CallData {};
enum class ComType { None = 0, Reduce_Scatter, All_Gather, All_Reduce, All_to_All, All_Reduce_All_to_All };
enum class EventType { CallEvents = 0, General, StreamInit };

class Callable {
 public:
  virtual ~Callable() = default;
  virtual void call(EventType type, CallData* data) = 0;
};

class AstraNetworkAPI {
 public:
  explicit AstraNetworkAPI(int of) : rank(of) {}
  virtual ~AstraNetworkAPI() = default;
  virtual int sim_send(void*, std::uint64_t, int, int, int, sim_request*, void (*)(void*), void*) = 0;
  virtual int sim_recv(void*, std::uint64_t, int, int, int, sim_request*, void (*)(void*), void*) = 0;
  virtual void sim_schedule(timespec_t delta, void (*)(void*), void*) = 0;
  virtual timespec_t sim_get_time() = 0;
  int rank;
};

class CommunicatorGroup {
 public:
  std::vector<int> involved_NPUs;
};

/// A rank: its events go to its network.
class Sys {
 public:
  void register_event(Callable* callable, EventType event, CallData* data, Tick delta) {
    network->sim_schedule({NS, static_cast<long double>(delta)}, run, new Event{callable, event, data});
  }
  AstraNetworkAPI* network = nullptr;
  int total_nodes = 0;

 private:
  struct Event {
    Callable* callable;
    EventType event;
    CallData* data;
  };
  static void run(void* argument) {
    auto* const event = static_cast<Event*>(argument);
    event->callable->call(event->event, event->data);
    delete event;
  }
};

class BaseStream {
 public:
  Sys* owner = nullptr;
  int stream_id = 0;
  bool finished = false;
};

class Algorithm : public Callable {
 public:
  virtual void run(EventType event, CallData* data) = 0;
  void call(EventType, CallData*) override {}
  virtual void exit() { stream->finished = true; }
  BaseStream* stream = nullptr;
  std::uint64_t data_size = 0, final_data_size = 0;
  ComType comType = ComType::None;
};

}  // namespace AstraSim
