# Sourced by forecast.sh, test.sh and .ci/run: installs missing Debian packages.

build_packages="g++ cmake ninja-build pkg-config libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libeigen3-dev libnlopt-cxx-dev
  libboost-program-options-dev libsimgrid-dev libpugixml-dev libibverbs-dev libhwloc-dev
  libprotobuf-dev protobuf-compiler libsqlite3-dev zlib1g-dev libcpp-httplib-dev python3-dev pybind11-dev"
test_packages="catch2 python3 libopenmpi-dev openmpi-bin python3-jsonschema python3-yaml mandoc dpkg-dev file
  python3-numpy python3-pandas python3-pip python3-nbclient python3-ipykernel mypy"
# Programs that open reports and drawings in tests. Without them these tests are skipped. They take 113 MB, so only
# .ci/run installs them.
page_packages="chromium graphviz"
# For the test of the rules and the dashboard of fabricast-watch. Debian starts it as a service, on port 9090 of all
# addresses, unless a policy forbids services, as in containers: only there .ci/run installs it.
service_packages="prometheus"
# The format of sources is that of one version of clang-format. Without it the check is skipped.
lint_packages="clang-format-14"
# For .ci/strict.
tidy_packages="clang-14 clang-tidy-14"

# need PACKAGE...: installs missing packages; prints nothing if there are none. On other distributions it does nothing,
# and the packages must be installed by hand.
need() {
  command -v dpkg-query >/dev/null || return 0
  local missing="" package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed' || missing+=" $package"
  done
  [ -n "$missing" ] || return 0
  local root=""
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: missing packages; run as root: apt-get install$missing" >&2; return 1; }
    root="sudo"
  fi
  echo "installing$missing" >&2
  # Another package manager, such as the automatic updates of a new machine, may hold the lock for some minutes.
  local apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600"
  # In a fresh container, package lists may be missing or out of date.
  $apt install --no-install-recommends $missing </dev/null >/dev/null 2>&1 && return
  update_lists "$apt" && $apt install --no-install-recommends $missing </dev/null >/dev/null
}

# update_lists APT: apt-get waits for the lock of the packages, but not for that of their lists.
update_lists() {
  local tries=60 message
  until message=$($1 update </dev/null 2>&1 >/dev/null); do
    if [[ $message != *lock* ]] || [ "$tries" -eq 0 ]; then
      echo "$message" >&2
      return 1
    fi
    [ "$tries" -ne 60 ] || echo "waiting for another package manager ..." >&2
    tries=$((tries - 1))
    sleep 5
  done
}

# quietly WHAT COMMAND...: runs a command and shows its output only if it fails.
quietly() {
  local what=$1 log
  shift
  log=$(mktemp)
  if ! "$@" </dev/null >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    echo "error: $what failed" >&2
    return 1
  fi
  rm -f "$log"
}

# building DIRECTORY TARGET: builds and shows how far it is: on a terminal as ninja does, otherwise a line a minute.
# Compiler output is shown only if the build fails.
building() {
  local log status=0 ticks=0 builder
  if [ -t 2 ]; then
    NINJA_STATUS='building %f/%t, %es ' cmake --build "$1" --target "$2" </dev/null >&2
    return
  fi
  log=$(mktemp)
  cmake --build "$1" --target "$2" </dev/null >"$log" 2>&1 &
  builder=$!
  while kill -0 "$builder" 2>/dev/null; do
    sleep 1
    ticks=$((ticks + 1))
    [ $((ticks % 60)) -ne 0 ] || echo "building: $(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1) after $((ticks / 60)) min" >&2
  done
  wait "$builder" || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 40 "$log" >&2
    echo "error: building failed" >&2
  fi
  rm -f "$log"
  return "$status"
}
