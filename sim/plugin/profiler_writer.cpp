// One thread formats and writes, once a second or when many calls wait.
#include "profiler_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace fabricast::plugin {

namespace {

constexpr std::size_t most_waiting = 1 << 16, wakes_at = 1 << 12;
constexpr std::chrono::seconds interval{1};

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  // It becomes part of a file's name.
  for (char& c : name)
    if (c == '/') c = '_';
  return name;
}

}  // namespace

ProfilerWriter::ProfilerWriter(const std::string& folder)
    : process_{host_name(), getpid()},
      path_(folder + "/" + process_.host + "-pid" + std::to_string(process_.pid) + ".jsonl"),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw std::runtime_error(path_ + ": " + std::strerror(errno));
  waiting_.reserve(wakes_at);
  thread_ = std::thread([this] { run(); });
}

ProfilerWriter::~ProfilerWriter() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  thread_.join();
  ::close(file_);
}

void ProfilerWriter::add(const std::shared_ptr<const ProfiledCommunicator>& communicator,
                         const ProfiledCall& call) noexcept try {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < most_waiting)
      waiting_.push_back({communicator, call});
    else
      ++dropped_;
    count = waiting_.size();
  }
  if (count == wakes_at) wake_.notify_one();
} catch (...) {
  // Without memory a record is lost, not the job.
  ++dropped_;
}

void ProfilerWriter::run() {
  std::vector<Entry> entries;
  bool ends = false;
  while (!ends) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, interval, [this] { return ends_ || waiting_.size() >= wakes_at; });
      ends = ends_;
      // Swapping keeps the memory of both lists.
      entries.clear();
      entries.swap(waiting_);
    }
    write(entries);
  }
}

void ProfilerWriter::write(const std::vector<Entry>& entries) noexcept try {
  if (entries.empty() || error_ != 0) return;
  std::string text;
  for (const Entry& e : entries) text += record_line(process_, *e.communicator, e.call);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
      return;
    }
    done += static_cast<std::size_t>(written);
  }
} catch (...) { dropped_ += entries.size(); }

std::string ProfilerWriter::problems() const {
  if (error_ != 0) return path_ + ": " + std::strerror(error_) + "; recording stops";
  if (dropped_ > 0)
    return path_ + ": " + std::to_string(dropped_) + " calls were not written, because there were too many";
  return {};
}

}  // namespace fabricast::plugin
