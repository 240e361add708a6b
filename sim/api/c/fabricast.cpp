// The C interface (include/fabricast.h): objects, and the edge that no exception crosses.
#include "fabricast.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <new>

#include "../common/network.hpp"
#include "../common/open_scenario.hpp"
#include "../common/questions.hpp"
#include "../common/reply.hpp"
#include "fabricast/ask/catalogue.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/scenario/schema.hpp"

struct fabricast_scenario {
  fabricast::OpenScenario scenario;
};

struct fabricast_result {
  fabricast_status status = FABRICAST_OK;
  std::string text, diagnostics;
};

struct fabricast_network {
  fabricast::CallTimes times;
};

struct fabricast_stop {
  fabricast::StopSource source;
};

namespace fabricast {

namespace {

/// Hands a reply to the caller. Without memory for that, the status alone.
fabricast_status deliver(Reply reply, fabricast_result** result) noexcept {
  const auto status = static_cast<fabricast_status>(reply.status);
  if (!result) return status;
  *result = nullptr;
  try {
    auto made = std::make_unique<fabricast_result>();
    made->status = status;
    made->diagnostics = diagnostics_json(reply.diagnostics);
    made->text = std::move(reply.text);
    *result = made.release();
  } catch (...) { return FABRICAST_INTERNAL; }
  return status;
}

/// A pointer of the caller that must not be null.
template <class T>
T& given(T* pointer, const char* what) {
  if (!pointer) throw UserError(fmt::format("{} is a null pointer", what));
  return *pointer;
}

std::vector<std::string> words_of_caller(const char* const* changes, std::size_t count) {
  std::vector<std::string> words;
  if (count > 0) given(changes, "changes");
  for (std::size_t i = 0; i < count; ++i) words.emplace_back(&given(changes[i], "a change"));
  return words;
}

/// Opens a scenario by `open` and hands it to the caller.
template <class Open>
fabricast_status deliver_scenario(fabricast_scenario** scenario, fabricast_result** result, Open open) noexcept {
  if (scenario) *scenario = nullptr;
  return deliver(guarded([&](Reply& reply) {
                   fabricast_scenario*& place = given(scenario, "scenario");
                   OpenScenario opened = open();
                   for (const Diagnostic& d : opened.warnings())
                     if (d.path != "sweep") reply.diagnostics.push_back(d);  // it is for `plan`
                   place = std::make_unique<fabricast_scenario>(fabricast_scenario{std::move(opened)}).release();
                 }),
                 result);
}

/// The caller's control, of which members that its version does not have are left at their defaults.
fabricast_control control_of(const fabricast_control* given_control) {
  fabricast_control control FABRICAST_CONTROL_INIT;
  if (!given_control) return control;
  if (given_control->size < sizeof(fabricast_control))
    throw UserError("control.size is too small", "begin with FABRICAST_CONTROL_INIT");
  control = *given_control;
  if (control.threads < 0 || control.threads > 4096) throw UserError("control.threads is not between 0 and 4096");
  return control;
}

fabricast_status deliver_answer(const char* question, const fabricast_scenario* scenario, const char* options,
                                const fabricast_control* given_control, fabricast_result** result) noexcept {
  return deliver(guarded([&](Reply& reply) {
                   const OpenScenario& opened = given(scenario, "scenario").scenario;
                   const fabricast_control control = control_of(given_control);
                   QuestionRun run;
                   run.threads = control.threads;
                   if (control.progress)
                     run.progress = [&](double fraction) { return control.progress(fraction, control.user) == 0; };
                   if (control.stop) run.stop = &control.stop->source;
                   reply = ask(*find_question(question), opened, options ? options : "", run);
                 }),
                 result);
}

/// The answers in the caller's elements, of which members that its version does not have are left out.
void write_times(std::span<const CallTime> found, fabricast_call_time* times) {
  const std::size_t size = times->size;
  auto* place = reinterpret_cast<char*>(times);
  for (const CallTime& t : found) {
    const fabricast_call_time time{size,
                                   t.time.value,
                                   t.low.value,
                                   t.high.value,
                                   t.launch.value,
                                   name_of(t.algorithm).data(),
                                   name_of(t.protocol).data(),
                                   t.channels};
    std::memcpy(place, &time, sizeof time);
    place += size;
  }
}

void find_times(const CallTimes& network, const GroupCall& call, std::span<const std::int64_t> bytes,
                const fabricast_control* given_control, fabricast_call_time& times) {
  const fabricast_control control = control_of(given_control);
  const StopScope scope(control.stop ? &control.stop->source : stop_of_thread);
  // A single size, the usual question of a simulator, needs no memory.
  std::array<CallTime, 4> few;
  std::vector<CallTime> many(bytes.size() > few.size() ? bytes.size() : 0);
  const std::span<CallTime> found = many.empty() ? std::span(few).first(bytes.size()) : std::span(many);
  network.times(call, bytes, found, control.threads);
  write_times(found, &times);
}

}  // namespace

}  // namespace fabricast

