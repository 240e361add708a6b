// The extension module fabricast._core: the C interface (include/fabricast.h) for Python. What is pleasant to use is in
// fabricast/*.py; this file moves texts, keeps Python responsive, and has no logic of its own.
//
// A question runs on a thread of its own while the thread that asked waits without the GIL. That thread wakes twenty
// times a second to let Python handle signals and to tell the progress. A question that does not stop in time after
// Ctrl-C is left behind: it ends at its next check, its answer is dropped, and the module waits for it at exit.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "fabricast.h"

namespace py = pybind11;
using namespace py::literals;

namespace {

using SharedScenario = std::shared_ptr<fabricast_scenario>;
using UniqueResult = std::unique_ptr<fabricast_result, decltype(&fabricast_result_free)>;
using Question = fabricast_status (*)(const fabricast_scenario*, const char*, const fabricast_control*,
                                      fabricast_result**);
using Words = std::vector<std::string>;

/// What Python holds of an open scenario.
struct OpenHandle {
  SharedScenario scenario;
};

/// What Python holds of an open network.
struct NetworkHandle {
  std::shared_ptr<fabricast_network> network;
};

using Sizes = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Ranks = py::array_t<std::uint32_t, py::array::c_style | py::array::forcecast>;
constexpr py::ssize_t numbers_of_time = 4;  // seconds, low, high, launch

/// Status, text and diagnostics, as Python gets them.
using Reply = std::tuple<int, std::string, std::string>;

constexpr auto wake_up = std::chrono::milliseconds(50);
constexpr auto patience = std::chrono::milliseconds(100);  // with wake_up, below a fifth of a second

Reply reply_of(fabricast_status status, fabricast_result* result) {
  const UniqueResult owned(result, fabricast_result_free);
  std::size_t length = 0;
  const char* text = fabricast_result_text(result, &length);
  return {static_cast<int>(status), std::string(text, length), fabricast_result_diagnostics(result, nullptr)};
}

/// A question that runs. Shared by the thread that asked and the one that answers.
struct Task {
  SharedScenario scenario;  // outlives the question, even one that is left behind
  Question question = nullptr;
  std::string options;
  int threads = 0;
  std::shared_ptr<fabricast_stop> stop;
  std::atomic<double> fraction{0};
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  fabricast_status status = FABRICAST_OK;
  UniqueResult result{nullptr, fabricast_result_free};
};

/// Questions that still run, so that the process does not end under them.
class Running {
 public:
  void begin(const std::shared_ptr<fabricast_stop>& stop) {
    const std::scoped_lock lock(mutex_);
    stops_.push_back(stop);
  }
  void end(const std::shared_ptr<fabricast_stop>& stop) {
    const std::scoped_lock lock(mutex_);
    for (auto it = stops_.begin(); it != stops_.end(); ++it)
      if (*it == stop) {
        stops_.erase(it);
        break;
      }
    none_.notify_all();
  }
  void stop_all_and_wait() {
    std::unique_lock lock(mutex_);
    for (const auto& stop : stops_) fabricast_stop_request(stop.get());
    none_.wait(lock, [&] { return stops_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::vector<std::shared_ptr<fabricast_stop>> stops_;
};

// Never destroyed: a thread that is left behind may use it while the process ends.
Running& running() {
  static auto* const all = new Running;
  return *all;
}

int note_fraction(double fraction, void* user) {
  static_cast<Task*>(user)->fraction.store(fraction, std::memory_order_relaxed);
  return 0;
}

void answer(const std::shared_ptr<Task>& task) {
  fabricast_control control FABRICAST_CONTROL_INIT;
  control.threads = task->threads;
  control.progress = note_fraction;
  control.user = task.get();
  control.stop = task->stop.get();
  fabricast_result* result = nullptr;
  const fabricast_status status = task->question(task->scenario.get(), task->options.c_str(), &control, &result);
  {
    const std::scoped_lock lock(task->mutex);
    task->status = status;
    task->result.reset(result);
    task->done = true;
  }
  task->changed.notify_all();
  running().end(task->stop);
}

bool wait_for(Task& task, std::chrono::milliseconds time) {
  std::unique_lock lock(task.mutex);
  return task.changed.wait_for(lock, time, [&] { return task.done; });
}

/// Lets Python handle signals and hear of the progress. \throws error_already_set if either raises
void attend(const Task& task, const std::function<void(double)>& progress) {
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (progress) progress(task.fraction.load(std::memory_order_relaxed));
}

Question question_named(const std::string& name) {
  if (name == "run") return fabricast_run;
  if (name == "explain") return fabricast_explain;
  if (name == "plan") return fabricast_plan;
  if (name == "check") return fabricast_check;
  if (name == "gate") return fabricast_gate;
  throw py::value_error("no such question: " + name);
}

Reply ask(const OpenHandle& open, const std::string& question, const std::string& options, int threads,
          const std::optional<std::function<void(double)>>& progress) {
  const auto task = std::make_shared<Task>();
  task->scenario = open.scenario;
  task->question = question_named(question);
  task->options = options;
  task->threads = threads;
  task->stop = std::shared_ptr<fabricast_stop>(fabricast_stop_new(), fabricast_stop_free);
  if (!task->stop) throw std::bad_alloc();
  const std::function<void(double)> tell = progress.value_or(nullptr);
  {
    const py::gil_scoped_release released;
    running().begin(task->stop);
    try {
      std::thread(answer, task).detach();
    } catch (...) {
      running().end(task->stop);
      throw;
    }
    while (!wait_for(*task, wake_up)) {
      try {
        attend(*task, tell);
      } catch (...) {
        fabricast_stop_request(task->stop.get());
        wait_for(*task, patience);
        throw;
      }
    }
  }
  if (tell && task->status == FABRICAST_OK) tell(1);
  return reply_of(task->status, task->result.release());
}

std::vector<const char*> pointers_to(const Words& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return pointers;
}

/// Calls a function that opens a scenario, without the GIL.
template <class Open>
std::tuple<OpenHandle, Reply> opened(Open open) {
  fabricast_scenario* scenario = nullptr;
  fabricast_result* result = nullptr;
  fabricast_status status = FABRICAST_OK;
  {
    const py::gil_scoped_release released;
    status = open(&scenario, &result);
  }
  return {OpenHandle{SharedScenario(scenario, fabricast_scenario_free)}, reply_of(status, result)};
}

template <class Tell>
Reply told(Tell tell) {
  fabricast_result* result = nullptr;
  fabricast_status status = FABRICAST_OK;
  {
    const py::gil_scoped_release released;
    status = tell(&result);
  }
  return reply_of(status, result);
}

std::tuple<NetworkHandle, Reply> opened_network(const OpenHandle& open, const std::string& options, int threads) {
  fabricast_network* network = nullptr;
  fabricast_result* result = nullptr;
  fabricast_status status = FABRICAST_OK;
  {
    const py::gil_scoped_release released;
    fabricast_control control FABRICAST_CONTROL_INIT;
    control.threads = threads;
    status = fabricast_network_open(open.scenario.get(), options.c_str(), &control, &network, &result);
  }
  return {NetworkHandle{std::shared_ptr<fabricast_network>(network, fabricast_network_free)}, reply_of(status, result)};
}

/// The numbers of all sizes, a row each, and algorithm, protocol and channels by size. A single known answer takes no
/// result object and no other thread.
py::tuple times_of(const NetworkHandle& open, const std::string& collective, const Sizes& bytes, const Ranks& ranks,
                   double at, int threads) {
  const auto sizes = static_cast<std::size_t>(bytes.size());
  std::vector<fabricast_call_time> times(std::max<std::size_t>(1, sizes), FABRICAST_CALL_TIME_INIT);
  fabricast_result* result = nullptr;
  fabricast_status status = FABRICAST_OK;
  {
    const std::int64_t* asked = bytes.data();
    const std::uint32_t* group = ranks.data();
    const auto count = static_cast<std::size_t>(ranks.size());
    const py::gil_scoped_release released;
    fabricast_control control FABRICAST_CONTROL_INIT;
    control.threads = threads;
    status = fabricast_network_time(open.network.get(), collective.c_str(), asked, sizes, group, count, at, &control,
                                    times.data(), &result);
  }
  Reply reply = reply_of(status, result);
  if (status != FABRICAST_OK) return py::make_tuple(reply, py::none(), py::none(), py::none(), py::none());
  py::array_t<double> numbers({bytes.size(), numbers_of_time});
  auto write = numbers.mutable_unchecked<2>();
  py::list algorithms(sizes), protocols(sizes), channels(sizes);
  for (std::size_t i = 0; i < sizes; ++i) {
    const fabricast_call_time& time = times[i];
    const auto row = static_cast<py::ssize_t>(i);
    write(row, 0) = time.seconds;
    write(row, 1) = time.low;
    write(row, 2) = time.high;
    write(row, 3) = time.launch;
    algorithms[i] = time.algorithm;
    protocols[i] = time.protocol;
    channels[i] = time.channels;
  }
  return py::make_tuple(reply, numbers, algorithms, protocols, channels);
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C interface of Fabricast. Use the package fabricast.";
  py::class_<OpenHandle>(module, "Scenario")
      .def("change",
           [](const OpenHandle& open, const Words& changes) {
             const auto words = pointers_to(changes);
             return opened([&](auto** made, auto** result) {
               return fabricast_change(open.scenario.get(), words.data(), words.size(), made, result);
             });
           })
      .def("network", opened_network, "options"_a, "threads"_a = 0)
      .def("ask", ask, "question"_a, "options"_a, "threads"_a = 0, "progress"_a = py::none())
      .def("effective", [](const OpenHandle& open) {
        return told([&](auto** result) { return fabricast_effective(open.scenario.get(), result); });
      });
  py::class_<NetworkHandle>(module, "Network")
      .def("times", times_of, "collective"_a, "bytes"_a, "ranks"_a, "at"_a = 0.0, "threads"_a = 0)
      .def("ranks", [](const NetworkHandle& open) {
        std::size_t per_host = 0;
        const std::size_t ranks = fabricast_network_ranks(open.network.get(), &per_host);
        return std::make_tuple(ranks, per_host);
      });
  module.def("open_file", [](const std::string& path, const Words& changes) {
    const auto words = pointers_to(changes);
    return opened([&](auto** made, auto** result) {
      return fabricast_open_file(path.c_str(), words.data(), words.size(), made, result);
    });
  });
  module.def("open_text", [](const std::string& text, const std::string& name, const Words& changes) {
    const auto words = pointers_to(changes);
    return opened([&](auto** made, auto** result) {
      return fabricast_open_text(text.data(), text.size(), name.c_str(), words.data(), words.size(), made, result);
    });
  });
  module.def("questions", [] { return told(fabricast_questions); });
  module.def("schema", [] { return told(fabricast_schema); });
  module.def("describe", [](const std::string& name) {
    return told([&](auto** result) { return fabricast_describe(name.c_str(), result); });
  });
  module.def("list", [](const std::optional<std::string>& catalogue) {
    return told([&](auto** result) { return fabricast_list(catalogue ? catalogue->c_str() : nullptr, result); });
  });
  module.def("version", fabricast_version);
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    const py::gil_scoped_release released;
    running().stop_all_and_wait();
  }));
}
