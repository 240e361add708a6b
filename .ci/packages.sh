# Sourced by forecast.sh and test.sh: Debian packages, installed only if missing.

build_packages="g++ cmake ninja-build pkg-config libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libeigen3-dev libnlopt-cxx-dev
  libboost-program-options-dev libsimgrid-dev libpugixml-dev libibverbs-dev libhwloc-dev
  libprotobuf-dev protobuf-compiler libsqlite3-dev"
test_packages="catch2 python3 libopenmpi-dev openmpi-bin python3-jsonschema python3-yaml mandoc dpkg-dev file"
# What opens reports and drawings in tests, which are skipped without: 113 MB, not for everyone who runs the tests.
page_packages="chromium graphviz"

# need PACKAGE...: quiet if all are there; another distribution has to bring them itself.
need() {
  command -v dpkg-query >/dev/null || return 0
  local missing="" package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed' || missing+=" $package"
  done
  [ -n "$missing" ] || return 0
  local root=""
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: as root, apt-get install$missing" >&2; return 1; }
    root="sudo"
  fi
  echo "installing$missing" >&2
  local apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0"
  # Lists may be absent in a fresh container, or out of date.
  $apt install --no-install-recommends $missing </dev/null >/dev/null 2>&1 ||
    { $apt update </dev/null >/dev/null && $apt install --no-install-recommends $missing </dev/null >/dev/null; }
}

# quietly WHAT COMMAND...: shows the output only if it fails.
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
