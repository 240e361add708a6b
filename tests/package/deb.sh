#!/usr/bin/env bash
# The packages: their fields, what they hold, and that the program runs from where they are unpacked.
#   deb.sh BUILD
set -eu
for tool in dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || { echo "no $tool" && exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$1" && cpack -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -G DEB -B "$work/packages" >"$work/log" 2>&1) || { cat "$work/log" && exit 1; }
rm -rf "$work/packages/_CPack_Packages"
fabricast=$(echo "$work"/packages/fabricast_*.deb) dev=$(echo "$work"/packages/fabricast-dev_*.deb)
field() { dpkg-deb -f "$1" "$2"; }
[ "$(field "$fabricast" Package)" = fabricast ]
[ "$(field "$dev" Package)" = fabricast-dev ]
[ "$(field "$fabricast" Architecture)" = "$(dpkg --print-architecture)" ]
for library in libc6 libfmt libyaml-cpp libsimgrid libprotobuf libboost-program-options libpugixml zlib1g; do
  field "$fabricast" Depends | grep -q "$library" || { echo "does not depend on $library" && exit 1; }
done
field "$fabricast" Description | head -1 | grep -q 'forecasts collective communication'

mkdir "$work/root"
dpkg-deb -x "$fabricast" "$work/root"
dpkg-deb -x "$dev" "$work/dev"
root=$work/root/usr
for file in bin/fabricast share/man/man1/fabricast.1.gz share/bash-completion/completions/fabricast \
  share/zsh/vendor-completions/_fabricast share/fabricast/scenario.schema.json share/fabricast/scenarios/two_nodes.yaml \
  share/fabricast/cases.json share/doc/fabricast/copyright share/doc/fabricast/changelog.gz share/doc/fabricast/index.md; do
  [ -s "$root/$file" ] || { echo "the package has no $file" && exit 1; }
done
[ ! -e "$root/include" ] && [ ! -e "$work/dev/usr/bin" ]
[ -s "$(echo "$work"/dev/usr/lib/*/libfabricast.a)" ] && [ -s "$(echo "$work"/dev/usr/lib/*/cmake/fabricast/fabricastConfig.cmake)" ]
[ -s "$work/dev/usr/include/fabricast/scenario/scenario.hpp" ]
# Nothing that others may write or only its builder may read.
! find "$work/root" "$work/dev" \( -perm -o+w -o ! -perm -o+r \) ! -type l | grep . || exit 1

cd "$work"
run() { env -i PATH=/usr/bin:/bin "$root/bin/fabricast" "$@"; }
run --version | grep -q '^fabricast [0-9]'
run run "$root/share/fabricast/scenarios/two_nodes.yaml" | grep -q 8589934592
[ "$(run schema | md5sum)" = "$(md5sum <"$root/share/fabricast/scenario.schema.json")" ]
echo '[]' >"$root/share/fabricast/cases.json"
run calibrate validate 2>message && exit 1
grep -qx 'error: the file has no cases' message

# The doors are packages of their own, and the command says so where they are not.
cd "$work/packages"
[ -z "$(ls | grep -E '^fabricast-(mcp|serve)_|^libfabricast0_' || true)" ] && exit 0
! dpkg-deb -c "$fabricast" | grep -E 'fabricast-(mcp|serve)|libfabricast\.so|dist-packages|fabricast\.h' || exit 1
! dpkg-deb -c "$dev" | grep -E 'libfabricast\.so|/fabricast\.h$' || exit 1
status=0
run mcp --help 2>"$work/message" || status=$?
[ "$status" -eq 3 ] && grep -q 'in the package fabricast-mcp' "$work/message"
begin=$(date +%s)
for door in mcp serve; do dpkg-deb -x fabricast-${door}_*.deb "$work/root"; done
describe='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe","arguments":{"name":"hgx-h100"}}}'
echo "$describe" | run mcp | grep -q '"isError":false'
# Without `run`: the process to end later is the server itself.
env -i PATH=/usr/bin:/bin "$root/bin/fabricast" serve --port 0 >"$work/address" 2>&1 &
server=$!
for _ in $(seq 100); do [ -s "$work/address" ] && break || sleep 0.1; done
if command -v curl >/dev/null; then
  curl -sf "$(cat "$work/address")run" -H 'Content-Type: application/json' -d '{"scenario": "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 8}\nfabric: {kind: fat_tree}\nworkload: {sizes: [1GiB]}"}' |
    grep -q busbw_gbps
fi
kill "$server"
wait "$server" || true
if [ -e "$(echo python3-fabricast_*.deb)" ] && /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  dpkg-deb -x libfabricast0_*.deb "$work/root"
  dpkg-deb -x python3-fabricast_*.deb "$work/root"
  field python3-fabricast_*.deb Depends | grep -q 'libfabricast0'
  LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name libfabricast.so.0)") PYTHONPATH=$root/lib/python3/dist-packages \
    /usr/bin/python3 -B -c "import fabricast; assert len(fabricast.Scenario('$root/share/fabricast/scenarios/two_nodes.yaml').run().rows) > 2"
fi
# A newcomer is at an answer within a minute at each door.
[ $(($(date +%s) - begin)) -le 60 ]
