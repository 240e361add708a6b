// Processes that answer, and the frames in which they do: a letter, a length of 8 bytes, and as many bytes.
//
//   p  how far it is, a double      t  the text      d  diagnostics, JSON      s  the status, an int; the last frame
#include "work_pool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sandbox.hpp"

namespace fabricast {

namespace {

constexpr std::size_t header_size = 1 + sizeof(std::uint64_t);

bool write_whole(int descriptor, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool write_frame(int descriptor, char kind, const void* bytes, std::size_t size) {
  char header[header_size] = {kind};
  const std::uint64_t length = size;
  std::memcpy(header + 1, &length, sizeof length);
  return write_whole(descriptor, header, header_size) && write_whole(descriptor, static_cast<const char*>(bytes), size);
}

/// The life of the process that answers. Never returns.
[[noreturn]] void answer_and_leave(int out, const WorkPool::Job& job, const ServiceLimits& limits,
                                   const ServiceFiles& files) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) std::signal(signal, SIG_DFL);
  // Neither the connections of others nor the server's standard output are its business.
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(out, STDERR_FILENO + 1);
  close_range(STDERR_FILENO + 2, ~0U, 0);
  constexpr int reply_to = STDERR_FILENO + 1;
  const Reply reply = guarded([&](Reply& made) {
    confine(limits, files);
    QuestionRun run;
    run.threads = limits.threads;
    run.progress = [](double part) { return write_frame(reply_to, 'p', &part, sizeof part); };
    run.reads_files = !files.directory.empty();
    made = job(run);
    if (made.text.size() > static_cast<std::size_t>(limits.reply.value))
      throw UserError(fmt::format("the answer is longer than {} bytes", limits.reply.value), "ask for fewer rows");
  });
  const std::string diagnostics = diagnostics_json(reply.diagnostics);
  const int status = static_cast<int>(reply.status);
  const bool done = write_frame(reply_to, 't', reply.text.data(), reply.text.size()) &&
                    write_frame(reply_to, 'd', diagnostics.data(), diagnostics.size()) &&
                    write_frame(reply_to, 's', &status, sizeof status);
  _exit(done ? 0 : 1);
}

ServiceReply failure(ReplyStatus status, std::string message, std::string hint = {}) {
  ServiceReply reply;
  reply.status = status;
  reply.diagnostics = diagnostics_json({{Diagnostic::Severity::error, {}, {}, std::move(message), std::move(hint)}});
  return reply;
}

}  // namespace

WorkPool::~WorkPool() {
  for (Running& running : running_) {
    kill(running.process, SIGKILL);
    close(running.descriptor);
    waitpid(running.process, nullptr, 0);
  }
}

WorkPool::Id WorkPool::submit(Job job) {
  waiting_.emplace_back(++last_, std::move(job));
  start_waiting();
  return last_;
}

void WorkPool::start_waiting() {
  while (!waiting_.empty() && running_.size() < static_cast<std::size_t>(limits_.at_once)) {
    const auto [id, job] = std::move(waiting_.front());
    waiting_.pop_front();
    start(id, job);
  }
}

void WorkPool::start(Id id, const Job& job) {
  Running running;
  running.id = id;
  running.until = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(limits_.time.value * 1000));
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) == 0) running.process = fork();
  if (ends[0] < 0 || running.process < 0) {
    // It ends at its next step, as any other does.
    if (ends[0] >= 0) {
      close(ends[0]);
      close(ends[1]);
    }
    running.process = 0;
    running.descriptor = -1;
    running.reply = failure(ReplyStatus::unavailable, "cannot start a process", "try again later");
    running.complete = true;
    running_.push_back(std::move(running));
    return;
  }
  if (running.process == 0) answer_and_leave(ends[1], job, limits_, files_);
  close(ends[1]);
  running.descriptor = ends[0];
  fcntl(running.descriptor, F_SETFL, O_NONBLOCK);
  running_.push_back(std::move(running));
}

