// A call keeps one reference for its launch and one for each of its channels. Whoever gives back the last one has all
// times of the call in hand.
#include "profiler_session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

namespace fabricast::plugin {

namespace {

constexpr const char* folder_variable = "FABRICAST_PROFILER_DIR";

std::int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/// The writer of this process. \throws std::runtime_error if its file cannot be opened
std::shared_ptr<ProfilerWriter> shared_writer(const std::string& folder) {
  static std::mutex mutex;
  static std::weak_ptr<ProfilerWriter> shared;
  const std::lock_guard lock(mutex);
  std::shared_ptr<ProfilerWriter> writer = shared.lock();
  if (!writer) {
    writer = std::make_shared<ProfilerWriter>(folder);
    shared = writer;
  }
  return writer;
}

}  // namespace

/// What NCCL holds for a collective or a channel.
struct ProfilerSession::Handle {
  Call* call = nullptr;
  bool is_channel = false;
};

struct ProfilerSession::Channel : Handle {
  std::uint64_t start = 0, stop = 0;
  std::int64_t started_us = 0, stopped_us = 0;
};

struct ProfilerSession::Call : Handle {
  Call(ProfilerSession& owner, int channel_count)
      : session(owner), references(1 + channel_count), channels(static_cast<std::size_t>(channel_count)) {
    call = this;
    for (Channel& channel : channels) {
      channel.call = this;
      channel.is_channel = true;
    }
  }
  ProfilerSession& session;
  ProfiledCall record;
  std::atomic<int> references;
  std::atomic<std::size_t> begun = 0;  ///< channels that have started
  std::vector<Channel> channels;
  Call *previous = nullptr, *next = nullptr;
};

ProfilerSession* ProfilerSession::open(ProfiledCommunicator communicator, NcclLog log) noexcept try {
  const char* folder = std::getenv(folder_variable);
  if (!folder || !*folder) {
    log_line(log, log_init, std::string(folder_variable) + " is not set; nothing is recorded");
    return nullptr;
  }
  auto writer = shared_writer(folder);
  log_line(log, log_init, "collectives are recorded in " + writer->path());
  return new ProfilerSession(std::move(writer), std::move(communicator), log);
} catch (const std::exception& e) {
  log_line(log, log_init, std::string(e.what()) + "; nothing is recorded");
  return nullptr;
}

ProfilerSession::ProfilerSession(std::shared_ptr<ProfilerWriter> writer, ProfiledCommunicator communicator, NcclLog log)
    : writer_(std::move(writer)),
      communicator_(std::make_shared<const ProfiledCommunicator>(std::move(communicator))),
      log_(log) {}

ProfilerSession::~ProfilerSession() {
  while (open_calls_) {
    Call* const call = open_calls_;
    open_calls_ = call->next;
    delete call;
  }
  const std::string problems = writer_->problems();
  if (!problems.empty()) log_line(log_, log_init, problems);
  if (unknown_types_ > 0)
    log_line(log_, log_init,
             std::to_string(unknown_types_) + (unknown_types_ == 1 ? " call" : " calls") +
                 " had a data type of unknown size");
}

void ProfilerSession::add(Call* call) {
  const std::lock_guard lock(mutex_);
  call->next = open_calls_;
  if (open_calls_) open_calls_->previous = call;
  open_calls_ = call;
}

void ProfilerSession::remove(Call* call) noexcept {
  const std::lock_guard lock(mutex_);
  (call->previous ? call->previous->next : open_calls_) = call->next;
  if (call->next) call->next->previous = call->previous;
}

void* ProfilerSession::start(const CollectiveEvent& event) noexcept try {
  const auto element = element_bytes(event.type);
  if (!element) {
    const std::lock_guard lock(mutex_);
    ++unknown_types_;
    return nullptr;
  }
  auto call = std::make_unique<Call>(*this, event.channels);
  const auto text = [](const char* word) { return word ? word : ""; };
  call->record.sequence = event.sequence;
  call->record.function = text(event.function);
  call->record.algorithm = text(event.algorithm);
  call->record.protocol = text(event.protocol);
  call->record.count = event.count;
  call->record.element = *element;
  call->record.channels = event.channels;
  call->record.launched_us = now_us();
  add(call.get());
  return static_cast<Handle*>(call.release());
} catch (...) { return nullptr; }

void* ProfilerSession::start(void* collective, const ChannelEvent& event) noexcept {
  if (!collective) return nullptr;
  Call& call = *static_cast<Handle*>(collective)->call;
  const std::size_t index = call.begun.fetch_add(1, std::memory_order_relaxed);
  if (index >= call.channels.size()) return nullptr;
  Channel& channel = call.channels[index];
  channel.start = event.timer;
  channel.started_us = now_us();
  return static_cast<Handle*>(&channel);
}

void ProfilerSession::channel_stopped_at(void* handle, std::uint64_t timer) noexcept {
  if (!handle || !static_cast<Handle*>(handle)->is_channel) return;
  auto& channel = static_cast<Channel&>(*static_cast<Handle*>(handle));
  channel.stop = timer;
  channel.stopped_us = now_us();
}

void ProfilerSession::stop(void* handle) noexcept {
  if (handle) release(static_cast<Handle*>(handle)->call);
}

void ProfilerSession::release(Call* call) noexcept {
  if (call->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  ProfilerSession& session = call->session;
  session.remove(call);
  ProfiledCall& record = call->record;
  record.gpu_start = std::numeric_limits<std::uint64_t>::max();
  record.started_us = std::numeric_limits<std::int64_t>::max();
  for (const Channel& channel : call->channels) {
    record.gpu_start = std::min(record.gpu_start, channel.start);
    record.gpu_stop = std::max(record.gpu_stop, channel.stop);
    record.started_us = std::min(record.started_us, channel.started_us);
    record.stopped_us = std::max(record.stopped_us, channel.stopped_us);
  }
  // Copy engines have no channels, and a channel that was stopped without a time has none.
  if (!call->channels.empty() && record.gpu_stop > record.gpu_start)
    session.writer_->add(session.communicator_, record);
  delete call;
}

}  // namespace fabricast::plugin
