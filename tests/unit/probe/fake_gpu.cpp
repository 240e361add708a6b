#include "fake_gpu.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace fabricast::test {

namespace {

struct Event {
  double time = 0;
};

constexpr int invalid = 1;

}  // namespace

int& current_gpu() {
  thread_local int gpu = 0;
  return gpu;
}

int FakeGpu::World::gpu_of(const void* address) const {
  const auto after = memory.upper_bound(const_cast<char*>(static_cast<const char*>(address)));
  if (after == memory.begin()) return -1;
  const auto& [begin, block] = *std::prev(after);
  return static_cast<const char*>(address) < begin + block.first ? block.second : -1;
}

FakeGpu::FakeGpu(int gpus) : world(std::make_shared<World>()) { world->gpus = gpus; }

GpuCalls FakeGpu::calls() const {
  const auto w = world;
  const auto locked = [w](auto f) {
    const std::lock_guard lock(w->mutex);
    return f();
  };
  const auto allocate = [w, locked](void** out, std::size_t bytes, int gpu) {
    return locked([&] {
      char* memory = new char[bytes];
      w->memory[memory] = {bytes, gpu};
      return ++w->open, *out = memory, 0;
    });
  };
  const auto release = [w, locked](void* memory) {
    return locked([&] {
      char* begin = static_cast<char*>(memory);
      if (w->memory.erase(begin) == 0) return invalid;
      return --w->open, delete[] begin, 0;
    });
  };
  const auto launch = [w, locked](void* stream, double time) {
    return locked([&] {
      Stream* s = static_cast<Stream*>(stream);
      s->end = w->start(*s) + time, w->clock += issue;
      return 0;
    });
  };
  GpuCalls c;
  c.missing = [] { return std::string(); };
  c.reason = [](int error) { return "error " + std::to_string(error); };
  c.now = [w, locked] { return locked([&] { return Seconds{w->clock}; }); };
  c.copy_host = [w, locked](void*, const void*, std::size_t bytes) {
    locked([&] { return w->clock += static_cast<double>(bytes) / memory_rate; });
  };
  c.device_count = [w](int* count) { return *count = w->gpus, 0; };
  c.identify = [](int gpu, GpuIdentity* out) {
    *out = {"Fake", "0000:0" + std::to_string(gpu) + ":00.0", "GPU-" + std::to_string(gpu), {1 << 30}, 90};
    return 0;
  };
  c.driver_version = c.runtime_version = [](int* version) { return *version = 13000, 0; };
  c.set_device = [w](int gpu) { return gpu < w->gpus ? (current_gpu() = gpu, 0) : invalid; };
  c.allocate = [allocate](void** out, std::size_t bytes) { return allocate(out, bytes, current_gpu()); };
  c.allocate_host = [allocate](void** out, std::size_t bytes) { return allocate(out, bytes, -1); };
  c.release = c.release_host = release;
  c.fill = [](void* memory, int byte, std::size_t bytes) { return std::memset(memory, byte, bytes), 0; };
  c.create_stream = [w, locked](void** out) {
    return locked([&] { return ++w->open, *out = new Stream{current_gpu()}, 0; });
  };
  c.destroy_stream = [w, locked](void* s) {
    return locked([&] { return --w->open, delete static_cast<Stream*>(s), 0; });
  };
  c.query_stream = [w, locked](void* stream) {
    return locked([&] {
      const Stream* s = static_cast<Stream*>(stream);
      if (s->pending == 0 && s->end <= w->clock) return 0;
      if (s->pending == 0) w->clock = s->end;
      return GpuCalls::not_ready;
    });
  };
  c.create_event = [w, locked](void** out) { return locked([&] { return ++w->open, *out = new Event{}, 0; }); };
  c.destroy_event = [w, locked](void* e) {
    return locked([&] { return --w->open, delete static_cast<Event*>(e), 0; });
  };
  c.record_event = [w, locked](void* event, void* stream) {
    return locked([&] {
      static_cast<Event*>(event)->time = w->start(*static_cast<Stream*>(stream));
      return w->clock += issue, 0;
    });
  };
  c.elapsed = [](Seconds* time, void* begin, void* end) {
    return *time = {static_cast<Event*>(end)->time - static_cast<Event*>(begin)->time}, 0;
  };
  c.copy = [w, launch](void* to, const void* from, std::size_t bytes, void* stream) {
    if (w->moves_data) std::memmove(to, from, bytes);
    const double rate = w->gpu_of(to) == w->gpu_of(from) ? own_rate : host_rate;
    return launch(stream, static_cast<double>(bytes) / rate);
  };
  c.copy_peer = [w, launch](void* to, int to_gpu, const void* from, int from_gpu, std::size_t bytes, void* stream) {
    if (w->gpu_of(to) != to_gpu || w->gpu_of(from) != from_gpu) return invalid;
    const bool direct = w->access.count({from_gpu, to_gpu}) > 0;
    return launch(stream, static_cast<double>(bytes) / (direct ? peer_rate : host_rate / 2));
  };
  c.can_access_peer = [w](int* can, int, int) { return *can = w->direct ? 1 : 0, 0; };
  c.enable_peer_access = [w, locked](int peer) {
    return locked([&] { return w->access.insert({current_gpu(), peer}), 0; });
  };
  c.load_empty_kernel = [w, locked](void** module, void** function) {
    return locked([&] { return ++w->open, *module = new int, *function = *module, 0; });
  };
  c.unload_module = [w, locked](void* module) {
    return locked([&] { return --w->open, delete static_cast<int*>(module), 0; });
  };
  c.launch = [launch](void*, void* stream) { return launch(stream, kernel); };
  c.export_dma_buf = [](int*, void*, std::size_t) { return GpuCalls::not_supported; };
  return c;
}

}  // namespace fabricast::test
