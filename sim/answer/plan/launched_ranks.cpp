// Detects whether a launcher has started several ranks, and connects to the others through the helper program
// fabricast_mpi (mpi/ranks_main.cpp), with which it communicates over two pipes.
//
// Texts are framed by their length in bytes, since rows contain arbitrary characters. The helper moves bytes between
// its pipes and MPI and knows nothing of rows.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "fabricast/core/error.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/plan/ranks.hpp"

namespace fabricast {

namespace {

/// The number of ranks according to the launcher: Open MPI, MPICH and its derivatives, Slurm. 1 if there is none.
int ranks_by_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* text = std::getenv(name))
      if (const auto count = parse_integer(text); count && count.value > 1) return static_cast<int>(count.value);
  return 1;
}

/// The path of the helper: next to the program, or where it is installed. Empty: built without MPI.
std::string find_helper() {
  std::error_code unknown;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const char* place : {"fabricast_mpi", FABRICAST_HELPER_DIR "/fabricast_mpi"})
    if (const auto file = here / place; std::filesystem::exists(file, unknown)) return file;
  return {};
}

class HelperRanks final : public Ranks {
 public:
  explicit HelperRanks(const std::string& helper) {
    std::array<int, 2> to{-1, -1}, from{-1, -1};
    const auto give_up = [&](const char* what) {
      for (const int end : {to[0], to[1], from[0], from[1]})
        if (end >= 0) close(end);
      throw Unavailable(what);
    };
    if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0) give_up("MPI: cannot create a pipe");
    // The child only duplicates descriptors and executes the helper, which is safe after
    // fork. Descriptors are close-on-exec, so the helper inherits nothing but its two pipes.
    child_ = fork();
    if (child_ < 0) give_up("MPI: cannot create a process");
    if (child_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      execl(helper.c_str(), helper.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    const std::string first = line();
    if (std::sscanf(first.c_str(), "rank %d %d", &rank, &size) != 2)
      throw Unavailable("MPI: fabricast_mpi does not start");
  }
  ~HelperRanks() override {
    close(to_);
    close(from_);
    waitpid(child_, nullptr, 0);
  }

  void send(int peer, const std::string& text) override { say(fmt::format("send {} {}\n{}", peer, text.size(), text)); }

  // Does not wait for a message, but once the head of one has arrived it waits for the rest.
  std::optional<Message> receive() override {
    pollfd ready{from_, POLLIN, 0};
    if (in_.find('\n') == std::string::npos && (poll(&ready, 1, 0) <= 0 || !read_more())) return std::nullopt;
    Message message;
    std::size_t length = 0;
    const std::string head = line();
    if (std::sscanf(head.c_str(), "from %d %zu", &message.from, &length) != 2) return std::nullopt;
    while (in_.size() < length)
      if (!read_more()) return std::nullopt;
    message.text = in_.substr(0, length);
    in_.erase(0, length);
    return message;
  }

  void leave(bool all) override { say(all ? "leave\n" : "gone\n"); }

 private:
  // An interrupted system call is no end of file: Ctrl-C is handled by the sweep.
  bool read_more() {
    std::array<char, 1 << 16> buffer{};
    const ssize_t got = read(from_, buffer.data(), buffer.size());
    if (got > 0) in_.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }
  /// The next line of the helper without its end; if the helper has exited, the rest of its output.
  std::string line() {
    while (in_.find('\n') == std::string::npos)
      if (!read_more()) break;
    const std::size_t end = std::min(in_.find('\n'), in_.size());
    std::string text = in_.substr(0, end);
    in_.erase(0, end + 1);
    return text;
  }
  void say(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = write(to_, text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR) return;  // the helper has exited, so this rank is no longer connected
      if (written > 0) done += static_cast<std::size_t>(written);
    }
  }

  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  std::string in_;
};

}  // namespace

std::unique_ptr<Ranks> launched_ranks() {
  const int expected = ranks_by_environment();
  if (expected == 1) return nullptr;
  const std::string helper = find_helper();
  if (helper.empty())
    throw Unavailable(
        fmt::format("a launcher has started {} ranks, but this fabricast is built without MPI", expected));
  auto ranks = std::make_unique<HelperRanks>(helper);
  // mpirun of one MPI starts programs of another as separate jobs of one rank each. All would then do all rows and
  // write the same file.
  if (ranks->size != expected)
    throw Unavailable(
        fmt::format("a launcher has started {} ranks, but MPI sees {}: the launcher belongs to a different MPI "
                    "than this fabricast is built with",
                    expected, ranks->size));
  return ranks;
}

}  // namespace fabricast
