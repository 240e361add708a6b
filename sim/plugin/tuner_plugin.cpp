// libnccl-tuner-fabricast.so: the five interfaces that NCCL may ask for, over one session (docs/tuner-plugin.md).
#include "nccl_tuner.hpp"
#include "tuner_session.hpp"

namespace fabricast::plugin {

namespace {

constexpr const char* plugin_name = "fabricast";

int open(std::size_t ranks, std::size_t nodes, bool has_costs, NcclLog log, void** context) noexcept {
  TunerSession* session = nullptr;
  const int result = TunerSession::open({nodes, ranks}, has_costs, log, &session);
  *context = session;
  return result;
}

int init2(std::size_t ranks, std::size_t nodes, NcclLog log, void** context) noexcept {
  return open(ranks, nodes, false, log, context);
}

int init3(std::size_t ranks, std::size_t nodes, NcclLog log, void** context) noexcept {
  return open(ranks, nodes, true, log, context);
}

int init5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes, NcclLog log, void*, void*) noexcept {
  return open(ranks, nodes, true, log, context);
}

int choose2(void* context, int function, std::size_t bytes, int collnet, int nvls, int pipelined, int* algorithm,
            int* protocol, int* channels) noexcept {
  if (auto* session = static_cast<TunerSession*>(context))
    session->choose_without_costs({function, bytes, pipelined}, {collnet == 1, nvls == 1}, algorithm, protocol,
                                  channels);
  return nccl_success;
}

int choose3(void* context, int function, std::size_t bytes, int pipelined, float** costs, int algorithms, int protocols,
            int* channels) noexcept {
  if (auto* session = static_cast<TunerSession*>(context))
    session->choose({function, bytes, pipelined}, {reinterpret_cast<float*>(costs), algorithms, protocols}, channels);
  return nccl_success;
}

int choose4(void* context, int function, std::size_t bytes, int pipelined, float** costs, int algorithms, int protocols,
            int, int* channels) noexcept {
  return choose3(context, function, bytes, pipelined, costs, algorithms, protocols, channels);
}

int end(void* context) noexcept {
  delete static_cast<TunerSession*>(context);
  return nccl_success;
}

}  // namespace

#define FABRICAST_EXPORT extern "C" __attribute__((visibility("default")))
FABRICAST_EXPORT const Tuner2 ncclTunerPlugin_v2{plugin_name, init2, choose2, end};
FABRICAST_EXPORT const Tuner3 ncclTunerPlugin_v3{plugin_name, init3, choose3, end};
FABRICAST_EXPORT const Tuner4 ncclTunerPlugin_v4{plugin_name, init3, choose4, end};
FABRICAST_EXPORT const Tuner5 ncclTunerPlugin_v5{plugin_name, init5, choose4, end};
FABRICAST_EXPORT const Tuner6 ncclTunerPlugin_v6{plugin_name, init5, choose4, end, nullptr};
#undef FABRICAST_EXPORT

}  // namespace fabricast::plugin