using namespace fabricast;

const char* fabricast_version(void) {
  static const std::string version = version_text();
  return version.c_str();
}

fabricast_status fabricast_open_file(const char* path, const char* const* changes, size_t count,
                                     fabricast_scenario** scenario, fabricast_result** result) {
  return deliver_scenario(scenario, result,
                          [&] { return OpenScenario::of_file(&given(path, "path"), words_of_caller(changes, count)); });
}

fabricast_status fabricast_open_text(const char* text, size_t length, const char* name, const char* const* changes,
                                     size_t count, fabricast_scenario** scenario, fabricast_result** result) {
  return deliver_scenario(scenario, result, [&] {
    return OpenScenario::of_text(std::string(&given(text, "text"), length), name ? name : "scenario",
                                 words_of_caller(changes, count));
  });
}

fabricast_status fabricast_change(const fabricast_scenario* scenario, const char* const* changes, size_t count,
                                  fabricast_scenario** changed, fabricast_result** result) {
  return deliver_scenario(changed, result,
                          [&] { return given(scenario, "scenario").scenario.with(words_of_caller(changes, count)); });
}

void fabricast_scenario_free(fabricast_scenario* scenario) { delete scenario; }

fabricast_status fabricast_run(const fabricast_scenario* scenario, const char* options,
                               const fabricast_control* control, fabricast_result** result) {
  return deliver_answer("run", scenario, options, control, result);
}

fabricast_status fabricast_explain(const fabricast_scenario* scenario, const char* options,
                                   const fabricast_control* control, fabricast_result** result) {
  return deliver_answer("explain", scenario, options, control, result);
}

fabricast_status fabricast_plan(const fabricast_scenario* scenario, const char* options,
                                const fabricast_control* control, fabricast_result** result) {
  return deliver_answer("plan", scenario, options, control, result);
}

fabricast_status fabricast_check(const fabricast_scenario* scenario, const char* options,
                                 const fabricast_control* control, fabricast_result** result) {
  return deliver_answer("check", scenario, options, control, result);
}

fabricast_status fabricast_gate(const fabricast_scenario* scenario, const char* options,
                                const fabricast_control* control, fabricast_result** result) {
  return deliver_answer("gate", scenario, options, control, result);
}

fabricast_status fabricast_effective(const fabricast_scenario* scenario, fabricast_result** result) {
  return deliver(
      guarded([&](Reply& reply) { reply.text = to_yaml(given(scenario, "scenario").scenario.world().scenario()); }),
      result);
}

fabricast_status fabricast_questions(fabricast_result** result) {
  return deliver(guarded([](Reply& reply) { reply.text = questions_json(); }), result);
}

