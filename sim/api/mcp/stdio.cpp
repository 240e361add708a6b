// Standard input and output of a session: lines in, lines out, while questions run.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "fabricast/core/stop.hpp"
#include "session.hpp"

namespace fabricast {

namespace {

/// Standard input as lines of a bounded length. A longer one is dropped to its end.
class LineInput {
 public:
  explicit LineInput(std::size_t most) : most_(most) {}
  /// Reads once. \returns whether there may be more
  bool read_some() {
    held_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    char bytes[1 << 16];
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    held_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }
  /// The next line, if it is complete; `dropped` instead if it was too long.
  bool next(std::string& line, bool& dropped) {
    const std::size_t end = held_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = held_.size();
      if (held_.size() - begin_ > most_) {
        dropping_ = true;
        begin_ = held_.size();
      }
      return false;
    }
    dropped = dropping_ || end - begin_ > most_;
    dropping_ = false;
    line = dropped ? std::string() : held_.substr(begin_, end - begin_);
    begin_ = end + 1;
    searched_ = begin_;
    return true;
  }

 private:
  std::size_t most_, begin_ = 0, searched_ = 0;  ///< of `held_`: where the next line begins, and what has no line end
  std::string held_;
  bool dropping_ = false;
};

/// Writes a line whole. \returns false if nobody reads any more
bool write_line(std::string line) {
  line += '\n';
  std::size_t at = 0;
  while (at < line.size()) {
    const ssize_t count = write(STDOUT_FILENO, line.data() + at, line.size() - at);
    if (count < 0 && errno == EINTR && !stop_requested) continue;
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    if (!write_line(line)) return false;
  return true;
}

}  // namespace

void serve_mcp(const ServiceLimits& limits, const ServiceFiles& files) {
  warm_up();
  WorkPool pool(limits, files);
  McpSession session(pool);
  const auto most = static_cast<std::size_t>(limits.request.value);
  LineInput input(most);
  bool open = true;
  // After the input has ended, questions that were asked are still answered.
  while ((open || !pool.idle()) && !stop_requested) {
    std::vector<pollfd> waited;
    if (open) waited.push_back({STDIN_FILENO, POLLIN, 0});
    pool.add_to(waited);
    if (poll(waited.data(), waited.size(), pool.patience()) < 0 && errno != EINTR) return;
    if (open && waited.front().revents != 0) open = input.read_some();
    std::string line;
    bool dropped = false;
    while (input.next(line, dropped))
      if (!write_lines(dropped ? std::vector<std::string>{McpSession::too_long(most)} : session.receive(line))) return;
    for (const WorkPool::Event& event : pool.step())
      if (!write_lines(session.take(event))) return;
  }
}

}  // namespace fabricast
