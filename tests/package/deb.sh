#!/usr/bin/env bash
# The packages: their fields, what they hold, and that the program runs from where they are unpacked.
#   deb.sh BUILD
set -eu
for tool in dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || { echo "no $tool" && exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$1" && cpack -G DEB -B "$work/packages" >"$work/log" 2>&1) || { cat "$work/log" && exit 1; }
rm -rf "$work/packages/_CPack_Packages"
fabricast=$(echo "$work"/packages/fabricast_*.deb) dev=$(echo "$work"/packages/fabricast-dev_*.deb)
field() { dpkg-deb -f "$1" "$2"; }
[ "$(field "$fabricast" Package)" = fabricast ]
[ "$(field "$dev" Package)" = fabricast-dev ]
[ "$(field "$fabricast" Architecture)" = "$(dpkg --print-architecture)" ]
for library in libc6 libfmt libyaml-cpp libsimgrid libprotobuf libboost-program-options libpugixml; do
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
