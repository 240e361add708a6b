// fabricast_mpi sends and receives the messages of one rank. Fabricast starts it if a launcher has started several
// ranks, and communicates with it over its standard input and output. A separate process is necessary because SimGrid,
// which fabricast loads, has functions with the names of MPI's.
//
//   output  first `rank R N`; then `from R BYTES` and the text, for each message
//   input   `send R BYTES` and the text; at the end `leave`, or `gone` if a rank has died
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <list>
#include <string>

namespace {

constexpr int tag = 1;
constexpr int pause_ms = 1;

struct Sent {
  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;
};

class Rank {
 public:
  Rank() {
    int rank = 0, size = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out_ = "rank " + std::to_string(rank) + " " + std::to_string(size) + "\n";
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  }

  /// Runs until fabricast leaves the job. \returns whether all ranks leave
  bool run() {
    while (true) {
      hear();
      say();
      read_in();
      while (const int end = obey())
        if (end > 0) return end == leave_all;
      if (closed_) return false;  // fabricast has exited
      pollfd in{STDIN_FILENO, POLLIN, 0};
      poll(&in, 1, pause_ms);
    }
  }

 private:
  static constexpr int leave_all = 1, leave_alone = 2, more = -1;

  void hear() {
    int there = 1;
    while (there != 0) {
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || there == 0) return;
      int length = 0;
      MPI_Get_count(&status, MPI_CHAR, &length);
      std::string text(static_cast<std::size_t>(length), ' ');
      if (MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS)
        return;
      out_ += "from " + std::to_string(status.MPI_SOURCE) + " " + std::to_string(length) + "\n" + text;
    }
  }

  void say() {
    if (out_.empty()) return;
    const ssize_t written = write(STDOUT_FILENO, out_.data(), out_.size());
    if (written > 0) out_.erase(0, static_cast<std::size_t>(written));
  }

  void read_in() {
    char buffer[1 << 16];
    ssize_t got = 0;
    while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) in_.append(buffer, static_cast<std::size_t>(got));
    if (got == 0) closed_ = true;
  }

  /// Executes the next command if all of it has arrived. \returns 0 if not, else `more` or how to leave
  int obey() {
    const std::size_t end = in_.find('\n');
    if (end == std::string::npos) return 0;
    int to = 0;
    std::size_t length = 0;
    if (std::sscanf(in_.c_str(), "send %d %zu", &to, &length) == 2) {
      if (in_.size() < end + 1 + length) return 0;
      send(to, in_.substr(end + 1, length));
      in_.erase(0, end + 1 + length);
      return more;
    }
    return in_.starts_with("leave") ? leave_all : leave_alone;
  }

  void send(int to, std::string text) {
    sent_.remove_if([](Sent& s) {
      int done = 0;
      return MPI_Test(&s.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
    });
    Sent& last = sent_.emplace_back();
    last.text = std::move(text);  // an element of a list, because MPI needs its address until the text is sent
    MPI_Isend(last.text.data(), static_cast<int>(last.text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD, &last.request);
  }

  std::string in_, out_;
  std::list<Sent> sent_;
  bool closed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, SIG_IGN);  // fabricast handles Ctrl-C, and then ends this process
  std::signal(SIGPIPE, SIG_IGN);
  MPI_Init(&argc, &argv);
  // MPI_Finalize waits for all ranks, so it is not called if one of them has died.
  if (Rank().run()) return MPI_Finalize();
  _exit(0);
}
