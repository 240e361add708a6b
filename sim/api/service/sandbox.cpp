// Limits of the kernel: setrlimit for memory, time and written bytes, and Landlock (landlock(7)) for what may be read.
#include "sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>

#include "fabricast/core/error.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

void limit(__rlimit_resource_t what, rlim_t value) {
  const rlimit both{value, value};
  if (setrlimit(what, &both) != 0) throw Unavailable(fmt::format("cannot set a limit: {}", system_reason(errno)));
}

/// The data of this process now, in bytes.
rlim_t data_now() {
  std::ifstream in("/proc/self/statm");
  rlim_t size = 0, resident = 0, shared = 0, text = 0, unused = 0, data = 0;
  in >> size >> resident >> shared >> text >> unused >> data;
  return data * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
/// What the first version of Landlock knows; all of it is refused unless a rule allows it.
constexpr std::uint64_t handled = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

int create_rules() {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = handled;
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
}

/// Allows reading below a path; whether there is such a path.
bool allow_reading(int rules, const char* path, std::uint64_t access) {
  const int directory = open(path, O_PATH | O_CLOEXEC);
  if (directory < 0) return false;
  landlock_path_beneath_attr beneath{};
  beneath.allowed_access = access;
  beneath.parent_fd = directory;
  const bool done = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
  close(directory);
  return done;
}

void confine_files(const std::string& directory) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw Unavailable("cannot give up privileges");
  const int rules = create_rules();
  bool done = rules >= 0 && allow_reading(rules, directory.c_str(), reading);
  // Modules of the system's libraries, such as conversions of character sets, are loaded when they are needed.
  if (done) allow_reading(rules, "/usr/lib", reading | LANDLOCK_ACCESS_FS_EXECUTE);
  done = done && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  if (rules >= 0) close(rules);
  if (!done) throw Unavailable(fmt::format("cannot confine reading to '{}'", directory));
}

}  // namespace

bool can_confine_to_directory() {
  const int rules = create_rules();
  if (rules >= 0) close(rules);
  return rules >= 0;
}

void confine(const ServiceLimits& limits, const ServiceFiles& files) {
  limit(RLIMIT_DATA, data_now() + static_cast<rlim_t>(limits.memory.value));
  // Wall time is the server's business; this holds if the server is gone.
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(limits.time.value)) * static_cast<rlim_t>(limits.threads) + 1);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  if (files.directory.empty()) return limit(RLIMIT_NOFILE, 0);
  if (chdir(files.directory.c_str()) != 0)
    throw Unavailable(fmt::format("cannot enter '{}': {}", files.directory, system_reason(errno)));
  confine_files(files.directory);
}

}  // namespace fabricast
