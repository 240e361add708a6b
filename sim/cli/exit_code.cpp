// Faults of three parties as messages and exit codes.
#include "exit_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

#include "fabricast/core/error.hpp"
#include "options.hpp"
#include "stop.hpp"

namespace fabricast {

int exit_code_of(const std::function<int()>& command) {
  catch_stop_signals();
  try {
    const int code = command();
    // Output is buffered, so a full disk shows only now. A reader that closed the pipe is no error.
    errno = 0;
    if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && errno != EPIPE)
      throw UserError("cannot write to standard output");
    return code;
  } catch (const UserError& e) {
    // A file of junk has hundreds of errors; the first ones are enough to see that.
    constexpr std::size_t most = 20;
    const std::size_t count = e.diagnostics().size();
    for (std::size_t i = 0; i < std::min(count, most); ++i) print_diagnostic(e.diagnostics()[i]);
    if (count > most) fmt::print(stderr, "... and {} more errors\n", count - most);
    return 2;
  } catch (const Unavailable& e) {
    fmt::print(stderr, "unavailable: {}\n", e.what());
    return 3;
  } catch (const Interrupted&) {
    // 128 + SIGINT, as shells report it.
    fmt::print(stderr, "interrupted\n");
    return 130;
  } catch (const std::bad_alloc&) {
    // Not a bug: a large scenario may need more than the machine has.
    fmt::print(stderr, "error: out of memory\n");
    return 4;
  } catch (const std::exception& e) {
    fmt::print(stderr, "internal error: {}\nThis is a bug in fabricast. Please report it together with the scenario.\n",
               e.what());
    return 4;
  }
}

}  // namespace fabricast
