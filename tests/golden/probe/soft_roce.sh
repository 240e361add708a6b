#!/usr/bin/env bash
# Real RDMA without an RDMA NIC: two Soft-RoCE devices on a veth pair in a virtual machine that runs in virtual time
# (QEMU, icount), so that results are reproducible. netem gives the link a known delay and rate, which the probe must
# find: latency within 10 us or 6 %, rate within 2 %. Takes minutes. Skipped (77) where QEMU or the kernel is missing.
#
#   soft_roce.sh BINARY
#
# The kernel is Debian's linux-image-amd64, either installed, or unpacked and named by FABRICAST_VM_KERNEL:
#   apt-get download linux-image-6.1.0-56-amd64 && dpkg -x linux-image-*.deb kernel && export FABRICAST_VM_KERNEL=$PWD/kernel
set -u
binary=$1 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) kernel=${FABRICAST_VM_KERNEL:-}
skip() { echo "skipped: $1"; exit 77; }
for tool in qemu-system-x86_64 busybox cpio depmod modprobe ip tc rdma python3; do
  command -v $tool >/dev/null || skip "$tool is not installed"
done
image=$(ls "$kernel"/boot/vmlinuz-*-amd64 2>/dev/null | head -n 1)
[ -n "$image" ] || skip "no kernel: set FABRICAST_VM_KERNEL"
version=${image##*/vmlinuz-}
[ -n "$(find "$kernel/lib/modules/$version" -name 'rdma_rxe.ko*' 2>/dev/null)" ] || skip "the kernel $version has no rdma_rxe"
provider=$(ls /usr/lib/*/libibverbs/librxe-rdmav*.so 2>/dev/null | head -n 1)
[ -n "$provider" ] || skip "ibverbs-providers is not installed"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,sbin,etc/libibverbs.d,proc,sys,dev,tmp,lib64,lib/x86_64-linux-gnu,usr}
ln -s ../lib "$root/usr/lib"
install_program() {
  install -m 755 "$1" "$root/bin/$(basename "$1")"
  ldd "$1" | awk '/=> \//{print $3} $1 ~ /^\/lib/{print $1}' | while read -r library; do
    case $library in
      */ld-linux*) cp -Lu "$library" "$root/lib64/" ;;
      *) cp -Lu "$library" "$root/lib/x86_64-linux-gnu/" ;;
    esac
  done
}
for program in bash ip tc rdma "$binary" "$provider"; do install_program "$(command -v "$program" || echo "$program")"; done
mkdir -p "$root/${provider%/*}" && mv "$root/bin/$(basename "$provider")" "$root/$provider"
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s ../bin/busybox "$root/sbin/modprobe"
ln -s bash "$root/bin/sh"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
modules=$root/lib/modules/$version
mkdir -p "$modules"
# An unpacked package lacks the index of dependencies.
cp "$kernel/lib/modules/$version"/modules.{order,builtin} "$modules/"
depmod -b "$kernel/" "$version" 2>/dev/null
for module in rdma_rxe ib_uverbs veth sch_netem crc32_generic; do
  modprobe -d "${kernel:-/}" -S "$version" --show-depends "$module" 2>/dev/null | awk '/^insmod/{print $2}'
done | sort -u | while read -r file; do
  install -D -m 644 "$file" "$modules/${file##*/lib/modules/$version/}"
done
depmod -b "$root" "$version" 2>/dev/null
install -m 755 "$here/soft_roce_init.sh" "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/initrd"

# Without cx16: the guest's kernel panicked when QEMU's emulation offered it.
timeout "${FABRICAST_VM_TIMEOUT:-900}" qemu-system-x86_64 -accel tcg,thread=single -icount shift=0,sleep=off -cpu max,-cx16 -smp 1 \
  -m 1536 -machine q35 -nodefaults -no-user-config -display none -serial stdio -no-reboot -nic none -kernel "$image" \
  -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable nokaslr" </dev/null 2>&1 |
  tr -d '\r' >"$work/console"
[ -z "${FABRICAST_VM_LOG:-}" ] || cp "$work/console" "$FABRICAST_VM_LOG"
python3 "$here/soft_roce_check.py" "$work/console"
