# Sourced by forecast.sh, test.sh and .ci/run: installs missing Debian packages.

build_packages="g++ cmake ninja-build pkg-config libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libeigen3-dev libnlopt-cxx-dev
  libboost-program-options-dev libsimgrid-dev libpugixml-dev libibverbs-dev libhwloc-dev
  libprotobuf-dev protobuf-compiler libsqlite3-dev"
test_packages="catch2 python3 libopenmpi-dev openmpi-bin python3-jsonschema python3-yaml mandoc dpkg-dev file"
# Programs that open reports and drawings in tests. Without them these tests are skipped. They take 113 MB, so only
# .ci/run installs them.
page_packages="chromium graphviz"

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
  local apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0"
  # In a fresh container, package lists may be missing or out of date.
  $apt install --no-install-recommends $missing </dev/null >/dev/null 2>&1 ||
    { $apt update </dev/null >/dev/null && $apt install --no-install-recommends $missing </dev/null >/dev/null; }
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
