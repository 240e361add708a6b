#include "tuner_interface.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <stdexcept>

namespace fabricast::test {

namespace {

using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);

std::mutex log_mutex;
std::vector<std::string> log_lines;

/// As NCCL_DEBUG=INFO prints with the areas that are on by default: init, bootstrap and env.
void log_to_memory(int level, unsigned long areas, const char*, int, const char* format, ...) {
  constexpr int info = 3;
  constexpr unsigned long by_default = 0x1 | 0x1000 | 0x80;
  if (level > info || !(areas & by_default)) return;
  std::array<char, 4096> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  const std::lock_guard lock(log_mutex);
  log_lines.emplace_back(text.data());
}

template <class F>
F function(void* word) {
  return reinterpret_cast<F>(word);
}

/// NCCL's constants since version 5: 21 + 63 + 5 tables of 12 doubles. A tuner may change them; ours must not.
constexpr std::size_t constant_count = 7 * 3 + 3 * 7 * 3 + 5 * 4 * 3;

}  // namespace

CostTable all_allowed() {
  CostTable costs{};
  float next = 100;
  for (auto& row : costs)
    for (float& cost : row) cost = next++;
  return costs;
}

std::vector<std::string> take_log() {
  const std::lock_guard lock(log_mutex);
  return std::exchange(log_lines, {});
}

const void* TunerOf::symbol(void* library, int version) {
  return dlsym(library, ("ncclTunerPlugin_v" + std::to_string(version)).c_str());
}

int TunerOf::init(std::size_t nodes, std::size_t ranks, void* log) {
  const Log to = log ? reinterpret_cast<Log>(log) : log_to_memory;
  if (version_ < 5)
    return function<int (*)(std::size_t, std::size_t, Log, void**)>(words_[1])(ranks, nodes, to, &context_);
  std::array<int, 3> domains = {1, 2, 3};
  std::array<double, constant_count> constants{};
  std::fill(constants.begin(), constants.end(), 0.5);
  using Init = int (*)(void**, std::uint64_t, std::size_t, std::size_t, Log, void*, void*);
  const int result = function<Init>(words_[1])(&context_, 77, ranks, nodes, to, domains.data(), constants.data());
  const bool same = std::all_of(constants.begin(), constants.end(), [](double c) { return c == 0.5; });
  if (!same || domains != std::array<int, 3>{1, 2, 3}) throw std::runtime_error("the tuner changed what it was given");
  return result;
}

PluginAnswer TunerOf::ask(const TunerCall& c, const CostTable& costs) const {
  PluginAnswer a;
  a.costs = costs;
  if (version_ == 2) {
    // What NCCL 2.21 passes, from what later versions allow.
    const int nvls = costs[4][2] >= 0 || costs[5][2] >= 0, collnet = costs[3][2] >= 0;
    using Choose = int (*)(void*, int, std::size_t, int, int, int, int*, int*, int*);
    a.result = function<Choose>(words_[2])(context_, c.function, c.bytes, collnet, nvls, c.pipelined, &a.algorithm,
                                           &a.protocol, &a.channels);
    return a;
  }
  float** table = reinterpret_cast<float**>(a.costs.data());
  if (version_ == 3) {
    using Choose = int (*)(void*, int, std::size_t, int, float**, int, int, int*);
    a.result =
        function<Choose>(words_[2])(context_, c.function, c.bytes, c.pipelined, table, c.algorithms, 3, &a.channels);
  } else {
    using Choose = int (*)(void*, int, std::size_t, int, float**, int, int, int, int*);
    a.result = function<Choose>(words_[2])(context_, c.function, c.bytes, c.pipelined, table, c.algorithms, 3,
                                           c.registered, &a.channels);
  }
  for (int i = 0; i < 21; ++i)
    if (a.costs[static_cast<std::size_t>(i / 3)][static_cast<std::size_t>(i % 3)] == 0)
      a.algorithm = i / 3, a.protocol = i % 3;
  return a;
}

int TunerOf::end() { return function<int (*)(void*)>(words_[3])(std::exchange(context_, nullptr)); }

}  // namespace fabricast::test