void WorkPool::cancel(Id id) {
  std::erase_if(waiting_, [&](const auto& each) { return each.first == id; });
  const auto it = std::find_if(running_.begin(), running_.end(), [&](const Running& r) { return r.id == id; });
  if (it == running_.end()) return;
  if (it->process > 0) {
    kill(it->process, SIGKILL);
    close(it->descriptor);
    waitpid(it->process, nullptr, 0);
  }
  running_.erase(it);
  start_waiting();
}

void WorkPool::add_to(std::vector<pollfd>& waited) const {
  for (const Running& running : running_)
    if (running.descriptor >= 0) waited.push_back({running.descriptor, POLLIN, 0});
}

int WorkPool::patience() const {
  int shortest = -1;
  for (const Running& running : running_) {
    if (running.descriptor < 0) return 0;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(running.until - Clock::now()).count() + 1;
    const int bounded = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    shortest = shortest < 0 ? bounded : std::min(shortest, bounded);
  }
  return shortest;
}

bool WorkPool::take_frames(Running& running, std::vector<Event>& events) const {
  std::size_t at = 0;
  while (running.unread.size() - at >= header_size) {
    const char kind = running.unread[at];
    std::uint64_t length = 0;
    std::memcpy(&length, running.unread.data() + at + 1, sizeof length);
    // More than a text of the longest length is no frame of ours.
    if (length > static_cast<std::uint64_t>(limits_.reply.value) + (1U << 20)) return false;
    if (running.unread.size() - at - header_size < length) break;
    const char* bytes = running.unread.data() + at + header_size;
    if (kind == 't') running.reply.text.assign(bytes, length);
    if (kind == 'd') running.reply.diagnostics.assign(bytes, length);
    if (kind == 'p' && length == sizeof(double)) {
      double part = 0;
      std::memcpy(&part, bytes, sizeof part);
      events.push_back({running.id, part, {}});
    }
    if (kind == 's' && length == sizeof(int)) {
      int status = 0;
      std::memcpy(&status, bytes, sizeof status);
      running.reply.status = static_cast<ReplyStatus>(status);
      running.complete = true;
    }
    at += header_size + length;
  }
  running.unread.erase(0, at);
  return true;
}

bool WorkPool::read_from(Running& running, std::vector<Event>& events) {
  char bytes[1 << 16];
  while (true) {
    const ssize_t count = read(running.descriptor, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno != EAGAIN;
    if (count == 0) return true;
    running.unread.append(bytes, static_cast<std::size_t>(count));
    if (!take_frames(running, events)) return true;
  }
}

ServiceReply WorkPool::end_of(Running& running) {
  int status = 0;
  if (running.process > 0) {
    const bool late = !running.complete && Clock::now() >= running.until;
    kill(running.process, SIGKILL);
    close(running.descriptor);
    waitpid(running.process, &status, 0);
    if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
      ServiceReply reply = failure(ReplyStatus::unavailable, fmt::format("took longer than {:g} s", limits_.time.value),
                                   "ask for fewer sizes or rows, or start the server with more time");
      reply.out_of_time = true;
      return reply;
    }
  }
  if (running.complete) return std::move(running.reply);
  return failure(ReplyStatus::internal, "the process that answered ended early",
                 "this is a bug in fabricast, or too little memory");
}

std::vector<WorkPool::Event> WorkPool::step() {
  std::vector<Event> events;
  for (std::size_t i = 0; i < running_.size();) {
    Running& running = running_[i];
    const bool closed = running.descriptor < 0 || read_from(running, events);
    if (!closed && !running.complete && Clock::now() < running.until) {
      ++i;
      continue;
    }
    Event last;
    last.id = running.id;
    last.done = end_of(running);
    events.push_back(std::move(last));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  start_waiting();
  return events;
}

}  // namespace fabricast