fabricast_status fabricast_network_open(const fabricast_scenario* scenario, const char* options,
                                        const fabricast_control* given_control, fabricast_network** network,
                                        fabricast_result** result) {
  if (network) *network = nullptr;
  return deliver(guarded([&](Reply& reply) {
                   fabricast_network*& place = given(network, "network");
                   const OpenScenario& opened = given(scenario, "scenario").scenario;
                   const fabricast_control control = control_of(given_control);
                   const StopScope scope(control.stop ? &control.stop->source : stop_of_thread);
                   QuestionRun run;
                   run.threads = control.threads;
                   place = new fabricast_network{open_network(opened, options ? options : "", run, reply)};
                 }),
                 result);
}

size_t fabricast_network_ranks(const fabricast_network* network, size_t* per_host) {
  if (per_host) *per_host = network ? static_cast<size_t>(network->times.world().scenario().node.spec.gpus) : 0;
  return network ? static_cast<size_t>(network->times.world().planner().comm.ranks()) : 0;
}

fabricast_status fabricast_network_time(const fabricast_network* network, const char* collective, const int64_t* bytes,
                                        size_t sizes, const uint32_t* ranks, size_t count, double at,
                                        const fabricast_control* control, fabricast_call_time* times,
                                        fabricast_result** result) {
  return deliver(guarded([&](Reply&) {
                   const CallTimes& opened = given(network, "network").times;
                   const CallKind kind = call_kind_from(&given(collective, "collective"));
                   const std::span group(&given(ranks, "ranks"), count);
                   const std::span asked(&given(bytes, "bytes"), sizes);
                   if (given(times, "times").size < sizeof(fabricast_call_time))
                     throw UserError("times.size is too small", "begin with FABRICAST_CALL_TIME_INIT");
                   find_times(opened, {kind, group, Seconds{at}}, asked, control, *times);
                 }),
                 result);
}

fabricast_status fabricast_network_calls(const fabricast_network* network, const char* calls,
                                         const fabricast_control* given_control, fabricast_result** result) {
  return deliver(guarded([&](Reply& reply) {
                   const CallTimes& opened = given(network, "network").times;
                   const fabricast_control control = control_of(given_control);
                   const StopScope scope(control.stop ? &control.stop->source : stop_of_thread);
                   reply.text = answer_calls(opened, &given(calls, "calls"), control.threads);
                 }),
                 result);
}

void fabricast_network_free(fabricast_network* network) { delete network; }

fabricast_status fabricast_describe(const char* name, fabricast_result** result) {
  return deliver(guarded([&](Reply& reply) {
                   const std::string wanted = &given(name, "name");
                   reply.text = named_text_json(wanted, description_of(wanted));
                 }),
                 result);
}

fabricast_status fabricast_list(const char* catalogue, fabricast_result** result) {
  return deliver(guarded([&](Reply& reply) {
                   const std::string wanted = catalogue ? catalogue : "";
                   reply.text = named_text_json(wanted, catalogue_text(wanted));
                 }),
                 result);
}

fabricast_status fabricast_schema(fabricast_result** result) {
  return deliver(guarded([](Reply& reply) { reply.text = scenario_schema(version_text()); }), result);
}

const char* fabricast_result_text(const fabricast_result* result, size_t* length) {
  if (length) *length = result ? result->text.size() : 0;
  return result ? result->text.c_str() : "";
}

const char* fabricast_result_diagnostics(const fabricast_result* result, size_t* length) {
  constexpr std::string_view none = "[]";
  if (length) *length = result ? result->diagnostics.size() : none.size();
  return result ? result->diagnostics.c_str() : none.data();
}

fabricast_status fabricast_result_status(const fabricast_result* result) {
  return result ? result->status : FABRICAST_INTERNAL;
}

void fabricast_result_free(fabricast_result* result) { delete result; }

fabricast_stop* fabricast_stop_new(void) { return new (std::nothrow) fabricast_stop; }

void fabricast_stop_request(fabricast_stop* stop) {
  if (stop) stop->source.request();
}

void fabricast_stop_free(fabricast_stop* stop) { delete stop; }
